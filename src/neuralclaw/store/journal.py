"""Writing entries: what can be made ready outside the transaction, and the job that links them into the chain inside it."""

import hmac
import os
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ..errors import AlreadyAnswered, LeaseLost, StoreError, UnknownQuestion
from ..types.chain import link
from ..types.entries import HOME, Draft, Entry, Header, encode_body
from ..types.events import VERSIONS, ApprovalRequested, ApprovalResolved, Inbound, ToolFinished
from ..types.rows import DuplicateInbound, Lease, OutboxItem, Result
from .projections import project
from .tables import Needs, Tables
from .writer import Job

_KEY_BYTES = 32


def seal(data: bytes) -> tuple[bytes, bytes]:
    """A new random key, and the digest of `data` under it (`types.chain.body_digest` as bytes)."""
    key = os.urandom(_KEY_BYTES)
    return key, hmac.digest(key, data, "sha256")


class Prepared(msgspec.Struct, frozen=True):
    """A draft with all that does not depend on its place."""

    draft: Draft
    kind: str
    version: int
    labels: tuple[str, ...]
    labels_text: str
    data: bytes
    key: bytes
    digest: bytes


_LABELS: dict[frozenset[str], tuple[tuple[str, ...], str]] = {}
"""Label sets seen lately, sorted and as stored."""


def prepare(draft: Draft) -> Prepared:
    """Encode a draft's body and digest it. Raises `StoreError` for text that is no Unicode."""
    known = _LABELS.get(draft.labels)
    if known is None:
        if len(_LABELS) > 256:
            _LABELS.clear()
        labels = tuple(sorted(draft.labels))
        known = _LABELS[draft.labels] = (labels, msgspec.json.encode(labels).decode())
    try:
        data = encode_body(draft.body)
    except (UnicodeEncodeError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise StoreError(f"a {draft.body.type} entry cannot be written ({error}); nothing of it was recorded") from error
    key, digest = seal(data)
    kind = draft.body.type
    return Prepared(draft, kind, VERSIONS.get(kind, 1), known[0], known[1], data, key, digest)


class Append(Job):
    """Drafts, and the rows beside them, in one piece."""

    __slots__ = ("_lease", "_now", "_prepared", "_rows", "_session")

    def __init__(self, session: str, prepared: Sequence[Prepared], lease: Lease | None, rows: Sequence[OutboxItem | Result], now: Callable[[], float]) -> None:
        self._session, self._prepared, self._lease, self._rows, self._now = session, prepared, lease, rows, now

    def needs(self, needs: Needs) -> None:
        needs.sessions.add(self._session)
        if self._lease is not None:
            needs.leases.add(self._lease.name)
        for p in self._prepared:
            body = p.draft.body
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
        self._reset_starts(tables)
        return entries

    def _check(self, tables: Tables) -> None:
        keys: set[str] = set()
        open_here: set[str] = set()
        for p in self._prepared:
            body = p.draft.body
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

    def _check_answer(self, tables: Tables, name: str) -> None:
        question = tables.questions.get(name)
        if question is None or question.session != self._session:
            raise UnknownQuestion(f"there is no question {name}; nothing was changed", hint="neuralclaw approvals list shows those that wait")
        if question.answer is not None:
            raise AlreadyAnswered(f"the question {name} was answered before; nothing was changed", hint=f"neuralclaw approvals show {name}")

    def _add(self, tables: Tables, row: OutboxItem | Result, entries: list[Entry]) -> None:
        if isinstance(row, OutboxItem):
            tables.add("outbox", (self._session, tables.record, row.address, row.text))
        else:
            data = row.content.encode("utf-8", "surrogatepass")
            key, digest = seal(data)
            # It is erased with the entry it belongs to.
            own = [e.header.record for e in entries if isinstance(e.body, ToolFinished) and e.body.call_id == row.call_id]
            tables.add("results", (self._session, row.call_id, own[-1] if own else tables.record, key, digest, data))

    def _reset_starts(self, tables: Tables) -> None:
        """An entry of the turn was written under its lease: it gets on."""
        if self._lease is None:
            return
        lease = tables.leases[self._lease.name]
        if lease.starts and any(p.draft.turn == lease.turn for p in self._prepared):
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
    tables.record += 1
    tables.time = max(tables.time, int(now * 1_000_000))
    header = Header(
        record=tables.record,
        session=session,
        entry=progress.entries + 1,
        turn=p.draft.turn,
        kind=p.kind,
        version=p.version,
        time=tables.time,
        labels=p.labels,
        digest=p.digest.hex(),
        hash="",
    )
    tables.hash = link(tables.hash, header)
    msgspec.structs.force_setattr(header, "hash", tables.hash)
    place: tuple[Any, ...] = (header.record, session, header.entry, header.turn, p.kind, p.version, header.time, p.labels_text)
    tables.add("entries", (*place, p.digest, bytes.fromhex(tables.hash)))
    tables.add("bodies", (header.record, p.key, p.data))
    body = p.draft.body
    if isinstance(body, Inbound) and body.key:
        tables.keys[body.key] = (session, header.entry)
        tables.add("inbound_keys", (body.key, session, header.entry))
    if header.entry == 1 and session != HOME:
        tables.add("sessions", (session, "", "", "", "", header.time))
    project(tables, header, body)
    entry = Entry(header, body)
    tables.entries.append(entry)
    return entry
