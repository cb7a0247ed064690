"""The provider itself: what was asked and what came of it so far decide the next reply. It keeps nothing between two calls."""

from collections.abc import AsyncGenerator, Collection, Sequence

from ...types.messages import AssistantMessage, ChatMessage, Failure, ModelEvent, ModelReply, Notice, Request, ToolCall, ToolMessage, Usage, UserMessage
from ..computed_reply import ComputedProvider
from .grammar import Step, Unclear, groups, knows, missing, nearest, parse, said

MODEL = "grammar"
FREE = Usage(usd=0.0)
SET_UP = "neuralclaw init sets one up"
HELP = "neuralclaw run help shows what offline understands"
ATTACHED = "\n\n<stdin>\n"
"""Before what was piped in beside the task."""


class OfflineProvider(ComputedProvider):
    """Proposes one tool call after the other, as the sentence says, and answers with their results. Deterministic; costs nothing.

    It has no way to run anything itself. A sentence that is not understood, or whose tool is not available, is a failure, and so is a step that
    failed or was refused: its text is part of the answer, and the steps after it are left.
    """

    def reply(self, request: Request) -> ModelReply:
        return answer(request)

    async def _events(self, request: Request) -> AsyncGenerator[ModelEvent]:
        last = request.messages[-1] if request.messages else None
        if isinstance(last, UserMessage) and ATTACHED in last.text:
            yield Notice("offline reads the sentence alone, not what was piped in: it is no language model")
        async for event in super()._events(request):
            yield event


def answer(request: Request) -> ModelReply:
    """The reply to a request: the next calls, the answer, or what is not understood."""
    tools = {tool.name for tool in request.tools}
    sentences, outcomes = _turn(request.messages)
    texts: list[str] = []
    failures: list[Failure] = []
    taken = 0
    for place, sentence in enumerate(sentences):
        steps = parse(sentence)
        problem = _problem(steps, tools)
        if problem is not None and place == 0:
            return ModelReply(stop="error", model=MODEL, usage=FREE, failure=problem)
        if problem is not None or isinstance(steps, Unclear):
            failures += [problem] if problem else []
            continue
        walk = StepProgress(steps, outcomes[taken:], tools)
        taken += walk.taken
        texts += walk.texts
        failures += [walk.failure] if walk.failure else []
        if walk.next:
            calls = tuple(ToolCall(f"step-{taken + i}", step.tool, dict(step.arguments)) for i, step in enumerate(walk.next, 1))
            return ModelReply(tool_calls=calls, stop="tools", model=MODEL, usage=FREE)
    texts += [outcome.for_people for outcome in outcomes] if not sentences else []
    if failures:
        complete = all(failure.failed_calls for failure in failures)
        failed = tuple(call for failure in failures for call in failure.failed_calls) if complete else ()
        text = "; ".join(failure.text for failure in failures)
        whole = Failure(failures[0].kind, text, failures[0].hint, answered=True, failed_calls=failed)
        return ModelReply(text=_joined(texts), stop="error", model=MODEL, usage=FREE, failure=whole)
    return ModelReply(text=_joined(texts), model=MODEL, usage=FREE)


def _turn(messages: Sequence[ChatMessage]) -> tuple[list[str], list[ToolMessage]]:
    """The sentences of this turn, the task first, and the results since."""
    begin = next((i for i in range(len(messages) - 1, -1, -1) if isinstance(m := messages[i], UserMessage) and m.kind == "task"), 0)
    turn = messages[begin:]
    sentences = [m.text.partition(ATTACHED)[0] for m in turn if isinstance(m, UserMessage) and m.kind in ("task", "steering")]
    proposed = {call.id for m in turn if isinstance(m, AssistantMessage) for call in m.tool_calls}
    return sentences, [m for m in turn if isinstance(m, ToolMessage) and m.call_id in proposed]


class StepProgress:
    """How far the results reach into the steps: their texts, how many were taken, the steps to propose next, and the one that failed."""

    def __init__(self, steps: list[Step], outcomes: Sequence[ToolMessage], tools: Collection[str]) -> None:
        self.texts: list[str] = []
        self.taken = 0
        self.next: list[Step] = []
        self.failure: Failure | None = None
        results: dict[int, ToolMessage] = {}
        failed: list[Step] = []
        for group in groups(steps):
            if failed:
                break
            if self.taken + len(group) > len(outcomes):
                self.next = group
                return
            for step in group:
                results[id(step)] = outcomes[self.taken]
                failed += [step] if _failed(outcomes[self.taken]) else []
                self.taken += 1
        left = [step.words for step in steps if step.tool and id(step) not in results]
        for step in steps:
            if step.small_talk:
                self.texts.append(said(step, tools))
            elif id(step) in results:
                self.texts.append(results[id(step)].for_people)
        if failed:
            which = " and ".join(f"`{_short(step.words)}`" for step in failed)
            after = f", so what follows was not done: {_short('; '.join(left))}" if left else ""
            calls = tuple(results[id(step)].call_id for step in failed) if not left else ()  # what was left undone is told by no call
            self.failure = Failure("ToolExecutionError", f"offline: {which} failed{after}", failed_calls=calls)


def _failed(outcome: ToolMessage) -> bool:
    """Whether a step failed; where the message does not say, by how a failure reads (INTERFACE.md, Tools)."""
    return not outcome.ok if outcome.ok is not None else outcome.content.startswith(("ERROR:", "Exit code:"))


def _problem(steps: list[Step] | Unclear, tools: Collection[str]) -> Failure | None:
    if isinstance(steps, Unclear):
        if not steps.words:
            return Failure("LLMError", "offline: there is nothing to do", hint=HELP)
        shown = _short(steps.words)
        if shown.startswith("call "):
            return Failure("LLMError", f"offline: not understood: {shown}; the arguments of a call are one JSON object: call TOOL {{…}}", hint=HELP)
        near = nearest(shown)
        meant = " (put quotes around a name or text of several words)" if knows(shown) else f" (did you mean {near}?)" if near else ""
        return Failure("LLMError", f"offline: not understood: {shown}{meant}; that needs a language model", hint=f"{SET_UP}; {HELP}")
    lacking = missing(steps, tools)
    if lacking is None:
        return None
    if lacking.direct:
        return Failure("LLMError", f"offline: there is no tool {lacking.tool}, so nothing was done of: {lacking.words}", hint="neuralclaw tools list")
    return Failure("LLMError", f"offline: the tool {lacking.tool} is not among the tools of this turn, so nothing was done of: {lacking.words}", hint=HELP)


def _short(words: str) -> str:
    return words if len(words) <= 200 else f"{words[:200]}…"


def _joined(texts: Sequence[str]) -> str:
    """The texts one after the other, each on its own line; a blank line between them where one is longer than a line."""
    bare = [text.rstrip("\n") for text in texts]
    return ("\n\n" if any("\n" in text for text in bare) else "\n").join(bare)
