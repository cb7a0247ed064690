"""What an entry changed beside itself: the state that is written in its transaction and that its body does not tell, as the record keeps it.

The bytes stand in `state_changes` under the entry's record, and the keyed digest of the body covers them. So the state of a session, the answers of the
outbox and the results kept apart can be derived from the record, and what was forged in their tables is found. They are erased with the body.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from ..errors import StoreError
from ..types.chain import body_digest, is_keyed_digest
from ..types.events import Body, ToolFinished
from ..types.records import NewSession, OutboxItem, StateRow, StoredResult

SESSION_FACTS = ("origin", "workspace", "title", "model", "parent", "soul")
"""The columns of `sessions` that an entry's state changes tell."""


class OutboxFacts(msgspec.Struct, frozen=True, array_like=True):
    """An answer that was put into the outbox. `text`: SHA-256 (hex) of its text."""

    channel: str
    address: str
    text: str


class RetainedFacts(msgspec.Struct, omit_defaults=True):
    """What the tables know of bodies that are erased or cannot be read, and no entry tells any more. By record."""

    usage: dict[int, tuple[Any, ...]] = msgspec.field(default_factory=dict)
    """Rows of `usage`: money that was spent."""
    questions: dict[int, str] = msgspec.field(default_factory=dict)
    """Question ids, by the record of the question and by that of its answer."""
    calls: dict[int, list[str]] = msgspec.field(default_factory=dict)
    """Call ids: they stay taken."""
    inbound: dict[int, int] = msgspec.field(default_factory=dict)
    """The entry numbers of the messages that began turns: they are not begun again."""
    status: dict[int, str] = msgspec.field(default_factory=dict)
    """How turns ended."""
    waiting: dict[int, list[str]] = msgspec.field(default_factory=dict)
    """The questions that open turns wait for, by the record of their last end."""
    blobs: dict[int, list[str]] = msgspec.field(default_factory=dict)
    """Digests that a body names which is there and cannot be read: the bytes stay."""
    inbox: dict[int, bool] = msgspec.field(default_factory=dict)
    """Messages that wait, are there and cannot be read, and whether each is queued."""
    keys: dict[int, str] = msgspec.field(default_factory=dict)
    """The keys of messages: none is accepted again."""
    outbox: dict[int, list[str]] = msgspec.field(default_factory=dict)
    """The channels of the answers that were in the outbox, in their order."""


class StateChanges(msgspec.Struct, frozen=True, omit_defaults=True):
    """The state that one entry changed. `session`: the fields `SESSION_FACTS`, of which those that were empty are filled in; with `erased`, in place of
    those before. `results`: (call id, keyed digest in hex) of what is kept apart. `erased`: what stays known of the bodies that this entry erased."""

    session: tuple[str, ...] = ()
    outbox: tuple[OutboxFacts, ...] = ()
    results: tuple[tuple[str, str], ...] = ()
    erased: RetainedFacts | None = None


_encode = msgspec.json.Encoder().encode
read_changes = msgspec.json.Decoder(StateChanges).decode
"""Stored state changes. Raises `ValueError` for what is none."""


class SealedResult(msgspec.Struct, frozen=True):
    """A result that is kept apart, under its keyed digest. `place`: of the entry it belongs to, among those of its step."""

    call_id: str
    place: int
    key: bytes
    digest: bytes
    data: bytes


def encode_changes(changes: StateChanges) -> bytes:
    """The bytes that are kept; none where nothing was changed. Raises `StoreError` for a text that is not Unicode."""
    if changes == _NONE:
        return b""
    try:
        return _encode(changes)
    except UnicodeEncodeError as error:
        raise StoreError(f"the state beside an entry cannot be written ({error}); nothing of it was recorded") from error


_NONE = StateChanges()


def sealed_digest(key: bytes, data: bytes, changes: bytes) -> bytes:
    """The keyed digest of a body and of the state changes beside it. No body has a zero byte in it, so the two cannot be taken for one another."""
    return body_digest(key, data + b"\0" + changes if changes else data)


def is_sealed(digest: bytes, key: bytes, data: bytes, changes: bytes = b"") -> bool:
    """Whether this is the keyed digest of a body, and of the state changes beside it."""
    return is_keyed_digest(digest, key, data + b"\0" + changes if changes else data)


def changes_of(bodies: Sequence[Body], rows: Sequence[StateRow], sealed: Sequence[SealedResult]) -> dict[int, bytes]:
    """What each of these entries changes, by its place among them; encoded. A session's beginning belongs to the first, an answer to the last one."""
    if not bodies:
        return {}
    found: dict[int, StateChanges] = {}

    def add(place: int, **fields: Any) -> None:
        found[place] = msgspec.structs.replace(found.get(place, _NONE), **fields)

    for row in rows:
        if isinstance(row, NewSession):
            add(0, session=tuple(getattr(row, name) for name in SESSION_FACTS))
        elif isinstance(row, OutboxItem):
            last = len(bodies) - 1
            facts = OutboxFacts(row.channel, row.address, text_digest(row.text))
            add(last, outbox=(*found.get(last, _NONE).outbox, facts))
    for result in sealed:
        add(result.place, results=(*found.get(result.place, _NONE).results, (result.call_id, result.digest.hex())))
    return {place: encode_changes(changes) for place, changes in found.items()}


def place_of_result(bodies: Sequence[Body], row: StoredResult) -> int:
    """The place of the entry that a result belongs to: the end of its call, else the last one."""
    own = [place for place, body in enumerate(bodies) if isinstance(body, ToolFinished) and body.call_id == row.call_id]
    return own[-1] if own else len(bodies) - 1


def text_digest(text: str) -> str:
    """SHA-256 (hex) of a text that is kept elsewhere."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
