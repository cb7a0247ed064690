"""Undoes a line of git as a whole, once places were put back that it had changed and that code is later run from.

Git has recorded them as changed: left like that, the next commit would take back what others did there.
"""

import os
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

import msgspec
from anyio.to_thread import run_sync

from ...agent.redaction import redacted
from ...errors import ToolExecutionError
from ...ports import Redaction, Store
from ...sandbox.running_call import RunningCall
from ...sandbox.undo.path_states import PathChange
from ...sandbox.undo.tree_scan import NotKept, Stopped, why_stopped
from ...types.ids import new_id
from ...types.quoted_names import one_line
from ...types.tools import ToolResult
from ..later_run.later_run_events import PlacesPutBack
from .git_index import untracked
from .undo_events import SANDBOX, SHOWN, UndoBegun
from .undo_run import UndoRun

CHANGED = "the line of git changes places that code is later run from"
_REVERTS = "A commit may now revert what others did in the places that were put back: look at git status before."
_NAMED = 3
_RESTORED = 10


async def was_put_back(store: Store, call: RunningCall) -> bool:
    """Whether places that the call changed were put back, as the record tells."""
    entries = await store.read(call.session, from_turn=call.turn, kinds=("later_run.put_back",))
    bodies = [entry.body for entry in entries if isinstance(entry.body, PlacesPutBack) and entry.body.call_id == call.call_id]
    return any(not place.why for body in bodies for place in body.places)


def told(result: ToolResult, note: str) -> ToolResult:
    """The result of such a line, which says what became of the rest of it: its error in one sentence, for the person too."""
    error = f"{CHANGED}, which were put back. {note.partition('. ')[0].removesuffix('.')}"
    return msgspec.structs.replace(result, ok=False, error=error, note=f"{result.note}\n[{note}]")


async def undo_git_line(
    undo: UndoRun, alone: AbstractAsyncContextManager[None], changes: Sequence[PathChange], lost: Sequence[NotKept], redaction: Redaction
) -> str:
    """What was undone of the line, for the model. `changes`: what changed while it ran; `lost`: what of the workspace is not known; `alone`: in which
    its files may be changed.

    Nothing is, where a part of the workspace was not looked at: half of a line is worse than all of it. Raises `StoreError` where what is undone cannot be
    put on record.
    """
    roots = set(map(os.fsencode, undo.places))
    unseen = [one for one in lost if one.below or one.path in roots]
    if unseen:
        names = _named([_because(one.path, one.why) for one in unseen], _NAMED)
        return f"What else git changed STAYS: undo does not know all of it: {names}. {_REVERTS} Tell the person."
    strange = await run_sync(untracked, changes, undo.kept.contents)
    beside = [change.path for change in changes if change.path in strange and change.before is not None]
    mine = [change for change in changes if change.path not in set(beside)]
    if not mine:
        return ""
    paths = [change.path for change in mine if b"/.git/" not in change.path + b"/"]
    paths.sort(key=lambda path: path not in strange)  # what a person may have made is named first
    first = tuple(one_line(os.fsdecode(path)) for path in paths[:SHOWN])
    begun: UndoBegun = redacted(UndoBegun(undo_id=new_id(), kind="undo", changes="", count=len(mine), by=SANDBOX, paths=first), redaction)
    others = {change.path: f"at the same time ran {change.shared}, which may have changed it" for change in mine if change.shared}
    try:
        async with alone:
            restored, left = await undo.apply(mine, begun, [change.reversed for change in mine], others)
    except (OSError, Stopped, ToolExecutionError) as error:
        why = why_stopped(error) if isinstance(error, OSError | Stopped) else error
        return f"What else git changed could not be undone ({why}). Tell the person, who can call undo."
    stays = [_because(one.path, one.why) for one in left] + [_because(one.path, one.why) for one in lost if b"/.git/objects/" not in one.path]
    stays += [_because(path, "git does not track it: somebody else may have changed it; neuralclaw undo --file PATH takes it back") for path in beside]
    back = set(restored)
    named = [one_line(os.fsdecode(path)) for path in paths if path in back]
    said = "What else git changed was undone as well, so nothing of this line stays."
    if stays:
        said = f"Of what else git changed {len(restored):,} paths were undone. These stay as they are: {_named(stays, _NAMED)}."
        said += f"{f' {_REVERTS}' if left else ''} Tell the person."
    if named:
        said += f" Undone: {_named(named, _RESTORED)}. Who saved one of these while the line ran gets it back with neuralclaw redo --file PATH."
    return said


def _because(path: bytes, why: str) -> str:
    return f"{one_line(os.fsdecode(path))} ({why})"


def _named(names: Sequence[str], most: int) -> str:
    more = [f"{len(names) - most:,} more"] if len(names) > most else []
    return ", ".join([*names[:most], *more])
