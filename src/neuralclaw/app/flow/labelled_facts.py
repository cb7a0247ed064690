"""Facts with the labels of files: of each path that is looked up, and of all that a command could read."""

from collections.abc import Sequence

import msgspec

from ...ports import Facts, Store
from ...types.actions import Action
from ...types.facts import FactSheet, PathFact, Wants
from ...types.labels import join
from .file_labels import FileLabels
from .labelled_files import NEWEST, TABLE

_FIRST = 64
"""Rows of the table that are read at first; four times as many as long as there are more that are new."""


class LabelledFacts:
    """Looks up through `facts`, and adds labels from the table of labelled files. `allowed`: directories besides the workspace that calls may read.

    Of the table only the rows are read that are newer than those that are known; a failure of the store is one of the look-up, so that the call is refused.
    """

    def __init__(self, facts: Facts, store: Store, allowed: Sequence[str]) -> None:
        self._facts, self._store, self._allowed = facts, store, tuple(allowed)
        self._newest, self._files = 0, FileLabels()

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
        newest = await self._store.rows(TABLE, {"path": NEWEST})
        record = newest[0]["record"] if newest else 0
        if record < self._newest:  # the table was made anew
            self._newest, self._files = 0, FileLabels()
        limit = _FIRST
        while record != self._newest:
            rows = await self._store.rows(TABLE, order=("record",), descending=True, limit=limit)
            if len(rows) == limit and rows[-1]["record"] >= self._newest:
                limit *= 4
                continue
            for row in rows:
                if row["record"] >= self._newest and row["path"].startswith("/"):
                    self._files.put(row["path"], frozenset(msgspec.json.decode(row["labels"], type=list[str])))
            self._newest = record
        return self._files


def _labelled(fact: PathFact, files: FileLabels) -> PathFact:
    places = [place for one in (fact, *fact.expanded) for place in (one.path, *one.names)]
    whole = fact.kind == "directory" or fact.many
    labels = join(fact.labels, *(files.of(place) for place in places), *(files.below(place) for place in places if whole or fact.expanded))
    return msgspec.structs.replace(fact, labels=labels) if labels else fact
