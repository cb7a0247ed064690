"""Runs one program and outlives everything it starts: `python -I -S reaper.py CONTROL_FD STATUS_FD`.

A script of its own, not imported by the agent's start: it becomes the *child subreaper*, so that a descendant which leaves
its session and its parents (`setsid`, double fork, `nohup`) becomes a child of this process and not of init. It ends when no
descendant is left: `waitpid` answers ECHILD, which is the proof. The control pipe's other end is held by the agent alone;
when it closes, because the agent asks or because it is dead (also by `kill -9`), everything is killed.

Control: 8 bytes length, then NUL-ended strings: directory, real file, number of arguments, arguments, environment. Then one
byte a request: `t` sends SIGTERM to the program's group. Status: `errno` as text when the program could not be started.
Modules are the built-in C ones where the Python ones would double the start-up time (8 ms).
"""

import os
import sys
import time
from _signal import SIG_DFL, SIGCHLD, SIGKILL, SIGPIPE, SIGTERM, SIGXFSZ, set_wakeup_fd, signal  # type: ignore[import-not-found]
from select import POLLIN, poll

_PDEATHSIG, _SUBREAPER = 1, 36  # linux/prctl.h


def _prctl(option: int, value: int) -> None:
    if sys.platform != "linux":
        return
    from _ctypes import call_cdeclfunction, dlopen, dlsym  # ctypes itself takes 2 ms to import

    call_cdeclfunction(dlsym(dlopen(None, 0), "prctl"), (option, value, 0, 0, 0))  # type: ignore[arg-type]


def descendants(root: int) -> list[int]:
    """Process ids of all below `root`, parents first. A process that starts meanwhile may be missing."""
    found, queue = [], [root]
    while queue:
        children = _children(queue.pop())
        found += children
        queue += children
    return found


def _children(pid: int) -> list[int]:
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


def _start(status: int, cwd: bytes, file: bytes, arguments: list[bytes], environment: dict[bytes, bytes]) -> int:
    reaper = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        _prctl(_PDEATHSIG, SIGKILL)
        if os.getppid() != reaper:
            os._exit(137)
        for number in (SIGPIPE, SIGXFSZ):  # Python ignores them, programs expect the default
            signal(number, SIG_DFL)
        os.chdir(cwd)
        os.execve(file, arguments, environment)
    except OSError as error:
        os.write(status, b"%d" % (error.errno or 0))
    os._exit(127)


def _kill(pid: int, number: int) -> None:
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
    status, left, pause = None, True, 0.0005
    while left:
        for pid in descendants(os.getpid()) or [main]:
            _kill(pid, SIGKILL)
        left, ended = _reap(main)
        if left:
            time.sleep(pause)
            pause = min(2 * pause, 0.02)
        status = ended if ended is not None else status
    return status


def _watch(main: int, control: int, woken: int) -> int | None:
    """Until the program ends or the agent closes the control pipe. The program's wait status if it ended."""
    waiting = poll()
    waiting.register(control, POLLIN)
    waiting.register(woken, POLLIN)
    while True:
        _, status = _reap(main)
        if status is not None:
            return status
        ready = [fd for fd, _ in waiting.poll()]
        if woken in ready:
            os.read(woken, 4096)
        if control in ready:
            if os.read(control, 1) != b"t":
                return None
            try:
                os.killpg(main, SIGTERM)
            except OSError:
                pass


def main() -> None:
    control, status = int(sys.argv[1]), int(sys.argv[2])
    os.set_inheritable(control, False)
    os.set_inheritable(status, False)
    _prctl(_SUBREAPER, 1)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal(SIGCHLD, lambda *_: None)
    set_wakeup_fd(wake, warn_on_full_buffer=False)
    size = int.from_bytes(_read_exactly(control, 8), "big")
    cwd, file, count, *rest = _read_exactly(control, size).split(b"\0")[:-1]
    arguments, pairs = rest[: int(count)], rest[int(count) :]
    environment = dict(pair.split(b"=", 1) for pair in pairs)
    pid = _start(status, cwd, file, arguments, environment)
    for fd in (0, 1, 2):
        os.close(fd)  # the pipes end when the programs end
    code = _watch(pid, control, woken)
    ended = _end_all(pid)
    code = code if code is not None else ended
    os._exit(os.waitstatus_to_exitcode(code) % 256 if code is not None and os.WIFEXITED(code) else 128 + (os.WTERMSIG(code) if code is not None else 9))


if __name__ == "__main__":
    main()
