"""An acting model and a reading model, told apart by what they are asked, over a whole agent."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from neuralclaw import Agent, FunctionProvider, Reply, Request
from neuralclaw.testing import EventCapture
from neuralclaw.types.messages import ModelInfo, Price, ToolMessage, Usage

Answer = Callable[[Request], str | Reply]
USED = Usage(100, 0, 10, 0.01)
INFO = ModelInfo(price=Price(1.0, 1.0))


def is_reading(request: Request) -> bool:
    """Whether a reading session asks."""
    return request.answer_schema is not None


def provider(acting: Callable[[list[ToolMessage]], str | Reply], reading: Answer, *, info: ModelInfo = INFO) -> FunctionProvider:
    """`acting` sees the results so far; `reading` the request of a reading session."""

    async def think(request: Request) -> Reply | str:
        if is_reading(request):
            reply = reading(request)
            return Reply(reply, usage=USED) if isinstance(reply, str) else reply
        return acting([message for message in request.messages if isinstance(message, ToolMessage)])

    return FunctionProvider(think, info=info)


def in_turn(*replies: str | Reply | dict[str, Any]) -> Callable[[list[ToolMessage]], str | Reply]:
    """An acting model that makes one call after the other; a dict is a call."""

    def acting(results: list[ToolMessage]) -> str | Reply:
        reply = replies[min(len(results), len(replies) - 1)]
        return Reply("", tool_calls=[reply]) if isinstance(reply, dict) else reply

    return acting


def reads(schema: Any, **source: Any) -> dict[str, Any]:
    """A call of `read_as`."""
    return {"name": "read_as", "arguments": {"schema": schema, "question": "What does it say?", **source}}


def content_of(request: Request) -> str:
    """The content that a reading session is given."""
    return request.messages[0].text.partition("\n\nCONTENT:\n")[2]  # type: ignore[union-attr]


def opened(tmp_path: Path, provider: FunctionProvider | None, **options: Any) -> Any:
    """The agent, with the workspace `work`."""
    (tmp_path / "work").mkdir(exist_ok=True)
    options.setdefault("environ", {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path)})
    return Agent.open(home=tmp_path / "home", workspace=tmp_path / "work", provider=provider, **options)


async def run(agent: Agent, text: str = "do it", **options: Any) -> EventCapture:
    """The events of a turn of the session `s`."""
    async with agent.turn(text, session="s", **options) as events:
        return await EventCapture().drain(events)
