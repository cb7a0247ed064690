"""Stored rows as entries. Whatever stands in a row, it becomes an entry: a body that cannot be read is `Unreadable`."""

import sqlite3
from collections.abc import Iterable
from typing import Any

import msgspec

from ..types.codec import BUILT_IN, Codec
from ..types.entries import Entry, Header
from ..types.events import Body, Unreadable

HEADER = "e.record, e.session, e.entry, e.turn, e.kind, e.version, e.time, e.labels, e.digest, e.hash"
"""The columns that `header_of` takes, of the table `entries` as `e`."""
ENTRY = f"SELECT {HEADER}, b.data FROM entries e LEFT JOIN bodies b ON b.record = e.record"
"""What `entry_of` takes."""

_labels: dict[str, tuple[str, ...]] = {}


def stored_text(data: bytes) -> str:
    """A text column's bytes; where they are no UTF-8, a text that nobody wrote, so that a verification finds it changed."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode(errors="replace") + " (not UTF-8)"


def labels_of(text: str) -> tuple[str, ...]:
    """Stored labels. What cannot be read stands for itself, so that a verification finds it changed."""
    known = _labels.get(text)
    if known is None:
        try:
            known = msgspec.json.decode(text, type=tuple[str, ...])
            if msgspec.json.encode(known).decode() != text:  # spelled as nobody wrote it
                known = (text,)
        except (ValueError, RecursionError):
            known = (text,)
        if len(_labels) > 256:
            _labels.clear()
        _labels[text] = known
    return known


def header_of(row: Iterable[Any]) -> Header:
    """A header from the columns `HEADER`. Raises `sqlite3.DatabaseError` where one has another type than it was written with: the file is damaged."""
    record, session, entry, turn, kind, version, time, labels, digest, link = row
    if not (
        record.__class__ is entry.__class__ is turn.__class__ is version.__class__ is time.__class__ is int
        and session.__class__ is kind.__class__ is labels.__class__ is str
        and digest.__class__ is link.__class__ is bytes
    ):
        error = sqlite3.DatabaseError(f"a column of record {record!r:.20} has another type")
        error.sqlite_errorname = "SQLITE_CORRUPT"
        raise error
    return Header(
        record=record,
        session=session,
        entry=entry,
        turn=turn,
        kind=kind,
        version=version,
        time=time,
        labels=labels_of(labels),
        digest=digest.hex(),
        hash=link.hex(),
    )


def entry_of(row: Iterable[Any], codec: Codec) -> Entry:
    """An entry from a row of `ENTRY`."""
    *columns, data = row
    header = header_of(columns)
    return Entry(header, None if data is None else body_of(header.kind, header.version, data, header.session, header.entry, codec))


def body_of(kind: str, version: int, data: bytes, session: str, entry: int, codec: Codec = BUILT_IN) -> Body:
    """A stored body, an `Unreadable` where it cannot be read; `session` and `entry` are for the text that says which one.

    Those of built-in kinds any codec reads.
    """
    if codec.knows(kind, version):
        try:
            return codec.decode(kind, version, data)
        except (ValueError, RecursionError):
            text = f"entry {entry} of session {session} is damaged: what is recorded of it is no {kind}"
            return Unreadable(kind=kind, version=version, why="damaged", text=text)
    text = f"entry {entry} of session {session} cannot be read: this program does not know {kind} version {version}"
    return Unreadable(kind=kind, version=version, why="unknown", text=text, data=_json(data))


def _json(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (ValueError, RecursionError):
        return None
