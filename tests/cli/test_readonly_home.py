"""Commands that only read work on a home that cannot be written, and change nothing in it."""

import subprocess
from pathlib import Path

import pytest

from .program import PYTHON, Claw, Ran
from .test_run import ASK

pytestmark = [pytest.mark.anyio, pytest.mark.full]

READERS = (
    "sessions list --json",
    "sessions show",
    "sessions show p --json",
    "sessions export p",
    "sessions search calculate",
    "sessions export p --json",
    "approvals list --json",
    "audit verify",
    "audit show --json",
    "audit export",
    "config show",
    "config check",
    "tools list --json",
    "tools show echo",
    'tools call echo {"text":"x"} --dry-run',
    "policy explain --command ls --json",
    "policy rules --json",
)


def readonly(claw: Claw, *words: str) -> Ran:
    """Run it where nothing in the home can be written."""
    home = str(claw.home)
    around = ("bwrap", "--dev-bind", "/", "/", "--ro-bind", home, home, "--")
    done = subprocess.run([*around, *PYTHON, *words], input=b"", capture_output=True, cwd=claw.workspace, env=claw.env, timeout=20, check=False)
    return Ran(done.returncode, done.stdout, done.stderr)


def contents(home: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in home.rglob("*") if path.is_file()}


async def test_readers_work_on_a_read_only_home_and_change_nothing(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text(ASK)
    await claw("run", "calculate 6 * 7", "--approvals", "park", "--session", "p")
    before = contents(claw.home)
    for command in READERS:
        ran = readonly(claw, *command.split())
        assert ran.code == 0, (command, ran)
        assert ran.out, command
        assert "Traceback" not in ran.err
    assert contents(claw.home) == before


async def test_a_task_on_a_read_only_home_says_so_and_doctor_names_it_among_the_rest(claw: Claw) -> None:
    await claw("run", "calculate 6 * 7")
    task = readonly(claw, "run", "calculate 6 * 7")
    assert (task.code, task.out) == (1, ""), task
    assert "read-only" in task.err
    doctor = readonly(claw, "doctor", "--json")
    assert doctor.code == 1, doctor
    [store, *rest] = doctor.json
    assert (store["check"], store["ok"]) == ("store", False)
    assert len(rest) > 3


@pytest.mark.parametrize(
    "words", ["sessions list", "audit verify", "approvals list", "grants list", "policy explain --command ls", "tools list", "run hi", "doctor"]
)
async def test_a_home_below_what_is_no_directory_is_unusable_and_named(claw: Claw, words: str) -> None:
    claw.workspace.joinpath("file").write_text("")
    claw.workspace.joinpath("dangling").symlink_to("nowhere")
    for place in ("file", "file/home", "dangling", "dangling/home"):
        ran = await claw(*words.split(), "--home", str(claw.workspace / place))
        assert ran.code == (1 if words == "doctor" else 78), ran
        assert f"the data home {claw.workspace / place} " in ran.out + ran.err
        assert "is not a directory" in ran.out + ran.err
        assert "Unexpected error" not in ran.out + ran.err
