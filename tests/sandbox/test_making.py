"""A yes to make something in a directory outside opens nothing else that is in it."""

from pathlib import Path

import pytest

from neuralclaw.types.signals import Denied

from .test_asked_access import Person

pytestmark = [pytest.mark.anyio, pytest.mark.full]


@pytest.fixture(params=["bubblewrap", "landlock"])
def person(request: pytest.FixtureRequest, tmp_path: Path) -> Person:
    found = Person(tmp_path.resolve() / "home", request.param)
    (found.home / "other" / "deep").mkdir()
    (found.home / "other" / "deep" / "file").write_text("deep")
    (found.work / "harm.py").write_text(
        "import os, shutil\n"
        "at = os.path.expanduser('~/other')\n"
        "for path in (f'{at}/beside.txt', f'{at}/deep/file', f'{at}/deep/new'):\n"
        "    write = lambda: open(path, 'w').write('evil')\n"
        "    for act in (write, lambda: os.chmod(path, 0o777), lambda: os.rename(path, f'{at}/moved'), lambda: os.remove(path)):\n"
        "        try: act()\n"
        "        except OSError: pass\n"
        "shutil.rmtree(f'{at}/deep', ignore_errors=True)\n"
    )
    return found


def is_whole(person: Person) -> bool:
    other = person.home / "other"
    texts = [(other / name).read_text() for name in ("beside.txt", "deep/file")]
    return texts == ["beside", "deep"] and sorted(path.name for path in (other / "deep").iterdir()) == ["file"]


HOME_COMMANDS = [
    "touch ~/new",
    "mkdir -p ~/new/deep/er",
    "cp show.py new; cp new ~",
    "cp show.py new; mv new ~/",
    "mkdir ~/new",
    "cat show.py > ~/new",
    "echo x > ~/one; mv ~/one ~/new",
    "sed -i s/o/a/ ~/own && touch ~/new",
]
MAKING = [
    "touch ~/other/new",
    "mkdir -p ~/other/new/deep/er",
    "cp show.py new; cp new ~/other/",
    "cp show.py new; mv new ~/other",
    "cp show.py ~/other/new",
    "mkdir -p ~/other/new",
    "touch ~/other/new; echo more >> ~/other/notes.txt",
]


@pytest.mark.parametrize("command", MAKING)
async def test_what_lies_beside_what_a_command_makes_stays(person: Person, command: str) -> None:
    await person.run(command)
    assert len(person.asked) == 1
    assert (person.home / "other" / "new").exists()
    assert is_whole(person)


@pytest.mark.parametrize(
    "command", [*MAKING, *HOME_COMMANDS, "tar xf new.tar -C ~/other", "mkdir -p ~/other", "rm ~/other/notes.txt", "mv ~/other/notes.txt ."]
)
async def test_no_other_program_runs_where_a_directory_outside_is_open(tmp_path: Path, command: str) -> None:
    """What is in a directory cannot be excepted from it for as long as a program runs: who saves a file there replaces it, and a new one has a new name."""
    person = Person(tmp_path.resolve() / "home", "process")
    for line in (f"{command}; python3 harm.py", f"python3 harm.py | {command}", f"LD_PRELOAD=./harm.so {command}", f"env {command}; ls", f"./cp; {command}"):
        with pytest.raises(Denied, match="must be open for it, and the line may do more than its words name"):
            await person.grant(line)


async def test_a_file_that_is_there_is_opened_alone_to_other_programs(person: Person) -> None:
    await person.run("echo more >> ~/other/notes.txt; python3 harm.py")
    assert (person.home / "other" / "notes.txt").read_text() == "notesmore\n"
    assert is_whole(person)


async def test_what_a_call_would_make_outside_is_made_by_a_line_of_its_own_and_then_open(person: Person) -> None:
    (person.work / "make.py").write_text("import os\nopen(os.path.expanduser('~/other/new'), 'w').write('made')\n")
    access = f"write {person.home}/other/new"
    with pytest.raises(Denied, match=r"all of .*/other would be open"):
        await person.grant("python3 make.py", access)
    _, refused = await person.run("python3 make.py")
    assert f"To make {person.home}/other/new, write it in the workspace and copy it there" in refused
    await person.run("touch ~/other/new")
    await person.run("python3 make.py; python3 harm.py", access)
    assert (person.home / "other" / "new").read_text() == "made"
    assert is_whole(person)


@pytest.mark.parametrize("command", ["rm ~/other/notes.txt", "mv ~/other/notes.txt ."])
async def test_what_a_command_removes_goes_and_nothing_else(person: Person, command: str) -> None:
    await person.run(command)
    assert not (person.home / "other" / "notes.txt").exists()
    assert is_whole(person)


async def test_a_directory_that_a_command_removes_goes_itself(person: Person) -> None:
    await person.run("rm -r ~/other/deep")
    assert sorted(path.name for path in (person.home / "other").iterdir()) == ["beside.txt", "notes.txt"]


@pytest.mark.parametrize("command", HOME_COMMANDS)
async def test_a_file_is_made_in_a_home(person: Person, command: str) -> None:
    (person.home / "own").write_text("own")
    await person.run(command)
    assert (person.home / "new").exists()
    assert is_whole(person)


@pytest.mark.parametrize("command", ["tar xf new.tar -C ~/other", "cp -r new ~/other"])
async def test_one_program_alone_writes_the_directory_that_is_named(person: Person, command: str) -> None:
    await person.run("mkdir new; tar cf new.tar new")
    await person.run(command)
    assert (person.home / "other" / "new").is_dir()
    assert is_whole(person)


@pytest.mark.parametrize("words", ["*.txt", "?fx.txt", "[-]fx.txt", "-f*", "'-'f*", "'*'*", "-- *.txt"])
async def test_the_name_of_a_file_becomes_no_option_of_a_program_to_which_a_directory_outside_is_open(tmp_path: Path, words: str) -> None:
    person = Person(tmp_path.resolve() / "home", "process")
    for line in (f"sed -i s/a/b/ {words} ~/other/notes.txt", f"cp {words} ~/other", f"cat {words} > ~/other/new"):
        with pytest.raises(Denied, match="the line may do more than its words name"):
            await person.grant(line)


async def test_a_wildcard_behind_a_directory_names_files_only(person: Person) -> None:
    (person.work / "-fx.txt").write_text("a")
    (person.work / "x.txt").write_text("1e python3 harm.py\n")
    await person.run("sed -i s/a/b/ ./*.txt ~/other/notes.txt")
    await person.run("cp ./*.txt ~/other")
    assert {path.name for path in (person.home / "other").iterdir()} == {"-fx.txt", "x.txt", "notes.txt", "beside.txt", "deep"}
    assert is_whole(person)
