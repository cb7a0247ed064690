"""When a model is out, the next of the chain goes on: seen by the person, counted once, within the same limits."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from neuralclaw import Agent
from neuralclaw.errors import ConfigError
from neuralclaw.providers.fallback import OUT_SECONDS, FallbackProvider
from neuralclaw.testing import EventCapture, FakeClock, FunctionProvider, Reply
from neuralclaw.types import messages as m

from .loopback import LoopbackServer, Response, loopback
from .streams import USAGE, call, chunk

pytestmark = pytest.mark.anyio

OUT = ["LLMUnavailableError", "LLMTimeoutError", "LLMRateLimitError", "LLMAuthError", "LLMModelError"]
KEPT = ["LLMContextLengthError", "LLMError", "PermissionDeniedError"]


def model(reply: Any, **info: Any) -> FunctionProvider:
    async def answer(request: m.Request) -> Any:
        return reply() if callable(reply) else reply

    return FunctionProvider(answer, info=m.ModelInfo(**info))


def broken(kind: str = "LLMUnavailableError", **more: Any) -> Reply:
    return Reply(failure=m.Failure(kind, f"{kind} it is"), usage=m.Usage(), **more)


def chain(*providers: FunctionProvider, clock: FakeClock | None = None) -> FallbackProvider:
    return FallbackProvider([(provider, f"m{i}", f"p{i}:m{i}") for i, provider in enumerate(providers)], clock or FakeClock())


async def ask(provider: FallbackProvider) -> tuple[list[m.ModelEvent], m.ModelReply]:
    async with provider.stream(m.Request(model="m0", messages=(m.UserMessage("hi"),))) as events:
        seen = [event async for event in events]
    last = seen.pop()
    assert isinstance(last, m.Finished)
    return seen, last.reply


@pytest.mark.parametrize("kind", OUT)
async def test_the_next_model_answers_under_its_own_name(kind: str) -> None:
    first, second = model(broken(kind)), model("Hello.")
    seen, reply = await ask(chain(first, second))
    assert seen[0] == m.Retrying(1, 0, f"{kind} it is; continuing with p1:m1", "p1:m1", False)
    assert (reply.text, reply.by, reply.failure) == ("Hello.", "p1:m1", None)
    assert [request.model for request in first.requests + second.requests] == ["m0", "m1"]


@pytest.mark.parametrize("kind", KEPT)
async def test_what_would_fail_with_any_model_ends_there(kind: str) -> None:
    second = model("Hello.")
    seen, reply = await ask(chain(model(broken(kind)), second))
    assert (seen, second.requests) == ([], [])
    assert reply.failure is not None
    assert reply.failure.kind == kind


async def test_what_a_model_said_before_it_broke_off_is_void_and_its_tokens_count() -> None:
    class Cut(FunctionProvider):
        async def _events(self, request: m.Request) -> AsyncGenerator[m.ModelEvent]:
            yield m.TextPart("Hal")
            yield m.Finished(m.ModelReply(text="Hal", stop="error", usage=m.Usage(10, 0, 2, 0.5), failure=m.Failure("LLMUnavailableError", "cut")))

    seen, reply = await ask(chain(Cut(lambda _: None), model(Reply("Hello.", usage=m.Usage(5, 0, 1, 0.25)))))  # type: ignore[arg-type, return-value]
    assert [event.discard for event in seen if isinstance(event, m.Retrying)] == [True]
    assert (reply.text, reply.usage) == ("Hello.", m.Usage(15, 0, 3, 0.75))


async def test_a_model_that_was_out_is_asked_last_for_a_minute() -> None:
    clock, works = FakeClock(), False
    first = model(lambda: "Back." if works else broken())
    second = model("Second.")
    provider = chain(first, second, clock=clock)
    await ask(provider)
    works = True
    clock.advance(OUT_SECONDS - 1)
    seen, reply = await ask(provider)
    assert (reply.text, len(first.requests)) == ("Second.", 1)
    assert isinstance(seen[0], m.Notice)
    clock.advance(1)
    seen, reply = await ask(provider)
    assert (reply.text, reply.by) == ("Back.", "p0:m0")
    assert not any(isinstance(event, m.Notice | m.Retrying) for event in seen)


async def test_a_model_that_cannot_see_a_picture_hands_it_on_and_is_not_out() -> None:
    blind = Reply(failure=m.Failure("LLMModelError", "it cannot see pictures", lacks="images"))
    first, second = model(blind), model("A cat.")
    provider = chain(first, second)
    assert (await ask(provider))[1].text == "A cat."
    await ask(provider)
    assert len(first.requests) == 2


async def test_all_out_names_all_and_is_of_the_first_ones_kind() -> None:
    _, reply = await ask(chain(model(broken("LLMAuthError")), model(broken("LLMTimeoutError"))))
    assert reply.failure is not None
    assert reply.failure.kind == "LLMAuthError"
    assert reply.failure.text == "every model of the chain is unavailable: p0:m0: LLMAuthError it is; p1:m1: LLMTimeoutError it is"


async def test_the_window_is_the_smallest_and_the_rest_the_first_ones() -> None:
    info = chain(model("", context=9000, images=True), model("", context=800)).info("m0")
    assert (info.context, info.images) == (800, True)


async def test_a_cancelled_stream_asks_nobody_else() -> None:
    asked = anyio.Event()

    async def slow(_: m.Request) -> str:
        asked.set()
        await anyio.sleep_forever()
        return ""

    second = model("Hello.")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask, chain(FunctionProvider(slow), second))
        await asked.wait()
        tasks.cancel_scope.cancel()
    assert second.requests == []


def stream(*chunks: dict[str, Any]) -> Response:
    return Response([b"data: " + msgspec.json.encode(each) + b"\n\n" for each in (*chunks, chunk(None, usage=USAGE))] + [b"data: [DONE]\n\n"])


def says(text: str) -> Response:
    return stream(chunk({"content": text}), chunk({}, "stop"))


def calls(expression: str) -> Response:
    return stream(chunk(call(0, f'{{"expression": "{expression}"}}', id="c", name="calculate")), chunk({}, "tool_calls"))


def settings(first: LoopbackServer, second: LoopbackServer, **more: Any) -> dict[str, Any]:
    price = {"m": {"price": {"input": 1, "output": 10}}}
    services = {name: {"base_url": server.url, "models": price} for name, server in (("one", first), ("two", second))}
    return {"llm.providers": services, "llm.fallback": ["one:m", "two:m"], "llm.retry": {"attempts": 2, "min_seconds": 0, "max_seconds": 0}, **more}


async def run(home: Path, model: str, configured: dict[str, Any], **options: Any) -> EventCapture:
    async with Agent.open(home=home, workspace=home.parent, model=model, environ={}, settings=configured) as agent, agent.turn("go", **options) as events:
        return await EventCapture().drain(events)


async def test_a_turn_goes_on_with_the_next_service_and_counts_every_call_once(home: Path) -> None:
    """The first service answers once, then is out: retried there, then the second goes on, within the same limit and sum."""
    async with loopback() as first, loopback() as second:
        first.says(calls("1+1"), Response([b"down"], status=503, kind="text/plain"))
        second.says(calls("2+2"), calls("3+3"), says("Done."))
        seen = await run(home, "one:m", settings(first, second))
        asked = (len(first.seen), len(second.seen))
    end = seen.one("turn.finished").body
    assert (end.status, end.text, end.model, end.models) == ("done", "Done.", "two:m", ("one:m", "two:m"))  # type: ignore[union-attr]
    messages = [event.body for event in seen.of("message")]
    assert [message.model for message in messages] == ["one:m", "two:m", "two:m", "two:m"]  # type: ignore[union-attr]
    assert {message.served for message in messages} == {"m-2026"}  # type: ignore[union-attr]
    assert asked == (3, 3)
    assert [event.body.model for event in seen.of("retry")] == ["one:m", "two:m"]  # type: ignore[union-attr]
    assert end.usage == m.Usage(4000, 2400, 80, 4 * (1000 + 200) / 1_000_000)  # type: ignore[union-attr]


async def test_a_service_that_refuses_tools_gets_them_in_the_prompt_and_the_turn_is_done(home: Path) -> None:
    refusal = Response([b'{"error": {"message": "m does not support tools"}}'], status=400, kind="application/json")
    async with loopback() as first, loopback() as second:
        first.says(refusal, says('{"tool": "calculate", "arguments": {"expression": "6*7"}}'), says("It is 42."))
        seen = await run(home, "one:m", settings(first, second))
        asked = [b'"tools"' in request.body for request in first.seen]
    assert asked == [True, False, False]
    assert second.seen == []
    assert seen.one("tool.finished").body.ok  # type: ignore[union-attr]
    assert seen.one("turn.finished").body.text == "It is 42."  # type: ignore[union-attr]


async def test_the_limit_of_model_calls_holds_over_the_chain(home: Path) -> None:
    async with loopback() as first, loopback() as second:
        first.says(Response([b"down"], status=503, kind="text/plain"))
        second.says(*(calls(f"1+{number}") for number in range(9)))
        seen = await run(home, "one:m", settings(first, second), max_iterations=3)
        assert len(second.seen) == 3
    end = seen.one("turn.finished").body
    assert (end.status, end.usage.input) == ("limit", 3000)  # type: ignore[union-attr]


async def test_a_chain_that_names_what_is_not_there_is_refused_before_the_turn(home: Path) -> None:
    async with loopback() as first, loopback() as second:
        for entry, words in (("nobody:m", "unknown provider 'nobody'"), ("groq:m", "GROQ_API_KEY is not set")):
            with pytest.raises(ConfigError, match=r"llm\.fallback.*" + words):
                await run(home, "one:m", settings(first, second, **{"llm.fallback": [entry]}))
        assert first.seen == []
