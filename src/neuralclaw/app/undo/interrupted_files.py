"""What calls changed whose process died before it was recorded: of file tools the record says what the files held when they began, of commands the copy."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress

import msgspec

from ...errors import ToolExecutionError
from ...sandbox.running_call import RunningCall
from ...sandbox.undo.path_states import REGULAR, PathChange, PathState
from ...sandbox.undo.path_status import status_of
from ...sandbox.undo.saved_tree import LATER_THAN_DEATH
from ...sandbox.undo.state_files import until_ns
from ...sandbox.undo.tree_scan import Stopped
from ...types.entries import Entry
from ...types.events import ToolFinished, ToolStarted
from ...types.ids import new_id
from .file_changes import digest_of_file
from .undo_events import VERBS, ChangesSaved

KINDS = ("tool.started", "tool.finished", "undo.saved")
_CALL_NS = 2_000_000_000
"""How long such a call takes at most, for what it changed to be told from what a person did later."""
_MODE = REGULAR | 0o600
"""Of a file that is gone, whose mode nobody knows any more."""


Undoing = Callable[[RunningCall, Sequence[str]], AbstractAsyncContextManager[None]]
"""Around work in these roots that belongs to no call: what dead commands changed there is on record at its beginning."""


async def record_commands(undoing: Undoing, session: str, places: Sequence[str]) -> None:
    """What commands changed in these places whose processes died goes on record; where they cannot be read, the next command does it. Raises `StoreError`."""
    if places:
        with suppress(OSError, Stopped):
            async with undoing(RunningCall(session, 0, new_id(), VERBS[0]), places):
                pass


def interrupted_calls(entries: Sequence[Entry]) -> list[tuple[RunningCall, list[PathChange]]]:
    """The calls that began and have no end, and of which nothing is on record, with what they changed. `entries`: those of a session, of `KINDS`.

    Reads the files.
    """
    begun: dict[tuple[int, str], tuple[ToolStarted, int]] = {}
    for entry in entries:
        body = entry.body
        if isinstance(body, ToolStarted) and body.before:
            begun[entry.turn, body.call_id] = (body, entry.header.time * 1_000)
        elif isinstance(body, ToolFinished | ChangesSaved):
            begun.pop((entry.turn, body.call_id), None)
    found = []
    for (turn, call_id), (started, time_ns) in begun.items():
        changes = _changes_since(started.before, until_ns(time_ns, _CALL_NS))
        if changes:
            found.append((RunningCall(entries[0].header.session, turn, call_id, started.name), changes))
    return found


def _changes_since(before: Mapping[str, str | None], until: int) -> list[PathChange]:
    """How files stand that held this (SHA-256 in hex, None: not there). What was changed later may be somebody else's."""
    found: list[PathChange] = []
    for path, held in sorted(before.items()):
        try:
            state = status_of(path)
        except ToolExecutionError:
            continue  # nobody can look at it
        if state is not None and state.kind != REGULAR:
            continue
        holds = digest_of_file(path, state)
        if holds != held:
            after = None if state is None else _holding(state, holds, state.size)
            then = None if held is None else _holding(state or _gone(), held, -1)
            shared = LATER_THAN_DEATH if state is not None and state.ctime_ns > until else ""
            found.append(PathChange(os.fsencode(path), then, after, shared=shared))
    return found


def _holding(state: PathState, digest: str | None, size: int) -> PathState:
    return msgspec.structs.replace(state, content=bytes.fromhex(digest) if digest else None, size=size)


def _gone() -> PathState:
    return PathState(_MODE, -1, time.time_ns(), 0, 0, 1, os.getuid(), os.getgid(), None)
