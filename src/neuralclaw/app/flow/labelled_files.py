"""`FLOW`: the capability that brings the table of files that calls wrote, derived from what they changed: whose content they hold.

A file is labelled with what was in play when a call wrote it, the call's own result included, and with `agent`, since an agent wrote it. A label goes when a
file tool deletes the file, and comes back with an undo, which may bring the file back; with nothing else: what a command deletes or moves away keeps its row,
under its name.
"""

import json
import posixpath
from collections.abc import Iterable, Sequence

import msgspec

from ...capability import Capability, Table
from ...ports import Rows
from ...types.entries import Entry
from ...types.events import ToolFinished
from ...types.labels import AGENT, PRIVATE, SECRET, is_external, value_sources
from ...types.redaction_marks import redaction_mark
from ..undo.undo_events import ChangesSaved, UndoDone

TABLE = "flow_files"
BELOW = "/**"
"""At the end of a path: the labels hold for all that is below this directory."""
NEWEST = "newest"
"""Key of the row whose record is that of the newest change of the table."""
UNDONE = "undone"
"""Key of the row whose record is that of the newest undo: labels that went before it count again."""
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
        paths = _paths(body)
        _mark(rows, paths, header.labels, header.record)
        if paths:  # what the call itself read or fetched is told by its end
            rows.put(path=f"{_WAITS}{header.session}/{body.call_id}", labels=_encoded(paths), gone="[]", record=header.record)
    elif isinstance(body, UndoDone):
        rows.put(path=UNDONE, labels="[]", gone="[]", record=header.record)
        rows.put(path=NEWEST, labels="[]", gone="[]", record=header.record)
    elif isinstance(body, ToolFinished):
        waiting = f"{_WAITS}{header.session}/{body.call_id}"
        row = rows.get(path=waiting)
        if row is not None:
            rows.delete(path=waiting)
            _mark(rows, _decoded(row["labels"]), header.labels, header.record)
        _mark(rows, [change.path for change in body.changes if change.after is not None], header.labels, header.record)
        _forget(rows, [change.path for change in body.changes if change.after is None], header.record)


def _paths(body: ChangesSaved) -> list[str]:
    """What changed, also what undo cannot bring back; where not all of it is named, all below the directory that holds it."""
    lost = [_real(one) for one in body.not_kept]
    found = [*(_real(path) if path.startswith('"') else path for path in body.paths), *lost]
    if len(body.paths) < body.created + body.changed + body.deleted:
        found.append(_real(body.top).rstrip("/") + BELOW)
    if len(lost) < body.not_kept_count and lost:
        found.append(posixpath.commonpath([posixpath.dirname(path) for path in lost]).rstrip("/") + BELOW)
    return [path for path in dict.fromkeys(map(_as_it_is, found)) if path.startswith("/")]


def _real(shown: str) -> str:
    """The path at the beginning of a text, where it stands as people read it (`types.quoted_names.one_line`)."""
    if shown.startswith('"'):
        return str(json.JSONDecoder().raw_decode(shown)[0])
    return shown.partition(": ")[0]


def _as_it_is(path: str) -> str:
    """The path; where a name in it cannot be kept as it is (no UTF-8, a secret), all below the directory above that."""
    names = path.split("/")
    changed = next((at for at, name in enumerate(names) if redaction_mark(name) or any("\ud800" <= letter <= "\udfff" for letter in name)), 0)
    return "/".join(names[:changed]) + BELOW if changed else path


def _mark(rows: Rows, paths: Iterable[str], labels: Sequence[str], record: int) -> None:
    for path in paths:
        known = rows.get(path=path)
        before = _decoded(known["labels"]) if known is not None else []
        after = sorted({*before, *kept_labels(labels)})
        if after != before:
            rows.put(path=path, labels=_encoded(after), gone=known["gone"] if known is not None else "[]", record=record)
            rows.put(path=NEWEST, labels="[]", gone="[]", record=record)


def _forget(rows: Rows, paths: Iterable[str], record: int) -> None:
    """Files that are deleted have no labels; their rows stay, with what an undo brings back."""
    for path in paths:
        known = rows.get(path=path)
        if known is not None:
            gone = sorted({*_decoded(known["gone"]), *_decoded(known["labels"])})
            rows.put(path=path, labels="[]", gone=_encoded(gone), record=record)
            rows.put(path=NEWEST, labels="[]", gone="[]", record=record)


def _encoded(texts: Sequence[str]) -> str:
    return msgspec.json.encode(texts).decode()


def _decoded(text: str) -> list[str]:
    return msgspec.json.decode(text, type=list[str])


FLOW = Capability(
    name="flow",
    summary="files that hold content from outside",
    tables=(
        Table(
            name=TABLE,
            columns={"path": "text", "labels": "text", "gone": "text", "record": "integer"},
            key=("path",),
            kinds=("tool.finished", "undo.saved", "undo.done"),
            fold=fold,
            indexes=(("record",),),
            version=2,
        ),
    ),
)
