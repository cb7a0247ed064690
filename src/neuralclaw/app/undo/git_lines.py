"""Undoes a line of git as a whole, once places were put back that it had changed and that code is later run from.

Git has recorded them as changed: left like that, the next commit would take back what others did there.
"""

import os
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

import msgspec

from ...sandbox.undo.path_states import PathChange
from ...sandbox.undo.tree_scan import Stopped, why_stopped
from ...types.ids import new_id
from ...types.quoted_names import one_line
from ...types.tools import ToolResult
from .undo_events import UndoBegun
from .undo_run import UndoRun

UNDONE = "the line of git was undone: it changes places that code is later run from"
_NAMED = 3


async def undo_git_line(undo: UndoRun, alone: AbstractAsyncContextManager[None], changes: Sequence[PathChange], result: ToolResult) -> ToolResult:
    """The result of the line, which says what was undone. `changes`: what it left changed; `alone`: in which its files may be changed.

    Raises `StoreError` where what is undone cannot be put on record.
    """
    begun = UndoBegun(undo_id=new_id(), kind="undo", changes="", count=len(changes), by="sandbox")
    others = {change.path: f"at the same time ran {change.shared}, which may have changed it" for change in changes if change.shared}
    try:
        async with alone:
            restored, left = await undo.apply(changes, begun, [change.reversed for change in changes], others)
    except (OSError, Stopped) as error:
        why = why_stopped(error)
        note = f"What else git changed could not be undone ({why}). Tell the person, who can call undo."
    else:
        names = [f"{one_line(os.fsdecode(one.path))} ({one.why})" for one in left[:_NAMED]]
        names += [f"{len(left) - _NAMED:,} more"] if len(left) > _NAMED else []
        note = f"Of what else git changed {len(restored):,} paths were undone. These stay changed: {', '.join(names)}. Tell the person."
        note = note if left else "What else git changed was undone as well, so nothing of this line stays."
    return msgspec.structs.replace(result, ok=False, error=UNDONE, note=f"{result.note}\n[{note}]")
