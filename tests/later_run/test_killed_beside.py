"""What a killed command left in places that code is later run from is put back before another command, or an undo, looks at the files."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ..agent import kit
from ..waiting import until
from .plants import GIT
from .test_calls import HERE, KILLED, replies, terminal

pytestmark = pytest.mark.anyio

PLANT = "echo evil > .envrc; echo 2 > f; touch planted; sleep 60\n"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    place = tmp_path.resolve() / "w"
    place.mkdir()
    (place / "f").write_text("1\n")
    (place / "p.sh").write_text(PLANT)
    return place


async def killed(home: Path, work: Path) -> None:
    """Another process of the home runs the script in the session `s`, and is killed meanwhile."""
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(home), str(work), "sh p.sh"], cwd=Path(__file__).parents[2], env={**os.environ, **GIT})
    await until((work / "planted").exists)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert (work / ".envrc").read_text() == "evil\n"


@pytest.mark.parametrize("kind", HERE)
@pytest.mark.parametrize("there", [False, True])
@pytest.mark.invariant("later_run.put-back")
async def test_no_undo_brings_back_what_was_put_back_of_another_command(home: Path, work: Path, kind: str, there: bool) -> None:
    if there:
        (work / ".envrc").write_text("mine\n")

    def envrc() -> str:
        return (work / ".envrc").read_text() if (work / ".envrc").exists() else ""

    mine = envrc()
    async with kit.agent(home, *replies("touch q", "touch r"), workspace=work, approvals="auto", settings=terminal(kind)) as agent:
        await kit.events(agent, session="b")
        await killed(home, work)
        await kit.events(agent, session="b")
        assert envrc() == mine
        for verb, session in (("undo", "b"), ("undo", "s"), ("redo", "s"), ("redo", "b"), ("undo", "s")):
            await agent.do(verb, session=session)
            assert envrc() == mine, (verb, session)
        assert (work / "f").read_text() == "1\n"
        assert (work / "r").exists()


async def test_a_redo_in_a_process_that_runs_brings_back_nothing_that_has_to_be_put_back(home: Path, work: Path) -> None:
    async with kit.agent(home, *replies("touch q"), workspace=work, approvals="auto", settings=terminal("landlock")) as agent:
        await kit.events(agent, session="b")
        await killed(home, work)
        for verb, text in (("undo", "1\n"), ("redo", "2\n")):
            await agent.do(verb, session="s")
            assert not (work / ".envrc").exists()
            assert (work / "f").read_text() == text
