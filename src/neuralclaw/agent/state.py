"""The state of a turn: the fold of its entries. Live code appends and folds; a resumed turn folds what is there."""

from collections import Counter
from collections.abc import Iterable
from itertools import dropwhile, takewhile

import msgspec

from ..types.codec import foreign
from ..types.entries import Entry
from ..types.events import (
    ApprovalRequested,
    ApprovalResolved,
    Cancel,
    Compaction,
    DecisionMade,
    ErrorEvent,
    HookRan,
    LimitHit,
    Message,
    Nudge,
    Refusal,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    Unreadable,
)
from ..types.messages import ToolCall, Usage
from ..types.options import TurnOptions
from ..types.questions import Answer, Answers
from ..types.risk import Decision
from .inbox import Inbox

REFUSERS = ("policy", "nobody")
"""Whose no is a refusal that a script learns of; a person's no is not."""


_NAMED = 4
"""Tools that are named in one line."""


class CallState(msgspec.Struct):
    """One proposed call and what became of it so far."""

    call: ToolCall
    questions: list[ApprovalRequested]
    reply: int = 0
    """Which reply of the turn proposed it; they count from 1."""
    decision: DecisionMade | None = None
    started: ToolStarted | None = None
    """Its latest beginning."""
    started_entry: int = 0
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

    @property
    def stopped(self) -> bool:
        """Not run, or stopped: what happened to it says nothing of the call."""
        return self.finished is not None and bool(self.finished.metadata.get("stopped"))


NOTHING_USED = Usage(usd=0.0)


class TurnState:
    """A turn as its entries tell it. `apply` takes entries of the session in order, from before `turn.started` on, each exactly once.

    `unreadable` is the first entry of the turn whose body was erased or cannot be read: what the turn did is then not known for sure, and nothing
    of it may run again. Entries of a capability's kind are not looked at: what the turn did stands in built-in kinds, whatever a capability notes.
    """

    def __init__(self, number: int, after: "TurnState | None" = None) -> None:
        self.number = number
        self.last_entry: int = after.last_entry if after else 0
        self.inbox: Inbox = after.inbox if after else Inbox()
        self.started: TurnStarted | None = None
        self.unreadable: Entry | None = None
        self.messages: list[Message] = []
        self.calls: list[CallState] = []  # of the whole turn, in the order proposed
        self.open: list[CallState] = []  # without a result, of the last reply
        self.questions: list[ApprovalRequested] = []
        self.answers: dict[str, ApprovalResolved] = {}
        self.usage = NOTHING_USED
        self.ran_ms = 0
        self.cancelled_by: str | None = None
        self.limit: LimitHit | None = None
        self.error: ErrorEvent | None = None
        self.hooks: dict[str, HookRan] = {}
        self.nudged = False
        self.pending_nudge = False
        self.finished: TurnFinished | None = None
        self.waiting: tuple[str, ...] = ()
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
        if isinstance(body, TurnStarted) and entry.turn == self.number:
            self.cancelled_by = self.inbox.withdrawn_by(body.inbound)
        self.inbox.apply(entry)
        if isinstance(body, ApprovalResolved):
            self.answers[body.approval_id] = body
        elif isinstance(body, Cancel):
            self._apply_cancel(entry.turn, body)
        elif isinstance(body, Compaction) and entry.turn == self.number:
            self.usage += body.usage
        if entry.turn == self.number:
            self._apply_own(entry)

    def _apply_cancel(self, turn: int, body: Cancel) -> None:
        """A cancel is for the turn of its entry while that runs, or for a message that waits; for a turn that has ended it comes too late."""
        if self.started is not None and body.message == self.started.inbound:
            self.cancelled_by = self.cancelled_by or body.by
        elif body.message is not None or self._too_early(turn):
            self.inbox.withdraw(body)
        elif turn == self.number and self.running:
            self.cancelled_by = body.by

    def means(self, cancel: Entry) -> bool:
        """Whether a cancel, folded or not, is for what is done now: for this turn while it runs, behind its end for the message that begins the next one."""
        body, oldest = cancel.body, None if self.running or not self.inbox else self.inbox.oldest
        assert isinstance(body, Cancel), "only a cancel stops a turn"
        if cancel.entry <= self.last_entry:
            return self.running and self.cancelled_by is not None
        if oldest is not None:
            return oldest.entry == body.message or (body.message is None and self._too_early(cancel.turn))
        named = self.started is not None and body.message == self.started.inbound
        return self.running and (named or (body.message is None and cancel.turn == self.number))

    def _too_early(self, turn: int) -> bool:
        """Whether what is said to that turn is said before it began."""
        return turn > self.number or (turn == self.number and self.started is None)

    def _apply_own(self, entry: Entry) -> None:
        body = entry.body
        if isinstance(body, TurnStarted):
            self.started = body
        elif isinstance(body, Message):
            self._apply_message(body)
        elif isinstance(body, ApprovalRequested):
            self.questions.append(body)
            if body.call_id is not None:
                self._call(body.call_id).questions.append(body)
        elif isinstance(body, DecisionMade):
            self._call(body.call_id).decision = body
        elif isinstance(body, ToolStarted):
            call = self._call(body.call_id)
            call.started, call.started_entry = body, entry.entry
        elif isinstance(body, ToolFinished):
            self._call(body.call_id).finished = body
            self.usage += body.usage or NOTHING_USED
            self.open = [c for c in self.open if c.finished is None]
        elif isinstance(body, Nudge):
            self.nudged = self.pending_nudge = True
        elif isinstance(body, HookRan):
            self.hooks[body.run_id] = body
        elif isinstance(body, LimitHit):
            self.limit = body
        elif isinstance(body, ErrorEvent):
            self.error = None if body.recoverable else body
        elif isinstance(body, TurnFinished):
            self.finished = None if body.waiting else body
            self.waiting = body.waiting
            self.ran_ms = max(self.ran_ms, body.duration_ms)
        elif (body is None or isinstance(body, Unreadable)) and self.unreadable is None and not foreign(entry.header.kind):
            self.unreadable = entry

    def _apply_message(self, body: Message) -> None:
        self.messages.append(body)
        self.usage += body.usage
        self.ran_ms = max(self.ran_ms, body.ran_ms)
        self.pending_nudge = False
        self.open = [CallState(call=call, questions=[], reply=len(self.messages)) for call in body.tool_calls]
        self.calls.extend(self.open)
        self._by_id.update((c.call.id, c) for c in self.open)

    def _call(self, call_id: str) -> CallState:
        """The call of that id; one that stands alone where the reply that proposed it was erased."""
        return self._by_id.setdefault(call_id, CallState(call=ToolCall(call_id, ""), questions=[]))

    @property
    def running(self) -> bool:
        """It has begun and has no final end."""
        return self.started is not None and self.finished is None

    @property
    def parked(self) -> bool:
        """Its last run ended with questions, and nothing has come in since that it could go on with: an answer or a cancel.

        A word to it alone changes nothing: the same question would be asked again, for ever.
        """
        waits = any(name not in self.answers for name in self.waiting)
        return waits and self.finished is None and self.cancelled_by is None

    @property
    def options(self) -> TurnOptions:
        assert self.started is not None, "a turn's state is asked for its options before it began"
        return self.started.options

    @property
    def models(self) -> tuple[str, ...]:
        """Who replied in this turn, each once, in order."""
        return tuple(dict.fromkeys(message.model for message in self.messages))

    @property
    def model(self) -> str:
        """Who gave the last reply; who was to be asked where none did."""
        return self.messages[-1].model if self.messages else self.started.model if self.started else ""

    @property
    def answer(self) -> Message | None:
        """The last reply, when it proposed no call and nothing came after it that the model must still see."""
        last = self.messages[-1] if self.messages else None
        if last is None or last.tool_calls or last.stop == "cancelled" or self.pending_nudge or self.inbox.steers(self.number):
            return None
        return last

    @property
    def refused(self) -> tuple[Refusal, ...]:
        """What policy kept from running, or what would have asked and nobody was there."""
        return tuple(
            Refusal(call_id=c.call.id, name=d.name, decision=d.decision, reason="; ".join(d.reasons))
            for c in self.calls
            if c.started is None and (d := c.decision) is not None and d.by in REFUSERS and d.decision is not Decision.ALLOW
        )

    @property
    def error_row(self) -> list[CallState]:
        """The failed calls at the end of those that have a result of their own, the newest first. A call before them that has none yet ends the row."""
        told = dropwhile(lambda call: call.finished is None or call.stopped, reversed(self.calls))
        return list(takewhile(lambda call: call.failed, told))

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
        """The yeses to this very call, by the hash of what was shown. What a no means is `agent.call_questions`' to say."""
        by_hash = {}
        for question in call.questions:
            resolved = self.answers.get(question.approval_id)
            if resolved is not None and resolved.decision not in ("no", None) and resolved.decision in question.choices:
                by_hash[question.hash] = Answer(approval_id=question.approval_id, decision=resolved.decision, by=resolved.by, value=resolved.value)
        return Answers(by_hash=by_hash)

    def open_questions(self) -> list[ApprovalRequested]:
        """Questions of the turn that nobody has answered yet."""
        return [q for q in self.questions if q.approval_id not in self.answers]

    def done_so_far(self) -> str:
        """What the turn did, in one line, for the person who is told that it was stopped: how often which tools ran, and how many calls failed."""
        ran = Counter(call.call.name for call in self.calls if call.started is not None)
        states = Counter(_state(call) for call in self.calls)
        if not ran:
            return "nothing was run"
        names = [name if count == 1 else f"{name} {count} times" for name, count in ran.most_common(_NAMED)]
        if others := sum(ran.values()) - sum(count for _, count in ran.most_common(_NAMED)):
            names.append(f"{others} other{'s' if others > 1 else ''}")
        total = sum(ran.values())
        text = f"{total} tool call{'s' if total > 1 else ''} ({', '.join(names)})"
        return text + "".join(f", {states[state]} {state}" for state in ("failed", "stopped", "not run") if states[state])


def _state(call: CallState) -> str:
    if call.finished is None or call.started is None:
        return "not run"
    if call.stopped:
        return "stopped"
    return "ok" if call.finished.ok else "failed"
