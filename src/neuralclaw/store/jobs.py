"""Jobs of the writer beside appending: sessions, marks, erasing, rebuilding."""

from collections.abc import Callable, Sequence
from typing import Any

from ..types.entries import Draft, Entry
from ..types.events import Erased
from .journal import prepare, write
from .projections import Kept, project
from .reading import ENTRY, entry_of
from .tables import Needs, Tables
from .writer import Job

DERIVED = ("progress", "turns", "questions", "scopes", "usage", "calls")


class Ensure(Job):
    """A session's row, or what an empty one still lacks."""

    __slots__ = ("_row",)

    def __init__(self, row: tuple[Any, ...]) -> None:
        self._row = row

    def run(self, tables: Tables) -> None:
        tables.add("sessions", self._row)


class Aside(Job):
    """Mark a session's open turn as set aside, or take the mark back."""

    __slots__ = ("_aside", "_session")

    def __init__(self, session: str, aside: bool) -> None:
        self._session, self._aside = session, aside

    def run(self, tables: Tables) -> None:
        tables.statements.append(("UPDATE sessions SET aside = ? WHERE session = ?", (int(self._aside), self._session)))
        if not self._aside:
            tables.statements.append(("UPDATE leases SET starts = 0 WHERE name = ?", (f"session:{self._session}",)))
            tables.leases.pop(f"session:{self._session}", None)


class Erase(Job):
    """Erase bodies with their keys and results, and append the `erased` entry that says so."""

    __slots__ = ("_by", "_entries", "_now", "_session")
    alone = True

    def __init__(self, session: str, entries: Sequence[int] | None, by: str, now: Callable[[], float]) -> None:
        self._session, self._entries, self._by, self._now = session, entries, by, now

    def needs(self, needs: Needs) -> None:
        needs.sessions.add(self._session)

    def run(self, tables: Tables) -> Entry | None:
        c = tables.connection
        rows = c.execute(
            "SELECT e.entry, e.record FROM entries e JOIN bodies b ON b.record = e.record WHERE e.session = ? AND e.kind <> 'erased' ORDER BY e.entry",
            (self._session,),
        ).fetchall()
        if self._entries is not None:
            wanted = set(self._entries)
            rows = [row for row in rows if row[0] in wanted]
        if not rows:
            return None
        records = [(record,) for _, record in rows]
        c.executemany("DELETE FROM bodies WHERE record = ?", records)
        if self._entries is None:
            c.execute("DELETE FROM results WHERE session = ?", (self._session,))
        else:
            c.executemany("DELETE FROM results WHERE record = ?", records)
        body = Erased(entries=tuple(entry for entry, _ in rows), by=self._by)
        return write(tables, self._session, prepare(Draft(0, body)), self._now())


class Rebuild(Job):
    """Derive every derived row anew from the entries; of erased bodies what the old rows know is kept."""

    __slots__ = ()
    alone = True

    def run(self, tables: Tables) -> None:
        c = tables.connection
        kept = Kept()
        for row in c.execute("SELECT * FROM usage").fetchall():
            kept.usage[row[0]] = row
        for name, record, answer in c.execute("SELECT id, record, answer FROM questions").fetchall():
            kept.questions[record] = name
            if answer is not None:
                kept.questions[answer] = name
        for table in DERIVED:
            c.execute(f"DELETE FROM {table}")
        tables.progress.clear()
        sessions = {row[0] for row in c.execute("SELECT DISTINCT session FROM entries").fetchall()}
        tables.look_up(Needs(sessions=sessions))
        for row in c.execute(f"{ENTRY} ORDER BY e.record").fetchall():
            entry = entry_of(row)
            if entry.body is not None and entry.header.kind == "approval.resolved":
                tables.look_up(Needs(questions={entry.body.approval_id}))  # type: ignore[union-attr]
            project(tables, entry.header, entry.body, kept)
            tables.flush()
