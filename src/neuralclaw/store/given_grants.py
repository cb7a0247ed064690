"""Grants that were given before any question, folded from their entries in the session `home`: given, used, taken back."""

import sqlite3
from datetime import datetime

import msgspec

from ..errors import GrantSpent
from ..types.entries import HOME, Entry, rfc3339
from ..types.events import GrantGiven, GrantRevoked, GrantUsed
from ..types.grants import Scope, StandingGrant
from .entry_writer import Append
from .folding import FoldingAppend
from .tables import Tables
from .verified import entries_of

KINDS = ("grant.given", "grant.used", "grant.revoked")


def given_grants(c: sqlite3.Connection) -> dict[str, StandingGrant]:
    """Those that were not taken back, by id, with their uses. What of the entries is not as it was written takes back what was given before."""
    found: dict[str, StandingGrant] = {}
    for entry in entries_of(c, HOME, KINDS) or ():
        body = entry.body
        if isinstance(body, GrantGiven):
            found.setdefault(body.grant_id, _grant(body, rfc3339(entry.header.time)))
        elif isinstance(body, GrantRevoked):
            found.pop(body.grant_id, None)
        elif isinstance(body, GrantUsed):
            if (one := found.get(body.grant_id)) is not None:
                found[body.grant_id] = msgspec.structs.replace(one, used=(*one.used, body.use))
        else:
            found.clear()
    return found


def _grant(body: GrantGiven, since: str) -> StandingGrant:
    return StandingGrant(
        grant_id=body.grant_id,
        lasts="session" if body.session else "always",
        session=body.session or HOME,
        turn=0,
        workspace=body.workspace,
        tool="",
        covers=body.covers,
        by=body.by,
        since=since,
        scopes=tuple(Scope(s.get("kind", ""), s.get("value", ""), s.get("tool", ""), s.get("definition", "")) for s in body.scopes),  # type: ignore[arg-type]  # as it was written
        until=datetime.fromisoformat(body.until).timestamp() if body.until is not None else None,
        uses=body.uses,
        given=True,
        parent=body.parent,
    )


class SpendingAppend(FoldingAppend):
    """An append with uses of counted grants: in a transaction of its own, which no other process can be beside, it looks whether there is one left."""

    __slots__ = ()
    alone = True

    def run(self, tables: Tables) -> list[Entry]:
        known = given_grants(tables.connection)
        for prepared in self._prepared:
            body = prepared.body
            if isinstance(body, GrantUsed) and not ((grant := known.get(body.grant_id)) and body.use not in grant.used and grant.holds(self._now())):
                raise GrantSpent(f"the grant {body.grant_id} was used up, taken back or ran out; nothing was run")
        return super().run(tables)


def job_of(kind: type[Append], kinds: list[str]) -> type[Append]:
    """The kind of job that writes entries of these kinds, where `kind` is the one for others."""
    return SpendingAppend if "grant.used" in kinds else kind
