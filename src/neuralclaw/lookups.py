"""What is asked of the store by a few methods of its port. Written once, for every database."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import msgspec

from .errors import AgentError, SessionNotFound, StoreError, UsageError
from .ports import Store
from .types.chain import body_digest
from .types.entries import HOME, Entry, blob_digest, rfc3339
from .types.events import ApprovalRequested, Erased, Inbound, ToolFinished, TurnFinished
from .types.records import DeliveryAttempt, Lease, OpenQuestion, OutboxRow, Prefix, Record, SessionRow, TurnAttempt

_LISTED = "neuralclaw sessions list"
PAGE = 500
"""Entries that are read at once of a session that may be long."""


async def session(store: Store, name: str) -> SessionRow | None:
    """The session, or None when there is none of that id."""
    return next(iter(await store.sessions(session=name)), None)


async def existing_session(store: Store, name: str) -> SessionRow:
    """The session of that id. Raises `SessionNotFound`."""
    row = await session(store, name)
    if row is None:
        raise await _no_session(store, name)
    return row


async def find_session(store: Store, name: str) -> SessionRow:
    """The session of that id, or of that unique prefix. Raises `SessionNotFound`, which names the candidates."""
    return await session(store, name) or await existing_session(store, await resolve(store, name))


async def _no_session(store: Store, name: str) -> SessionNotFound:
    entry = await deletion(store, name)
    if entry is None or not isinstance(entry.body, Erased):
        return SessionNotFound(f"there is no session {name}", hint=_LISTED)
    told = f"the session {name} was deleted at {rfc3339(entry.header.time)} by {entry.body.by}; what was said and done in it is erased"
    return SessionNotFound(told, hint=_LISTED)


async def deletion(store: Store, name: str) -> Entry | None:
    """The entry with which the session of that id was deleted; None where it is there, or never was."""
    if not name or await store.rows("sessions", {"session": name}):
        return None
    erased = await store.read(name, kinds=("erased",))
    return next((entry for entry in reversed(erased) if isinstance(entry.body, Erased) and entry.body.deleted), None)


async def resolve(store: Store, prefix: str) -> str:
    """The session of that id or unique prefix, found without reading the others. Raises `SessionNotFound`, which names the candidates."""
    if await store.rows("sessions", {"session": prefix}):
        return prefix
    rows = await store.rows("sessions", {"session": Prefix(prefix)}, order=("session",), limit=6) if prefix else []
    names: list[str] = [row["session"] for row in rows]
    if len(names) == 1:
        return names[0]
    if not names:
        raise await _no_session(store, prefix)
    listed = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
    raise SessionNotFound(f"several sessions begin with {prefix}: {listed}", hint=_LISTED)


async def newest(store: Store, workspace: str, *, left_out: Sequence[str] = ()) -> str | None:
    """The session of that workspace that changed last, those of `left_out` never; None when there is none."""
    return next(iter(await newest_sessions(store, workspace, limit=1, left_out=left_out)), None)


async def newest_sessions(store: Store, workspace: str, *, limit: int, left_out: Sequence[str] = ()) -> list[str]:
    """The `limit` sessions of that workspace that changed last, the newest first, those of `left_out` and those that did the work of a call never."""
    rows = await store.rows("sessions", {"workspace": workspace, "parent": ""}, order=("front", "session"), descending=True, limit=len(left_out) + limit)
    return [row["session"] for row in rows if row["session"] not in left_out][:limit]


async def outlived_its_call(store: Store, row: SessionRow) -> bool:
    """Whether the session does the work of a call that has ended: nobody waits for it any more."""
    if not row.parent:
        return False
    said = await store.read(row.session, kinds=("inbound",))
    call = next((e.body.options.origin.call for e in said if isinstance(e.body, Inbound) and e.body.options is not None), "")
    ended = await store.read(row.parent, kinds=("tool.finished",))
    return not call or await session(store, row.parent) is None or any(isinstance(e.body, ToolFinished) and e.body.call_id == call for e in ended)


async def question(store: Store, approval_id: str) -> OpenQuestion | None:
    """The question of that id, answered or not, found without reading any other; None when there is none or its body cannot be read."""
    return next(iter(await store.questions(approval_id=approval_id, open_only=False)), None)


async def unanswered(store: Store, session: str) -> list[Entry]:
    """The entries that ask the questions of this session that nobody has answered."""
    asked = {q.question.approval_id: q.turn for q in await store.questions(session=session)}
    entries = await store.read(session, from_turn=min(asked.values()), kinds=("approval.requested",)) if asked else []
    return [e for e in entries if isinstance(e.body, ApprovalRequested) and e.body.approval_id in asked]


async def pages(store: Store, session: str, *, last: int, after: int = 0, kinds: Sequence[str] | None = None) -> AsyncIterator[list[Entry]]:
    """The entries of a session behind number `after`, up to number `last`, oldest first, page by page: however long the session is, one page is in memory."""
    while after < last and (page := await store.read(session, after=after, kinds=kinds, limit=PAGE)):
        after = page[-1].entry
        if within := [entry for entry in page if entry.entry <= last]:
            yield within


async def last_end(store: Store, row: SessionRow) -> int:
    """The entry that ended the session's last turn. Raises `UsageError` where it has no turn, and `AgentError` where that entry cannot be read."""
    if not row.last_turn:
        raise UsageError(f"the session {row.session} has no turn to go on with", hint=f'neuralclaw run --session {row.session} "TASK"')
    ends = await store.read(row.session, from_turn=row.last_turn, kinds=("turn.finished",))
    if not ends or not isinstance(ends[-1].body, TurnFinished):
        raise AgentError(f"the end of turn {row.last_turn} of session {row.session} was erased or cannot be read")
    return ends[-1].entry


async def start_turn(store: Store, lease: Lease, session: str, turn: int) -> int:
    """Count a start of this turn that has left no entry yet; every entry of the turn sets the count back to 0. Returns the count. Raises `LeaseLost`."""
    await store.append(session, [], lease=lease, rows=[TurnAttempt(turn)])
    (row,) = await store.rows("leases", {"name": lease.name})
    starts: int = row["starts"]
    return starts


async def holds(store: Store, lease: Lease) -> bool:
    """Whether the lease is held as it was given. False: another process has taken over, or it was given back."""
    rows = await store.rows("leases", {"name": lease.name})
    return any((row["holder"], row["epoch"]) == (lease.holder, lease.epoch) for row in rows)


async def blobs(store: Store, digests: Sequence[str]) -> dict[str, bytes]:
    """The kept bytes of these names. Those that are not there (any more), or were changed since they were kept, are left out."""
    rows = await store.rows("blobs", {"digest": list(digests)}) if digests else []
    return {row["digest"]: row["data"] for row in rows if blob_digest(row["data"]) == row["digest"]}


async def result(store: Store, session: str, call_id: str) -> str | None:
    """The whole text of a result that was shortened for the model. What was changed since is not given as if it were good."""
    for row in await store.rows("results", {"session": session, "call_id": call_id}):
        if body_digest(row["key"], row["data"]) == row["digest"]:
            text: str = row["data"].decode("utf-8", "surrogatepass")
            return text
    return None


async def end_of_call(store: Store, session: str, call_id: str) -> Entry | None:
    """The entry with which a call of the session ended; None where it has not, or cannot be read."""
    ended = await store.read(session, kinds=("tool.finished",))
    return next((entry for entry in ended if isinstance(entry.body, ToolFinished) and entry.body.call_id == call_id), None)


async def call_result(store: Store, session: str, call_id: str) -> str | None:
    """The whole text of a result, whether the model was shown all of it or not; None where the session has no result of that call."""
    whole = await result(store, session, call_id)
    if whole is not None:
        return whole
    entry = await end_of_call(store, session, call_id)
    return entry.body.content if entry is not None and isinstance(entry.body, ToolFinished) else None


async def record(store: Store, space: str, key: str) -> Record | None:
    """The record of that key, None where there is none. A space belongs to one capability or part of the program."""
    rows = await store.rows("records", {"space": space, "key": key})
    return record_of(rows[0]) if rows else None


async def records(store: Store, space: str, *, prefix: str = "") -> list[Record]:
    """The records of a space whose keys begin with `prefix`, by key."""
    return [record_of(row) for row in await store.rows("records", {"space": space, "key": Prefix(prefix)}, order=("key",))]


def record_of(row: Mapping[str, Any]) -> Record:
    """A record from its row. Raises `StoreError` where its value cannot be read."""
    try:
        value = msgspec.json.decode(row["value"])
    except (ValueError, RecursionError) as error:
        raise StoreError(f"the record {row['space']}/{row['key']} is damaged ({error})", hint="the capability that owns it can write it again") from error
    return Record(row["space"], row["key"], value, row["version"], rfc3339(row["updated"]))


async def outbox(store: Store, *, pending: bool = True, channel: str | None = None) -> list[OutboxRow]:
    """What is to be delivered, by this channel or by all, oldest first; without `pending` also what was delivered or given up."""
    where = ({"state": "pending"} if pending else {}) | ({"channel": channel} if channel is not None else {})
    return [_outbox_row(row) for row in await store.rows("outbox", where, order=("id",))]


async def delivered(store: Store, item: int, *, error: str = "", retry_at: float | None = None) -> OutboxRow:
    """Record an attempt to deliver an item of the outbox, as `DeliveryAttempt` says; gives the item as it stands then. Raises `StoreError`."""
    await store.append(HOME, [], rows=[DeliveryAttempt(item, error, retry_at)])
    (row,) = await store.rows("outbox", {"id": item})
    return _outbox_row(row)


def _outbox_row(row: Mapping[str, Any]) -> OutboxRow:
    tried = rfc3339(row["tried"]) if row["tried"] else ""
    return OutboxRow(**{**row, "next_try": row["next_try"] / 1_000_000, "tried": tried})
