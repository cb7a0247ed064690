"""Standing answers, folded from the entries that gave them and took them back. The table `scopes` only says where to look."""

import sqlite3

from ..types.entries import Entry, rfc3339
from ..types.events import ApprovalRequested, ApprovalResolved, GrantRevoked
from ..types.grants import Scope, StandingGrant
from .given_grants import given_grants
from .verified import entries_of, entry_at

_STANDING = "SELECT q.id, q.record, s.record FROM scopes s JOIN questions q ON q.session = s.session AND q.answer = s.record WHERE s.place = 0"


def grant_rows(c: sqlite3.Connection, session: str | None, workspace: str | None) -> list[StandingGrant]:
    """Standing grants, oldest first: all, or those that count for a turn of this session in this workspace."""
    c.execute("SELECT ?, ?", (session, workspace)).close()  # what is no text is wrong usage
    where, values = ("", ()) if session is None else (" AND (s.session = ? OR s.decision = 'always')", (session,))
    revoked: dict[str, list[Entry] | None] = {}
    found: list[StandingGrant] = []
    for name, asked, answered in c.execute(f"{_STANDING}{where} ORDER BY s.record", values).fetchall():
        grant = _grant(entry_at(c, asked), entry_at(c, answered), name)
        if grant is None or (grant.lasts == "session" and session not in (None, grant.session)):
            continue
        if grant.lasts == "always" and workspace not in (None, grant.workspace):
            continue
        if grant.session not in revoked:
            revoked[grant.session] = entries_of(c, grant.session, ("grant.revoked",))
        if not _taken_back(revoked[grant.session], name, answered):
            found.append(grant)
    given = given_grants(c).values()
    return found + [g for g in given if (g.lasts == "always" or session in (None, g.session)) and workspace in (None, g.workspace)]


def _taken_back(entries: list[Entry] | None, name: str, answered: int) -> bool:
    """Whether one of them takes the grant back; one that cannot be read takes back all that its session gave before."""
    if entries is None:
        return True
    later = (entry for entry in entries if entry.header.record > answered)
    return any(not isinstance(entry.body, GrantRevoked) or entry.body.grant_id == name for entry in later)


def _grant(asked: Entry | None, answered: Entry | None, name: str) -> StandingGrant | None:
    """The grant that an answer gave. None where the question or the answer is not as it was written, or did not say in words what the answer would cover."""
    if asked is None or answered is None or asked.header.session != answered.header.session or asked.header.record > answered.header.record:
        return None
    question, answer = asked.body, answered.body
    if not isinstance(question, ApprovalRequested) or not isinstance(answer, ApprovalResolved) or not name == question.approval_id == answer.approval_id:
        return None
    lasts = answer.decision
    if lasts not in ("session", "always") or lasts not in question.choices or not question.workspace:
        return None
    covers = getattr(question.covers, lasts)
    if covers is None:
        return None
    return StandingGrant(
        grant_id=question.approval_id,
        lasts=lasts,
        session=asked.header.session,
        turn=asked.turn,
        workspace=question.workspace,
        tool=question.action.tool,
        covers=covers,
        by=answer.by,
        since=rfc3339(answered.header.time),
        scopes=tuple(Scope(s.get("kind", ""), s.get("value", ""), s.get("tool", ""), s.get("definition", "")) for s in question.scopes),  # type: ignore[arg-type]  # as it was written
    )
