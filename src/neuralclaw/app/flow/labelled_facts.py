"""Facts with the labels of files: of each path that is looked up, and of all that a command could read."""

from collections.abc import Sequence
from typing import Any

import msgspec

from ...ports import Facts, Store
from ...types.actions import Action
from ...types.facts import FactSheet, PathFact, Wants
from ...types.labels import join
from .file_labels import FileLabels
from .labelled_files import NEWEST, TABLE, UNDONE

_FIRST = 64
"""Rows of the table that are read at first; four times as many as long as there are more that are new."""


class LabelledFacts:
    """Looks up through `facts`, and adds labels from the table of labelled files. `allowed`: directories besides the workspace that calls may read.

    Of the table only the rows are read that are newer than those that are known; a failure of the store is one of the look-up, so that the call is refused.
    """

    def __init__(self, facts: Facts, store: Store, allowed: Sequence[str]) -> None:
        self._facts, self._store, self._allowed = facts, store, tuple(allowed)
        self._newest, self._undone, self._files = 0, 0, FileLabels()

    async def look(self, action: Action, wants: Wants) -> FactSheet:
        """See `ports.Facts`."""
        sheet = await self._facts.look(action, wants)
        if not wants.paths and not wants.programs and not wants.cwd:
            return sheet
        files = await self._labelled()
        if not files:
            return sheet
        paths = tuple(_labelled(fact, files) for fact in sheet.paths)
        reach = join(*(files.below(root) for root in (action.workspace, *self._allowed)))
        return msgspec.structs.replace(sheet, paths=paths, reach=reach)

    async def _labelled(self) -> FileLabels:
        record = await self._record_of(NEWEST)
        if record == self._newest:
            return self._files
        undone = await self._record_of(UNDONE)
        if record < self._newest or undone != self._undone:  # the table was made anew, or labels that went count again
            self._newest, self._undone, self._files = 0, undone, FileLabels()
        for row in await self._newer():
            if row["path"].startswith("/"):
                texts = [row["labels"], row["gone"]] if row["record"] < undone else [row["labels"]]
                self._files.put(row["path"], join(*(msgspec.json.decode(text, type=list[str]) for text in texts)))
        self._newest = record
        return self._files

    async def _record_of(self, key: str) -> int:
        rows = await self._store.rows(TABLE, {"path": key})
        return int(rows[0]["record"]) if rows else 0

    async def _newer(self) -> list[dict[str, Any]]:
        """The rows that changed since the table was read, and those of that very entry."""
        limit = _FIRST
        while True:
            rows = await self._store.rows(TABLE, order=("record",), descending=True, limit=limit)
            if len(rows) < limit or rows[-1]["record"] < self._newest:
                return [row for row in rows if row["record"] >= self._newest]
            limit *= 4


def _labelled(fact: PathFact, files: FileLabels) -> PathFact:
    places = [place for one in (fact, *fact.expanded) for place in (one.path, *one.names)]
    whole = fact.kind == "directory" or fact.many
    labels = join(fact.labels, *(files.of(place) for place in places), *(files.below(place) for place in places if whole or fact.expanded))
    return msgspec.structs.replace(fact, labels=labels) if labels else fact
