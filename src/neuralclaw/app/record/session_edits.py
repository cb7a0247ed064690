"""The verbs that change a session as a whole, beside its turns."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ... import lookups
from ...agent.redaction import redacted
from ...errors import UsageError
from ...ports import Redaction, Store
from ...types.entries import Draft, Entry
from ...types.events import SessionRenamed
from ...types.labels import OWNER
from ..option_checks import checked_name

LONGEST_TITLE = 200
"""Characters of a title at most: it is one cell of a table."""


class RenamedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session with its new title. `before`: the one it had."""

    session: str
    title: str
    before: str


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
