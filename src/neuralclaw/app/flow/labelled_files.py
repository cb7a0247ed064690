"""`FLOW`: the capability that brings the table of files that calls wrote, derived from what they changed: whose content they hold.

A file is labelled with what was in play when a call wrote it, the call's own result included, and with `agent`, since an agent wrote it. A label goes when a
file tool deletes the file, and with nothing else: what a command deletes or moves away keeps its row, under its name.
"""

from collections.abc import Iterable, Sequence

import msgspec

from ...capability import Capability, Table
from ...ports import Rows
from ...types.entries import Entry
from ...types.events import ToolFinished
from ...types.labels import AGENT, PRIVATE, SECRET, is_external, value_sources
from ..undo.undo_events import ChangesSaved

TABLE = "flow_files"
BELOW = "/**"
"""At the end of a path: the labels hold for all that is below this directory."""
NEWEST = "newest"
"""Key of the row whose record is that of the newest change of the table."""
_WAITS = "call:"
"""Begins the key of a row with the paths of a call whose end is not on record yet: their labels are those of its end."""


def kept_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """What of an entry's labels stays with a file: that an agent wrote it, the sources outside, and, where there are such, that it is not public."""
    outside = is_outside(labels)
    return (*AGENT, *(label for label in labels if is_outside((label,)) or (outside and label in (PRIVATE, SECRET))))


def is_outside(labels: Sequence[str]) -> bool:
    """Whether content or a value came from outside."""
    return is_external(labels) or bool(value_sources(labels))


def fold(entry: Entry, rows: Rows) -> None:
    """Take what a call changed into the table."""
    body, header = entry.body, entry.header
    if isinstance(body, ChangesSaved):
        _mark(rows, _paths(body), header.labels, header.record)
        if body.paths:  # what the call itself read or fetched is told by its end
            rows.put(path=f"{_WAITS}{header.session}/{body.call_id}", labels=msgspec.json.encode(_paths(body)).decode(), record=header.record)
    elif isinstance(body, ToolFinished):
        waiting = f"{_WAITS}{header.session}/{body.call_id}"
        row = rows.get(path=waiting)
        if row is not None:
            rows.delete(path=waiting)
            _mark(rows, msgspec.json.decode(row["labels"], type=list[str]), header.labels, header.record)
        _mark(rows, [change.path for change in body.changes if change.after is not None], header.labels, header.record)
        _forget(rows, [change.path for change in body.changes if change.after is None], header.record)


def _paths(body: ChangesSaved) -> list[str]:
    """What changed; where not all of it is named, all below the directory that holds it."""
    every = len(body.paths) >= body.created + body.changed + body.deleted
    return list(body.paths) if every else [*body.paths, body.top.rstrip("/") + BELOW]


def _mark(rows: Rows, paths: Iterable[str], labels: Sequence[str], record: int) -> None:
    for path in paths:
        known = rows.get(path=path)
        before = msgspec.json.decode(known["labels"], type=list[str]) if known is not None else []
        after = sorted({*before, *kept_labels(labels)})
        if after != before:
            rows.put(path=path, labels=msgspec.json.encode(after).decode(), record=record)
            rows.put(path=NEWEST, labels="[]", record=record)


def _forget(rows: Rows, paths: Iterable[str], record: int) -> None:
    """Files that are deleted have no labels; their rows stay, so that readers who know them learn it."""
    for path in paths:
        if rows.get(path=path) is not None:
            rows.put(path=path, labels="[]", record=record)
            rows.put(path=NEWEST, labels="[]", record=record)


FLOW = Capability(
    name="flow",
    summary="files that hold content from outside",
    tables=(
        Table(
            name=TABLE,
            columns={"path": "text", "labels": "text", "record": "integer"},
            key=("path",),
            kinds=("tool.finished", "undo.saved"),
            fold=fold,
            indexes=(("record",),),
            version=2,
        ),
    ),
)
