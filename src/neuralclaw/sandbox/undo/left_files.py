"""Files that are left as they are: what was moved from one of their paths stays too, since it may be there nowhere else."""

import os
from collections.abc import Collection, Iterable

from ...types.quoted_names import one_line
from .path_states import DIRECTORY, REGULAR, PathChange, PathState


class LeftFiles:
    """Changes that are not made: what they would have brought back is not there again.

    What has the content of such a file elsewhere counts as moved, and what has its inode where nothing stood before: it may have been changed since. Where the
    file went away from its path, whatever file was made, or replaced, may be what became of it, also with other content in another inode. What one of the
    changes of `rest`, which are made, brings back at its place is not needed elsewhere.

    `gone`: paths that files went away from in between; None: only what is seen to be such a file counts.
    """

    def __init__(self, left: Iterable[PathChange], rest: Iterable[PathChange] = (), gone: Collection[bytes] | None = None) -> None:
        self._back = {change.after.content for change in rest if change.after is not None and change.after.kind == REGULAR}
        self._found: dict[int | bytes, list[tuple[bytes, PathState]]] = {}
        self._went: list[bytes] = []
        for change in left:
            path, state = change.path, change.after
            if state is not None and state.kind != DIRECTORY:
                self._found.setdefault(state.ino, []).append((path, state))
                if state.kind == REGULAR and state.content and state.size:
                    self._found.setdefault(state.content, []).append((path, state))
                if gone is not None and state.kind == REGULAR and state.size and (change.before is None or path in gone):
                    self._went.append(path)

    def moved(self, change: PathChange) -> str:
        """Why what stands at a path is not changed, in words; "" where it is none of these files."""
        now = change.before
        if now is None or now.kind == DIRECTORY or (now.kind == REGULAR and now.content is not None and now.content in self._back):
            return ""
        for path, then in self._found.get(now.ino, []) + self._found.get(now.content or b"", []):
            if then.kind == now.kind and (not then.kept or then.content == now.content or (change.after is None and now.size)):
                return _moved_from(path)
        made = now.kind == REGULAR and now.size and (change.after is None or change.after.ino != now.ino)
        went = next((path for path in self._went if path != change.path), None) if made else None
        return _moved_from(went) if went is not None else ""


def _moved_from(path: bytes) -> str:
    return f"it may have been moved from {one_line(os.fsdecode(path))}, which is left as it is"
