"""Limits on what a command may take: processes, memory, size of a file.

Three layers, since none holds everywhere: resource limits (exact, but a process's own, and RLIMIT_NPROC does not bind root),
a cgroup for the number of processes where we may make one (exact), and a look at the process tree every 50 ms (always).
RLIMIT_DATA, not RLIMIT_AS: the latter counts address space that is only reserved, and node's `fetch` dies of it at 2 GB.
"""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count

import msgspec

from .reaper import descendants
from .spawn import later_on_spawner

_PAGE = resource.getpagesize()
CGROUPS = ("/sys/fs/cgroup/pids", "/sys/fs/cgroup")  # version 1, version 2
_numbers = count(1)


class ResourceLimits(msgspec.Struct, frozen=True):
    """At most so many processes (threads count), bytes of memory of all of them, bytes in one file."""

    processes: int = 512
    memory: int = 2 * 1024**3
    file_size: int = 8 * 1024**3


LIMITS = ResourceLimits()


def apply(limits: ResourceLimits, pid: int) -> None:
    """Set the resource limits of a process that has not yet started anything; what it starts inherits them."""
    for kind, value in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_DATA, limits.memory), (resource.RLIMIT_FSIZE, limits.file_size)):
        _lower(pid, kind, value)


def apply_processes(limits: ResourceLimits, pid: int) -> None:
    """RLIMIT_NPROC, for a process in a user namespace of its own: there it counts only what runs inside."""
    _lower(pid, resource.RLIMIT_NPROC, limits.processes)


def _lower(pid: int, kind: int, value: int) -> None:
    _, hard = resource.prlimit(pid, kind)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.prlimit(pid, kind, (value, value))


def excess(limits: ResourceLimits, root: int) -> str | None:
    """What the processes below `root` have too much of, as a sentence, or None."""
    pids = descendants(root)
    if sum(map(_threads, pids)) > limits.processes:
        return f"stopped: more than {limits.processes} processes"
    own, shared = 0, 0
    for pid in pids:
        resident, common = _resident(pid)
        own += resident - common
        shared = max(shared, common)
    if own + shared > limits.memory and sum(map(_proportional, pids)) > limits.memory:
        return f"stopped: more than {limits.memory // 1024**2} MB of memory"
    return None


def _threads(pid: int) -> int:
    try:
        return os.stat(f"/proc/{pid}/task").st_nlink - 2  # a directory for each
    except OSError:
        return 1


def _resident(pid: int) -> tuple[int, int]:
    """Bytes in memory, and those of them that are files or shared."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            _, resident, common, *_ = map(int, file.read().split())
    except (OSError, ValueError):
        return 0, 0
    return resident * _PAGE, common * _PAGE


def _proportional(pid: int) -> int:
    """Bytes in memory, pages shared after a fork counted once over all; slow, so only asked when the quick sum is too high."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            return next((int(line.split()[1]) * 1024 for line in file if line.startswith(b"Pss:")), 0)
    except OSError:
        return _resident(pid)[0]


class ProcessGroup:
    """A cgroup that bounds the number of processes exactly. `make` gives None where we may not make one."""

    def __init__(self, path: str) -> None:
        self._path = path

    @classmethod
    def make(cls, limits: ResourceLimits) -> "ProcessGroup | None":
        if os.geteuid() != 0:  # elsewhere RLIMIT_NPROC in a namespace holds, or cgroups are not ours to make
            return None
        for parent in CGROUPS:
            path = f"{parent}/neuralclaw-{os.getpid()}-{next(_numbers)}"
            try:
                os.mkdir(path)
            except OSError:
                continue
            group = cls(path)
            if group._write("pids.max", str(limits.processes)):
                return group
            group.remove()
        return None

    def add(self, pid: int) -> bool:
        """Where the kernel has been asked for nothing of the kind lately this takes 5 to 15 ms: it waits until no process forks or ends."""
        return self._write("cgroup.procs", str(pid))

    def entrance(self) -> int:
        """A descriptor: a process of one thread that writes `0` there is in the group. By the first file, which version 1 has, that takes no time."""
        for name in ("tasks", "cgroup.procs"):
            with suppress(OSError):
                return os.open(f"{self._path}/{name}", os.O_WRONLY | os.O_CLOEXEC)
        return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)

    @contextmanager
    def entered(self) -> Iterator[bool]:
        """Inside, what this thread starts is in the group from its beginning; False where a thread cannot enter alone (version 2)."""
        own = _own_group(os.path.dirname(self._path))
        if not own or not self._write("tasks", "0"):
            yield False
            return
        try:
            yield True
        finally:
            with suppress(OSError), open(f"{own}/tasks", "w", encoding="ascii") as file:  # where it fails, the next command's group takes this thread
                file.write("0")

    def remove(self) -> bool:
        """After its last process; False while there is one. A directory that stays behind is harmless and taken away by `sweep`."""
        try:
            os.rmdir(self._path)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True

    def _write(self, name: str, text: str) -> bool:
        try:
            with open(f"{self._path}/{name}", "w", encoding="ascii") as file:
                file.write(text)
        except OSError:
            return False
        return True


def _own_group(parent: str) -> str:
    """The directory of this thread's group of version 1, "" where it cannot be told or returned to."""
    controller = os.path.basename(parent)
    with suppress(OSError), open("/proc/thread-self/cgroup", encoding="utf-8") as file:
        for line in file:
            _, names, place = line.rstrip("\n").split(":", 2)
            if controller in names.split(",") and os.access(f"{parent}{place}/tasks", os.W_OK):
                return f"{parent}{place}"
    return ""


_left: list[ProcessGroup] = []
"""Groups with a process that was about to end: taken away with the next one, else by the next agent."""


def remove_later(group: ProcessGroup) -> None:
    """Take a group away in the spawning thread: it takes some milliseconds where other groups change at the same time."""

    def remove() -> None:
        _left.append(group)
        _left[:] = [one for one in _left if not one.remove()]

    later_on_spawner(remove)


def sweep() -> None:
    """Take away the empty groups of agents that were killed."""
    for parent in CGROUPS:
        try:
            names = os.listdir(parent)
        except OSError:
            continue
        for name in names:
            owner = name.removeprefix("neuralclaw-").partition("-")[0]
            if name.startswith("neuralclaw-") and owner.isdigit() and not os.path.exists(f"/proc/{owner}"):
                ProcessGroup(f"{parent}/{name}").remove()
