"""Who is alive and who may write: a locked file for each process, and leases with a rising epoch.

Alive is a lock, not a clock: the system frees a dead process's `flock` at once, and whoever can take it knows.
"""

import contextlib
import fcntl
import os
import weakref

from ..types.records import Lease
from .tables import Needs, Tables
from .writer import Job


def locks(home: str) -> str:
    """The directory of the lock files."""
    return os.path.join(home, "locks")  # noqa: PTH118


def alive(home: str, holder: str) -> bool:
    """Whether the process that holds `locks/<holder>` still runs."""
    try:
        fd = os.open(os.path.join(locks(home), holder), os.O_RDONLY | os.O_CLOEXEC)  # noqa: PTH118
    except FileNotFoundError:
        return False
    except OSError:
        return True  # it cannot be told: then nothing is taken from it
    try:
        # Shared: two that ask at once must not take each other for the holder.
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def shown(holder: str) -> str:
    """A holder as people read it: `pid 123`."""
    return "pid " + holder.partition("-")[0]


def present(home: str) -> list[str]:
    """The holders that are alive in a home: each is an open store of a process."""
    try:
        names = os.listdir(locks(home))  # noqa: PTH208
    except FileNotFoundError:
        return []
    return [name for name in sorted(names) if name[0].isdigit() and alive(home, name)]


class Presence:
    """This process's locked file; while it is open the process counts as alive. Raises `OSError`.

    A child that this process forks has no part in it: it could outlive its parent, and the leases must be free then.
    """

    def __init__(self, home: str) -> None:
        self._home = home
        self._fd = -1
        _present.add(self)  # first, so that no child is forked between the lock and this
        self._sweep()
        while True:
            self.holder = f"{os.getpid()}-{os.urandom(5).hex()}"
            self._path = os.path.join(locks(home), self.holder)  # noqa: PTH118
            self._fd = os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(self._fd).st_nlink:  # else another process swept it away before it was locked
                    return
            self.leave()

    def _sweep(self) -> None:
        """Remove the files of dead processes, so that they do not pile up."""
        for name in os.listdir(locks(self._home)):  # noqa: PTH208
            if name[0].isdigit() and not alive(self._home, name):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(locks(self._home), name))  # noqa: PTH108, PTH118

    def close(self) -> None:
        """From now on this process's leases are free to take."""
        if self._fd < 0:
            return
        with contextlib.suppress(OSError):
            os.unlink(self._path)  # noqa: PTH108
        self.leave()

    def leave(self) -> None:
        """Close the file, and nothing else: whoever else has it open holds it still."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


_present: weakref.WeakSet[Presence] = weakref.WeakSet()


def _leave_all() -> None:
    """In a forked child: the locks are the parent's."""
    for presence in list(_present):
        presence.leave()


os.register_at_fork(after_in_child=_leave_all)


class Acquire(Job):
    """Take a lease that is free or whose holder is dead. `unknown`: nobody in this process has it or waits for it, whatever its row says."""

    __slots__ = ("_holder", "_home", "_name", "_unknown")

    def __init__(self, home: str, name: str, holder: str, unknown: bool) -> None:
        self._home, self._name, self._holder, self._unknown = home, name, holder, unknown

    def needs(self, needs: Needs) -> None:
        needs.leases.add(self._name)

    def run(self, tables: Tables) -> Lease | None:
        row = tables.leases[self._name]
        if row.holder and (not self._unknown if row.holder == self._holder else alive(self._home, row.holder)):
            return None
        row.holder = self._holder
        row.epoch += 1
        tables.touch_lease(row)
        return Lease(row.name, row.holder, row.epoch)


class Release(Job):
    """Free a lease; one that was lost already stays with who has it. Epoch and count stay."""

    __slots__ = ("_lease",)

    def __init__(self, lease: Lease) -> None:
        self._lease = lease

    def needs(self, needs: Needs) -> None:
        needs.leases.add(self._lease.name)

    def run(self, tables: Tables) -> None:
        row = tables.leases[self._lease.name]
        if row.holder == self._lease.holder and row.epoch == self._lease.epoch:
            row.holder = ""
            tables.touch_lease(row)
