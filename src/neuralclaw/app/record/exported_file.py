"""An exported session as a file has it: read, checked, and its turns as entries that are nobody's words here."""

import os
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, NamedTuple

import msgspec

from ...errors import UsageError
from ...types.codec import BUILT_IN
from ...types.entries import Entry, Header, blob_digest
from ...types.events import Body, Compaction, Inbound, Message, ToolFinished, TurnFinished, TurnStarted
from ...types.labels import PRIVATE, SECRET, Labels, external, is_external, join, value_sources
from ...types.options import TurnOptions
from .copied_entries import COPIED, those_of_turns
from .markdown_reading import markdown_session
from .session_export import FORMAT, VERSION

LARGEST = 256 * 1024 * 1024
"""Bytes of a file at most: it is read into memory."""
_MOST_LABELS = 100
_LABEL = re.compile(r"[\x21-\x7e]{1,200}")
_IMPORTED = join(external("import"), (PRIVATE,))
"""Labels of all that comes from a file, beside those that it had."""
_NOTHING = "nothing was imported"
_HINT = "a file that can be imported is written by: neuralclaw sessions export ID --output FILE"
_Number = Annotated[int, msgspec.Meta(ge=1, le=10**9)]


class FileSession(NamedTuple):
    """A session of a file. `entries`: those that are copied, up to the end of turn `turn`; `exported`: how many events the file has."""

    file: str
    digest: str
    session: str
    title: str
    turn: int
    entries: list[Entry]
    exported: int


class _Event(msgspec.Struct, frozen=True):
    """What each event of a file has. The fields of its kind are read apart."""

    type: str
    turn: Annotated[int, msgspec.Meta(ge=0, le=10**9)]
    entry: _Number
    version: _Number
    time: datetime
    labels: tuple[str, ...] = ()
    erased: bool = False


class _ReadFile(msgspec.Struct, frozen=True):
    """What is read of the object in a file."""

    format: str
    version: int
    session: str
    events: tuple[msgspec.Raw, ...]
    title: str = ""
    entries: int = 0
    """How many the file has, where `events` are fewer."""


def read_session(file: str, options: TurnOptions) -> FileSession:
    """The session that a file has, with `options` in place of those that its turns ran under. Raises `UsageError`, which says where the file is wrong."""
    place = os.path.abspath(file)  # noqa: PTH100  # no look at the disk
    data = _bytes(place)
    markdown = data.startswith(b"#")
    try:
        read = _markdown(data) if markdown else msgspec.json.decode(data, type=_ReadFile)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{place} is not a session in {'Markdown' if markdown else 'JSON'} ({error}); {_NOTHING}", hint=_HINT) from None
    if (read.format, read.version) != (FORMAT, VERSION):
        told = f"{place} has the format {read.format!r:.40}, version {read.version}; this program reads {FORMAT}, version {VERSION}; {_NOTHING}"
        raise UsageError(told, hint=_HINT)
    entries: list[Entry] = []
    for number, raw in enumerate(read.events, 1):
        try:
            _add(entries, _entry(bytes(raw), options))
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{place}: event {number} cannot be imported: {error}; {_NOTHING}", hint="the events are counted from 1") from None
    turn, whole = _ended(place, entries)
    return FileSession(place, blob_digest(data), read.session, read.title, turn, whole, read.entries or len(read.events))


def _markdown(data: bytes) -> _ReadFile:
    """The same of an export in Markdown. Raises `ValueError`."""
    found = markdown_session(data.decode())
    events = tuple(msgspec.Raw(msgspec.json.encode(event)) for event in found["events"])
    return _ReadFile(FORMAT, VERSION, found["session"], events, found["title"], found["entries"])


def _bytes(place: str) -> bytes:
    try:
        with open(place, "rb") as file:  # noqa: PTH123
            data = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"{place!r:.200} cannot be read ({why}); {_NOTHING}", hint=_HINT) from None
    if len(data) > LARGEST:
        raise UsageError(f"{place} has more than {LARGEST // 1024 // 1024} MB; {_NOTHING}", hint="split it: the events of some turns make a session too")
    return data


def _add(entries: list[Entry], entry: Entry | None) -> None:
    """Raises `ValueError` for one that stands in no order."""
    if entry is None:
        return
    before = entries[-1] if entries else None
    if before is not None and not before.entry < entry.entry:
        raise ValueError(f"entry {entry.entry} stands behind entry {before.entry}")
    if before is not None and before.turn > entry.turn:
        raise ValueError(f"turn {entry.turn} stands behind turn {before.turn}")
    entries.append(entry)


def _entry(data: bytes, options: TurnOptions) -> Entry | None:
    """The entry that an event tells of; None for one of a kind that is not copied. Raises `ValueError` or `RecursionError`."""
    event = msgspec.json.decode(data, type=_Event)
    if event.type not in COPIED:
        return None
    if event.erased:
        raise ValueError(f"entry {event.entry}, a {event.type}, was erased: its turn is not whole any more")
    if not event.turn:
        raise ValueError("turns are counted from 1")
    if not BUILT_IN.knows(event.type, event.version):
        raise ValueError(f"{event.type} of version {event.version} is not known to this program; a newer one may know it")
    fields = _without_bytes(msgspec.json.decode(data))
    if event.type == "turn.started":
        fields["options"] = msgspec.to_builtins(options)
    body = _nobodys(BUILT_IN.decode(event.type, event.version, msgspec.json.encode(fields)))
    header = Header(
        record=0, session="", entry=event.entry, turn=event.turn, kind=event.type, version=event.version, time=int(event.time.timestamp() * 1_000_000),
        labels=tuple(sorted(_labels(event.labels))), digest="", hash="",
    )  # fmt: skip
    return Entry(header, body)


def _without_bytes(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of an event without what names bytes that no export has, and without the place of the event."""
    gone = ("session", "seq", "time", "entry", "turn", "version", "labels", "sentence", "images", "parts", "stored", "environment", "metadata_digest")
    return {name: value for name, value in fields.items() if name not in gone}


def _nobodys(body: Body) -> Body:
    """The body as it counts here: it is answered nowhere, it allows nothing, and what it did cannot be undone."""
    replace = msgspec.structs.replace
    if isinstance(body, Inbound):
        return replace(body, options=None, reply_to="", channel="", address="", content_labels=())
    if isinstance(body, TurnStarted):
        return replace(body, digests={})
    if isinstance(body, Message):
        return replace(body, state=None)
    if isinstance(body, Compaction):
        return replace(body, private=True)
    if isinstance(body, ToolFinished):
        return replace(body, truncated=False, changes=(), child="", usage=None, values_from=(), private=True, links="none")
    return body


def _labels(given: Sequence[str]) -> Labels:
    """What the labels of an event still say here: where it came from, never whose word it is or that it is public. Raises `ValueError`."""
    kept = [label for label in given if is_external((label,)) or value_sources((label,)) or label == SECRET]
    if len(kept) > _MOST_LABELS or not all(_LABEL.fullmatch(label) for label in kept):
        raise ValueError(f"labels are at most {_MOST_LABELS} texts of at most 200 visible ASCII characters")
    return join(kept, _IMPORTED)


def _ended(place: str, entries: Sequence[Entry]) -> tuple[int, list[Entry]]:
    """The last turn that ended, and the entries up to its end. Raises `UsageError` where there is none, and where one before it is not whole."""
    ends = {entry.turn: entry.entry for entry in entries if isinstance(entry.body, TurnFinished) and not entry.body.waiting}
    if not ends:
        raise UsageError(f"{place} has no turn that ended; {_NOTHING}", hint="end it where it is, and export it again: neuralclaw sessions cancel ID")
    last = max(ends)
    kept = [entry for entry in entries if entry.entry <= ends[last]]
    said = {entry.entry for entry in kept if isinstance(entry.body, Inbound)}
    starts = {entry.turn: entry.body for entry in kept if isinstance(entry.body, TurnStarted)}
    for turn in sorted({entry.turn for entry in kept if not isinstance(entry.body, Inbound)}):
        missing = [name for name, there in (("turn.started", turn in starts), ("turn.finished", turn in ends)) if not there]
        if not missing and starts[turn].inbound not in said:
            missing = [f"inbound of entry {starts[turn].inbound}"]
        if missing:
            raise UsageError(f"{place}: turn {turn} has no {missing[0]}; {_NOTHING}", hint="take out the whole turn, or bring the event back")
    return last, those_of_turns(kept)
