"""A session's own state: what it was made with, and whether it is set aside."""

from .tables import Needs, Tables
from .writer import Job


class CreateSession(Job):
    """Make a session; of one that is there only empty fields are filled in. `now` in epoch seconds."""

    __slots__ = ("_row", "_session")

    def __init__(self, session: str, origin: str, workspace: str, title: str, model: str, now: float) -> None:
        self._row = (session, origin, workspace, title, model, int(now * 1_000_000))

    def run(self, tables: Tables) -> None:
        tables.add("sessions", self._row)


class SetAside(Job):
    """Mark a session as set aside, or not."""

    __slots__ = ("_aside", "_session")

    def __init__(self, session: str, aside: bool) -> None:
        self._session, self._aside = session, aside

    def needs(self, needs: Needs) -> None:
        needs.sessions.add(self._session)

    def run(self, tables: Tables) -> None:
        tables.statements.append(("UPDATE sessions SET aside = ? WHERE session = ?", (int(self._aside), self._session)))
