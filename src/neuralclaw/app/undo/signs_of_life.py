"""Running commands are marked as running again and again: what changes after the last mark of a killed process was not changed by its command."""

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ...sandbox.running_call import RunningCall
from ...sandbox.undo.saved_tree import MARK_SECONDS, SavedTree

log = logging.getLogger(__name__)


class SignsOfLife:
    """Marks the notes of the commands that run in this process, in a thread that lives as long as there are any."""

    def __init__(self) -> None:
        self._lock, self._marked = threading.Lock(), list[tuple[SavedTree, RunningCall]]()
        self._thread: threading.Thread | None = None
        self._empty = threading.Event()

    @contextmanager
    def of(self, trees: Sequence[SavedTree], call: RunningCall) -> Iterator[None]:
        """Around a command that runs in these trees."""
        mine = [(tree, call) for tree in trees]
        with self._lock:
            self._marked += mine
            self._empty.clear()
            if mine and self._thread is None:
                self._thread = threading.Thread(target=self._run, name="neuralclaw-signs-of-life", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._marked = [one for one in self._marked if one not in mine]
                if not self._marked:
                    self._empty.set()

    def _run(self) -> None:
        while True:
            self._empty.wait(MARK_SECONDS)
            with self._lock:
                if not self._marked:
                    self._thread = None
                    return
                marked = list(self._marked)
            for tree, call in marked:
                try:
                    tree.mark(call)
                except OSError as error:
                    log.warning("a running command could not be marked as such: %s", error)
