"""What a turn works with: one list of tools from its beginning to its end, digests of what was really used, and what it is gone on with."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from neuralclaw import Agent, tool
from neuralclaw.app.capability_tools import BroughtTools
from neuralclaw.capability import CapabilityContext, ContextSource, Service, TurnContext
from neuralclaw.errors import ToolNotFoundError
from neuralclaw.ports import Channel, Provider
from neuralclaw.testing import FunctionProvider, Reply, ScriptedProvider
from neuralclaw.types.labels import AGENT, Labels
from neuralclaw.types.messages import Request

from .kit import agent, call, calls, events

pytestmark = pytest.mark.anyio


@tool(risk="LOW", effect="pure")
async def early() -> str:
    "Say early."
    return "early"


@tool(risk="LOW", effect="pure")
async def late() -> str:
    "Say late."
    return "late"


@tool(requires_confirmation=True)
async def careful() -> str:
    "Do it carefully."
    return "carefully done"


class Brought:
    """What a capability would bring: tools that change, sources, and a provider around the turn's own."""

    def __init__(self, *tools: object, sources: Sequence[ContextSource] = ()) -> None:
        self.now, self._sources = list(tools), sources
        self.wrapped: list[TurnContext] = []

    def sources(self) -> Sequence[tuple[ContextSource, CapabilityContext]]:
        nobody: Any = None  # these sources ask nothing of it
        return [(source, nobody) for source in self._sources]

    async def tools(self, turn: TurnContext) -> Sequence[BroughtTools]:
        return [BroughtTools("shelf", "a package", tuple(self.now))]

    def services(self) -> Sequence[tuple[Service, CapabilityContext]]:
        return ()

    def channels(self) -> Mapping[str, Channel]:
        return {}

    def wrap(self, turn: TurnContext, provider: Provider) -> Provider:
        self.wrapped.append(turn)
        return provider


def told(request: Request) -> set[str]:
    return {one.name for one in request.tools} & {"early", "late", "careful"}


async def test_tools_that_change_while_a_turn_runs_change_with_the_next_turn(home: Path) -> None:
    brought = Brought(early)

    async def reply(request: Request) -> Reply | str:
        brought.now = [late]
        return calls(call("early"), call("late")) if len(provider.requests) == 1 else "done"

    provider = FunctionProvider(reply)
    async with agent(home, provider=provider) as a:
        a._home.capability_parts = brought
        first = await events(a, session="s")
        await a.ask("again", session="s")
    assert [told(request) for request in provider.requests] == [{"early"}, {"early"}, {"late"}]
    ran, refused = sorted(first.of("tool.finished"), key=lambda event: str(event.name))
    assert (ran.content, ran.ok) == ("early", True)
    assert not refused.ok
    assert "there is no tool named 'late'" in refused.error


async def test_a_tool_whose_name_is_taken_is_left_out(home: Path) -> None:
    @tool(name="echo", risk="LOW", effect="pure")
    async def other(text: str) -> str:
        "Not the built-in one."
        return "other"

    async with agent(home, calls(call("echo", text="mine")), "done") as a:
        a._home.capability_parts = Brought(other, early)
        done = await events(a)
    assert done.one("tool.finished").content == "mine"


async def test_tools_of_a_capability_can_be_chosen_by_name_and_unknown_ones_are_refused_before_anything_is_recorded(home: Path) -> None:
    provider = ScriptedProvider("done")
    async with agent(home, provider=provider) as a:
        a._home.capability_parts = Brought(early, late)
        await a.ask("go", session="s", tools=["late"])
        with pytest.raises(ToolNotFoundError):
            await a.ask("go", session="t", tools=["careful"])
        assert [row["session"] for row in await a.do("sessions.list")] == ["s"]
    assert [one.name for one in provider.requests[0].tools] == ["late"]


async def test_a_wrapper_knows_the_session_the_number_and_the_options_of_its_turn(home: Path) -> None:
    brought = Brought()
    async with agent(home, "done", "done again") as a:
        a._home.capability_parts = brought
        assert (await a.ask("go", session="s", trust="high")).text == "done"
        await a.ask("go on", session="s")
    turn, following = brought.wrapped
    assert (turn.session, turn.options.trust, turn.window) == ("s", "high", 128_000)
    assert (turn.turn, following.turn) == (1, 2)


async def test_sources_of_capabilities_stand_beside_the_built_in_ones_each_cut_to_its_share(home: Path) -> None:
    async def read(context: CapabilityContext, turn: TurnContext, room: int) -> Sequence[tuple[str, Labels]]:
        return [(f"room {room}", AGENT), ("x" * room, AGENT)]

    sources = [ContextSource(name="shelf", read=read, share=0.01), ContextSource(name="clock", read=read, place="before_last", share=0.001)]
    provider = ScriptedProvider("done")
    async with agent(home, provider=provider) as a:
        a._home.capability_parts = Brought(sources=sources)
        await a.ask("go", session="s")
    (request,) = provider.requests
    assert "room 5120\n\nxxx" in request.system
    assert request.system.count("x" * 100) == (5120 - len("room 5120")) // 100
    assert request.environment.startswith("<environment>")
    assert "room 512\n\nxxx" in request.environment


async def digests(home: Path, *, chosen: Sequence[str] | None = None, **options: Any) -> dict[str, str]:
    """What the beginning of a turn says of what it used."""
    async with agent(home, "done", **options) as a:
        began = (await events(a, tools=chosen)).one("turn.started")
        return dict(began.digests)


async def test_each_digest_is_of_what_the_turn_really_used(home: Path) -> None:
    work = home.parent / "work"
    before = await digests(home)

    def changed(after: dict[str, str]) -> set[str]:
        return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}

    assert changed(await digests(home)) == set()
    assert changed(await digests(home, llm={"temperature": 0.1})) == {"settings"}
    assert changed(await digests(home, safety={"default_permission_level": "write"})) == {"settings", "policy"}
    assert changed(await digests(home, agent={"name": "Ada"})) == {"settings", "prompt"}
    assert changed(await digests(home, builtin=("echo",))) == {"tools"}
    assert changed(await digests(home, chosen=("echo",))) == {"tools"}
    assert await digests(home, chosen=("echo",)) == await digests(home, builtin=("echo",))
    (work / "AGENTS.md").write_text("Use four blanks.")
    assert changed(await digests(home)) == {"instructions"}


async def parked(opened: Agent) -> str:
    """A turn of session `s` that waits for a yes; the id of its question."""
    done = await events(opened, session="s", approvals="park")
    return str(done.one("approval.requested").approval_id)


async def test_a_turn_is_gone_on_with_under_the_tools_it_began_with_and_says_which_is_gone(home: Path) -> None:
    (home.parent / "work").mkdir()
    instructions = home.parent / "work" / "AGENTS.md"
    instructions.write_text("Use four blanks.")
    async with agent(home, calls(call("careful"))) as a:
        a._home.capability_parts = Brought(careful, early)
        question = await parked(a)
    instructions.write_text("Use tabs.")
    provider = ScriptedProvider(calls(call("late"), call("early")), "done", "next")
    async with agent(home, provider=provider) as a:
        a._home.capability_parts = Brought(late, early)
        await a.answer(question, "once")
        async with a.resume("s") as stream:
            finished = [event.error or event.content async for event in stream if event.type == "tool.finished"]
        await a.ask("and now", session="s")
    gone, new, there = finished
    assert "the tool careful was there when this turn began and is not available now; nothing was run" in gone
    assert "there is no tool named 'late'" in new
    assert there == "early"
    assert [told(request) for request in provider.requests] == [{"careful", "early"}, {"careful", "early"}, {"early", "late"}]
    assert ["Use tabs." in request.system for request in provider.requests] == [False, False, True]
