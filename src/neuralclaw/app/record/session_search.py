"""`sessions.search`: a text in the titles, messages, answers and tool results of all sessions."""

import heapq
import re
from typing import Any

import msgspec

from ... import lookups
from ...errors import UsageError
from ...ports import Redaction, Store
from ...types.entries import Entry, rfc3339
from ...types.events import Inbound, Message, ToolFinished
from ...types.records import SessionRow

KINDS = ("inbound", "message", "tool.finished")
_BEFORE, _BEHIND = 60, 100
"""Characters of an excerpt around what was found."""


class SearchHit(msgspec.Struct, frozen=True, kw_only=True):
    """A place where the text stands. `type`: the kind of the entry; for a title it is `title`, `entry` is null and `turn` 0."""

    session: str
    title: str
    turn: int
    entry: int | None
    time: str
    type: str
    excerpt: str


class SessionSearch:
    """Looks for one text, whatever the case of its letters. There is no index: the record itself is read, page by page.

    Sessions are read from the one that changed last on, each from its beginning, until `limit` places are newer than all that is left. So what it costs
    grows with what is read: at worst every message and result of the home, of which 200,000 with 300 characters each took 3 s. Memory holds a page and
    the hits. Of a result that was shortened for the model the whole text is looked at. A secret that is known now is not found, and in no excerpt.
    """

    def __init__(self, store: Store, redaction: Redaction, text: str, limit: int) -> None:
        self._store, self._redaction, self._limit = store, redaction, limit
        wanted = text.strip()
        if not wanted:
            raise UsageError("the text to look for is empty", hint='neuralclaw sessions search "TEXT"')
        self._folded, self._pattern = wanted.casefold(), re.compile(re.escape(wanted), re.IGNORECASE)
        self._found: list[tuple[str, int, dict[str, Any]]] = []
        """The newest hits so far, by their time and record, as a heap: the oldest of them is the first."""

    async def hits(self) -> list[dict[str, Any]]:
        """At most `limit` places, the newest first."""
        for row in await self._store.sessions():
            if len(self._found) == self._limit and self._found[0][0] > row.updated:
                break
            await self._look_through(row)
        return [hit for *_, hit in sorted(self._found, key=lambda one: one[:2], reverse=True)]

    async def _look_through(self, row: SessionRow) -> None:
        if excerpt := self._excerpt(row.title):
            self._take(0, SearchHit(session=row.session, title=row.title, turn=0, entry=None, time=row.updated, type="title", excerpt=excerpt))
        async for page in lookups.pages(self._store, row.session, last=row.entries, kinds=KINDS):
            for entry in page:
                if excerpt := await self._excerpt_of(entry):
                    h, time = entry.header, rfc3339(entry.header.time)
                    hit = SearchHit(session=h.session, title=row.title, turn=h.turn, entry=h.entry, time=time, type=h.kind, excerpt=excerpt)
                    self._take(h.record, hit)

    def _take(self, record: int, hit: SearchHit) -> None:
        item = (hit.time, record, msgspec.to_builtins(hit))
        if len(self._found) < self._limit:
            heapq.heappush(self._found, item)
        elif item[:2] > self._found[0][:2]:
            heapq.heapreplace(self._found, item)

    async def _excerpt_of(self, entry: Entry) -> str:
        """The words around the first place in the entry; "" where the text is not in it."""
        match entry.body:
            case Inbound(text=text) | Message(text=text):
                return self._excerpt(text)
            case ToolFinished(content=content, error=error):
                found = self._excerpt(content or error or "")
                if not found and entry.body.truncated:
                    found = self._excerpt(await lookups.result(self._store, entry.header.session, entry.body.call_id) or "")
                return found
            case _:
                return ""

    def _excerpt(self, text: str) -> str:
        if self._folded not in text.casefold():
            return ""
        known = self._redaction.redact(text)
        found = self._pattern.search(known)
        at = found.start() if found else known.casefold().find(self._folded)
        if at < 0:  # in a secret
            return ""
        begin, end = max(0, at - _BEFORE), at + len(self._folded) + _BEHIND
        line = " ".join(known[begin:end].split())
        return f"{'…' if begin else ''}{line}{'…' if end < len(known) else ''}"
