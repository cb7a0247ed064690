"""One undo or redo: what it will change goes on record, the files are changed, and how it ended goes on record."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec
from anyio.to_thread import run_sync

from ...capability import PRIVATE, Draft
from ...ports import Store
from ...sandbox.later_run.place_guard import Written, WrittenFile
from ...sandbox.undo.left_files import LeftFiles
from ...sandbox.undo.path_states import PathChange
from ...sandbox.undo.present_contents import keep_present
from ...sandbox.undo.restoring import LeftPath, Restoration
from ...types.entries import Entry
from ...types.labels import Labels, join
from .undo_events import UndoBegun, UndoDone
from .undo_store import UndoStore


class ChangedSession(Protocol):
    """The session whose files are changed."""

    @property
    def session(self) -> str: ...
    @property
    def labels(self) -> Labels: ...


class UndoRun(msgspec.Struct, frozen=True):
    """An undo or redo of what the turn `turn` of a session changed below `places`. `notify` is told of the entries that it writes.

    `writing`: in which these files may be changed beside commands that run, once it is told how they were left.
    """

    store: Store
    kept: UndoStore
    notify: Callable[[Sequence[Entry]], object]
    row: ChangedSession
    turn: int
    places: Sequence[str]
    writing: Callable[[Sequence[str]], AbstractAsyncContextManager[Written]]

    async def apply(
        self,
        steps: Sequence[PathChange],
        begun: UndoBegun,
        changes: Sequence[PathChange],
        others: Mapping[bytes, str],
        before: Sequence[PathChange] = (),
    ) -> tuple[list[bytes], list[LeftPath]]:
        """The paths that stand as wanted now, and those that were left. `steps`: what is undone; `others`: paths of it that are left, and why; `before`: what
        came before a change of somebody else, and is not brought back.

        Raises `OSError` and `StoreError`.
        """
        others, count = dict(others), -1
        while count < len(others):
            wanted = [change for change in changes if change.path not in others]
            count, left = len(others), LeftFiles([*before, *(step.reversed for step in steps if step.path in others)], wanted, _gone(steps))
            others |= {change.path: why for change in wanted if (why := left.moved(change))}
        whole = await run_sync(keep_present, wanted, self.kept.contents)
        digest = await run_sync(self._kept_list, whole)
        await self._write(msgspec.structs.replace(begun, changes=digest, count=len(whole)))
        return await self.finish(begun, whole, steps, {change.path: others[change.path] for change in changes if change.path in others})

    async def finish(
        self, begun: UndoBegun, changes: list[PathChange], steps: Sequence[PathChange], others: Mapping[bytes, str] | None
    ) -> tuple[list[bytes], list[LeftPath]]:
        """The part after it was put on record that it begins. `others` None: it was begun before, and killed in the middle."""
        restoration = Restoration(changes, self.places, self.kept.contents, begun.undo_id, again=others is None, gone=_gone(steps))
        states = {os.fsdecode(change.path): change.after for change in changes}
        async with self.writing(list(states)) as written:
            restored, left = await run_sync(self._run, restoration)
            written |= {path: None if state is None else WrittenFile(state.content, state.mode) for path, state in states.items()}
        kept_back = {one.path for one in left}
        digest = await run_sync(self._kept_list, [change for change in changes if change.path in kept_back]) if kept_back else ""
        left += [LeftPath(path, why) for path, why in sorted((others or {}).items())]
        await self._write(UndoDone(undo_id=begun.undo_id, kind=begun.kind, restored=len(restored), left=digest, left_count=len(left)))
        return restored, left

    def _run(self, restoration: Restoration) -> tuple[list[bytes], list[LeftPath]]:
        restored, left = restoration.run()
        self.kept.contents.sync()
        os.sync() if len(restored) > 1_000 else None
        return restored, left

    def _kept_list(self, changes: Sequence[PathChange]) -> str:
        digest = self.kept.keep_list(changes).hex()
        self.kept.contents.sync()
        return digest

    async def _write(self, body: UndoBegun | UndoDone) -> None:
        self.notify(await self.store.append(self.row.session, [Draft(self.turn, body, join(self.row.labels, PRIVATE))]))
        await self.store.barrier()


def _gone(steps: Sequence[PathChange]) -> set[bytes]:
    """Paths that files went away from meanwhile."""
    return {step.path for step in steps if step.after is None}
