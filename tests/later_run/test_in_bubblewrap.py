"""Places that code is later run from are read-only in bubblewrap, and opened by name."""

import subprocess
from pathlib import Path

import pytest

from ..sandbox.grants import command_grant
from ..sandbox.processes import PATH, sandbox
from ..sandbox.test_asked_access import Person, offered

pytestmark = pytest.mark.anyio

HOOK = "#!/bin/sh\necho evil\n"


@pytest.fixture
def person(tmp_path: Path) -> Person:
    made = Person(tmp_path.resolve() / "person", "bubblewrap")
    subprocess.run(["git", "init", "-q", str(made.work)], check=True)
    (made.work / ".envrc").write_text("own")
    (made.work / "plant.py").write_text(f"open('.git/hooks/post-checkout', 'w').write({HOOK!r})\n")
    return made


@pytest.mark.parametrize(
    "script",
    [
        "echo evil > .envrc",
        "rm -f .envrc",
        "mv .envrc away; echo evil > .envrc",
        "echo evil > new; mv -f new .envrc",
        "ln -sf new .envrc",
        "echo evil > .git/hooks/post-checkout",
        "rm -rf .git/hooks; mkdir .git/hooks; echo evil > .git/hooks/post-checkout",
        "mv .git moved; mkdir -p .git/hooks; echo evil > .git/hooks/post-checkout",
        "chmod 777 .envrc .git/hooks",
        "git config core.hooksPath evil",
        "umount .envrc; echo evil > .envrc",
    ],
)
async def test_they_stay_as_they_are(person: Person, script: str) -> None:
    def state() -> list[tuple[str, int, str]]:
        found = [person.work / ".envrc", person.work / ".git" / "config", *sorted((person.work / ".git" / "hooks").rglob("*"))]
        return [(str(path), path.lstat().st_mode, path.read_text()) for path in found]

    before = state()
    box = sandbox("bubblewrap", home=str(person.home))
    grant = command_grant(person.work)
    await box.exec(grant, ["bash", "-c", script], cwd=str(person.work), env={"PATH": PATH}, timeout=20, max_bytes=1000)
    assert state() == before


async def test_a_command_that_was_kept_from_one_says_so_and_may_change_it_after_a_yes(person: Person) -> None:
    place = person.work / ".git" / "hooks" / "post-checkout"
    _, refused = await person.run("python3 plant.py")
    assert not place.exists()
    assert f"{place} may be read by this command and not changed" in refused
    await person.run("python3 plant.py", *offered(refused))
    assert place.read_text() == HOOK


async def test_git_itself_keeps_its_settings_and_commits(person: Person) -> None:
    for command in (
        "git config user.name me",
        "git config user.email me@here",
        "git remote add origin https://a.example/x.git",
        "git commit -q --allow-empty -m first",
    ):
        _, refused = await person.run(command)
        assert refused == "", command
    assert "a.example" in (person.work / ".git" / "config").read_text()
    await person.run("git config user.name other && python3 plant.py")
    assert "name = me" in (person.work / ".git" / "config").read_text()
