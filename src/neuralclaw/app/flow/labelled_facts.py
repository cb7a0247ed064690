"""Facts with the labels of files: of each path that is looked up, and of all that a command could read."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ...ports import Facts, Store
from ...types.actions import Action
from ...types.facts import FactSheet, PathFact, Wants
from ...types.labels import NONE, Labels, join
from .labelled_files import BELOW, NEWEST, TABLE


class LabelledFacts:
    """Looks up through `facts`, and adds labels from the table of labelled files. `allowed`: directories besides the workspace that calls may read.

    The table is read again only when it has a newer row; a failure of the store is one of the look-up, so that the call is refused.
    """

    def __init__(self, facts: Facts, store: Store, allowed: Sequence[str]) -> None:
        self._facts, self._store, self._allowed = facts, store, tuple(allowed)
        self._newest, self._files = 0, dict[str, Labels]()

    async def look(self, action: Action, wants: Wants) -> FactSheet:
        """See `ports.Facts`."""
        sheet = await self._facts.look(action, wants)
        if not wants.paths and not wants.programs and not wants.cwd:
            return sheet
        files = await self._labelled()
        if not files:
            return sheet
        paths = tuple(_labelled(fact, files) for fact in sheet.paths)
        reach = join(*(labels_below(root, files) for root in (action.workspace, *self._allowed)))
        return msgspec.structs.replace(sheet, paths=paths, reach=reach)

    async def _labelled(self) -> Mapping[str, Labels]:
        newest = await self._store.rows(TABLE, {"path": NEWEST})
        record = newest[0]["record"] if newest else 0
        if record != self._newest:
            rows = await self._store.rows(TABLE)
            self._files = {row["path"]: frozenset(msgspec.json.decode(row["labels"], type=list[str])) for row in rows if row["path"].startswith("/")}
            self._newest = record
        return self._files


def _labelled(fact: PathFact, files: Mapping[str, Labels]) -> PathFact:
    places = [place for one in (fact, *fact.expanded) for place in (one.path, *one.names)]
    whole = fact.kind == "directory" or fact.many
    labels = join(fact.labels, *(labels_of(place, files) for place in places), *(labels_below(place, files) for place in places if whole or fact.expanded))
    return msgspec.structs.replace(fact, labels=labels) if labels else fact


def labels_of(path: str, files: Mapping[str, Labels]) -> Labels:
    """The labels of a file: its own, and those of each directory above it of whose files not all were named."""
    return join(files.get(path, NONE), *(files.get(above + BELOW, NONE) for above in _above(path)))


def labels_below(directory: str, files: Mapping[str, Labels]) -> Labels:
    """The labels of all that a directory holds."""
    root = directory.rstrip("/") + "/"
    return join(labels_of(directory, files), *(labels for path, labels in files.items() if path.startswith(root)))


def _above(path: str) -> Iterable[str]:
    while path:
        path = path.rpartition("/")[0]
        yield path
