"""What every provider that speaks to a real service must do. A wire format joins by subclassing `ProviderConformance` with its `Wire`.

class TestChatCompletions(ProviderConformance):
    wire = ChatWire()
"""

from contextlib import AsyncExitStack
from typing import Any, Protocol

import anyio
import msgspec
import pytest

from neuralclaw.ports import Net, Provider
from neuralclaw.providers.retry import RetryPolicy, RetryProvider
from neuralclaw.testing import FakeClock
from neuralclaw.types.messages import (
    AssistantMessage,
    Finished,
    Image,
    ModelEvent,
    ModelReply,
    ReasoningPart,
    Request,
    Retrying,
    TextPart,
    ToolCall,
    ToolDef,
    ToolMessage,
    Usage,
    UserMessage,
)

from ..waiting import until
from .loopback import LoopbackServer, Response, loopback, net

KEY = "sk-the-secret-key-0123456789"
REQUEST = Request(
    model="m",
    system="Be brief.",
    messages=(
        UserMessage("What is the weather?"),
        AssistantMessage("", (ToolCall("call_1", "weather", {"z": 1, "city": "Köln"}), ToolCall("call_2", "weather", {}, "not JSON"))),
        ToolMessage("call_1", "weather", "rain"),
        ToolMessage("call_2", "weather", "ERROR: not JSON"),
    ),
    tools=(ToolDef("weather", "The weather.", {"type": "object", "properties": {"city": {"type": "string"}}}),),
    temperature=0.5,
    max_tokens=100,
    timeout=5.0,
)


class Wire(Protocol):
    """One service's form of everything that the suite needs. A call is (id, name, the text of its arguments).

    `kind` is the media type of its streams; `spare`: how many of a stream's last events an orderly end may lack; `cached`: how many of
    a prompt's 1,000 tokens it says were cached.
    """

    kind: str
    spare: int
    cached: int

    def provider(self, net: Net, server: LoopbackServer) -> Provider:
        """A provider of the service `mine` with the key `KEY` (named MINE_API_KEY) and a price of 1, 0.1 cached, 2 for the model `m`."""
        ...

    def text(self, *pieces: str, reasoning: str = "") -> list[bytes]:
        """The events of a whole stream with 1,000 prompt tokens, `cached` of them cached, and 20 made."""
        ...

    def calls(self, *calls: tuple[str, str, str]) -> list[bytes]: ...
    def variants(self, data: bytes) -> list[bytes]:
        """The same stream in other spellings of its framing."""
        ...

    def malformed(self) -> list[bytes]:
        """Pieces that are no event of this format."""
        ...

    def empty(self) -> list[bytes]:
        """Whole bodies that say nothing."""
        ...

    def limit(self, body: dict[str, Any]) -> int:
        """What a request's body says of the longest answer, in tokens."""
        ...

    def authorized(self, headers: dict[str, str]) -> bool: ...
    def refusal(self, why: str) -> Response:
        """The answer to `key`, `model`, `context`, `rate`, `quota`, `overloaded` and `request` (some other 400)."""
        ...

    def error_event(self) -> bytes:
        """An error in mid-stream."""
        ...


class EventStreamWire:
    """The part of a `Wire` that all formats over server-sent events share."""

    kind = "text/event-stream"
    spare = 0
    cached = 600

    def variants(self, data: bytes) -> list[bytes]:
        commented = b"\xef\xbb\xbf: hello\n\n" + data.replace(b"\n\n", b"\n\n: still there\n\n")
        return [data.replace(b"\n", b"\r\n"), data.replace(b"\n", b"\r"), commented]

    def malformed(self) -> list[bytes]:
        deep = b'data: {"usage": ' + b"[" * 100_000 + b"\n\n"
        return [b"data: {not json\n\n", b"data: \xff\xfe\n\n", b"data: 17\n\n", b'data: {"choices": 5, "type": 5}\n\n', deep]

    def empty(self) -> list[bytes]:
        return [b"", b"data: [DONE]\n\n", b": nothing but comments\n\n"]

    def limit(self, body: dict[str, Any]) -> int:
        return int(body["max_tokens"])


class Bench:
    """A server, a provider on it, and what it said."""

    def __init__(self, wire: Wire, server: LoopbackServer, net: Net) -> None:
        self.server = server
        server.kind = wire.kind
        self.provider = wire.provider(net, server)
        self.clock = FakeClock()

    def retrying(self, **policy: Any) -> Provider:
        return RetryProvider(self.provider, self.clock, RetryPolicy(**policy), lambda: 0.0)

    async def events(self, request: Request = REQUEST, provider: Provider | None = None) -> list[ModelEvent]:
        async with (provider or self.provider).stream(request) as events:
            return [event async for event in events]

    async def reply(self, request: Request = REQUEST) -> ModelReply:
        """The finished reply, which must be an answer."""
        reply = await self.finished(request)
        assert reply.failure is None
        return reply

    async def finished(self, request: Request = REQUEST) -> ModelReply:
        """The finished reply, answer or failure; its text and reasoning must be what the parts said."""
        events = await self.events(request)
        last = events[-1]
        assert isinstance(last, Finished)
        assert not any(isinstance(event, Finished) for event in events[:-1])
        assert "".join(event.text for event in events if isinstance(event, TextPart)) == last.reply.text
        assert "".join(event.text for event in events if isinstance(event, ReasoningPart)) == last.reply.reasoning
        assert (last.reply.failure is not None) == (last.reply.stop == "error")
        return last.reply

    async def fails(self, kind: str, *, retryable: bool) -> ModelReply:
        """The reply is a failure of that kind, has no calls and does not show the key."""
        reply = await self.finished()
        assert reply.failure is not None, reply
        assert (reply.failure.kind, reply.failure.retryable) == (kind, retryable), reply.failure
        assert reply.tool_calls == ()
        assert KEY not in msgspec.json.encode(reply).decode() + repr(reply)
        return reply


class ProviderConformance:
    """The suite. Streams are real HTTP on loopback; nothing waits for a clock."""

    pytestmark = pytest.mark.anyio
    wire: Wire

    @pytest.fixture
    async def bench(self) -> Any:
        async with AsyncExitStack() as stack:
            yield Bench(self.wire, await stack.enter_async_context(loopback()), await stack.enter_async_context(net()))

    def _begun(self) -> list[bytes]:
        """A stream up to its first text."""
        events = self.wire.text("one ", "two")
        return events[: next(number for number, event in enumerate(events) if b"one" in event) + 1]

    async def test_text_arrives_in_parts_and_counts_tokens_and_money(self, bench: Bench) -> None:
        bench.server.says(Response(self.wire.text("Grüße, ", "🌍", " Ende")))
        reply = await bench.reply()
        assert (reply.text, reply.stop, reply.tool_calls, reply.failure) == ("Grüße, 🌍 Ende", "end", (), None)
        assert (reply.usage.input, reply.usage.cached, reply.usage.output) == (1000, self.wire.cached, 20)
        assert reply.usage.usd == pytest.approx(((1000 - self.wire.cached) * 1 + self.wire.cached * 0.1 + 20 * 2) / 1e6)

    async def test_a_part_is_given_out_before_the_stream_has_ended(self, bench: Bench) -> None:
        pieces = self.wire.text("early", "late")
        stop = next(number for number, piece in enumerate(pieces) if b"early" in piece) + 1
        bench.server.says(Response(pieces[:stop], then="hang"))
        async with bench.provider.stream(REQUEST) as events:
            assert await anext(events) == TextPart("early")

    async def test_reasoning_is_kept_apart(self, bench: Bench) -> None:
        bench.server.says(Response(self.wire.text("42", reasoning="Hm, easy.")))
        reply = await bench.reply()
        assert (reply.text, reply.reasoning) == ("42", "Hm, easy.")

    async def test_several_calls_come_in_their_order(self, bench: Bench) -> None:
        bench.server.says(Response(self.wire.calls(("call_a", "weather", '{"city": "Köln 🌧", "days": [1, 2]}'), ("call_b", "time", "{}"))))
        reply = await bench.reply()
        assert reply.stop == "tools"
        assert reply.tool_calls == (ToolCall("call_a", "weather", {"city": "Köln 🌧", "days": [1, 2]}), ToolCall("call_b", "time", {}))

    @pytest.mark.parametrize("arguments", ['{"city": "K', "[1, 2]", '"text"', "null", "city=Köln secret-words", '{"a": 1} {"b": 2}', "[" * 5000])
    async def test_arguments_that_are_no_object_become_an_error_that_echoes_nothing(self, bench: Bench, arguments: str) -> None:
        bench.server.says(Response(self.wire.calls(("call_a", "weather", arguments))))
        (call,) = (await bench.reply()).tool_calls
        assert (call.id, call.name, call.arguments) == ("call_a", "weather", {})
        assert call.error
        assert arguments not in call.error
        assert "secret-words" not in call.error

    async def test_every_place_to_cut_the_bytes_gives_the_same_reply(self, bench: Bench) -> None:
        data = b"".join(self.wire.text("é🌍", "x", reasoning="Hm"))
        bench.server.says(Response([data]))
        whole = await bench.reply()
        assert whole.text == "é🌍x"
        for place in range(1, len(data)):
            bench.server.says(Response([data[:place], data[place:]]))
            assert await bench.reply() == whole, data[:place][-40:]

    async def test_one_byte_at_a_time_gives_the_same_reply(self, bench: Bench) -> None:
        for events in (self.wire.text("Grüße, ", "🌍"), self.wire.calls(("call_a", "weather", '{"city": "Köln 🌧"}'), ("call_b", "time", "{}"))):
            data = b"".join(events)
            bench.server.says(Response([data]), Response([data[place : place + 1] for place in range(len(data))]))
            assert await bench.reply() == await bench.reply()

    async def test_other_line_ends_and_comments_change_nothing(self, bench: Bench) -> None:
        for variant in self.wire.variants(b"".join(self.wire.text("a", "b"))):
            bench.server.says(Response([variant]), Response([variant[place : place + 1] for place in range(len(variant))]))
            for _ in range(2):
                assert (await bench.reply()).text == "ab"

    @pytest.mark.parametrize("then", ["cut", "end"])
    async def test_a_stream_that_breaks_off_is_never_an_answer(self, bench: Bench, then: str) -> None:
        for events in (self.wire.text("one ", "two ", "three"), self.wire.calls(("call_a", "weather", '{"city": "Köln"}'))):
            for length in range(len(events) - (self.wire.spare if then == "end" else 0)):
                bench.server.says(Response(events[:length], then=then))
                await bench.fails("LLMUnavailableError", retryable=True)
            half = events[0][: len(events[0]) // 2]
            bench.server.says(Response([half], then=then))
            await bench.fails("LLMUnavailableError", retryable=True)

    async def test_a_malformed_piece_is_a_failure_not_an_answer(self, bench: Bench) -> None:
        events = self.wire.text("one ", "two")
        for piece in self.wire.malformed():
            for pieces in ([events[0], piece, *events[1:]], [b"".join([*self._begun(), piece, *events[1:]])]):
                bench.server.says(Response(pieces))
                await bench.fails("LLMUnavailableError", retryable=True)

    async def test_status_200_that_says_nothing_is_a_failure(self, bench: Bench) -> None:
        for body in self.wire.empty():
            bench.server.says(Response([body] if body else []))
            await bench.fails("LLMUnavailableError", retryable=True)

    @pytest.mark.parametrize(
        ("body", "kind"),
        [
            (b'{"error": {"message": "busy"}}', "application/json"),
            (b'{"choices": [{"message": {"content": "not streamed"}}]}', "application/json"),
            (b"<html><body>Log in first</body></html>", "text/html; charset=utf-8"),
            (b"<html><body>Log in first</body></html>", None),
        ],
    )
    async def test_status_200_without_a_stream_is_a_failure(self, bench: Bench, body: bytes, kind: str | None) -> None:
        bench.server.says(Response([body], kind=kind))
        await bench.fails("LLMUnavailableError", retryable=True)

    async def test_an_error_in_mid_stream_voids_the_answer(self, bench: Bench) -> None:
        events = self.wire.text("one ", "two")
        bench.server.says(Response([*events[:2], self.wire.error_event(), *events[2:]]))
        await bench.fails("LLMUnavailableError", retryable=True)

    async def test_a_refused_key_is_named_and_not_shown(self, bench: Bench) -> None:
        bench.server.says(self.wire.refusal("key"))
        reply = await bench.fails("LLMAuthError", retryable=False)
        assert reply.failure is not None
        assert "MINE_API_KEY" in reply.failure.text
        assert reply.usage == Usage(usd=0.0), "nothing was made, so it cost nothing"
        assert self.wire.authorized(bench.server.seen[0].headers)

    async def test_an_unknown_model_is_named_with_its_service(self, bench: Bench) -> None:
        bench.server.says(self.wire.refusal("model"))
        reply = await bench.fails("LLMModelError", retryable=False)
        assert reply.failure is not None
        assert " m " in reply.failure.text
        assert "mine" in reply.failure.text

    @pytest.mark.parametrize(
        ("why", "kind", "retryable"),
        [
            ("context", "LLMContextLengthError", False),
            ("rate", "LLMRateLimitError", True),
            ("quota", "LLMRateLimitError", False),
            ("overloaded", "LLMUnavailableError", True),
            ("request", "LLMError", False),
        ],
    )
    async def test_each_refusal_has_its_own_error(self, bench: Bench, why: str, kind: str, retryable: bool) -> None:
        bench.server.says(self.wire.refusal(why))
        await bench.fails(kind, retryable=retryable)

    @pytest.mark.parametrize(
        ("status", "kind"),
        [(500, "LLMUnavailableError"), (502, "LLMUnavailableError"), (503, "LLMUnavailableError"), (529, "LLMUnavailableError"), (408, "LLMTimeoutError")],
    )
    async def test_failures_of_the_server_can_be_tried_again(self, bench: Bench, status: int, kind: str) -> None:
        bench.server.says(Response([b"<html>bad gateway</html>"], status=status, kind="text/html"))
        await bench.fails(kind, retryable=True)

    @pytest.mark.parametrize("started", [False, True])
    async def test_silence_ends_with_a_timeout(self, bench: Bench, started: bool) -> None:
        bench.server.says(Response(self._begun() if started else [], then="hang"))
        with anyio.fail_after(5):
            events = await bench.events(msgspec.structs.replace(REQUEST, timeout=0.2))
        last = events[-1]
        assert isinstance(last, Finished)
        assert last.reply.failure is not None
        assert (last.reply.failure.kind, last.reply.failure.retryable) == ("LLMTimeoutError", True)

    async def test_nobody_listening_is_unavailable(self, bench: Bench) -> None:
        async with loopback() as gone:
            port = gone.port
        async with net() as connections:
            bench.server.port = port
            bench.provider = self.wire.provider(connections, bench.server)
            await bench.fails("LLMUnavailableError", retryable=True)

    async def test_leaving_in_mid_stream_closes_the_connection(self, bench: Bench) -> None:
        bench.server.says(Response(self._begun(), then="hang"))
        async with bench.provider.stream(REQUEST) as events:
            async for _ in events:
                break
        await until(lambda: bench.server.lost == 1)

    async def test_cancelling_in_mid_stream_closes_the_connection(self, bench: Bench) -> None:
        bench.server.says(Response(self._begun(), then="hang"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bench.events)
            await until(lambda: bench.server.seen)
            tasks.cancel_scope.cancel()
        await until(lambda: bench.server.lost == 1)

    @pytest.mark.parametrize("then", ["end", "late"])
    async def test_one_connection_serves_one_turn_after_the_other(self, bench: Bench, then: str) -> None:
        bench.server.says(Response(self.wire.text("ok"), then=then))
        for _ in range(3):
            assert (await bench.reply()).text == "ok"
        assert bench.server.connections == 1

    async def test_a_server_that_does_not_close_a_finished_stream_is_not_waited_for(self, bench: Bench) -> None:
        bench.server.says(Response(self.wire.text("ok"), then="hang"))
        with anyio.fail_after(2):
            assert (await bench.reply()).text == "ok"

    async def test_many_streams_at_once_do_not_mix(self, bench: Bench) -> None:
        bench.server.answer = lambda seen: Response(self.wire.text(*(f"{self.wire.limit(seen.json)}," for _ in range(5))))
        replies: dict[int, str] = {}

        async def one(number: int) -> None:
            replies[number] = (await bench.reply(msgspec.structs.replace(REQUEST, max_tokens=number))).text

        async with anyio.create_task_group() as tasks:
            for number in range(1, 51):
                tasks.start_soon(one, number)
        assert replies == {number: f"{number}," * 5 for number in range(1, 51)}

    async def test_the_same_request_gives_the_same_bytes(self, bench: Bench) -> None:
        bench.server.says(Response(self.wire.text("ok")))
        other = msgspec.structs.replace(REQUEST, messages=(*REQUEST.messages[:1], _reordered(), *REQUEST.messages[2:]))
        for request in (REQUEST, REQUEST, other):
            await bench.reply(request)
        first, *rest = (seen.body for seen in bench.server.seen)
        assert rest == [first, first]
        assert "Köln".encode() in first

    async def test_the_key_is_in_no_text_that_a_program_could_print(self, bench: Bench) -> None:
        assert KEY not in repr(bench.provider) + str(bench.provider)

    async def test_a_failed_attempt_is_tried_again_with_the_same_bytes(self, bench: Bench) -> None:
        events = self.wire.text("one ", "two")
        half = next(number for number, event in enumerate(events) if b"one" in event) + 1
        bench.server.says(self.wire.refusal("overloaded"), Response(events[:half], then="end"), Response(events))
        got = await bench.events(provider=bench.retrying())
        retries = [event for event in got if isinstance(event, Retrying)]
        assert [(event.attempt, event.wait_ms, event.discard) for event in retries] == [(1, 2000, False), (2, 4000, True)]
        assert all(event.model == "m" or event.discard for event in retries)
        assert [type(event) for event in got if not isinstance(event, TextPart)] == [Retrying, Retrying, Finished]
        last = got[-1]
        assert isinstance(last, Finished)
        assert (last.reply.text, last.reply.failure) == ("one two", None)
        assert bench.clock.slept == [2.0, 4.0]
        assert len({seen.body for seen in bench.server.seen}) == 1
        assert len(bench.server.seen) == 3

    async def test_retry_after_is_honoured_where_it_is_longer(self, bench: Bench) -> None:
        limited = self.wire.refusal("rate")
        for header, value in (("Retry-After", "7"), ("retry-after-ms", "7000"), ("Retry-After", "1")):
            limited.headers.pop("Retry-After", None)
            limited.headers[header] = value
            bench.server.says(limited, Response(self.wire.text("ok")))
            await bench.events(provider=bench.retrying())
            del limited.headers[header]
        assert bench.clock.slept == [7.0, 7.0, 2.0]

    async def test_after_the_last_attempt_the_failure_says_how_often(self, bench: Bench) -> None:
        bench.server.says(self.wire.refusal("overloaded"))
        got = await bench.events(provider=bench.retrying(attempts=3))
        last = got[-1]
        assert isinstance(last, Finished)
        assert last.reply.failure is not None
        assert "3 times" in last.reply.failure.text
        assert len(bench.server.seen) == 3

    @pytest.mark.parametrize("why", ["key", "model", "context", "quota", "request"])
    async def test_what_trying_again_cannot_mend_is_not_tried_again(self, bench: Bench, why: str) -> None:
        bench.server.says(self.wire.refusal(why))
        got = await bench.events(provider=bench.retrying())
        assert [type(event) for event in got] == [Finished]
        assert len(bench.server.seen) == 1
        assert bench.clock.slept == []

    async def test_pictures_in_a_result_are_named_for_a_model_that_cannot_see(self, bench: Bench) -> None:
        bench.server.says(Response(self.wire.text("ok")))
        picture = Image("image/png", b"\x89PNG", "cat.png")
        messages = [msgspec.structs.replace(m, images=(picture,)) if isinstance(m, ToolMessage) else m for m in REQUEST.messages]
        assert (await bench.reply(msgspec.structs.replace(REQUEST, messages=tuple(messages)))).text == "ok"
        assert b"this model takes no pictures: cat.png" in bench.server.seen[0].body
        assert b"iVBORw" not in bench.server.seen[0].body

    async def test_the_estimate_of_tokens_grows_with_the_request(self, bench: Bench) -> None:
        short = bench.provider.count(REQUEST)
        long = bench.provider.count(msgspec.structs.replace(REQUEST, messages=(*REQUEST.messages, UserMessage("word " * 4000))))
        assert 4000 <= long - short <= 6000


def _reordered() -> AssistantMessage:
    """The assistant's message of `REQUEST` as a journal may give it back: equal, its arguments in another order."""
    message = REQUEST.messages[1]
    assert isinstance(message, AssistantMessage)
    first, *rest = message.tool_calls
    turned = msgspec.structs.replace(first, arguments=dict(reversed(first.arguments.items())))
    return msgspec.structs.replace(message, tool_calls=(turned, *rest))
