"""Actions on record, each rebuilt as it was proposed: what `policy simulate` and `policy suggest` judge anew.

Sessions are read one after the other, and each entry once: the cost is linear in what is looked at, and memory holds one session.
"""

import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime

import msgspec

from ... import lookups
from ...agent.context import KINDS, Conversation
from ...errors import UsageError
from ...ports import Clock, Store
from ...types.entries import Entry
from ...types.events import ApprovalRequested, ApprovalResolved, DecisionMade, Message, ToolStarted, TurnStarted, Unreadable
from ...types.labels import NONE, join
from ...types.messages import ToolCall
from ...types.options import TurnOptions
from ..explain import CallCircumstances, circumstances

CIRCUMSTANCES = (*KINDS, "tool.started")
READ = (*CIRCUMSTANCES, "decision", "approval.requested", "approval.resolved")
"""The kinds of entries that say what was proposed, in which circumstances, and what was decided."""
NAMED = 20
"""Entries that are named where they are not as they were written; of more their number is told."""
UNDECIDED = "no decision about it is on record: it fitted no tool, its turn was stopped, or the entry cannot be read"
UNKNOWN_TURN = "the entry that began its turn was erased or cannot be read, so that workspace and trust are not known"
_SECONDS = {"m": 60, "h": 3_600, "d": 86_400}


class ActionSelection(msgspec.Struct, frozen=True, kw_only=True):
    """Which actions are looked at: those of a session, those since a moment (epoch microseconds), the newest `limit` of these."""

    session: str | None = None
    since: int = 0
    limit: int | None = None


class RecordedAction(msgspec.Struct, frozen=True, kw_only=True):
    """A call that was decided about, what it was decided in, and how. `question` and `answer`: the last one that a person was asked about it.

    `around` holds what the model had been told by then; the next action changes it, so that an action is judged before the next one is taken.
    """

    session: str
    turn: int
    time: int
    call: ToolCall
    around: CallCircumstances
    options: TurnOptions
    decision: DecisionMade
    question: ApprovalRequested | None = None
    answer: ApprovalResolved | None = None

    @property
    def name(self) -> str:
        """`SESSION/CALL_ID`, as `policy explain` takes it."""
        return f"{self.session}/{self.call.id}"


def moment_of(text: str | None, clock: Clock) -> int:
    """`7d`, `12h`, `30m` ago, or a date or time (UTC where it names no zone), in epoch microseconds; 0 for None. Raises `UsageError`."""
    if text is None:
        return 0
    if match := re.fullmatch(r"([0-9]{1,6})([mhd])", text.strip()):
        return int((clock.now() - int(match[1]) * _SECONDS[match[2]]) * 1_000_000)
    try:
        moment = datetime.fromisoformat(text.strip())
        return int((moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp() * 1_000_000)
    except (ValueError, OverflowError):
        said = f"since cannot be {text!r:.80}: expected a date such as 2026-03-01, a time such as 2026-03-01T07:30:00, or 30m, 12h or 7d for that long ago"
        raise UsageError(said) from None


class RecordedActions:
    """The actions that are chosen, oldest first within a session. After the iteration its counts tell what was looked at and left out."""

    def __init__(self, store: Store, chosen: ActionSelection) -> None:
        self._store, self._chosen = store, chosen
        self.sessions = 0
        """Sessions with an action that was looked at."""
        self.left_out: Counter[str] = Counter()
        """Why calls are no actions that can be judged, and how many."""
        self.damaged: list[str] = []
        """Entries that are not as they were written, or that this version cannot read; at most `NAMED`."""
        self.damaged_count = self.erased_count = 0

    async def __aiter__(self) -> AsyncIterator[RecordedAction]:
        wanted = await self._newest()
        for session in await self._sessions() if wanted is None else wanted:
            entries = await self._store.read(session, kinds=READ, verified=True)
            began = False
            for action in self._of(session, entries, None if wanted is None else wanted[session]):
                began = True
                yield action
            self.sessions += began

    async def _sessions(self) -> list[str]:
        """The sessions that are looked at, the oldest first."""
        if self._chosen.session is not None:
            return [await lookups.resolve(self._store, self._chosen.session)]
        rows = await self._store.rows("sessions", order=("created", "session"))
        return [row["session"] for row in rows]

    async def _newest(self) -> dict[str, set[str]] | None:
        """The ids of the newest calls by their sessions, None without a limit."""
        if self._chosen.limit is None:
            return None
        where = {"session": await lookups.resolve(self._store, self._chosen.session)} if self._chosen.session is not None else {}
        found: dict[str, set[str]] = {}
        for row in await self._store.rows("calls", where, order=("record",), descending=True, limit=self._chosen.limit):
            found.setdefault(row["session"], set()).add(row["call_id"])
        return found

    def _of(self, session: str, entries: Sequence[Entry], wanted: set[str] | None) -> Iterator[RecordedAction]:
        """The actions of a session, each with what the model had been told by then."""
        known, told, labels = CallRecords(entries), Conversation(), NONE
        begun: tuple[int, TurnStarted] | None = None
        for entry in entries:
            body = entry.body
            self._note(session, entry)
            if isinstance(body, TurnStarted):
                begun = entry.turn, body
            if entry.header.kind in CIRCUMSTANCES:
                labels = join(labels, entry.header.labels)
            if isinstance(body, Message) and entry.header.time >= self._chosen.since:
                for call in body.tool_calls:
                    if wanted is not None and call.id not in wanted:
                        continue
                    decision = known.decisions.get(call.id)
                    if decision is None:
                        self.left_out[UNDECIDED] += 1
                    elif begun is None or begun[0] != entry.turn:
                        self.left_out[UNKNOWN_TURN] += 1
                    else:
                        options = begun[1].options
                        question = known.questions.get(call.id)
                        yield RecordedAction(
                            session=session,
                            turn=entry.turn,
                            time=entry.header.time,
                            call=known.ran.get(call.id, call),
                            around=circumstances(begun[1], labels, told),
                            options=options,
                            decision=decision,
                            question=question,
                            answer=known.answers.get(question.approval_id) if question is not None else None,
                        )
            told.apply(entry)

    def _note(self, session: str, entry: Entry) -> None:
        """Count an entry that was erased, cannot be read, or is not as it was written."""
        if entry.body is None:
            self.erased_count += 1
        elif isinstance(entry.body, Unreadable):
            self.damaged_count += 1
            if len(self.damaged) < NAMED:
                self.damaged.append(f"entry {entry.entry} of session {session} ({entry.header.kind})")


class CallRecords:
    """What the entries of a session say of its calls, by call id; of questions the last one, answers by the id of their question."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.decisions: dict[str, DecisionMade] = {}
        self.ran: dict[str, ToolCall] = {}
        self.questions: dict[str, ApprovalRequested] = {}
        self.answers: dict[str, ApprovalResolved] = {}
        for entry in entries:
            body = entry.body
            if isinstance(body, DecisionMade):
                self.decisions[body.call_id] = body
            elif isinstance(body, ToolStarted):
                self.ran[body.call_id] = ToolCall(body.call_id, body.name, body.arguments)
            elif isinstance(body, ApprovalRequested) and body.call_id is not None and body.kind == "action":
                self.questions[body.call_id] = body
            elif isinstance(body, ApprovalResolved):
                self.answers[body.approval_id] = body
