"""Older messages give way to a summary: when, to what, and what every later request begins with."""

from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from neuralclaw import Reply, tool
from neuralclaw.agent.compaction import EXTRACT_HEAD, HEAD, INSTRUCTIONS
from neuralclaw.agent.context import KINDS, Conversation
from neuralclaw.errors import SessionBusy, SessionNotFound, UsageError
from neuralclaw.runtime.session_history import read_history
from neuralclaw.testing import FunctionProvider
from neuralclaw.types.messages import AssistantMessage, Failure, ModelInfo, Price, Request, ToolMessage, Usage, UserMessage

from .kit import agent, call, calls, events

pytestmark = pytest.mark.anyio

FREE = Price(0.0, 0.0)


class Talk(FunctionProvider):
    """A model that answers and summarises. `work`: the requests without those for a summary; `summaries`: these."""

    def __init__(self, think: Callable[[Request], Awaitable[Reply | str]] | None = None, *, info: ModelInfo | None = None) -> None:
        super().__init__(self._either, info=info or ModelInfo(price=FREE))
        self._think = think
        self.work: list[Request] = []
        self.summaries: list[Request] = []

    async def _either(self, request: Request) -> Reply | str:
        if request.system == INSTRUCTIONS:
            self.summaries.append(request)
            return f"summary {len(self.summaries)}"
        self.work.append(request)
        return await self._think(request) if self._think is not None else f"answer {len(self.work)}"


def encoded(request: Request) -> list[bytes]:
    return [msgspec.json.encode(message) for message in request.messages]


def first_text(request: Request) -> str:
    first = request.messages[0]
    assert isinstance(first, UserMessage)
    return first.text


async def spoken(home: Path, provider: FunctionProvider, count: int, *, start: int = 0, size: int = 0, **options: Any) -> list[Any]:
    """The compactions of a session after so many turns, as one process has them."""
    async with agent(home, provider=provider, **options) as a:
        for n in range(start, start + count):
            await a.ask(f"message {n} {'x' * size}".strip(), session="s")
        return [e.body for e in await a._home.store.read("s", kinds=("compaction",))]


def setting(home: Path, text: str) -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text(text)


@pytest.mark.invariant("context.prefix")
async def test_between_two_cuts_every_request_begins_with_the_one_before_byte_for_byte(home: Path) -> None:
    provider = Talk()
    done = await spoken(home, provider, 70)
    moved = [at for at, (one, two) in enumerate(pairwise(provider.work), 1) if encoded(two)[: len(one.messages)] != encoded(one)]
    assert len(moved) == len(done) == len(provider.summaries)
    assert len(moved) <= 70 / 9, "by a block, never by one"
    assert {first_text(request).splitlines()[0] for request in provider.work[moved[0] :]} == {HEAD}
    assert len({request.system + repr(request.tools) for request in provider.work}) == 1


async def test_the_older_half_of_twenty_turns_is_summarised_when_there_are_more(home: Path) -> None:
    provider = Talk()
    (done,) = await spoken(home, provider, 25)
    texts = [message.text for message in provider.work[-1].messages if isinstance(message, UserMessage)]
    assert texts == [f"{HEAD}\nsummary 1", *(f"message {n}" for n in range(11, 25))]
    assert (done.reason, done.messages, done.model, done.summary) == ("turns", 22, "given:model", texts[0])
    (asked,) = provider.summaries
    assert "Person: message 0\nAgent: answer 1" in first_text(asked)
    assert "message 10" in first_text(asked)
    assert "message 11" not in first_text(asked)
    assert asked.tools == ()


async def test_the_middle_of_a_turn_is_summarised_where_all_messages_are_limited(home: Path) -> None:
    steps = 26

    async def think(request: Request) -> Reply | str:
        done = len(provider.work)
        return calls(call("echo", f"a{done}", text=f"step {done}"), call("echo", f"b{done}", text="too")) if done <= steps else "finished"

    setting(home, "agent: {max_conversation_messages: 50}")
    provider = Talk(think)
    async with agent(home, provider=provider) as a:
        seen = await events(a, "the task", session="s", max_iterations=steps + 5)
    assert seen.one("turn.finished").text == "finished"
    first, second = seen.of("compaction")
    assert {first.reason, second.reason} == {"messages"}
    lengths = [len(request.messages) for request in provider.work]
    assert max(lengths) <= 50
    last = provider.work[-1].messages
    assert [m.text for m in last[:2] if isinstance(m, UserMessage)] == [f"{HEAD}\nsummary 2", "the task"]
    for request in provider.work:
        called = [one.id for message in request.messages if isinstance(message, AssistantMessage) for one in message.tool_calls]
        assert called == [message.call_id for message in request.messages if isinstance(message, ToolMessage)]
    assert f"Earlier summary: {HEAD}\nsummary 1" in first_text(provider.summaries[1])


async def test_over_fifty_messages_the_oldest_twenty_are_summarised_and_steps_do_not_count(home: Path) -> None:
    async def think(request: Request) -> Reply | str:
        done = len(provider.work)
        return calls(call("echo", f"c{done}", text=f"step {done}")) if done <= 40 else "answer"

    setting(home, "memory: {max_short_term_turns: 100}")
    provider = Talk(think)
    async with agent(home, provider=provider) as a:
        assert (await a.ask("long work", session="s", max_iterations=50)).text == "answer"
        assert provider.summaries == []
        for n in range(25):
            await a.ask(f"message {n}", session="s")
        (done,) = [e.body for e in await a._home.store.read("s", kinds=("compaction",))]
    assert done.reason == "messages"
    texts = [message.text for message in provider.work[-1].messages if isinstance(message, UserMessage)]
    assert texts == [f"{HEAD}\nsummary 1", *(f"message {n}" for n in range(9, 25))]


async def test_another_process_sends_the_same_bytes(home: Path) -> None:
    one = Talk()
    await spoken(home, one, 47)
    two = Talk()
    await spoken(home, two, 1, start=47)
    at_once = Talk()
    (home.parent / "other" / "work").mkdir(parents=True)
    await spoken(home.parent / "other" / "home", at_once, 48)
    assert encoded(two.work[0]) == encoded(at_once.work[-1])


async def test_the_originals_stay_on_record(home: Path) -> None:
    provider = Talk()
    await spoken(home, provider, 25)
    async with agent(home, provider=provider) as a:
        kept = [e.body.text for e in await a._home.store.read("s", kinds=("turn.started",))]
        shown = await a.do("sessions.show", session="s")
    assert kept == [f"message {n}" for n in range(25)]
    assert "compaction" in {event["type"] for event in shown["events"]}


@pytest.mark.parametrize(
    ("settings", "size", "reason"),
    [
        ("", 9_000, "conversation"),
        ("context: {conversation: 0}\nmemory: {compaction: {tokens: 9000}}", 9_000, "request"),
        ("agent: {max_conversation_messages: 8}", 0, "messages"),
        ("memory: {max_short_term_turns: 4}", 0, "turns"),
        ("memory: {compaction: {entries: 9, summarise: 4}}", 0, "messages"),
    ],
)
async def test_each_limit_of_the_settings_is_kept(home: Path, settings: str, size: int, reason: str) -> None:
    setting(home, settings)
    provider = Talk()
    done = await spoken(home, provider, 12, size=size)
    assert {one.reason for one in done} == {reason}
    sizes = [sum(len(m.text) for m in request.messages if not isinstance(m, ToolMessage)) for request in provider.work]
    if size:
        assert max(sizes) <= 40_000 + size + 2_000
    else:
        assert max(len(request.messages) for request in provider.work) <= 10


async def test_a_small_window_is_never_filled(home: Path) -> None:
    setting(home, "context: {conversation: 0, tool_results: 0, response: 1000}")
    provider = Talk(info=ModelInfo(context=20_000, price=FREE))
    done = await spoken(home, provider, 14, size=8_000)
    assert {one.reason for one in done} == {"window"}
    assert all(sum(len(m.text) for m in r.messages if not isinstance(m, ToolMessage)) < 4 * 18_000 for r in provider.work)


async def test_a_request_that_the_service_refuses_as_too_long_is_halved_and_sent_again(home: Path) -> None:
    def size(request: Request) -> int:
        return sum(len(message.text) for message in request.messages if not isinstance(message, ToolMessage))

    async def think(request: Request) -> Reply | str:
        if size(request) > 6_000:
            return Reply(failure=Failure("LLMContextLengthError", "too long"))
        return "short enough"

    provider = Talk(think)
    async with agent(home, provider=provider) as a:
        for _ in range(12):
            reply = await a.ask("y" * 900, session="s")
            assert (reply.status, reply.text) == ("done", "short enough")
        assert any(e.body.reason == "window" for e in await a._home.store.read("s", kinds=("compaction",)))
        failed = await a.ask("z" * 9_000, session="new")
        assert failed.error is not None
        assert failed.error.kind == "LLMContextLengthError", "nothing can leave: the error is told"


async def test_older_results_are_shortened_the_last_three_are_whole_and_read_result_gives_all_of_one(home: Path) -> None:
    @tool(risk="LOW", effect="pure")
    async def long(number: int) -> str:
        "Say much."
        return f"{number}" * 6_000

    async def think(request: Request) -> Reply | str:
        done = len(provider.work)
        if done <= 8:
            return calls(call("long", f"c{done}", number=done))
        return calls(call("read_result", "again", call_id="c1")) if done == 9 else "ok"

    provider = Talk(think)
    async with agent(home, provider=provider, tools=[long]) as a:
        seen = await events(a, session="s", max_iterations=20)
    assert {one.reason for one in seen.of("compaction")} == {"tool_results"}
    results = [m for m in provider.work[-1].messages if isinstance(m, ToolMessage)]
    assert [m.content for m in results[-4:-1]] == ["6" * 6_000, "7" * 6_000, "8" * 6_000]
    assert results[0].content == f'{"1" * 300}\n[OUTPUT SHORTENED: Showing 300 of 6,000 characters from long; for all of it: read_result with call_id="c1"]'
    assert results[-1].content.startswith("1" * 6_000)
    assert provider.summaries == []
    moved = sum(encoded(two)[: len(one.messages)] != encoded(one) for one, two in pairwise(provider.work))
    assert moved == len(seen.of("compaction"))


async def test_without_a_language_model_the_summary_is_an_extract_that_says_so(home: Path) -> None:
    provider = Talk(info=ModelInfo(price=FREE, language=False))
    (done,) = await spoken(home, provider, 21)
    assert done.model == ""
    assert done.summary.startswith(f"{EXTRACT_HEAD}\nPerson: message 0\nAgent: answer 1\n")
    assert "as no language model is there to write it" in done.text
    assert provider.summaries == []


@pytest.mark.parametrize("how", ["failure", "raises", "silent"])
async def test_a_model_that_fails_to_summarise_leaves_an_extract_and_the_turn_goes_on(home: Path, how: str) -> None:
    class Failing(Talk):
        async def _either(self, request: Request) -> Reply | str:
            if request.system != INSTRUCTIONS:
                return await super()._either(request)
            if how == "raises":
                raise RuntimeError("broken")
            return Reply(failure=Failure("LLMUnavailableError", "it is down")) if how == "failure" else ""

    provider = Failing()
    (done,) = await spoken(home, provider, 21)
    assert len(provider.work) == 21
    assert done.summary.startswith(EXTRACT_HEAD)
    assert {"failure": "it is down", "raises": "RuntimeError", "silent": "it wrote nothing"}[how] in done.text


async def test_what_a_summary_costs_is_counted(home: Path) -> None:
    class Paid(Talk):
        async def _either(self, request: Request) -> Reply | str:
            reply = await super()._either(request)
            return Reply(str(reply), usage=Usage(input=100, output=10, usd=0.5 if request.system == INSTRUCTIONS else 0.001))

    provider = Paid(info=ModelInfo(price=Price(1.0, 1.0)))
    async with agent(home, provider=provider) as a:
        for n in range(21):
            reply = await a.ask(f"message {n}", session="s")
        cost = await a.do("cost", session="s")
    assert reply.usage.usd == pytest.approx(0.501)
    assert cost["total"]["usd"] == pytest.approx(0.521)
    assert cost["total"]["calls"] == 22


async def test_a_process_reads_a_long_session_from_its_last_compaction(home: Path) -> None:
    await spoken(home, Talk(), 90)
    read: list[int] = []
    async with agent(home, provider=Talk()) as a:
        store = a._home.store
        inner = store.read

        async def counted(session: str, **options: Any) -> Any:
            found = await inner(session, **options)
            read.append(len(found))
            return found

        store.read = counted  # type: ignore[method-assign]
        await a.ask("one more", session="s")
        total = len(await inner("s"))
    assert sum(read) < total / 3


async def test_a_session_is_compacted_when_it_is_asked_for_with_a_preview_before(home: Path) -> None:
    provider = Talk()
    async with agent(home, provider=provider) as a:
        for n in range(4):
            await a.ask(f"message {n}", session="s")
        shown = await a.do("sessions.compact", session="s", preview=True)
        assert (shown["messages"], shown["tokens_after"], provider.summaries) == (6, None, [])
        assert shown["leaving"][:2] == ["Person: message 0", "Agent: answer 1"]
        assert await a._home.store.read("s", kinds=("compaction",)) == []
        done = await a.do("sessions.compact", session="s")
        assert (done["messages"], done["model"], done["summary"]) == (6, "given:model", f"{HEAD}\nsummary 1")
        await a.ask("message 4", session="s")
    texts = [message.text for message in provider.work[-1].messages if not isinstance(message, ToolMessage)]
    assert texts == [f"{HEAD}\nsummary 1", "message 3", "answer 4", "message 4"]
    async with agent(home, provider=provider) as a:
        await a.ask("message 5", session="s")
        again = await a.do("sessions.compact", session="s")
    assert again["messages"] == 4
    assert f"Earlier summary: {HEAD}\nsummary 1" in first_text(provider.summaries[-1])


async def test_what_cannot_be_compacted_is_left_as_it_is_and_said(home: Path) -> None:
    async with agent(home, provider=Talk()) as a:
        await a.ask("message 0", session="s")
        assert (await a.do("sessions.compact", session="s"))["messages"] == 0
        with pytest.raises(SessionNotFound):
            await a.do("sessions.compact", session="none")
        lease = await a._home.store.acquire("session:s")
        with pytest.raises(SessionBusy, match="nothing was changed"):
            await a.do("sessions.compact", session="s")
        assert lease is not None
        await a._home.store.release(lease)


async def test_a_turn_that_waits_for_a_person_is_not_compacted_under_it(home: Path) -> None:
    async def think(request: Request) -> Reply | str:
        return calls(call("terminal", command="rm x")) if len(provider.work) == 2 else "ok"

    provider = Talk(think)
    async with agent(home, provider=provider, approvals="park") as a:
        await a.ask("message 0", session="s")
        parked = await a.ask("message 1", session="s")
        assert parked.status == "needs_approval"
        with pytest.raises(UsageError, match="has not ended; nothing was changed"):
            await a.do("sessions.compact", session="s")


@pytest.mark.invariant("flow.labels-join")
async def test_a_summary_has_the_labels_of_what_it_stands_for_in_every_later_process(home: Path) -> None:
    @tool(risk="LOW", effect="pure", source="external")
    async def page() -> str:
        "A page."
        return "from outside"

    async def think(request: Request) -> Reply | str:
        return calls(call("page")) if len(provider.work) == 1 else "ok"

    provider = Talk(think)
    await spoken(home, provider, 22, tools=[page])
    async with agent(home, provider=provider, tools=[page]) as a:
        await a.ask("one more", session="s")
        (summary,) = await a._home.store.read("s", kinds=("compaction",))
        newest = (await a._home.store.read("s"))[-1]
        _, read = await read_history(a._home.store, "s", 23)
    assert "external:tool/page" in summary.header.labels
    assert "external:tool/page" in newest.header.labels
    assert not any(e.body.type == "tool.finished" for e in read), "what was read is not in what is read now"
    assert Conversation.of(read).links.private_read


async def test_the_history_is_the_same_from_where_it_is_read_as_from_the_beginning(home: Path) -> None:
    async def think(request: Request) -> Reply | str:
        last = request.messages[-1]
        if len(provider.work) in range(30, 42):
            return calls(call("echo", f"d{len(provider.work)}", text=f"work {len(provider.work)}"))
        asked = isinstance(last, UserMessage) and last.text.endswith(("3", "7"))
        return calls(call("echo", f"c{len(provider.work)}a", text="a" * 900), call("echo", f"c{len(provider.work)}b", text="b")) if asked else "ok"

    provider = Talk(think)
    setting(home, "agent: {max_conversation_messages: 24}\ncontext: {tool_results: 100}")
    async with agent(home, provider=provider) as a:
        for n in range(40):
            await a.ask(f"message {n}", session="s", max_iterations=50)
            _, some = await read_history(a._home.store, "s", n + 1)
            whole = await a._home.store.read("s", kinds=KINDS)
            assert Conversation.of(some).messages() == Conversation.of(whole).messages()
        reasons = {e.body.reason for e in await a._home.store.read("s", kinds=("compaction",))}
    assert reasons == {"messages", "tool_results"}


@pytest.mark.parametrize(("size", "told"), [(2_000, True), (10, False)])
async def test_a_cache_that_is_lost_is_told_with_its_cause(home: Path, size: int, told: bool) -> None:
    async def think(request: Request) -> Reply:
        return Reply("ok", usage=Usage(input=size, output=1, usd=0.0))

    async with agent(home, provider=Talk(think)) as a:
        await a.ask("message 0", session="s")
        same = await events(a, session="s")
        (home.parent / "work" / "AGENTS.md").write_text("Answer in verse.")
        changed = await events(a, session="s")
        again = await events(a, session="s")
    said = "nothing of this session's last request is in the model's cache: the system prompt changed (AGENTS.md or settings)"
    assert [one.text for one in changed.of("status")] == ([said] if told else [])
    assert same.of("status") == again.of("status") == []


async def test_where_a_summary_would_gain_nothing_none_is_asked_for_again_and_again(home: Path) -> None:
    """The task alone is longer than the limit: what is left to summarise is little, and not worth a model call at each step."""

    async def think(request: Request) -> Reply | str:
        done = len(provider.work)
        return calls(call("echo", f"c{done}", text=f"step {done}")) if done < 12 else "ok"

    setting(home, "memory: {compaction: {tokens: 9000}}")
    provider = Talk(think)
    async with agent(home, provider=provider) as a:
        reply = await a.ask("x" * 60_000, session="s", max_iterations=20)
    assert (reply.status, len(provider.work), provider.summaries) == ("done", 12, [])
