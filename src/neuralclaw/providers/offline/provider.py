"""The grammar as a `Provider`: it proposes calls and, once their results stand in the request, answers with them."""

from collections.abc import Sequence

from ...types.messages import ChatMessage, Failure, Reply, Request, ToolCall, ToolMessage, Usage, UserMessage
from ..computed import ComputedProvider
from .grammar import HELP, NotUnderstood, Step, asks_for_help, greets, parse

FREE = Usage(usd=0.0)
ONE_BY_ONE = 7
"""So many steps are proposed one a reply, each after the one before it succeeded; what follows comes in one reply, within the turn's ten."""


class OfflineProvider(ComputedProvider):
    """Deterministic, without network and without a language model; model name `grammar`."""

    def reply(self, request: Request) -> Reply:
        return answer(request)


def answer(request: Request) -> Reply:
    """The reply to a request: the same one every time."""
    text, results = last_request(request.messages)
    if asks_for_help(text):
        return Reply(text=HELP, model="grammar", usage=FREE)
    if greets(text):
        return Reply(text='Hello. I am the offline provider, no language model; "help" shows what I understand.', model="grammar", usage=FREE)
    try:
        steps = parse(text)
    except NotUnderstood as error:
        return not_understood(str(error))
    return next_reply(steps, results, {tool.name for tool in request.tools})


def last_request(messages: Sequence[ChatMessage]) -> tuple[str, list[ToolMessage]]:
    """What the person said last, and the results that came after it."""
    results: list[ToolMessage] = []
    for message in reversed(messages):
        if isinstance(message, UserMessage):
            return message.text, results[::-1]
        if isinstance(message, ToolMessage):
            results.append(message)
    return "", []


def next_reply(steps: Sequence[Step], results: Sequence[ToolMessage], tools: set[str]) -> Reply:
    """Propose the next step, or answer when all are done, one has failed, or its tool is not there."""
    done = [result.content for result in results]
    left = steps[len(results) :]
    if left and results and failed(results[-1]):
        return said([*done, f"Not run after that: {'; '.join(step.said for step in left)}."])
    if not left:
        return said(done)
    if left[0].tool not in tools:
        return said([*done, f"{left[0].said!r} needs the tool {left[0].tool}, which does not stand in this version yet. help shows what works."])
    now = left[:1] if len(results) < ONE_BY_ONE else [step for step in left if step.tool in tools]
    calls = tuple(ToolCall(f"call_{len(results) + place}", step.tool, step.arguments) for place, step in enumerate(now, 1))
    return Reply(tool_calls=calls, stop="tools", model="grammar", usage=FREE)


def failed(result: ToolMessage) -> bool:
    return result.content.startswith(("ERROR: ", "Exit code: ", "may have happened"))


def said(parts: Sequence[str]) -> Reply:
    return Reply(text="\n".join(part.removesuffix("\n") for part in parts), model="grammar", usage=FREE)


def not_understood(part: str) -> Reply:
    shown = part if len(part) <= 80 else part[:79] + "…"
    text = f'offline: not understood: {shown!r}. This is no language model; "help" shows the requests it knows'
    return Reply(stop="error", failure=Failure("LLMError", text, hint="neuralclaw run help"), model="grammar", usage=FREE)
