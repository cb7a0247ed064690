"""The chat outlives whatever the code of a capability raises, and shows what was asked for after it."""

from pathlib import Path

import pytest

from ..cli.emulator import Screen
from ..cli.model import served
from ..cli.program import Claw
from ..cli.test_chat import READY
from .shelf import install
from .test_program import enable

pytestmark = [pytest.mark.anyio, pytest.mark.full]

CODE = """
import asyncio, enum
from typing import Annotated, Literal
import msgspec
from neuralclaw import capability as nc

class Halt(BaseException):
    pass

class Level(enum.Enum):
    EASY = "easy"
    HARD = "hard"

class Odd(msgspec.Struct):
    x: int = 0
    def __post_init__(self):
        raise Halt("odd")

class Done(nc.Body, frozen=True, kw_only=True, tag="habit.done"):
    name: str

def bad(*args):
    raise Halt("no luck")

async def done(
    context: nc.CapabilityContext, name: str, times: int = 1, *, level: Level = Level.EASY, mood: Literal["good", "bad"] = "good"
) -> list[dict[str, int]]:
    if name == "halt":
        raise Halt("stop")
    if name == "cancel":
        raise asyncio.CancelledError
    if name == "exit":
        raise SystemExit(4)
    return [{"times": times}]

async def shown(context: nc.CapabilityContext) -> list[dict[str, int]]:
    return [{"times": 1}]

async def odd(context: nc.CapabilityContext, value: Odd) -> int:
    return 1

class Wrapped:
    def __init__(self, inner): self.inner = inner
    def stream(self, request): bad()
    def info(self, model): return self.inner.info(model)
    def count(self, request): return self.inner.count(request)

def wrap(context, turn, provider):
    if turn.session == "wrap":
        bad()
    return Wrapped(provider) if turn.session == "stream" else provider

async def read(context, turn, room):
    if turn.session == "source":
        bad()
    return []

capability = nc.Capability(
    name="habit", summary="Things done every day.", wrap=wrap, sources=(nc.ContextSource(name="habit", read=read, place="before_last"),),
    events=(nc.EventKind(body=Done, sentence=bad),),
    verbs=(
        nc.Verb(name="habit.done", summary="Tick a habit off.", run=done, help={"name": "the habit's name"}, example="neuralclaw habit done run"),
        nc.Verb(name="habit.render", summary="x", run=shown, render=bad),
        nc.Verb(name="habit.display", summary="x", run=shown, display=bad),
        nc.Verb(name="habit.hint", summary="x", run=shown, hint=bad),
        nc.Verb(name="habit.failures", summary="x", run=shown, failures=bad),
        nc.Verb(name="habit.odd", summary="x", run=odd),
    ),
)
"""


@pytest.fixture
def habits(home: Path, tmp_path: Path) -> Claw:
    claw = Claw(home, tmp_path / "work")
    claw.env["PYTHONPATH"] = str(install(tmp_path / "packages", "habit", CODE))
    enable(claw, "habit")
    return claw


@pytest.mark.parametrize(
    "line",
    ["done halt", "done cancel", "done exit", "render", "display", "hint", "failures", "odd {}", "done --times", "done run --level no", "done run ninety"],
)
async def test_a_command_that_fails_in_any_way_leaves_the_chat_open(habits: Claw, line: str) -> None:
    chat = await habits("chat", stdin=f"/habit {line}\n/habit done run 3\n".encode())
    assert chat.code == 0, chat
    assert chat.err.count("❌") == 1, chat
    assert chat.err.rstrip().endswith("3"), chat
    assert "Traceback" not in chat.err


@pytest.mark.parametrize("session", ["wrap", "stream", "source"])
async def test_a_turn_that_the_code_of_a_capability_stops_leaves_the_chat_open(habits: Claw, session: str) -> None:
    chat = await habits("chat", "--session", session, stdin=b"calculate 6*7\n/habit done run 3\n")
    assert chat.code == 0, chat
    assert chat.err.rstrip().endswith("3"), chat
    assert ("42" in chat.out) == (session == "source"), chat
    assert session == "source" or "Halt: no luck" in chat.err, chat
    assert "Traceback" not in chat.err


async def test_help_of_a_command_is_shown_in_the_chat_and_its_verbs_once(habits: Claw) -> None:
    chat = await habits("chat", stdin=b"/habit done --help\n/habit --help\n/help habit\n/help\n")
    assert chat.code == 0
    assert "usage: /habit done [--level easy|hard] [--mood good|bad] [--json] NAME [TIMES]" in " ".join(chat.err.split()), chat
    assert "the habit's name" in chat.err
    assert "/habit done run" in chat.err
    assert chat.err.count("/habit done      Tick a habit off.") == 2
    [line] = [line for line in chat.err.splitlines() if line.startswith("  /habit done|")]
    assert " ".join(line.split()) == "/habit done|render|display|hint|failures|odd Things done every day."


async def test_completion_that_fails_leaves_the_prompt(habits: Claw, tmp_path: Path) -> None:
    """The options of a verb whose signature cannot be read any more when Tab is pressed."""
    code = CODE.replace('help={"name": "the habit\'s name"}', "help=Help()")
    code = code.replace("class Wrapped", "class Help(dict):\n    get = bad\n\nclass Wrapped")
    (tmp_path / "packages" / "neuralclaw_habit.py").write_text(code)
    with served(habits.home, more="capabilities: {enabled: [habit]}\n"), Screen(habits, columns=100) as chat:
        chat.until(READY)
        chat.type("/habit done --\t")
        chat.type("x\x15/habit hint\r")
        chat.until("Halt: no luck")
        assert "Unhandled exception" not in chat.text
        chat.type("/exit\r")
        assert chat.end() == 0
