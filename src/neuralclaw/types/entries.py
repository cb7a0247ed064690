"""Entries of the journal: header and body, and the event that shows one to a subscriber."""

import functools
import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from .events import AnyBody, Body, Inbound, Message, ToolFinished, TurnStarted
from .labels import NONE, Labels
from .messages import Image, ImageContent
from .sentences import SentenceOf, sentence

HOME = "home"
"""The session of what belongs to no session; its entries are in turn 0."""
CALLS = "tools"
"""The session that keeps the single calls of `tools call`. It is no conversation: nothing continues it."""


NEXT = -1
"""In place of a draft's turn: a turn of its own."""


class Draft(msgspec.Struct, frozen=True):
    """An entry that is not written yet.

    `turn` None: the store gives the number while it writes: for a message that is not queued, and for a cancel, the turn that is open or will begin
    next. `NEXT`: one of its own, that no entry has yet, for a message; so it is for a queued one. `blobs` are the bytes that the body names by
    their SHA-256 (`named_blobs`).
    """

    turn: int | None
    body: Body
    labels: Labels = NONE
    blobs: tuple[bytes, ...] = ()


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
    """A written entry. `body` is that of a built-in kind (`types.events.Durable`) or of a capability's, `Unreadable` when this program cannot read it,
    and None when it was erased."""

    header: Header
    body: Body | None

    @property
    def entry(self) -> int:
        return self.header.entry

    @property
    def turn(self) -> int:
        return self.header.turn


_WHERE_THERE = frozenset(
    "parts changes metadata_digest stored environment note first_line line_count sender channel address failed_calls rules policy process deleted"
    " child usage values_from content_labels".split()
)
"""Fields that events show only where there is something in them."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """What a subscriber gets: a body with its place. `entry` None: a passing event. Body fields are attributes of the event too.

    `own_sentence`: the sentence that a capability has for an event of its own kind, "" for a built-in kind.
    """

    body: Body
    session: str
    turn: int
    seq: int
    time: str
    entry: int | None = None
    labels: Labels = NONE
    own_sentence: str = ""

    @property
    def sentence(self) -> str:
        """What happened, in one sentence for a person."""
        return self.own_sentence or sentence(self.body)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.body, name)

    def to_dict(self) -> dict[str, Any]:
        """The object that `--output stream-json` prints: common fields first, then the body's own; of pictures what they are, not their bytes."""
        body: dict[str, Any] = msgspec.to_builtins(self.body)
        if isinstance(self.body, Inbound | TurnStarted) and self.body.images:
            body["images"] = [_image(image) for image in self.body.images]
        elif isinstance(self.body, ToolFinished) and self.body.parts:
            body["parts"] = [{"type": "image", **_image(p.image)} if isinstance(p, ImageContent) else msgspec.to_builtins(p) for p in self.body.parts]
        body = {name: value for name, value in body.items() if value or name not in _WHERE_THERE}
        head: dict[str, Any] = {"type": body.pop("type"), "session": self.session, "turn": self.turn, "seq": self.seq, "time": self.time}
        if self.entry is not None:
            head["entry"] = self.entry
        return head | body


def _image(image: Image) -> dict[str, Any]:
    """A picture as events show it: what it is, not its bytes."""
    return {"media_type": image.media_type, "name": image.name, "bytes": image.size or len(image.data), "digest": image.digest}


def blob_digest(data: bytes) -> str:
    """The name of bytes that are kept apart: their SHA-256 (hex)."""
    return hashlib.sha256(data).hexdigest()


def detached(image: Image) -> Image:
    """The picture as an entry has it: its bytes named, not held."""
    return msgspec.structs.replace(image, data=b"", digest=blob_digest(image.data), size=len(image.data)) if image.data else image


_NAMING = frozenset({Message, Inbound, TurnStarted, ToolFinished})
"""The kinds that name bytes; no kind is derived from another."""


def named_blobs(body: Body) -> tuple[str, ...]:
    """The digests of all bytes that this body names and the store keeps."""
    if type(body) not in _NAMING:
        return ()
    if isinstance(body, Message):  # the most frequent kind, and one that names little
        return (body.environment,) if body.environment else ()
    if isinstance(body, Inbound):
        found = [image.digest for image in body.images] if body.images else []
    elif isinstance(body, TurnStarted):
        found = [*(image.digest for image in body.images), *body.stored.values()]
    elif isinstance(body, ToolFinished):
        found = [*(part.image.digest for part in body.parts if isinstance(part, ImageContent)), body.metadata_digest] if body.parts else [body.metadata_digest]
    else:
        return ()
    return tuple(dict.fromkeys(digest for digest in found if digest)) if any(found) else ()


_LAST_MICRO = 253_402_300_799_000_000
"""31 December 9999, the last second that `datetime` knows."""


@functools.lru_cache(maxsize=256)
def rfc3339(micros: int) -> str:
    """Epoch microseconds as RFC 3339 in UTC, milliseconds shown. What lies outside the years 1970 to 9999 is shown as the nearest of them."""
    moment = datetime.fromtimestamp(min(max(micros, 0), _LAST_MICRO) / 1_000_000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def event_of(entry: Entry, seq: int = 0) -> Event | None:
    """The event that shows an entry, or None when its body was erased."""
    if entry.body is None:
        return None
    h = entry.header
    return Event(body=entry.body, session=h.session, turn=h.turn, seq=seq, time=rfc3339(h.time), entry=h.entry, labels=frozenset(h.labels))


EventOf = Callable[[Entry], Event | None]
"""The event that shows an entry, or None where nothing is to be shown."""


def with_sentence(event: Event, seq: int, sentence_of: SentenceOf) -> Event:
    """The event under another number, with the sentence that `sentence_of` has for it where its kind is a capability's."""
    own = "" if event.entry is None or isinstance(event.body, AnyBody) else sentence_of(event.body)
    return Event(body=event.body, session=event.session, turn=event.turn, seq=seq, time=event.time, entry=event.entry, labels=event.labels, own_sentence=own)
