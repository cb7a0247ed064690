"""A capability of the tests: books that are read, its kinds of events and the table that is folded from them."""

from typing import Any

from neuralclaw.capability import Table
from neuralclaw.ports import Rows
from neuralclaw.types.codec import Codec, EventKind
from neuralclaw.types.entries import Draft, Entry
from neuralclaw.types.events import Body
from neuralclaw.types.labels import OWNER


class Added(Body, frozen=True, kw_only=True, tag="reading.added"):
    """A book is to be read."""

    title: str
    pages: int = 0


class Finished(Body, frozen=True, kw_only=True, tag="reading.finished"):
    """A book was read."""

    title: str


KINDS = (EventKind(body=Added, sentence=lambda b: f"{b.title} was added"), EventKind(body=Finished, sentence=lambda b: f"{b.title} was read"))
CODEC = Codec(KINDS)


def fold(entry: Entry, rows: Rows) -> None:
    body = entry.body
    if isinstance(body, Added):
        if body.pages < 0:
            raise ValueError("a book has no negative number of pages")
        rows.put(title=body.title, pages=body.pages, added=entry.header.time)
    elif isinstance(body, Finished):
        row = rows.get(title=body.title)
        if row is not None:
            rows.put(**{**row, "finished": entry.header.time})


def table(**changed: Any) -> Table:
    values: dict[str, Any] = {
        "name": "reading_books",
        "columns": {"title": "text", "pages": "integer", "added": "integer", "finished": "integer"},
        "key": ("title",),
        "kinds": ("reading.added", "reading.finished"),
        "fold": fold,
        "indexes": (("finished",),),
    }
    return Table(**{**values, **changed})


BOOKS = table()


def count(entry: Entry, rows: Rows) -> None:
    """A fold that no entry may pass twice."""
    title = entry.body.title  # type: ignore[union-attr]
    row = rows.get(title=title) or {"times": 0}
    rows.put(title=title, times=row["times"] + 1)


def counted(version: int = 1) -> Table:
    """How often each book was named. Each version has a column of its own."""
    columns = {"title": "text", "times": "integer", **({f"more{version}": "text"} if version > 1 else {})}
    return table(columns=columns, indexes=(), fold=count, version=version)


def added(title: str, pages: int = 100, *, turn: int = 0) -> Draft:
    return Draft(turn, Added(title=title, pages=pages), OWNER)


def finished(title: str, *, turn: int = 0) -> Draft:
    return Draft(turn, Finished(title=title), OWNER)
