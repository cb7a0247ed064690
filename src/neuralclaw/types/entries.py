"""Entries of the journal: header and body, and the event that shows one to a subscriber."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from .events import VERSIONS, AnyBody, Durable, Inbound, TurnStarted
from .labels import NONE, Labels

HOME = "home"
"""The session of what belongs to no session; its entries stand in turn 0."""


class Draft(msgspec.Struct, frozen=True):
    """An entry that is not written yet."""

    turn: int
    body: Durable
    labels: Labels = NONE


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What is hash-chained and kept for ever. `record` is the place in the home's one chain, `entry` the place in the session, both from 1.

    `time` is in epoch microseconds; `digest` is the keyed digest (hex) of the body's stored bytes; `hash` is `chain.link` of the
    previous record's hash and all other fields.
    """

    record: int
    session: str
    entry: int
    turn: int
    kind: str
    version: int
    time: int
    labels: tuple[str, ...]
    digest: str
    hash: str


class Entry(msgspec.Struct, frozen=True):
    """A written entry. `body` is None when it was erased."""

    header: Header
    body: Durable | None

    @property
    def entry(self) -> int:
        return self.header.entry

    @property
    def turn(self) -> int:
        return self.header.turn


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """What a subscriber gets: a body with its place. `entry` None: a passing event. Body fields are attributes of the event too."""

    body: AnyBody
    session: str
    turn: int
    seq: int
    time: str
    entry: int | None = None
    labels: Labels = NONE

    def __getattr__(self, name: str) -> Any:
        return getattr(self.body, name)

    def to_dict(self) -> dict[str, Any]:
        """The object that `--output stream-json` prints: common fields first, then the body's own; of pictures what they are, not their bytes."""
        body: dict[str, Any] = msgspec.to_builtins(self.body)
        if isinstance(self.body, Inbound | TurnStarted) and self.body.images:
            body["images"] = [{"media_type": i.media_type, "name": i.name, "bytes": len(i.data)} for i in self.body.images]
        head: dict[str, Any] = {"type": body.pop("type"), "session": self.session, "turn": self.turn, "seq": self.seq, "time": self.time}
        if self.entry is not None:
            head["entry"] = self.entry
        return head | body


def rfc3339(micros: int) -> str:
    """Epoch microseconds as RFC 3339 in UTC, milliseconds shown."""
    moment = datetime.fromtimestamp(micros / 1_000_000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def event_of(entry: Entry, seq: int = 0) -> Event | None:
    """The event that shows an entry, or None when its body was erased."""
    if entry.body is None:
        return None
    h = entry.header
    return Event(body=entry.body, session=h.session, turn=h.turn, seq=seq, time=rfc3339(h.time), entry=h.entry, labels=frozenset(h.labels))


_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Durable] = msgspec.json.Decoder(Durable)

UPCASTS: dict[tuple[str, int], Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""(kind, version) -> a function from that version's fields to the next version's. Stored bytes are never rewritten."""


def encode_body(body: Durable) -> bytes:
    """The bytes of a body as the journal stores them."""
    return _encoder.encode(body)


def decode_body(kind: str, version: int, data: bytes) -> Durable:
    """A stored body in today's shape. Raises `msgspec.ValidationError` for a kind or version this program does not know."""
    today = VERSIONS.get(kind, 1)
    if version == today:
        return _decoder.decode(data)
    fields = msgspec.json.decode(data)
    while version < today:
        fields = UPCASTS[kind, version](fields)
        version += 1
    if version > today:
        raise msgspec.ValidationError(f"{kind} version {version} comes from a newer version of the program")
    body: Durable = msgspec.convert(fields, Durable)
    return body
