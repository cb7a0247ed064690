"""Writing entries: what can be made ready outside the transaction, and the job that links them into the chain inside it."""

import os
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ..errors import AlreadyAnswered, LeaseLost, StoreError, UnknownQuestion
from ..types.chain import body_digest, link
from ..types.codec import Codec
from ..types.entries import HOME, NEXT, Draft, Entry, Header, blob_digest, named_blobs
from ..types.events import ApprovalRequested, ApprovalResolved, Body, Cancel, Inbound, SessionRenamed, ToolStarted
from ..types.records import (
    DeliveryAttempt,
    DuplicateInbound,
    Lease,
    NewSession,
    OutboxItem,
    OutboxState,
    PutRecord,
    Reservation,
    SetAside,
    SettledReservation,
    SpentReservation,
    StateRow,
    StoredResult,
    TurnAttempt,
)
from .projections import project
from .record_store import check_record, encoded
from .reservations import add_reservation, check_reservation
from .state_changes import SealedResult, StateChanges, changes_of, encode_changes, place_of_result, sealed_digest
from .tables import Needs, Progress, Tables
from .values import check_number
from .writer import Job

_KEY_BYTES = 32


_keys: list[bytes] = []
"""Random keys that no body has yet: one call of the system for many. A forked child must not use the same ones."""
os.register_at_fork(after_in_child=_keys.clear)


def _new_key() -> bytes:
    try:
        return _keys.pop()
    except IndexError:
        random = os.urandom(_KEY_BYTES * 64)
        _keys.extend(random[at : at + _KEY_BYTES] for at in range(_KEY_BYTES, len(random), _KEY_BYTES))
        return random[:_KEY_BYTES]


def seal(data: bytes) -> tuple[bytes, bytes]:
    """A new random key, and the digest of `data` under it."""
    key = _new_key()
    return key, body_digest(key, data)


class Prepared(msgspec.Struct, frozen=True, gc=False):
    """A draft with all that does not depend on its place. `body` is what a reader will find; `named` are the digests of the bytes it names."""

    turn: int | None
    body: Body
    kind: str
    version: int
    labels: tuple[str, ...]
    labels_text: str
    data: bytes
    key: bytes
    digest: bytes
    named: tuple[str, ...]
    blobs: dict[str, bytes]
    changes: bytes = b""
    """What is changed beside the entry, as the record keeps it; the digest covers it."""


_NO_BLOBS: dict[str, bytes] = {}
_LABELS: dict[frozenset[str], tuple[tuple[str, ...], str]] = {}
"""Label sets seen lately, sorted and as stored."""


def prepare(draft: Draft, codec: Codec, changes: StateChanges | None = None) -> Prepared:
    """Encode a draft's body, read it back and digest it, with what it changes beside itself.

    Raises `StoreError` for what no reader could read, and for bytes that the body does not name.
    """
    kind = draft.body.type
    if not codec.has(kind):
        raise StoreError(f"an entry of kind {kind} cannot be written (this program does not record the kind); nothing of it was recorded")
    try:
        version = codec.version(kind)
        labels, labels_text = _known_labels(draft.labels)
        data = codec.encode(draft.body)
        body = codec.decode(kind, version, data)
    except (UnicodeEncodeError, TypeError, ValueError, LookupError, OverflowError, RecursionError) as error:
        raise StoreError(f"an entry of kind {kind} cannot be written ({error}); nothing of it was recorded") from error
    if draft.turn is not None and draft.turn != NEXT:
        check_number(f"the turn of an entry of kind {kind}", draft.turn, 0)
    elif not isinstance(body, Inbound | Cancel):
        raise StoreError(f"an entry of kind {kind} cannot be written (it has no turn); nothing of it was recorded")
    beside = encode_changes(changes) if changes is not None else b""
    key = _new_key()
    digest = sealed_digest(key, data, beside)
    named = named_blobs(body)
    blobs = _NO_BLOBS
    if draft.blobs:
        blobs = {blob_digest(blob): blob for blob in draft.blobs}
        if not blobs.keys() <= set(named):
            raise StoreError(f"an entry of kind {kind} cannot be written (it does not name all bytes that came with it); nothing of it was recorded")
    return Prepared(draft.turn, body, kind, version, labels, labels_text, data, key, digest, named, blobs, beside)


def with_state(prepared: Sequence[Prepared], rows: Sequence[StateRow]) -> tuple[list[Prepared], dict[str, SealedResult]]:
    """The entries with what the rows beside them change, and the results that are kept apart, under their digests, by call."""
    bodies = [p.body for p in prepared]
    sealed = {row.call_id: _sealed(row, place_of_result(bodies, row)) for row in rows if isinstance(row, StoredResult)}
    ready = list(prepared)
    for place, changes in changes_of(bodies, rows, list(sealed.values())).items():
        p = ready[place]
        ready[place] = msgspec.structs.replace(p, changes=changes, digest=sealed_digest(p.key, p.data, changes))
    return ready, sealed


def _sealed(row: StoredResult, place: int) -> SealedResult:
    data = row.content.encode("utf-8", "surrogatepass")
    return SealedResult(row.call_id, place, *seal(data), data)


def _known_labels(labels: frozenset[str]) -> tuple[tuple[str, ...], str]:
    known = _LABELS.get(labels)
    if known is None:
        if len(_LABELS) > 256:
            _LABELS.clear()
        data = msgspec.json.encode(sorted(labels))
        known = _LABELS[labels] = (msgspec.json.decode(data, type=tuple[str, ...]), data.decode())
    return known


class Append(Job):
    """Drafts, and the rows beside them, in one piece."""

    __slots__ = ("_lease", "_now", "_prepared", "_rows", "_sealed", "_session")

    def __init__(self, session: str, prepared: Sequence[Prepared], lease: Lease | None, rows: Sequence[StateRow], now: Callable[[], float]) -> None:
        self._session, self._lease, self._rows, self._now = session, lease, rows, now
        self._prepared, self._sealed = with_state(prepared, rows) if rows else (prepared, {})

    @property
    def kinds(self) -> set[str]:
        """The kinds of its entries."""
        return {p.kind for p in self._prepared}

    def needs(self, needs: Needs) -> None:
        needs.sessions.add(self._session)
        if self._lease is not None:
            needs.leases.add(self._lease.name)
        for row in self._rows:
            if isinstance(row, PutRecord):
                needs.records.add((row.space, row.key))
            elif isinstance(row, DeliveryAttempt):
                needs.outbox.add(row.item)
        for p in self._prepared:
            body = p.body
            if p.named:
                needs.blobs.update(p.named)
            if isinstance(body, Inbound):
                if body.key:
                    needs.keys.add(body.key)
            elif isinstance(body, (ApprovalRequested, ApprovalResolved)):
                needs.questions.add(body.approval_id)

    def run(self, tables: Tables) -> list[Entry]:
        if self._lease is not None:
            check_lease(tables, self._lease)
        self._check(tables)
        entries = [write(tables, self._session, p, self._now()) for p in self._prepared]
        for row in self._rows:
            self._add(tables, row, entries)
        self._reset_starts(tables, entries)
        return entries

    def _check(self, tables: Tables) -> None:
        keys: set[str] = set()
        open_here: set[str] = set()
        blobs: set[str] = set()
        for p in self._prepared:
            body = p.body
            if p.named:
                blobs.update(p.blobs)
                if not tables.kept.union(blobs).issuperset(p.named):
                    raise StoreError(f"an entry of kind {p.kind} cannot be written (bytes that it names are not kept); nothing of it was recorded")
            if isinstance(body, Inbound) and body.key:
                taken = tables.keys.get(body.key)
                if taken is not None:
                    raise DuplicateInbound(body.key, *taken)
                if body.key in keys:
                    raise StoreError(f"two messages of one step have the key {body.key}; nothing of it was recorded")
                keys.add(body.key)
            elif isinstance(body, ApprovalRequested):
                open_here.add(body.approval_id)
            elif isinstance(body, ApprovalResolved) and body.approval_id in open_here:
                open_here.remove(body.approval_id)
            elif isinstance(body, ApprovalResolved):
                self._check_answer(tables, body.approval_id)
        self._check_rows(tables)

    def _check_rows(self, tables: Tables) -> None:
        puts = [row for row in self._rows if isinstance(row, PutRecord)]
        if len({(put.space, put.key) for put in puts}) < len(puts):
            raise StoreError("one step changes a record twice; nothing of it was recorded")
        for put in puts:
            encoded(put)
            check_record(tables, put)
        for row in self._rows:
            if not isinstance(row, StateRow):
                raise StoreError(f"{type(row).__name__} is nothing that can be written beside entries; nothing of it was recorded")
            if isinstance(row, DeliveryAttempt) and row.item not in tables.outbox:
                raise StoreError(f"there is nothing to deliver under the number {row.item}; nothing was changed")
            if isinstance(row, Reservation):
                check_reservation(tables, row)
            if isinstance(row, TurnAttempt) and self._lease is None:
                raise StoreError("a start of a turn is counted under its lease; nothing was changed")

    def _check_answer(self, tables: Tables, name: str) -> None:
        question = tables.questions.get(name)
        if question is None or question.session != self._session:
            raise UnknownQuestion(f"there is no question {name}; nothing was changed", hint="neuralclaw approvals list shows those that wait")
        if question.answer is not None:
            raise AlreadyAnswered(f"the question {name} was answered before; nothing was changed", hint=f"neuralclaw approvals show {name}")

    def _add(self, tables: Tables, row: StateRow, entries: list[Entry]) -> None:
        match row:
            case NewSession():
                created = entries[0].header.time if entries else int(self._now() * 1_000_000)
                place = tables.record
                tables.add("sessions", (self._session, row.origin, row.workspace, row.title, row.model, row.parent, row.soul, created, place))
                tables.front = self._session if entries else ""
            case OutboxItem():
                tables.add("outbox", (self._session, tables.record, row.channel, row.address, row.text))
            case SetAside():
                tables.statements.append(("UPDATE sessions SET aside = ? WHERE session = ?", (int(row.aside), self._session)))
            case TurnAttempt():
                self._count_start(tables, row.turn)
            case DeliveryAttempt():
                state: OutboxState = "delivered" if not row.error else "failed" if row.retry_at is None else "pending"
                tables.put_attempt(row.item, state, row.error, int((row.retry_at or 0) * 1_000_000), int(self._now() * 1_000_000))
            case Reservation() | SpentReservation() | SettledReservation():
                add_reservation(tables, self._session, row, int(self._now() * 1_000_000))
            case PutRecord():
                tables.put_record(row.space, row.key, encoded(row), int(self._now() * 1_000_000))
            case StoredResult():
                sealed = self._sealed[row.call_id]
                record = entries[sealed.place].header.record if entries else tables.record  # it is erased with the entry it belongs to
                tables.add("results", (self._session, row.call_id, record, sealed.key, sealed.digest, sealed.data))

    def _count_start(self, tables: Tables, turn: int) -> None:
        assert self._lease is not None, "`_check` saw to it"
        lease = tables.leases[self._lease.name]
        lease.starts = lease.starts + 1 if lease.turn == turn else 1
        lease.turn = turn
        tables.touch_lease(lease)

    def _reset_starts(self, tables: Tables, entries: list[Entry]) -> None:
        """An entry of the turn was written under its lease: it gets on."""
        if self._lease is None:
            return
        lease = tables.leases[self._lease.name]
        again = any(isinstance(entry.body, ToolStarted) and entry.body.attempt > 1 for entry in entries)  # as often as it is killed in that call
        if lease.starts and not again and any(entry.turn == lease.turn for entry in entries):
            lease.starts = 0
            tables.touch_lease(lease)


def check_lease(tables: Tables, lease: Lease) -> None:
    """Raises `LeaseLost` when the lease is not held any more as it was given."""
    row = tables.leases[lease.name]
    if row.holder != lease.holder or row.epoch != lease.epoch:
        raise LeaseLost(
            f"another process has taken over {lease.name.removeprefix('session:')}; all that was recorded before is kept, this step was not recorded",
            hint="let the other process go on, or end it and run again",
        )


def write(tables: Tables, session: str, p: Prepared, now: float) -> Entry:
    """Put one entry at the end of the chain and of its session, with what is derived from it. `now` in epoch seconds."""
    progress = tables.progress[session]
    turn = _turn(tables, progress, p) if p.turn is None or p.turn == NEXT else p.turn
    tables.record += 1
    header = Header(
        record=tables.record,
        session=session,
        entry=progress.entries + 1,
        turn=turn,
        kind=p.kind,
        version=p.version,
        time=int(now * 1_000_000),
        labels=p.labels,
        digest=p.digest.hex(),
        hash="",
    )
    tables.hash = link(tables.hash, header)
    msgspec.structs.force_setattr(header, "hash", tables.hash)
    place: tuple[Any, ...] = (header.record, session, header.entry, header.turn, p.kind, p.version, header.time, p.labels_text)
    tables.add("entries", (*place, p.digest, bytes.fromhex(tables.hash)))
    tables.add("bodies", (header.record, p.key, p.data))
    if p.changes:
        tables.add("state_changes", (header.record, p.changes))
    if p.blobs:
        tables.put_blobs(p.blobs)
    if isinstance(p.body, Inbound) and p.body.key:
        tables.keys[p.body.key] = (session, header.entry)
        tables.add("inbound_keys", (p.body.key, session, header.entry))
    if header.entry == 1 and session != HOME:
        tables.add("sessions", (session, "", "", "", "", "", "", header.time, header.record))
    if isinstance(p.body, SessionRenamed):
        tables.statements.append(("UPDATE sessions SET title = ? WHERE session = ?", (p.body.title, session)))
    tables.come_to_front(session, header.time, header.record)
    project(tables, header, p.body)
    entry = Entry(header, p.body)
    tables.entries.append(entry)
    return entry


def _turn(tables: Tables, progress: Progress, p: Prepared) -> int:
    """The turn of a message or cancel whose sender does not know it, as `Draft` says."""
    body = p.body
    if isinstance(body, Inbound):
        return progress.last_turn + 1 if body.queued or p.turn == NEXT else progress.open_turn or progress.started + 1
    if isinstance(body, Cancel) and body.message is not None:
        return tables.turn_of(progress.session, body.message) or max(1, progress.last_turn)
    # Steering messages that became turns overtake the numbers that queued ones were given: what waits is asked of the inbox.
    return progress.open_turn or (progress.started + 1 if tables.waits(progress.session) else max(1, progress.started))
