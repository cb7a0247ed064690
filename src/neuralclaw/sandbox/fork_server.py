"""Forks reapers: one process per agent that has loaded what a reaper needs, since to start an interpreter for each program takes 8 ms.

`python -I -S -c BOOT DIRECTORY`, its socket as standard input. Each message brings four descriptors: control, status, and standard output and error of the
program; a fifth is where the reaper enters its control group. Where a message has eight bytes more, a process's number, it brings one descriptor, a socket:
a listening one of that process's network namespace is sent there. It ends when the socket closes, because the agent ends or is dead; its reapers have control
pipes of their own.

What a reaper that was killed leaves behind becomes this process's child. It is ended before this process ends, and when the agent asks: `o`, the reaper's
number, and a descriptor that is closed when nothing of it is left.
"""

import gc
import os
import time
from _socket import AF_INET, CMSG_SPACE, SCM_RIGHTS, SOCK_STREAM, SOL_SOCKET, socket
from signal import SIG_DFL, SIG_IGN, SIGCHLD, SIGKILL, signal

from .. import kernel
from .orders import INSIDE_PORT
from .reaper import children, descendants, kill, run

BOOT = "import sys; sys.path.append(sys.argv[1]); import neuralclaw.sandbox.fork_server as server; server.serve()"
_DESCRIPTORS = 5
_SIZE = 4
_MESSAGE = 9
_WAITING = 256
_MANY = 256
_ORPHAN_SECONDS, _PAUSE = 5.0, 0.001
ORPHANS = b"o"


def serve() -> None:
    """Until the socket closes. Never returns."""
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # what the agent itself was started with, and would hand on
    requests = socket(fileno=0)
    os.chdir("/")
    signal(SIGCHLD, SIG_IGN)  # the kernel takes ended reapers away
    kernel.load()
    kernel.adopt_orphans()
    gc.disable()
    gc.freeze()
    forked: set[int] = set()
    while True:
        data, ancillary, _, _ = requests.recvmsg(_MESSAGE, CMSG_SPACE(_DESCRIPTORS * _SIZE))
        if not data:
            _end_orphans(forked, 0)
            os._exit(0)
        given = ancillary[0][2]
        descriptors = [int.from_bytes(given[at : at + _SIZE], "little") for at in range(0, len(given), _SIZE)]
        if data[:1] == ORPHANS:
            _end_orphans(forked, int.from_bytes(data[1:], "little"))
        elif pid := os.fork():
            forked.add(pid)
            if len(forked) > _MANY:
                forked.intersection_update(children(os.getpid()))
        else:
            if len(data) == _MESSAGE:
                _listen(descriptors[0], int.from_bytes(data[1:], "little"))
            _become_reaper(*descriptors)
        for one in descriptors:
            os.close(one)


def _end_orphans(forked: set[int], ending: int) -> None:
    """Once the reaper `ending` is gone (0: none is awaited) kill the children that this process did not fork, and theirs, until there are none.

    Those that the kernel does not let go of are left after some seconds.
    """
    deadline = time.monotonic() + _ORPHAN_SECONDS
    while ending in children(os.getpid()) and time.monotonic() < deadline:
        time.sleep(_PAUSE)  # its pipes end before its children are this process's
    forked.intersection_update(children(os.getpid()))
    while (orphans := [pid for pid in children(os.getpid()) if pid not in forked]) and time.monotonic() < deadline:
        for orphan in orphans:
            for pid in (orphan, *descendants(orphan)):
                kill(pid, SIGKILL)
        time.sleep(_PAUSE)


def _listen(answer: int, process: int) -> None:
    """Never returns."""
    try:
        kernel.enter_network(process)
        listener = socket(AF_INET, SOCK_STREAM)
        listener.bind(("0.0.0.0", INSIDE_PORT))  # of a namespace that has a loopback alone, which may not be up yet
        listener.listen(_WAITING)
        socket(fileno=answer).sendmsg([b"l"], [(SOL_SOCKET, SCM_RIGHTS, listener.fileno().to_bytes(_SIZE, "little"))])
    finally:
        os._exit(1)


def _enter(group: int) -> None:
    """Where it may not, the number of its processes is only looked at, as it is where there are no groups."""
    try:
        os.write(group, b"0")
    except OSError:
        pass
    os.close(group)


def _become_reaper(control: int, status: int, out: int, err: int, group: int = -1) -> None:
    try:
        if group >= 0:
            _enter(group)
        signal(SIGCHLD, SIG_DFL)
        nothing = os.open("/dev/null", os.O_RDWR)
        for source, target in ((nothing, 0), (out, 1), (err, 2)):
            os.dup2(source, target)
            os.close(source)
        run(control, status)
    finally:
        os._exit(1)
