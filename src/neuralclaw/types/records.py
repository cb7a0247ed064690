"""Records that are derived from entries or stand beside them: sessions, leases, questions, results, records, outbox."""

from datetime import datetime
from typing import Any, Literal

import msgspec

from ..errors import StoreError
from .entries import Entry
from .events import ApprovalRequested, ApprovalResolved
from .labels import NONE, Labels

SessionState = Literal["idle", "running", "waiting", "unfinished", "set_aside"]


class Lease(msgspec.Struct, frozen=True):
    """The right to write a session's turns (or to do what may exist once). `epoch` rises at every take-over."""

    name: str
    holder: str
    epoch: int


class SessionRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `sessions list`. `created` and `updated` are RFC 3339; `entries` is the highest entry number.

    `last_turn` is the turn begun last, `open_turn` the same where it has not ended, else 0. `parent` is the session that started this one,
    `labels` the joined labels of all its entries. `pending`: messages wait that no turn has taken up.
    """

    session: str
    title: str
    state: SessionState
    turns: int
    model: str
    origin: str
    workspace: str
    created: str
    updated: str
    usd: float | None
    entries: int = 0
    last_turn: int = 0
    open_turn: int = 0
    pending: bool = False
    parent: str = ""
    soul: str = ""
    labels: Labels = NONE


class NewSession(msgspec.Struct, frozen=True, kw_only=True):
    """What a session is made with; of one that is there only what is empty is filled in. Written in the transaction of its first message."""

    origin: str
    workspace: str
    title: str = ""
    model: str = ""
    parent: str = ""
    soul: str = ""


class OpenQuestion(msgspec.Struct, frozen=True):
    """A question of the journal, with its answer when it has one."""

    session: str
    turn: int
    since: str
    question: ApprovalRequested
    answer: ApprovalResolved | None = None

    def is_open(self, now: float) -> bool:
        """Whether it can still be answered; `now` in epoch seconds."""
        return self.answer is None and not expired(self.question, now)


class Accepted(msgspec.Struct, frozen=True):
    """A message on record: its entry and the turn it belongs to. `waits`: the session is parked, and the message waits for the answer too.

    `before`: its key was accepted before, as this entry; `turn` is then what it began or was seen by, None where it waits still.
    """

    entry: int
    turn: int | None
    waits: bool = False
    before: Entry | None = None


class StoredResult(msgspec.Struct, frozen=True):
    """The whole text of a result that was shortened for the model; written beside its `tool.finished`."""

    call_id: str
    content: str


class OutboxItem(msgspec.Struct, frozen=True):
    """An answer to deliver to an address of a remote channel; written in the transaction that ends the turn."""

    address: str
    text: str
    channel: str = ""


class DeliveryAttempt(msgspec.Struct, frozen=True):
    """What became of an attempt to deliver an item of the outbox. Without `error` it is delivered, and stays so. With one it is tried again at `retry_at`
    (epoch seconds), or given up where that is None. An append with one of no item raises `StoreError`."""

    item: int
    error: str = ""
    retry_at: float | None = None


class TurnAttempt(msgspec.Struct, frozen=True):
    """A start of a turn that has left no entry yet, counted in the row of the lease under which it is appended; every entry of the turn sets it to 0."""

    turn: int


class SetAside(msgspec.Struct, frozen=True):
    """The mark of a session whose turn does not get on, or that it is taken away."""

    aside: bool


OutboxState = Literal["pending", "delivered", "failed"]


class OutboxRow(msgspec.Struct, frozen=True, kw_only=True):
    """Something to deliver, and how far that is. `record`: the place of its `turn.finished` in the home's one chain.

    `next_try`: epoch seconds before which it is not tried again, 0: at once.

    `attempts` were made so far; `error` is what went wrong with the last one, `tried` (RFC 3339) when that was, both "" where there is none. `failed`:
    it was given up.
    """

    id: int
    session: str
    record: int
    channel: str
    address: str
    text: str
    state: OutboxState
    attempts: int = 0
    next_try: float = 0.0
    error: str = ""
    tried: str = ""


class Record(msgspec.Struct, frozen=True):
    """A JSON value that is kept under a key of a space. `version`: no other state of it, earlier or later, has the same; `updated` is RFC 3339."""

    space: str
    key: str
    value: Any
    version: int
    updated: str


class PutRecord(msgspec.Struct, frozen=True):
    """A change of a record. `expect` is the version that it must have, 0: it must not be there, None: whatever it is. `value` None removes it."""

    space: str
    key: str
    value: Any
    expect: int | None = None


class Caps(msgspec.Struct, frozen=True, kw_only=True):
    """What may be spent; None: no cap. `day` is from when to when a day lasts, in epoch microseconds."""

    turn_usd: float | None = None
    session_usd: float | None = None
    day_usd: float | None = None
    turn_tokens: int | None = None
    day: tuple[int, int] = (0, 0)

    @property
    def money(self) -> bool:
        """Whether any of them is one of money."""
        return self.turn_usd is not None or self.session_usd is not None or self.day_usd is not None


class Reservation(msgspec.Struct, frozen=True, kw_only=True):
    """What a model call may cost at most, in `usd` and tokens. It counts for `root`, the session and turn that the call works for. An append with one that
    does not fit under `caps` beside what is settled and reserved there raises `CapReached`."""

    id: str
    root: tuple[str, int]
    usd: float
    tokens: int
    caps: Caps


class SpentReservation(msgspec.Struct, frozen=True):
    """What the call of a reservation has cost. It stands in for the reservation until a reply with the same cost is on record."""

    id: str
    usd: float
    tokens: int


class SettledReservation(msgspec.Struct, frozen=True):
    """The reply of the call is on record with its cost, in the same append. What a session spent for another one still counts for that one's turn."""

    id: str


StateRow = NewSession | OutboxItem | PutRecord | StoredResult | DeliveryAttempt | TurnAttempt | SetAside | Reservation | SpentReservation | SettledReservation
"""What may be written beside entries, in their transaction: changes of state that is derived from no entry."""


class Prefix(msgspec.Struct, frozen=True):
    """In the `where` of `Store.rows`: a text that begins so."""

    text: str


class RecordConflict(StoreError):
    """A record does not stand as was expected: `current` is what stands there, None where nothing does."""

    def __init__(self, space: str, key: str, current: Record | None) -> None:
        found = f"it has version {current.version}" if current else "it is not there"
        super().__init__(f"the record {space}/{key} was changed meanwhile ({found}); nothing was written", hint="read it again, then try again")
        self.current = current


class BadRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """The first bad record of a verification, 0 where it is not known which.

    `why`: `hash` (changed), `missing`, `order` (something that no entry tells of), `cut`, or `damaged` (as it was written, but no body of its kind).
    `table` and `column`: what is not as the entries make it; "" where it is the entry itself, and where it is a whole row. `index NAME`, `view NAME`,
    `trigger NAME`, `schema version` and `database file` are named in place of a table.
    """

    record: int
    session: str
    why: str
    table: str = ""
    column: str = ""


class AnchorReport(msgspec.Struct, frozen=True, kw_only=True):
    """A home's anchor: where it is kept, the record that it names (0: it cannot be read), and whether that record is as it was anchored.

    `why`: "" where it is; `cut`: the record ends before it; `changed`: another entry is there; else why it cannot be read or is not to be trusted.
    `note`: what could not be checked, "" for nothing.
    """

    place: str
    record: int
    ok: bool
    why: str = ""
    note: str = ""


class VerifyReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `audit verify` prints. `anchor` is that in the state directory, null where the home has none yet; `anchors` are those at other places."""

    ok: bool
    records: int
    erased: int
    head: str
    anchor: AnchorReport | None = None
    anchors: tuple[AnchorReport, ...] = ()
    bad: BadRecord | None = None
    unchecked: tuple[str, ...] = ()
    """What could not be compared wholly, and why: tables of capabilities by their names, `session NAME`, `schema`."""


class DuplicateInbound(StoreError):
    """A message with this key was accepted before, as entry `entry` of `session`."""

    def __init__(self, key: str, session: str, entry: int) -> None:
        super().__init__(f"the message {key} was accepted before")
        self.session, self.entry = session, entry


def expiry(question: ApprovalRequested) -> float:
    """When the time of a question is over, in epoch seconds."""
    return datetime.fromisoformat(question.expires).timestamp()


def expired(question: ApprovalRequested, now: float) -> bool:
    """Whether the time of a question is over, which is a no, also while that is not recorded yet; `now` in epoch seconds."""
    return expiry(question) <= now
