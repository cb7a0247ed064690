"""Brings the head of the record from the anchor file to the slower places, in a thread of its own: no turn and no writing waits for it."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from ...errors import StoreError
from ...store.anchor import AnchorFile, AnchorMark, CheckMark, check_anchor
from ...store.connection import connect, database
from ...types.records import BadRecord

log = logging.getLogger(__name__)

FIRST, LOOK = 5.0, 20.0
"""Seconds until the places are looked at for the first time, and between two looks."""
CLOSE_SECONDS = 10.0
"""How long closing waits for a mark that is due; it is given up then, and written by the next process."""


class KeptPlace(Protocol):
    """A place that the keeper writes. Its methods block; they raise `StoreError`, `ValueError` and `OSError`."""

    @property
    def name(self) -> str: ...
    @property
    def place(self) -> str: ...
    def due(self, record: int) -> bool: ...
    def write(self, mark: AnchorMark, check: CheckMark) -> None: ...


class AnchorKeeper:
    """Keeps the places of one home up to date with its anchor file, which names only what is on the disk. `places`: gives them, in the thread."""

    def __init__(self, file: AnchorFile, places: Callable[[], Sequence[KeptPlace]], first: float = FIRST, look: float = LOOK) -> None:
        self._file, self._make, self._first, self._look = file, places, first, look
        self._places: Sequence[KeptPlace] | None = None
        self._closing = threading.Event()
        self._said: set[str] = set()
        # A daemon: a repository that does not answer keeps no program from ending.
        self._thread = threading.Thread(target=self._run, name="neuralclaw-anchor", daemon=True)
        self._thread.start()

    def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Write what is due, and end. Blocks for so many seconds at most."""
        self._closing.set()
        self._thread.join(seconds)
        if self._thread.is_alive():
            for place in self._places or ():
                if (stop := getattr(place, "stop", None)) is not None:
                    stop()
            log.warning("an anchor of the record was not written in time and is left to the next process")

    def _run(self) -> None:
        wait = self._first
        while not self._closing.wait(wait):
            began = time.monotonic()
            self._round()
            wait = self._look + 4 * (time.monotonic() - began)
        self._round()

    def _round(self) -> None:
        """Write every place where a mark is due. What goes wrong is in the log, once for each place."""
        try:
            mark = self._file.read()
        except (OSError, ValueError):
            return  # the writer of the file and `audit verify` say it
        if mark is None:
            return
        if self._places is None:
            self._places = self._make()
        for place in self._places:
            try:
                if place.due(mark.record):
                    place.write(mark, self._check)
                    self._said.discard(place.name)
            except (StoreError, OSError, ValueError) as error:
                if place.name not in self._said:
                    self._said.add(place.name)
                    log.warning("the record is not anchored in %s: %s", place.place, error.text if isinstance(error, StoreError) else error)

    def _check(self, mark: AnchorMark) -> BadRecord | None:
        """Raises `OSError` where the record cannot be read now."""
        c = connect(database(self._file.home), "?mode=ro", 5.0)
        try:
            return check_anchor(c, mark)
        finally:
            c.close()
