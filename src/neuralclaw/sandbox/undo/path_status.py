"""What stands at single paths, looked at by name."""

import os
from collections.abc import Sequence

import msgspec

from ...errors import ToolExecutionError
from .attributes import attributes_of
from .path_states import LINK, REGULAR, PathState, state_of


def states_of(paths: Sequence[str]) -> dict[str, PathState | None]:
    """What stands at these paths and at the directories above them that are missing; contents of regular files are not read. Real paths, links not followed."""
    found: dict[str, PathState | None] = {}
    for path in paths:
        place = path
        while place not in found:
            found[place] = status_of(place)
            if found[place] is not None or place == "/":
                break
            place = os.path.dirname(place)
    return found


def status_of(path: str) -> PathState | None:
    """What stands at a real path, without the content of a regular file; None for nothing."""
    try:
        status = os.lstat(path)
        state = state_of(status, b"")
        if state.kind == LINK:
            return msgspec.structs.replace(state, content=os.fsencode(os.readlink(path)))
        return msgspec.structs.replace(state, content=None, attributes=attributes_of(path)) if state.kind == REGULAR else state
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ToolExecutionError(f"{path}: {error.strerror or error}") from error
