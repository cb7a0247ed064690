"""Code of a capability that fails harms nobody but itself: an error of any class, an exit of the program, a cancellation from within."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from neuralclaw import Agent
from neuralclaw.agent.redaction import NO_REDACTION
from neuralclaw.agent.sources import TurnSource, read_sources
from neuralclaw.app.capabilities import Capabilities
from neuralclaw.app.clock import SystemClock
from neuralclaw.app.verb_calls import plain
from neuralclaw.capability import Capability, DoctorCheck, EventKind, Table, TurnContext, Verb
from neuralclaw.errors import AgentError, ConfigError, StoreError, UsageError
from neuralclaw.foreign_code import run_foreign
from neuralclaw.store import SqliteStore
from neuralclaw.testing import FunctionProvider, Reply
from neuralclaw.tool import tool
from neuralclaw.types.codec import Codec
from neuralclaw.types.entries import Draft
from neuralclaw.types.events import ApprovalResolved, Body
from neuralclaw.types.options import TurnOptions

from .shelf import install
from .test_registry import client_of, without

pytestmark = [pytest.mark.anyio, pytest.mark.full]

TURN = TurnContext(session="s", options=TurnOptions(model="offline", workspace="/w"))


class Noted(Body, frozen=True, kw_only=True, tag="failing.noted"):
    text: str = ""

    def __post_init__(self) -> None:
        if self.text == "unreadable":
            raise LookupError("no such note")


class Fake(ApprovalResolved, frozen=True, kw_only=True, tag="failing.fake"):
    pass


async def raises() -> Any:
    raise KeyError("mood")


async def exits() -> Any:
    raise SystemExit(7)


async def waits_for_cancelled() -> Any:
    never = asyncio.get_running_loop().create_future()
    never.cancel()
    await never


async def cancels_itself() -> Any:
    this_task().cancel()
    await anyio.lowlevel.checkpoint()


async def cancels_itself_at_its_end() -> Any:
    this_task().cancel()
    return []


async def leaves_a_scope_open() -> Any:
    anyio.CancelScope().__enter__()
    return []


async def leaves_a_cancelled_scope_open() -> Any:
    scope = anyio.CancelScope()
    scope.__enter__()
    scope.cancel()
    return []


async def ends_its_generator() -> Any:
    raise GeneratorExit


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise SystemExit(9)


async def cannot_be_told() -> Any:
    raise UnspeakableError


def this_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None
    return task


async def gives(value: Any) -> Any:
    return value


FAILING = [
    (raises, "KeyError: 'mood'"),
    (exits, "SystemExit: 7"),
    (waits_for_cancelled, "it was cancelled from within"),
    (cancels_itself, "it was cancelled from within"),
    (cancels_itself_at_its_end, "it was cancelled from within"),
    (leaves_a_scope_open, "RuntimeError: it left a cancel scope open"),
    (leaves_a_cancelled_scope_open, "RuntimeError: it left a cancel scope open"),
    (ends_its_generator, "GeneratorExit"),
    (cannot_be_told, "UnspeakableError"),
]


def capability(**parts: Any) -> Capabilities:
    value = Capability(name="failing", summary="x", **parts)
    return Capabilities.load(("failing",), built_in={}, found=lambda: [without(value, "failing")])


@pytest.mark.parametrize(("fails", "why"), FAILING)
async def test_whatever_foreign_code_raises_is_one_error_that_names_it(fails: Callable[[], Awaitable[Any]], why: str) -> None:
    with pytest.raises(AgentError, match=f"the probe failed: {why}"):
        await run_foreign("the probe", fails)
    assert this_task().cancelling() == 0
    await anyio.lowlevel.checkpoint()


async def test_errors_that_may_pass_are_raised_as_they_are_also_out_of_a_group_that_holds_one() -> None:
    async def groups() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(raises)

    async def groups_another() -> None:
        raise ExceptionGroup("two", [KeyError("mood"), ValueError("x")])

    with pytest.raises(KeyError, match="mood"):
        await run_foreign("the probe", groups, passes=(KeyError,))
    with pytest.raises(AgentError, match="KeyError: 'mood'"):
        await run_foreign("the probe", groups, passes=(ValueError,))
    with pytest.raises(AgentError, match="ExceptionGroup"):
        await run_foreign("the probe", groups_another, passes=(KeyError,))


async def test_our_own_code_fails_with_the_same_error_and_its_cancellation_passes() -> None:
    with pytest.raises(AgentError, match="the probe failed: KeyError: 'mood'"):
        await run_foreign("the probe", raises, apart=False)
    with anyio.move_on_after(0.05) as scope:
        await run_foreign("the probe", anyio.sleep_forever, apart=False)
    assert scope.cancelled_caught


async def test_a_cancellation_from_outside_passes_foreign_code() -> None:
    begun, never = anyio.Event(), anyio.Event()

    async def work() -> None:
        begun.set()
        await never.wait()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run_foreign, "the probe", work)
        await begun.wait()
        tasks.cancel_scope.cancel()
    assert tasks.cancel_scope.cancelled_caught


async def test_work_that_is_cancelled_from_outside_and_gives_a_value_all_the_same_has_done_it() -> None:
    given = []

    async def work() -> str:
        try:
            await anyio.sleep_forever()
        except asyncio.CancelledError:
            return "half of it"

    with anyio.move_on_after(0) as scope:
        given.append(await run_foreign("the probe", work))
        await anyio.lowlevel.checkpoint()
    assert given == ["half of it"]
    assert scope.cancelled_caught


async def test_a_cancellation_of_the_task_that_waits_passes_and_waits_for_foreign_code() -> None:
    begun, left = anyio.Event(), []

    async def work() -> None:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            left.append("it")

    waits = asyncio.create_task(run_foreign("the probe", work))
    await begun.wait()
    waits.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waits
    assert left == ["it"]


async def test_foreign_code_sees_the_context_of_its_caller_and_changes_a_copy() -> None:
    mood: ContextVar[str] = ContextVar("mood")
    mood.set("calm")

    async def work() -> str:
        seen = mood.get()
        mood.set("wild")
        return seen

    assert (await run_foreign("the probe", work), mood.get()) == ("calm", "calm")


@pytest.mark.parametrize(("fails", "why"), FAILING)
async def test_a_source_that_fails_is_left_out_and_the_others_are_read(fails: Callable[[], Awaitable[Any]], why: str) -> None:
    async def well() -> Any:
        return [("here", frozenset({"agent"}))]

    read = await read_sources([TurnSource(name="bad", read=fails), TurnSource(name="good", read=well)], NO_REDACTION)
    assert read.text == "here"
    assert read.failed[0][0] == "bad"
    assert why in read.failed[0][1]


@pytest.mark.parametrize("labels", ["external:web", None, 5, [1]])
async def test_a_source_whose_labels_are_no_set_of_texts_is_left_out(labels: Any) -> None:
    async def read() -> Any:
        return [("secret of a page", labels)]

    given = await read_sources([TurnSource(name="bad", read=read)], NO_REDACTION)
    assert (given.text, given.labels) == ("", frozenset())
    assert "labels are a set of texts" in given.failed[0][1]


@pytest.mark.parametrize("fails", [*(fails for fails, _ in FAILING), lambda: gives(5), lambda: gives("ab")])
async def test_tools_that_cannot_be_asked_for_are_none(fails: Any, home: Path, tmp_path: Path) -> None:
    async def tools(context: Any, turn: TurnContext) -> Any:
        return await fails()

    async with Agent.open(home=home, workspace=tmp_path, environ={}) as agent:
        [brought] = await capability(tools=tools).for_client(client_of(agent)).tools(TURN)
    assert (brought.capability, brought.tools, bool(brought.problem)) == ("failing", (), True)


async def test_a_wrapper_that_cancels_its_task_ends_nothing_else(home: Path, tmp_path: Path) -> None:
    def wrap(context: Any, turn: TurnContext, provider: Any) -> Any:
        this_task().cancel()
        return provider

    async with Agent.open(home=home, workspace=tmp_path, environ={}) as agent:
        given = capability(wrap=wrap).for_client(client_of(agent))
        with pytest.raises(AgentError, match="the capability failing could not wrap the model: it was cancelled from within"):
            await given.wrap(TURN, FunctionProvider(lambda request: Reply("x")))  # type: ignore[arg-type, return-value]


async def test_a_wrapper_that_fails_is_named(home: Path, tmp_path: Path) -> None:
    def wrap(context: Any, turn: TurnContext, provider: Any) -> Any:
        raise KeyError("mood")

    async with Agent.open(home=home, workspace=tmp_path, environ={}) as agent:
        given = capability(wrap=wrap).for_client(client_of(agent))
        with pytest.raises(AgentError, match="the capability failing could not wrap the model: KeyError: 'mood'"):
            await given.wrap(TURN, FunctionProvider(lambda request: Reply("x")))  # type: ignore[arg-type, return-value]


class Generates(FunctionProvider):
    """A provider whose author left `@asynccontextmanager` out."""

    async def stream(self, request: Any) -> Any:  # type: ignore[override]
        yield Reply("x")


class Waits(FunctionProvider):
    async def stream(self, request: Any) -> Any:  # type: ignore[override]
        return None


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (5, "it returned int, which has no stream and no info and no count: a provider has stream, info and count"),
        (None, "it returned NoneType, which has no stream and no info and no count: a provider has stream, info and count"),
        (Generates(lambda request: Reply("x")), "stream of the Generates that it returned is an async generator, not an async context manager"),  # type: ignore[arg-type, return-value]
        (Waits(lambda request: Reply("x")), "stream of the Waits that it returned is an async function, not an async context manager"),  # type: ignore[arg-type, return-value]
    ],
)
async def test_a_wrapper_that_gives_no_provider_is_named_with_its_place_and_what_to_do(given: Any, why: str, home: Path, tmp_path: Path) -> None:
    async with Agent.open(home=home, workspace=tmp_path, environ={}) as agent:
        agent._home.capability_parts = capability(wrap=lambda context, turn, provider: given).for_client(client_of(agent))
        with pytest.raises(AgentError) as failed:
            await agent.ask("hello", session="s")
        assert f"the capability failing could not wrap the model: {why}" in failed.value.text
        assert f"({__file__}:" in failed.value.text
        assert failed.value.text.endswith("; what was recorded is kept, and the turn stays unfinished")
        assert failed.value.hint == "fix or update failing, or take it out of capabilities.enabled, then continue the turn: neuralclaw run --resume s"


async def test_a_call_that_needs_no_model_runs_where_a_wrapper_gives_no_provider(home: Path, tmp_path: Path) -> None:
    async with Agent.open(home=home, workspace=tmp_path, environ={}) as agent:
        agent._home.capability_parts = capability(wrap=lambda context, turn, provider: 5).for_client(client_of(agent))
        assert "42" in str(await agent.do("tools.call", name="calculate", arguments={"expression": "6*7"}))


@pytest.mark.parametrize(("fails", "why"), FAILING)
async def test_a_verb_and_a_check_that_fail_are_named(fails: Callable[[], Awaitable[Any]], why: str, home: Path, tmp_path: Path) -> None:
    async def run(context: Any) -> Any:
        return await fails()

    async def checks(context: Any) -> AsyncIterator[DoctorCheck]:
        yield DoctorCheck(check="failing", ok=True, text="well")
        await fails()

    async with Agent.open(home=home, workspace=tmp_path, environ={}) as agent:
        given = capability(verbs=(Verb(name="failing.go", summary="x", run=run),), checks=checks).for_client(client_of(agent))
        with pytest.raises(AgentError, match=f"the command failing.go failed: {why}"):
            await given.verbs()["failing.go"]()
        found = [check async for check in given.checks()]
    assert [check.ok for check in found] == [True, False]
    assert why in found[1].text


async def test_checks_that_do_not_end_are_stopped_and_those_found_before_count(home: Path, tmp_path: Path) -> None:
    async def checks(context: Any) -> AsyncIterator[DoctorCheck]:
        yield DoctorCheck(check="failing", ok=True, text="well")
        await anyio.sleep_forever()

    async with Agent.open(home=home, workspace=tmp_path, environ={}) as agent:
        given = capability(checks=checks).for_client(client_of(agent))
        found = [check async for check in given.checks(0.1)]
    assert [check.text for check in found] == ["well", "its check did not end within 0.1 s and was stopped"]


async def test_an_error_of_the_tree_that_a_verb_raises_is_its_own(home: Path, tmp_path: Path) -> None:
    async def run(context: Any) -> Any:
        raise UsageError("no such habit", hint="habit list")

    async with Agent.open(home=home, workspace=tmp_path, environ={}) as agent:
        given = capability(verbs=(Verb(name="failing.go", summary="x", run=run),)).for_client(client_of(agent))
        with pytest.raises(UsageError, match="no such habit"):
            await given.verbs()["failing.go"]()


def test_a_value_that_is_not_json_is_told_so() -> None:
    with pytest.raises(AgentError, match="not JSON"):
        plain(object())


@pytest.mark.parametrize("says", [lambda body: body.mood, lambda body: None, lambda body: exit(3)])
def test_a_sentence_that_fails_says_so_in_its_place(says: Any) -> None:
    told = capability(events=(EventKind(body=Noted, sentence=says),)).sentence_of(Noted(text="x"))
    assert told.startswith("failing.noted (its capability has no sentence for it: ")


def test_a_kind_that_is_a_subclass_of_a_built_in_one_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"failing\.fake .* is a subclass of .*ApprovalResolved"):
        Codec([EventKind(body=Fake, sentence=str)])


async def test_a_body_and_an_upcast_that_fail_leave_the_record_whole(home: Path) -> None:
    async with await SqliteStore.open(str(home), clock=SystemClock(), codec=Codec([EventKind(body=Noted, sentence=str)])) as store:
        await store.append("home", [Draft(0, Noted(text="x"))])

    def never(fields: dict[str, Any]) -> dict[str, Any]:
        raise ZeroDivisionError("upcast")

    later = Codec([EventKind(body=Noted, sentence=str, version=2, upcasts={1: never})])
    async with await SqliteStore.open(str(home), clock=SystemClock(), codec=later) as store:
        assert (await store.verify()).ok
        [entry] = await store.read("home")
        assert entry.body is not None
        assert entry.body.type == "unreadable"
        await store.rebuild()


@pytest.mark.parametrize("fails", [KeyError, SystemExit, KeyboardInterrupt])
async def test_a_fold_that_fails_refuses_its_append_and_no_later_one(fails: type[BaseException], home: Path) -> None:
    def fold(entry: Any, rows: Any) -> None:
        raise fails("fold")

    table = Table(name="failing", columns={"text": "text"}, key=("text",), kinds=("failing.noted",), fold=fold)
    codec = Codec([EventKind(body=Noted, sentence=str)])
    async with await SqliteStore.open(str(home), clock=SystemClock(), codec=codec, tables=[table]) as store:
        with pytest.raises(StoreError, match=f"the table failing of a capability .*{fails.__name__}"):
            await store.append("home", [Draft(0, Noted(text="x"))])
        assert (await store.verify()).ok


async def test_an_error_of_the_store_inside_a_tool_is_the_tools(home: Path, tmp_path: Path) -> None:
    @tool(risk="LOW", effect="pure")
    async def misspelt() -> str:
        """Read a table that is not there."""
        raise StoreError("there is no table habitz")

    replies = iter([Reply("", tool_calls=[{"name": "misspelt", "arguments": {}}]), Reply("done")])

    async def answer(request: Any) -> Reply:
        return next(replies)

    async with Agent.open(home=home, workspace=tmp_path, environ={}, provider=FunctionProvider(answer), tools=[misspelt]) as agent:
        ended = await agent.ask("go", session="s")
        shown = await agent.do("sessions.show", session="s")
    assert (ended.status, ended.text) == ("done", "done")
    [result] = [event for event in shown["events"] if event["type"] == "tool.finished"]
    assert result["ok"] is False
    assert "there is no table habitz" in result["error"]


async def test_a_turn_that_is_not_there_is_refused(home: Path, tmp_path: Path) -> None:
    async with Agent.open(home=home, workspace=tmp_path, environ={}) as agent:
        await agent.ask("echo hi", session="s", model="offline")
        context = capability(events=(EventKind(body=Noted, sentence=str),)).for_client(client_of(agent)).context("failing")
        for session, turn in (("s", 999), ("s", -7), ("ghost", 1)):
            with pytest.raises(UsageError, match="nothing was recorded"):
                await context.record(Noted(text="x"), session=session, turn=turn)
        with pytest.raises(TypeError, match="labels are a set of texts"):
            await context.record(Noted(text="x"), labels="external:web")  # type: ignore[arg-type]


async def forgets_await(context: Any) -> Any:
    return context.store.rows("failing")


async def test_a_value_that_is_not_json_names_its_command_and_what_may_be_missing(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "from neuralclaw.capability import Capability, Verb\nfrom pathlib import Path\nfrom tests.capabilities.test_failing_code import forgets_await\n"
    code += "async def gives_path(context): return Path('x')\nasync def fails(context): return {}['mood']\n"
    code += "capability = Capability(name='odd', summary='x', verbs=tuple(Verb(name=f'odd.{f.__name__}', summary='x', run=f)"
    code += " for f in (forgets_await, gives_path, fails)))\n"
    packages = install(tmp_path / "packages", "odd", code)
    monkeypatch.syspath_prepend(str(packages))
    async with Agent.open(home=home, workspace=tmp_path, environ={}, capabilities={"enabled": ["odd"]}) as agent:
        with pytest.raises(AgentError, match=r"the command odd\.forgets_await gave a value that is not JSON: .*coroutine") as caught:
            await agent.do("odd.forgets_await")
        assert caught.value.hint == "an await is missing before what it returns"
        with pytest.raises(AgentError, match=r"the command odd\.gives_path gave a value that is not JSON: .*PosixPath"):
            await agent.do("odd.gives_path")
        with pytest.raises(AgentError) as caught:
            await agent.do("odd.fails")
        assert caught.value.text == f"the command odd.fails failed: KeyError: 'mood' ({packages}/neuralclaw_odd.py:5)"
