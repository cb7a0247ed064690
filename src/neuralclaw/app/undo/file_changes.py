"""What a call of a file tool changed, also one that was cancelled or failed in the middle."""

import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec

from ...errors import ToolExecutionError
from ...sandbox.nolinks import opener
from ...sandbox.preimages import digest_bytes
from ...sandbox.undo.path_states import DIRECTORY, REGULAR, PathChange, PathState
from ...sandbox.undo.path_status import status_of
from ...types.tools import FileChange

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def file_changes(before: Mapping[str, PathState | None], digests: Mapping[str, str | None], told: Sequence[FileChange]) -> list[PathChange]:
    """How the paths changed since. `digests`: what the call's grant says that they held; `told`: what the tool says that it did, if it came so far."""
    said = {change.path: (change.before, change.after) for change in told}
    found: list[PathChange] = []
    for path in sorted(before):
        then, now = before[path], _status(path)
        if then is not None and then.kind == DIRECTORY and path not in said:
            continue  # (what is in it changed)
        if path not in said and _same_file(then, now):
            continue
        held, holds = said.get(path) or (digests.get(path), digest_of_file(path, now))
        change = PathChange(path.encode(errors="surrogateescape"), _with(then, held), _with(now, holds))
        if change.before != change.after:
            found.append(change)
    return found


def _same_file(one: PathState | None, other: PathState | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.mark == other.mark and one.mode == other.mode


def digest_of_file(path: str, now: PathState | None) -> str | None:
    """SHA-256 (hex) of what a regular file holds; None for anything else, and for what cannot be read."""
    if now is not None and now.kind == REGULAR:
        with suppress(OSError, ToolExecutionError):
            fd = opener()(path, _READ, 0)
            try:
                return digest_bytes(fd).hex() if stat.S_ISREG(os.fstat(fd).st_mode) else None
            finally:
                os.close(fd)
    return None


def _status(path: str) -> PathState | None:
    """As `status_of`; nothing where it cannot be looked at any more."""
    try:
        return status_of(path)
    except ToolExecutionError:
        return None


def _with(state: PathState | None, digest: str | None) -> PathState | None:
    """The state with the content of this digest."""
    if state is None or state.kind != REGULAR:
        return state
    return msgspec.structs.replace(state, content=bytes.fromhex(digest) if digest else None)
