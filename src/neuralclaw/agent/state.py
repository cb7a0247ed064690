"""The state of a turn: the fold of its entries. Live code appends and folds; a resumed turn folds what is there."""

from collections.abc import Iterable

import msgspec

from ..types.actions import Answer, Answers
from ..types.entries import Entry
from ..types.events import (
    ApprovalRequested,
    ApprovalResolved,
    Cancel,
    DecisionMade,
    ErrorEvent,
    Inbound,
    LimitHit,
    Message,
    Nudge,
    Refusal,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from ..types.judging import Decision
from ..types.messages import ToolCall, Usage
from ..types.options import TurnOptions

REFUSERS = ("policy", "nobody")
"""Whose no is a refusal that a script learns of; a person's no is not."""


class CallState(msgspec.Struct):
    """One proposed call and what became of it so far."""

    call: ToolCall
    questions: list[ApprovalRequested]
    decision: DecisionMade | None = None
    started: ToolStarted | None = None
    finished: ToolFinished | None = None

    @property
    def key(self) -> tuple[str, bytes]:
        """What makes two calls the same call: name and arguments."""
        return self.call.name, msgspec.json.encode(self.call.arguments, order="deterministic")

    @property
    def failed(self) -> bool:
        """It ended in an error. What a policy or a person kept from running is no error."""
        return self.finished is not None and not self.finished.ok and not self.kept_back

    @property
    def kept_back(self) -> bool:
        return self.decision is not None and self.started is None


class Inbox:
    """Messages of a session that no turn has taken yet: not the one that started a turn, and not one the model has seen."""

    def __init__(self) -> None:
        self.waiting: list[tuple[int, Inbound]] = []

    def apply(self, number: int, body: object) -> None:
        if isinstance(body, Inbound):
            self.waiting.append((number, body))
        elif isinstance(body, TurnStarted):
            self.waiting = [w for w in self.waiting if w[0] != body.inbound]
        elif isinstance(body, Message):
            self.waiting = [w for w in self.waiting if w[0] > body.seen or w[1].queued]

    @property
    def steering(self) -> bool:
        """Whether a message waits that the model must see before the turn goes on."""
        return any(not inbound.queued for _, inbound in self.waiting)


class TurnState:
    """A turn as its entries tell it. `apply` takes entries of the session in order, from before `turn.started` on, each exactly once."""

    def __init__(self, number: int, after: "TurnState | None" = None) -> None:
        self.number = number
        self.last_entry: int = after.last_entry if after else 0
        self.inbox: Inbox = after.inbox if after else Inbox()
        self.resumed = False  # an earlier run has left it; set by who drives
        self.started: TurnStarted | None = None
        self.started_entry = 0
        self.messages: list[Message] = []
        self.calls: list[CallState] = []  # of the whole turn, in the order proposed
        self.open: list[CallState] = []  # without a result, of the last reply
        self.answers: dict[str, ApprovalResolved] = {}
        self.usage = Usage(usd=0.0)
        self.ran_ms = 0
        self.cancelled_by: str | None = None
        self.limit: LimitHit | None = None
        self.error: ErrorEvent | None = None
        self.nudged = False
        self.pending_nudge = False
        self.finished: TurnFinished | None = None
        self._by_id: dict[str, CallState] = {}

    @classmethod
    def fold(cls, number: int, entries: Iterable[Entry]) -> "TurnState":
        """The state after these entries of the session, which reach back to the turn's start at least."""
        state = cls(number)
        for entry in entries:
            state.apply(entry)
        return state

    def apply(self, entry: Entry) -> None:
        """Take one more entry of the session into the state. Entries of earlier turns only move `last_entry`."""
        if entry.entry <= self.last_entry:
            return
        self.last_entry = entry.entry
        body = entry.body
        self.inbox.apply(entry.entry, body)
        if isinstance(body, ApprovalResolved):
            self.answers[body.approval_id] = body
        elif entry.turn == self.number:
            self._apply_own(entry.entry, body)

    def _apply_own(self, number: int, body: object) -> None:
        if isinstance(body, TurnStarted):
            self.started, self.started_entry = body, number
        elif isinstance(body, Message):
            self._apply_message(body)
        elif isinstance(body, ApprovalRequested):
            self._call(body.call_id).questions.append(body)
        elif isinstance(body, DecisionMade):
            self._call(body.call_id).decision = body
        elif isinstance(body, ToolStarted):
            self._call(body.call_id).started = body
        elif isinstance(body, ToolFinished):
            self._call(body.call_id).finished = body
            self.open = [c for c in self.open if c.finished is None]
        elif isinstance(body, Nudge):
            self.nudged = self.pending_nudge = True
        elif isinstance(body, Cancel):
            self.cancelled_by = body.by
        elif isinstance(body, LimitHit):
            self.limit = body
        elif isinstance(body, ErrorEvent):
            self.error = None if body.recoverable else body
        elif isinstance(body, TurnFinished):
            self.finished = None if body.waiting else body
            self.ran_ms = max(self.ran_ms, body.duration_ms)

    def _apply_message(self, body: Message) -> None:
        self.messages.append(body)
        self.usage += body.usage
        self.ran_ms = max(self.ran_ms, body.ran_ms)
        self.pending_nudge = False
        self.open = [CallState(call=call, questions=[]) for call in body.tool_calls]
        self.calls.extend(self.open)
        self._by_id.update((c.call.id, c) for c in self.open)

    def _call(self, call_id: str) -> CallState:
        """The call of that id; one that stands alone where the reply that proposed it was erased."""
        return self._by_id.setdefault(call_id, CallState(call=ToolCall(call_id, ""), questions=[]))

    @property
    def options(self) -> TurnOptions:
        assert self.started is not None, "a turn's state is asked for its options before it began"
        return self.started.options

    @property
    def limit_text(self) -> str:
        return self.limit.text if self.limit else ""

    @property
    def answer(self) -> Message | None:
        """The last reply, when it proposed no call and nothing came after it that the model must still see."""
        if not self.messages or self.messages[-1].tool_calls or self.inbox.steering or self.pending_nudge:
            return None
        return self.messages[-1]

    @property
    def refused(self) -> tuple[Refusal, ...]:
        """What policy kept from running, or what would have asked and nobody was there."""
        return tuple(
            Refusal(call_id=c.call.id, name=d.name, decision=d.decision, reason="; ".join(d.reasons))
            for c in self.calls
            if c.started is None and (d := c.decision) is not None and d.by in REFUSERS and d.decision is not Decision.ALLOW
        )

    @property
    def errors_in_row(self) -> int:
        """Failed calls at the end of the row of finished ones."""
        count = 0
        for call in self.calls:
            if call.finished is not None:
                count = count + 1 if call.failed else 0
        return count

    def repeats_before(self, call: CallState) -> int:
        """How many calls directly before this one in the turn are the same call."""
        before = self.calls[: next(i for i, c in enumerate(self.calls) if c is call)]
        count, key = 0, call.key
        for other in reversed(before):
            if other.key != key:
                break
            count += 1
        return count

    def answers_for(self, call: CallState) -> Answers:
        """The yeses to this very call, by the hash of what was shown. What a no means is `agent.asking`'s to say."""
        by_hash = {}
        for question in call.questions:
            resolved = self.answers.get(question.approval_id)
            if resolved is not None and resolved.decision not in ("no", None):
                by_hash[question.hash] = Answer(approval_id=question.approval_id, decision=resolved.decision, by=resolved.by, value=resolved.value)
        return Answers(by_hash=by_hash)

    def open_question(self, call: CallState, action_hash: str) -> ApprovalRequested | None:
        """A question about this call as it stands now that nobody has answered yet."""
        return next((q for q in call.questions if q.hash == action_hash and q.approval_id not in self.answers), None)

    def open_questions(self) -> list[ApprovalRequested]:
        """Questions of the turn that nobody has answered yet."""
        return [q for c in self.calls for q in c.questions if q.approval_id not in self.answers]

    def done_so_far(self) -> str:
        """One line that names what the turn did, for the person who is told of a limit."""
        if not self.calls:
            return "nothing was run"
        words = []
        for call in self.calls:
            if call.finished is None or call.started is None:
                state = "not run"
            elif call.finished.metadata.get("stopped"):
                state = "stopped"
            else:
                state = "ok" if call.finished.ok else "failed"
            words.append(f"{call.call.name} ({state})")
        return ", ".join(words)
