"""A session's own state beside its entries: whether it is set aside."""

from .tables import Needs, Tables
from .writer import Job


class SetAside(Job):
    """Mark a session as set aside, or not."""

    __slots__ = ("_aside", "_session")

    def __init__(self, session: str, aside: bool) -> None:
        self._session, self._aside = session, aside

    def needs(self, needs: Needs) -> None:
        needs.sessions.add(self._session)

    def run(self, tables: Tables) -> None:
        tables.statements.append(("UPDATE sessions SET aside = ? WHERE session = ?", (int(self._aside), self._session)))
