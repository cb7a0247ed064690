"""Runs one program and outlives everything it starts. A process of its own, forked by `fork_server.py`.

It becomes the *child subreaper*, so that a descendant which leaves its session and its parents (`setsid`, double fork, `nohup`) becomes a child of this
process and not of init. It ends when no descendant is left: `waitpid` answers ECHILD, which is the proof. The control pipe's other end is held by the agent
alone; when it closes, because the agent asks or because it is dead (also by `kill -9`), everything is killed.

Control: 8 bytes length, then an `Order`; before it there may come, in the same way, the places and mounts that its restriction is expected to have. Then
one byte a request: `t` sends SIGTERM to the program's group.
Status: lines. `p` and this process's id; `e` and an `errno` when the program could not be started; `x` and its exit code, 128 and the signal's number where
one ended it, when no process of it is left. After that the reaper takes the program's temporary files away and ends.
"""

import os
import time
from _socket import CMSG_SPACE, SCM_RIGHTS, SOL_SOCKET, socket, socketpair
from contextlib import suppress
from select import POLLHUP, POLLIN, poll
from signal import SIG_DFL, SIGCHLD, SIGKILL, SIGPIPE, SIGTERM, SIGXFSZ, set_wakeup_fd, signal

from .. import kernel
from .handed_over import HandedOver
from .orders import Order, received
from .restriction import OpenedPlaces, apply, enclose, prepared, tidy


def descendants(root: int) -> list[int]:
    """Process ids of all below `root`, parents first. A process that starts meanwhile may be missing."""
    found, queue = [], [root]
    while queue:
        below = children(queue.pop())
        found += below
        queue += below
    return found


def children(pid: int) -> list[int]:
    """Process ids of those that a process started or adopted."""
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    found: list[int] = []
    for task in tasks:
        try:
            with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                found += map(int, file.read().split())
        except FileNotFoundError:
            if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
                return _children_by_scan(pid)
        except OSError:
            continue
    return found


def _children_by_scan(parent: int) -> list[int]:
    """For kernels without CONFIG_PROC_CHILDREN."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                if int(file.read().rpartition(b")")[2].split()[1]) == parent:
                    found.append(int(name))
        except OSError:
            continue
    return found


def _read_exactly(fd: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = os.read(fd, size - len(data))
        if not part:
            os._exit(0)  # the agent is gone, nothing has been started
        data += part
    return data


def _read_message(fd: int) -> bytes:
    return _read_exactly(fd, int.from_bytes(_read_exactly(fd, 8), "big"))


class _Started:
    """The program's process, and the calls that the kernel hands over for it."""

    def __init__(self, pid: int, calls: HandedOver | None) -> None:
        self.pid, self.calls = pid, calls


def _start(status: int, order: Order, ahead: OpenedPlaces | None) -> _Started:
    """Fork, hold the child to its restriction, and let it become the program. What fails on the way is told as the program's own failure."""
    reaper = os.getpid()
    try:
        ruleset = prepared(order.restriction, ahead) if order.restriction else -1
    except OSError as error:
        _fail(status, error)
        os._exit(0)
    ours, theirs = socketpair()
    pid = os.fork()
    if pid == 0:
        try:
            os.setpgid(0, 0)  # in the reaper's session, which has no terminal and which only its leader could give one
            kernel.die_with_parent(SIGKILL)
            if os.getppid() != reaper:
                os._exit(137)
            for ignored in (SIGPIPE, SIGXFSZ):  # by Python; programs expect the default
                signal(ignored, SIG_DFL)
            os.chdir(order.cwd)
            if order.stdin:
                os.dup2(os.open(order.stdin, os.O_RDONLY), 0)
            if order.restriction and (listener := apply(order.restriction, ruleset)):
                theirs.sendmsg([b"l"], [(SOL_SOCKET, SCM_RIGHTS, listener.to_bytes(4, "little"))])
            os.execve(order.file, order.arguments, order.environment)
        except OSError as error:
            _fail(status, error)
        finally:
            os._exit(127)
    theirs.close()
    calls = None
    if order.restriction:
        os.close(ruleset)
        if order.restriction.hands_over and (listener := _received(ours)):
            closed = order.restriction.mounts[2:] if order.restriction.mounts else ()
            roots = (*order.restriction.write, order.restriction.scratch)
            calls = HandedOver(listener, roots, tuple(path for paths in closed for path in paths), order.restriction.proxy)
    ours.close()
    return _Started(pid, calls)


def _fail(status: int, error: OSError) -> None:
    os.write(status, b"e%d\n" % (error.errno or 0))


def _received(ours: socket) -> int:
    """The descriptor that the child sends before it becomes the program; 0 when it has failed."""
    _, ancillary, _, _ = ours.recvmsg(1, CMSG_SPACE(4))
    return int.from_bytes(ancillary[0][2], "little") if ancillary else 0


def kill(pid: int, number: int) -> None:
    """Send a signal; nothing where the process has ended."""
    try:
        os.kill(pid, number)
    except OSError:
        pass


def _reap(main: int) -> tuple[bool, int | None]:
    """Collect who ended: whether any child is left, and the main program's wait status if it was among them."""
    status = None
    while True:
        try:
            pid, code = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False, status
        if pid == 0:
            return True, status
        if pid == main:
            status = code


def _end_all(main: int) -> int | None:
    """Kill what is left. `main`: the program's process, 0 where none is known. Its wait status, if it ended here."""
    left, status = _reap(main)
    pause = 0.0005
    while left:
        for pid in descendants(os.getpid()) or ([main] if main else []):
            kill(pid, SIGKILL)
        left, ended = _reap(main)
        if left:
            time.sleep(pause)
            pause = min(2 * pause, 0.02)
        status = ended if ended is not None else status
    return status


def _watch(started: _Started, control: int, woken: int) -> tuple[int | None, bool]:
    """Until the program ends or the agent closes the control pipe. The program's wait status if it ended, and whether any process of it may be left."""
    waiting = poll()
    waiting.register(control, POLLIN)
    waiting.register(woken, POLLIN)
    calls = started.calls
    if calls:
        waiting.register(calls.listener, POLLIN)
    while True:
        left, status = _reap(started.pid)
        if status is not None:
            return status, left
        ready = dict(waiting.poll())
        if calls and (event := ready.get(calls.listener)):
            if event & POLLIN:
                calls.answer()
            elif event & POLLHUP:
                waiting.unregister(calls.listener)
        if woken in ready:
            os.read(woken, 4096)
        if control in ready:
            if os.read(control, 1) != b"t":
                return None, True
            try:
                os.killpg(started.pid, SIGTERM)
            except OSError:
                pass


def run(control: int, status: int) -> None:
    """Run what the control pipe orders and leave: never returns. Standard output and error are those of the program."""
    os.set_inheritable(control, False)
    os.set_inheritable(status, False)
    os.setsid()
    kernel.adopt_orphans()
    os.write(status, b"p%d\n" % os.getpid())
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal(SIGCHLD, lambda *_: None)
    set_wakeup_fd(wake, warn_on_full_buffer=False)
    order, ahead = received(_read_message(control)), None
    if not isinstance(order, Order):
        places, mounts = order
        enclose(mounts)
        ahead = OpenedPlaces(places)
        order = Order.decoded(_read_message(control))
    if order.restriction and ahead is None:
        try:
            enclose(order.restriction.mounts)
        except OSError as error:
            _fail(status, error)
            os._exit(0)
    pid, code, left = 0, None, True
    try:
        started = _start(status, order, ahead)
        pid = started.pid
        for fd in (0, 1, 2):
            os.close(fd)  # the pipes end when the programs end
        code, left = _watch(started, control, woken)
    finally:  # also where this process itself has failed: nothing that it started outlives it
        ended = _end_all(pid) if left else None
        code = code if code is not None else ended
        if code is not None:
            with suppress(OSError):  # nobody is there to hear it
                os.write(status, b"x%d\n" % (os.waitstatus_to_exitcode(code) % 256 if os.WIFEXITED(code) else 128 + os.WTERMSIG(code)))
        if order.restriction:
            tidy(order.restriction)
        os._exit(0)
