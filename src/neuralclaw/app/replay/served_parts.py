"""What a replayed turn works with: replies, results and answers from the record."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any

import anyio

from ...agent.circuit_breakers import RunningTime
from ...agent.compaction import HEAD, INSTRUCTIONS
from ...errors import BudgetError, LLMContextLengthError, ToolValidationError
from ...ports import Toolset
from ...types.entries import Entry
from ...types.events import (
    ApprovalRequested,
    ApprovalResolved,
    Compaction,
    DecisionMade,
    ErrorEvent,
    LimitHit,
    Message,
    RetryEvent,
    ToolFinished,
    ToolStarted,
    TurnFinished,
)
from ...types.grants import Grant
from ...types.messages import Failure, Finished, ModelEvent, ModelInfo, ModelReply, Request, Retrying, TextPart, ToolDef
from ...types.options import ApprovalsMode
from ...types.questions import Answer, Question
from ...types.risk import Decision, Effect, Risk, Tier
from ...types.signals import Denied, Parked
from ...types.tools import ToolContext, ToolResult, ToolSpec
from ...types.verdicts import Verdict
from .recording import Recording, ReplayStopped, of_loop

Compare = Callable[[Request, Entry, Message], Awaitable[None]]
"""Asks another model the same; raises `ReplayStopped` where it replies otherwise."""


class ReplayTime(RunningTime):
    """The time of a replayed turn, which is up where it was up."""

    def expire(self) -> None:
        """From now on it is up."""
        self._scope.cancel()


class ServedProvider:
    """Replies as they are on record. `compare` is called with each request and its recorded reply."""

    def __init__(self, recording: Recording, info: ModelInfo, compare: Compare | None) -> None:
        self._recording, self._info, self._compare = recording, info, compare
        self.time: ReplayTime | None = None

    def info(self, model: str) -> ModelInfo:
        """That of the recorded model, as far as it is known today."""
        return self._info

    def count(self, request: Request) -> int:
        """Nothing is asked, and nothing counted."""
        return 0

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        return aclosing(self._events(request))

    async def _events(self, request: Request) -> AsyncGenerator[ModelEvent]:
        recording = self._recording
        while (entry := recording.next_of_loop()) is not None and isinstance(entry.body, RetryEvent):
            yield Retrying(entry.body.attempt, entry.body.wait_ms, entry.body.reason, entry.body.model, entry.body.discard)
        body = entry.body if entry is not None else None
        if isinstance(body, Compaction):
            yield Finished(_summary(body, asked=request.system == INSTRUCTIONS))
        elif isinstance(body, Message) and entry is not None:
            if body.stop == "cancelled":
                yield TextPart(body.text)
                await self._stop(entry)
            if self._compare is not None:
                await self._compare(request, entry, body)
            yield Finished(self._reply(entry, body))
        elif isinstance(body, ErrorEvent):
            yield Finished(ModelReply(stop="error", failure=_failure(body)))
        elif isinstance(body, LimitHit) and body.kind == "budget":
            yield Finished(ModelReply(stop="error", failure=Failure(BudgetError.__name__, body.text)))
        else:
            await self._stop(entry)

    async def _stop(self, entry: Entry | None) -> None:
        await stopped_here(self._recording, entry, self.time)

    def _reply(self, entry: Entry, body: Message) -> ModelReply:
        after = next((one.body for one in self._recording.coming() if one.entry == entry.entry + 1), None)
        failure = _failure(after, answered=True) if body.stop == "error" and isinstance(after, ErrorEvent) else None
        return ModelReply(
            text=body.text,
            tool_calls=body.tool_calls,
            stop=body.stop,
            model=body.served,
            by=body.model,
            reasoning=body.reasoning,
            state=body.state,
            usage=body.usage,
            failure=failure,
        )


def _summary(body: Compaction, *, asked: bool) -> ModelReply:
    """The reply that a summary was; where none was asked for, the service had refused the request as too long."""
    if not asked:
        return ModelReply(stop="error", failure=Failure(LLMContextLengthError.__name__, "the request was too long"))
    if not body.model:
        return ModelReply(stop="error", usage=body.usage, failure=Failure("LLMError", "the model wrote no summary"))
    return ModelReply(text=body.summary.removeprefix(f"{HEAD}\n"), by=body.model, usage=body.usage)


def _failure(body: ErrorEvent, *, answered: bool = False) -> Failure:
    return Failure(body.kind, body.text, body.hint, answered=answered, failed_calls=body.failed_calls)


async def stopped_here(recording: Recording, entry: Entry | None, time: ReplayTime | None) -> None:
    """What ran has no end on record of its own: a person stopped it, its time was up, the process ended, or the record does. Does not return."""
    cancel = recording.cancelled_before(entry)
    if cancel is not None:
        recording.move_behind(cancel)
        recording.life.cancel()
    elif recording.times_out() and time is not None:
        time.expire()
    else:
        recording.stop(interrupted=entry is not None)
    await anyio.sleep_forever()


class ServedTools:
    """The tools that the turn began with. Results are those on record; no tool is called. `today`: the tools there are now, for their arguments."""

    def __init__(self, recording: Recording, definitions: Sequence[ToolDef], today: Toolset) -> None:
        self._recording, self._today = recording, today
        self._told = {one.name: one for one in definitions}
        self.time: ReplayTime | None = None

    def tools(self) -> Sequence[ToolSpec]:
        """Those that the turn began with."""
        return [spec for name in self._told if (spec := self.find(name)) is not None]

    def find(self, name: str) -> ToolSpec | None:
        """The tool of today where there is one; else as much of it as the record knows."""
        spec = self._today.find(name)
        if spec is not None and spec.name in self._told:
            return spec
        told = self._told.get(name)
        if told is None:
            return None
        return ToolSpec(name=told.name, description=told.description, input_schema=told.parameters, risk=Risk.LOW, effect=Effect.PURE)

    def prepare(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """See `ports.Toolset`; of a tool that is not there any more the arguments are those on record. What did not fit then does not now."""
        entry = next((one for one in self._recording.coming() if of_loop(one.body) and not isinstance(one.body, ApprovalResolved)), None)
        if entry is not None and isinstance(entry.body, ToolFinished) and entry.body.name == name and entry.body.error and self._unfit(entry.body):
            raise ToolValidationError(entry.body.error)
        if self._today.find(name) is not None:
            return self._today.prepare(name, arguments)
        begun = (one.body.arguments for one in self._recording.coming() if isinstance(one.body, ToolStarted) and one.body.name == name)
        return dict(next((one for one in begun if arguments.items() <= one.items()), arguments))

    def _unfit(self, body: ToolFinished) -> bool:
        """Whether a call ended before it was decided about."""
        return body.refused is None and body.call_id not in self._recording.started and not body.metadata.get("stopped")

    async def call(self, grant: Grant, ctx: ToolContext) -> ToolResult:
        """The result on record, at its turn among those of the calls that ran beside it."""
        recording = self._recording
        while True:
            entry = recording.next_of_loop()
            if entry is not None and isinstance(entry.body, ToolFinished) and not entry.body.metadata.get("stopped"):
                if entry.body.call_id == ctx.call_id:
                    return _result(entry.body)
                await recording.moved()
                continue
            await stopped_here(recording, entry, self.time)

    async def probe(self, grant: Grant, ctx: ToolContext) -> ToolResult | bool | None:
        """What the recorded look found: the result, that it did not happen, or that it is not known."""
        entry = self._recording.next_of_loop()
        body = entry.body if entry is not None else None
        if isinstance(body, ToolFinished):
            return _result(body)
        return None if isinstance(body, ApprovalRequested) else False


def _result(body: ToolFinished) -> ToolResult:
    return ToolResult(
        content=body.content, ok=body.ok, error=body.error, parts=body.parts, changes=body.changes, child=body.child, usage=body.usage, metadata=body.metadata
    )


class ServedAnswers:
    """Answers of persons as they are on record."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    async def ask(self, session: str, question: Question, mode: ApprovalsMode) -> Answer:
        """See `ports.Asker`. Parks where the recorded run parked."""
        recording, ends = self._recording, self._recording.next_of_loop()
        for entry in recording.coming():
            if ends is not None and entry.entry > ends.entry:
                break
            body = entry.body
            if isinstance(body, ApprovalResolved) and body.approval_id == question.approval_id and body.by != "cancelled":
                recording.move_behind(entry)
                return Answer(approval_id=body.approval_id, decision=body.decision, by=body.by, value=body.value, text=body.text)
        if recording.cancelled_before(ends) is None and ends is not None and isinstance(ends.body, TurnFinished) and ends.body.waiting:
            raise Parked(question)
        await stopped_here(recording, ends, None)
        raise ReplayStopped("the replay has ended")


async def next_about(recording: Recording, time: ReplayTime, call_id: str) -> ApprovalRequested | DecisionMade | None:
    """What comes next on record about a call: a question, or a decision; None where it ended without one.

    Raises `Denied` where something else comes first: the call waited for those before it. Does not return where the turn was stopped then.
    """
    for entry in filter(lambda one: of_loop(one.body), recording.coming()):
        body = entry.body
        if isinstance(body, TurnFinished) and body.waiting:
            return recording.question_of(call_id)
        if isinstance(body, ToolFinished) and body.metadata.get("stopped"):
            await stopped_here(recording, entry, time)
        if getattr(body, "call_id", None) == call_id:
            return body if isinstance(body, ApprovalRequested | DecisionMade) else None
        unrun = isinstance(body, ToolFinished) and body.call_id not in recording.started
        if not unrun and not isinstance(body, DecisionMade | ToolStarted | ApprovalResolved):
            break
    raise Denied(Verdict(decision=Decision.FORBID, risk=Risk.LOW, tier=Tier.READ))
