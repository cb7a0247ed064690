"""The anchor: the head of a home's record, kept outside the home.

Whoever may write the home can cut the end of the record, put an older copy in its place, or write it anew with keys of their own: inside the home nothing
tells. The anchor says what stood at one record; it is a file of the person's state directory, one for each home, and names only what is on the disk.
"""

import hashlib
import logging
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from ..types.records import AnchorReport, BadRecord

_log = logging.getLogger(__name__)

EVERY = 2.0
"""Seconds between two writings at least; when the store is closed the anchor is written too."""
_AGAIN = 60.0
"""Seconds until a directory that could not be written is tried again."""
_HASH_AT = "SELECT hash FROM entries WHERE record = ?"
_LAST = "SELECT coalesce(max(record), 0) FROM entries"


class AnchorMark(msgspec.Struct, frozen=True):
    """What an anchor says: at `record` of the home the chain's hash was `hash` (hex). `time`: when it was written, in epoch microseconds."""

    home: str
    record: int
    hash: str
    time: int


CheckMark = Callable[[AnchorMark], BadRecord | None]
"""What of the record is not as a mark says; None where it is."""


class AnchorPlace(Protocol):
    """Another place where the head of the record is kept: slower than the file, and behind it."""

    def report(self, check: CheckMark) -> AnchorReport | None:
        """Whether the record is as it was anchored there; None where it never was. Blocks, also for the network; raises nothing."""
        ...

    def accept(self, mark: AnchorMark, check: CheckMark) -> None:
        """Anchor the record there as it is now, whatever was anchored before. Blocks; raises `StoreError`."""
        ...


class AnchorFile:
    """The anchor of one home. `home`: its path as its owner names it; `folder`: the directory of all anchors, which is made when the first is written.

    Whoever may write beside the home can put a link to another one in its place, so the home goes by the name that its owner gives it, whatever that leads to.
    """

    def __init__(self, home: str, folder: str) -> None:
        self.home = os.path.abspath(home)  # noqa: PTH100
        self.id = hashlib.sha256(os.fsencode(self.home)).hexdigest()[:32]
        """Names the home without telling its path."""
        self.folder, self.path = folder, os.path.join(folder, f"{self.id}.json")  # noqa: PTH118
        real = os.path.realpath(self.home)
        self.files: tuple[AnchorFile, ...] = (self,) if real == self.home else (self, AnchorFile(real, folder))
        """This one, and that of the directory a link leads to, which may have another name too: the record is to be as all of them say."""
        self.ids = frozenset((self.id, *(one.id for one in self.files[1:])))

    def read(self) -> AnchorMark | None:
        """What it says; None where the home has none. Raises `ValueError` for what is no anchor of this home, and `OSError`."""
        try:
            with open(os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123 - a FIFO would be waited for
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise ValueError("it is no regular file")
                data = file.read(1 << 16)
        except FileNotFoundError:
            return None
        mark = msgspec.json.decode(data, type=AnchorMark)
        if mark.home != self.home or mark.record < 1:
            raise ValueError(f"it is the anchor of {mark.home}")
        return mark

    def write(self, record: int, link: str, now: float) -> AnchorMark:
        """Put another in its place, in one step, for the owner alone. Raises `OSError`."""
        mark = AnchorMark(self.home, record, link, int(now * 1_000_000))
        replace_file(self.path, msgspec.json.encode(mark))
        return mark


def replace_file(path: str, data: bytes) -> None:
    """Write a file for its owner alone, in one step, and its directory where there is none. Raises `OSError`."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120
    name = f"{path}.{os.getpid()}.{time.monotonic_ns()}"
    handle = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        try:
            os.write(handle, data)
        finally:
            os.close(handle)
        os.replace(name, path)  # noqa: PTH105
    except OSError:
        os.unlink(name)  # noqa: PTH108
        raise


def check_anchor(c: sqlite3.Connection, mark: AnchorMark) -> BadRecord | None:
    """What of the record is not as it was anchored; None where it is. Used on a record whose chain is good up to its head."""
    for (link,) in c.execute(_HASH_AT, (mark.record,)).fetchall():
        return None if link.hex() == mark.hash else BadRecord(mark.record, "", "hash")
    ((last,),) = c.execute(_LAST).fetchall()
    return BadRecord(last + 1, "", "cut")


def report_of(place: str, mark: AnchorMark, bad: BadRecord | None, note: str = "") -> AnchorReport:
    """What is said of an anchor, good or bad."""
    why = "" if bad is None else "cut" if bad.why == "cut" else "changed"
    return AnchorReport(place=place, record=mark.record, ok=bad is None, why=why, note=note)


def read_marks(file: AnchorFile) -> tuple[list[tuple[str, AnchorMark]], AnchorReport | None]:
    """The marks of a home with the files they are in, and what is said of the first file that cannot be read."""
    marks: list[tuple[str, AnchorMark]] = []
    for one in file.files:
        try:
            mark = one.read()
        except (OSError, ValueError) as error:
            return marks, AnchorReport(place=one.path, record=0, ok=False, why=f"it cannot be read ({error})")
        if mark is not None:
            marks.append((one.path, mark))
    return marks, None


def check_marks(c: sqlite3.Connection, marks: Sequence[tuple[str, AnchorMark]]) -> tuple[AnchorReport | None, BadRecord | None]:
    """What is said of the first mark that the record contradicts, else of the first; and what of the record is not as it says."""
    found = [(report_of(path, mark, bad), bad) for path, mark in marks for bad in (check_anchor(c, mark),)]
    return next((one for one in found if one[1] is not None), found[0] if found else (None, None))


class Anchorage:
    """Keeps a home's anchor up to date, in the writer's thread. It never goes back, and an anchor that the record contradicts is left as it is: it is the
    evidence. Nothing that goes wrong here stops a turn; it is in the log, once."""

    def __init__(self, file: AnchorFile) -> None:
        self._file = file
        self._written = 0
        self._head: tuple[int, str] | None = None
        self._due = 0.0
        self._said = False

    def synced(self, record: int, link: str) -> None:
        """All up to this record is on the disk."""
        if record > self._written:
            self._head = (record, link)

    def wait(self) -> float | None:
        """Seconds until there is something to write; None where there is nothing."""
        return None if self._head is None else max(0.0, self._due - time.monotonic())

    def write(self, c: sqlite3.Connection, *, closing: bool = False) -> None:
        """Write what is due; with `closing` whatever there is."""
        if self._head is None or (time.monotonic() < self._due and not (closing and not self._said)):
            return
        record, link = self._head
        self._due = time.monotonic() + EVERY
        try:
            standing = {file: file.read() for file in self._file.files}
            for file, mark in standing.items():
                if mark is not None and (bad := check_anchor(c, mark)) is not None:  # its own too: a record can go back while this program runs
                    self._refuse(f"the record is not as it was anchored in {file.path} ({bad.why} at record {bad.record}); neuralclaw audit verify")
                    return
            kept = [mark if mark is not None and mark.record >= record else file.write(record, link, time.time()) for file, mark in standing.items()]
            self._written = min(mark.record for mark in kept)
            self._head = None
        except (OSError, ValueError, sqlite3.Error) as error:
            self._refuse(f"the anchor of the record cannot be written to {self._file.path} ({error}); neuralclaw doctor")

    def _refuse(self, text: str) -> None:
        self._due = time.monotonic() + _AGAIN
        if not self._said:
            self._said = True
            _log.warning("%s", text)
