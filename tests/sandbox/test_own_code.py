"""The program of the agent itself is read and never written, also where it lies in the workspace; what the agent starts itself comes from the system."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from neuralclaw.errors import PermissionDeniedError
from neuralclaw.sandbox.confined_files import ConfinedFiles
from neuralclaw.sandbox.later_run.place_names import top_names
from neuralclaw.sandbox.own_code import made_later, own_code, own_imports, own_places, protected_places, trusted_path
from neuralclaw.types.own_parts import ImportPlace, kept_imports

from .grants import command_grant
from .processes import sandbox, sh

pytestmark = pytest.mark.anyio


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Path]:
    """A workspace with the environment that the agent runs in, as the README makes it, and another one."""
    top = tmp_path.resolve() / "work"
    for name in (".venv", "sub/.venv", "other"):
        package = top / name / "lib/python3/site-packages/neuralclaw"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("true")
        (top / name / "bin").mkdir()
    was, packages = sys.prefix, str(top / "sub/.venv/lib/python3/site-packages")
    sys.prefix = str(top / ".venv")
    sys.path.append(packages)
    own_places.cache_clear()
    yield top
    sys.prefix = was
    sys.path.remove(packages)
    own_places.cache_clear()


@pytest.mark.parametrize("name", ["bubblewrap", "landlock"])
async def test_no_command_changes_the_agents_own_environment(workspace: Path, name: str) -> None:
    inside = "lib/python3/site-packages/neuralclaw/__init__.py"
    script = f"""
    for place in .venv sub/.venv; do
      echo evil >> $place/{inside}; rm $place/{inside}; mv $place/lib/python3/site-packages/neuralclaw gone; cp {inside} x
      echo evil > $place/lib/python3/site-packages/new.pth; chmod 777 $place/lib/python3/site-packages; cat $place/{inside}
    done 2>/dev/null
    echo evil > .venv/bin/bwrap; mv .venv moved; mv sub sub2; rm -rf .venv sub; ln -sfn other .venv
    echo more >> other/{inside}; echo file > other/new
    """
    grant = command_grant(workspace, write=(str(workspace), str(workspace / ".venv"), str(workspace / "sub/.venv/lib/python3/site-packages")))
    result = await sh(sandbox(name), grant, script)
    assert result.stdout == b"truetrue", result
    for place in (".venv", "sub/.venv"):
        packages = workspace / place / "lib/python3/site-packages"
        assert [one.name for one in packages.iterdir()] == ["neuralclaw"]
        assert (packages / "neuralclaw/__init__.py").read_text() == "true"
        assert packages.stat().st_mode & 0o777 == 0o755
        assert not (workspace / place).is_symlink()
    assert list((workspace / ".venv/bin").iterdir()) == []
    assert (workspace / "other" / inside).read_text() == "truemore\n"
    assert (workspace / "other/new").read_text() == "file\n"


async def test_no_file_tool_changes_it(workspace: Path, tmp_path: Path) -> None:
    files = ConfinedFiles(str(tmp_path / "preimages"))
    with pytest.raises(PermissionDeniedError, match="the program of the agent itself"):
        await files.write(command_grant(workspace), ".venv/bin/bwrap", b"evil")
    await files.write(command_grant(workspace), "other/bin/bwrap", b"fine")


async def test_who_works_in_one_of_these_places_may_change_it(workspace: Path) -> None:
    assert str(workspace / ".venv") in protected_places(str(workspace))
    assert str(workspace / ".venv") not in protected_places(str(workspace / ".venv/src"))


def test_programs_of_the_agent_come_from_directories_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/usr/bin")
    path = f"{tmp_path}:relative::.:/usr/bin:{tmp_path}/link:/bin:/usr/local/bin:{Path.home()}/.local/bin"
    assert trusted_path(path) == f"/usr/bin:{tmp_path}/link:/bin:/usr/local/bin"
    assert trusted_path(path, ("/usr/local",)) == f"/usr/bin:{tmp_path}/link:/bin"


@pytest.mark.parametrize("name", ["bubblewrap", "landlock"])
async def test_a_refusal_says_what_it_protects_and_offers_nothing(workspace: Path, name: str) -> None:
    result = await sh(sandbox(name), command_grant(workspace), "echo evil > .venv/bin/bwrap")
    assert f"{workspace}/.venv/bin/bwrap belongs to the program of the agent itself, which no call may change" in result.refused
    assert "access [" not in result.refused


@pytest.mark.parametrize("name", ["bubblewrap", "landlock"])
async def test_a_command_makes_and_renames_things_directly_beside_it(workspace: Path, name: str) -> None:
    result = await sh(sandbox(name), command_grant(workspace), "echo x > new; mv new newer; mkdir sub/made; rm -r sub/made; cat newer")
    assert (result.stdout, result.stderr, result.refused) == (b"x\n", b"", "")


@pytest.mark.parametrize("name", ["bubblewrap", "landlock"])
async def test_an_allowed_path_around_the_workspace_does_not_let_it_be_renamed(workspace: Path, name: str) -> None:
    grant = command_grant(workspace, write=(str(workspace.parent), str(workspace)))
    result = await sh(sandbox(name), grant, "cd ..; mv work moved; mkdir -p work/.venv/bin; echo evil > work/.venv/bin/bwrap; echo fine > beside")
    assert b"busy" in result.stderr
    assert list((workspace / ".venv/bin").iterdir()) == []
    assert (workspace.parent / "beside").read_text() == "fine\n"


async def test_an_environment_that_was_made_anew_since_the_last_command_is_held_too(workspace: Path) -> None:
    box, grant = sandbox("landlock"), command_grant(workspace)
    await sh(box, grant, "true")
    for _ in range(3):
        (workspace / ".venv").rename(workspace / "older")
        shutil.copytree(workspace / "older", workspace / ".venv")
        shutil.rmtree(workspace / "older")
        await sh(box, grant, "echo evil > .venv/bin/bwrap")
        assert list((workspace / ".venv/bin").iterdir()) == []


@pytest.fixture
def imported(tmp_path: Path) -> Iterator[Path]:
    """A workspace with directories from which this program imports: one that is there, and one that is not there yet."""
    top = tmp_path.resolve() / "work"
    (top / "src").mkdir(parents=True)
    added = [str(top / "src"), str(top / "later")]
    sys.path += added
    own_imports.cache_clear(), made_later.cache_clear(), top_names.cache_clear()
    yield top
    for path in added:
        sys.path.remove(path)
    own_imports.cache_clear(), made_later.cache_clear(), top_names.cache_clear()


@pytest.mark.invariant("gate.self-kept")
@pytest.mark.parametrize("name", ["bubblewrap", "landlock"])
async def test_no_command_makes_a_file_where_the_agent_imports_from(imported: Path, name: str) -> None:
    script = "echo evil > src/anyio.py; mkdir src/msgspec; mv src gone; ln -s . src/x; rm -rf src; echo fine > beside"
    await sh(sandbox(name), command_grant(imported), script)
    assert list((imported / "src").iterdir()) == []
    assert (imported / "beside").read_text() == "fine\n"


@pytest.mark.invariant("gate.self-kept")
async def test_no_file_tool_writes_where_the_agent_imports_from(imported: Path, tmp_path: Path) -> None:
    for path in ("src/sitecustomize.py", "later/msgspec.py"):
        with pytest.raises(PermissionDeniedError, match="the program of the agent itself"):
            await ConfinedFiles(str(tmp_path / "preimages")).write(command_grant(imported), path, b"evil")


def test_a_place_that_it_imports_from_and_that_is_not_there_is_put_back_when_a_command_makes_it(imported: Path) -> None:
    assert top_names(str(imported))["later"] == "the agent itself"
    assert "src" not in top_names(str(imported))


def test_a_directory_that_holds_the_workspace_and_a_script_in_the_workspace_are_no_reason_to_close_it() -> None:
    places = (ImportPlace("/work"), ImportPlace("/work/proj", script=True), ImportPlace("/work/proj/src"), ImportPlace("/opt/x"))
    assert kept_imports(places, "/work/proj") == ("/work/proj/src", "/opt/x")
    assert kept_imports(places, "/work") == ("/work", "/work/proj", "/work/proj/src", "/opt/x")


@pytest.mark.invariant("gate.self-kept")
@pytest.mark.parametrize("empty", [":{src}", "{src}:", ".:{src}"])
def test_the_program_imports_nothing_from_the_directory_that_it_is_started_in(tmp_path: Path, empty: str) -> None:
    """Where an empty part of `PYTHONPATH` names it, too."""
    for name in ("msgspec", "anyio", "json", "neuralclaw_extra"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported from the workspace')")
    source = Path(own_code.__code__.co_filename).parents[2]
    code = "import sys; sys.argv = ['/usr/bin/neuralclaw', '--help']; sys.path[0:1] = []; import neuralclaw; import msgspec, json; print(*sys.path, sep='\\n')"
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": empty.format(src=source)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert str(tmp_path) not in done.stdout.splitlines(), done
    assert done.returncode == 0, done.stderr


async def test_an_environment_of_python_is_read_only_to_a_command_that_does_not_name_it(tmp_path: Path) -> None:
    top = tmp_path.resolve()
    (top / "env/bin").mkdir(parents=True)
    (top / "env/pyvenv.cfg").write_text("home = /usr/bin\n")
    script = "echo evil > env/bin/python; mv env other; echo fine > beside"
    await sh(sandbox("bubblewrap"), command_grant(top), script)
    assert list((top / "env/bin").iterdir()) == []
    assert (top / "beside").read_text() == "fine\n"
    await sh(sandbox("bubblewrap"), command_grant(top, write=(str(top), str(top / "env/bin/python"))), script)
    assert (top / "other/bin/python").read_text() == "evil\n"
