"""The first copy of a tree, which a command may wait for."""

import logging
import os
import threading
from collections.abc import Sequence

from ...sandbox.undo.saved_tree import SavedTree
from ...sandbox.undo.tree_scan import Stopped, why_stopped
from ...types.quoted_names import one_line

log = logging.getLogger(__name__)


class FirstCopy:
    """The first copy of a tree, made by a thread that nobody waits for. `failed`: why there is none, in words."""

    def __init__(self, tree: SavedTree, closed: threading.Event) -> None:
        self.done, self.failed = threading.Event(), ""
        self._tree, self._closed = tree, closed
        threading.Thread(target=self._run, name="neuralclaw-first-copy", daemon=True).start()

    def _run(self) -> None:
        try:
            self._tree.refresh(self._closed.is_set)
        except (OSError, Stopped) as error:
            self.failed = not_copied(self._tree.root, error)
            log.warning("no first copy of %s was made: %s", self._tree.root, error or "it was stopped")
        finally:
            self.done.set()


def not_copied(root: str, error: OSError | Stopped) -> str:
    """Why a tree could not be copied, in words."""
    if isinstance(error, FileNotFoundError) and not os.path.lexists(root):
        return f"{one_line(root)} is not there to be copied: take it out of tools.filesystem.allowed_paths, or mount it"
    return f"what is in {one_line(root)} could not be copied ({why_stopped(error)})"


def too_much(roots: Sequence[str], protected: Sequence[str]) -> str | None:
    """Why what these places hold is not kept at all."""
    named = [one_line(root) for root in roots if root in protected]
    return f"{named[0]} is too much to be kept" if named else None if roots else unfinished("the workspace")


def unfinished(place: str) -> str:
    """That the first copy of a place is still being made."""
    return f"the first copy of {place}, which undo needs, is not finished"
