"""A home that a restore exchanges: one process at a time does it, and meanwhile nobody opens the home."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import StoreError
from .leases import locks, present, shown

DIRECTORY = "restoring"
"""The directory of a home in which a restore prepares what it brings in."""
STATE = "state.json"
"""The file of that directory that is there while the home's files are exchanged."""
_LOCK = "restore"
_GO_ON = "neuralclaw restore"
_PATIENCE = 1.0


def refuse_restoring(home: str) -> None:
    """Raise `StoreError` while a restore has the home, and where one was interrupted while it exchanged the files."""
    try:
        fd = os.open(os.path.join(locks(home), _LOCK), os.O_RDONLY | os.O_CLOEXEC)  # noqa: PTH118
    except FileNotFoundError:
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StoreError(f"the home {home} is being restored by another process; nothing was changed", hint="wait until it has ended") from None
    finally:
        os.close(fd)
    refuse_half_restored(home)


def refuse_half_restored(home: str) -> None:
    """Raise `StoreError` where a restore was interrupted while it exchanged the files."""
    if os.path.exists(os.path.join(home, DIRECTORY, STATE)):  # noqa: PTH110, PTH118
        raise StoreError(f"a restore of the home {home} was interrupted; nothing is lost, and nothing was changed now", hint=f"{_GO_ON} finishes it")


@contextmanager
def exclusive(home: str) -> Iterator[None]:
    """Have a home, which is there, for oneself. Raises `StoreError` where a process has it open, or restores it."""
    path = os.path.join(locks(home), _LOCK)  # noqa: PTH118
    fd = _locked(home, path)
    try:
        if holders := present(home):
            who = ", ".join(dict.fromkeys(map(shown, holders)))
            raise StoreError(f"the home {home} is open in another program ({who}); nothing was changed", hint="end it, then try again")
        yield
    finally:
        if not os.path.exists(os.path.join(home, DIRECTORY, STATE)):  # noqa: PTH110, PTH118
            with contextlib.suppress(OSError):
                os.unlink(path)  # noqa: PTH108
        fcntl.flock(fd, fcntl.LOCK_UN)  # closing alone would leave it locked in a child that was forked meanwhile
        os.close(fd)


def _locked(home: str, path: str) -> int:
    """The lock file, locked. Who opens the home looks at it too, for an instant."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(fd).st_nlink:  # else another restore ended meanwhile, and removed it
                return fd
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(fd)
                raise StoreError(f"the home {home} is being restored by another process; nothing was changed", hint="wait until it has ended") from None
            time.sleep(0.01)
        os.close(fd)
