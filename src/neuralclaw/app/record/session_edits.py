"""The verbs that change a session as a whole, beside its turns."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from ... import lookups
from ...agent.redaction import redacted
from ...errors import UsageError
from ...ports import Redaction, Store
from ...types.entries import Draft, Entry
from ...types.events import Erased, SessionRenamed, TurnFinished
from ...types.labels import OWNER
from ...types.records import Lease, SessionRow
from ..option_checks import checked_name
from .held_session import held_session

LONGEST_TITLE = 200
"""Characters of a title at most: it is one cell of a table."""


class RenamedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session with its new title. `before`: the one it had."""

    session: str
    title: str
    before: str


class DeletedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session that is erased now. `entries`: how many were; `children`: the sessions that worked for it, which are there still."""

    session: str
    entries: int
    children: tuple[str, ...] = ()


class SessionEdits:
    """Changes of sessions, on record as the word of `who`. `notify` tells this process of entries that were written."""

    def __init__(self, store: Store, notify: Callable[[Sequence[Entry]], None], redaction: Redaction, who: str) -> None:
        self._store, self._notify, self._redaction, self._who = store, notify, redaction, who

    async def rename(self, *, session: str, title: str) -> dict[str, Any]:
        """Give the session another title, also while a turn of it runs. Secrets are taken out of it. Raises `UsageError` and `SessionNotFound`."""
        row = await lookups.find_session(self._store, checked_name(session))
        body = redacted(SessionRenamed(title=checked_title(title), by=self._who), self._redaction)
        if body.title != row.title:
            self._notify(await self._store.append(row.session, [Draft(max(1, row.last_turn), body, OWNER)]))
        done: dict[str, Any] = msgspec.to_builtins(RenamedSession(session=row.session, title=body.title, before=row.title))
        return done

    async def delete(self, *, session: str, yes: bool, erase: Callable[[str, str], Awaitable[Entry]]) -> dict[str, Any]:
        """Erase what stands in the session, with its results, pictures, questions and answers that wait; a turn that is parked or was interrupted ends.

        Its headers, what it cost and the keys of its messages stay. Raises `UsageError`, `SessionNotFound`, and `SessionBusy` while a turn of it runs.
        """
        row = await lookups.find_session(self._store, checked_name(session))
        if not yes:
            told = f"the session {row.session} has {row.entries} entries, and nothing brings them back once they are erased; nothing was deleted"
            raise UsageError(told, hint=f"neuralclaw sessions delete {row.session} --yes")
        children = [one["session"] for one in await self._store.rows("sessions", {"parent": row.session}, order=("session",))]
        stop = f"stop it first: neuralclaw sessions cancel {row.session}"
        async with held_session(self._store, row.session, "nothing was deleted", stop) as lease:
            await self._end(await lookups.existing_session(self._store, row.session), lease)
            entry = await erase(row.session, self._who)
        self._notify([entry])
        count = len(entry.body.entries) if isinstance(entry.body, Erased) else 0
        done: dict[str, Any] = msgspec.to_builtins(DeletedSession(session=row.session, entries=count, children=tuple(children)))
        return done

    async def _end(self, row: SessionRow, lease: Lease) -> None:
        """End the turn that is open, so that what comes later under the name of the session does not go on with it."""
        if row.open_turn:
            end = TurnFinished(status="cancelled", text="")
            self._notify(await self._store.append(row.session, [Draft(row.open_turn, end, row.labels)], lease=lease))


def checked_title(title: str) -> str:
    """The title on one line, without spaces around it. Raises `UsageError` for one that is empty, too long, or no Unicode text."""
    line = " ".join(title.split())
    if not line:
        raise UsageError("the title is empty; the session keeps the one it has", hint='neuralclaw sessions rename ID "TITLE"')
    if len(line) > LONGEST_TITLE:
        raise UsageError(f"the title has {len(line)} characters, and {LONGEST_TITLE} is the most; the session keeps the one it has")
    try:
        line.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"the title has a character that is no Unicode text (position {error.start}); the session keeps the one it has") from error
    return line
