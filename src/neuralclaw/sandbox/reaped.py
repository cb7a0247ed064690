"""A program under its reaper, as the agent sees it: how it is started, asked to end, and known to be gone."""

import errno
import os
import select
import socket
import sys
import time
from array import array
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import anyio

from ..errors import ToolExecutionError
from . import fork_server
from .orders import Order, Restriction, expectation
from .resource_limits import ProcessGroup, ResourceLimits, apply, remove_later
from .spawn import in_spawner, later_on_spawner

_LISTEN_SECONDS = 10.0
_PACKAGES = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))


class _Server:
    """The fork server of this process, started when it is first needed and anew when it has ended. For the spawning thread alone."""

    def __init__(self) -> None:
        self._ours: socket.socket | None = None
        self._pid = self._owner = 0

    def fork(self, descriptors: Sequence[int]) -> None:
        """A reaper with these: control, status, standard output and error, and where it enters its group, if it has one.

        Raises `OSError` when there is no process for it.
        """
        self._ask(descriptors, b"r")

    def listen(self, process: int) -> socket.socket:
        """A socket that listens at `INSIDE_PORT` in the network namespace of a process. Raises `OSError`."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            self._ask((theirs.fileno(),), b"l" + process.to_bytes(8, "little"))
            theirs.close()
            ours.settimeout(_LISTEN_SECONDS)
            _, received, _, _ = socket.recv_fds(ours, 1, 1)
        if not received:
            raise ConnectionError(errno.ENETUNREACH, "the network of the sandbox cannot be entered")
        return socket.socket(fileno=received[0])

    def end_orphans(self, reaper: int) -> None:
        """End what a reaper that was killed has left behind; where the server of this process has ended too, that is not found any more."""
        if self._ours is None or self._owner != os.getpid():
            return
        told, telling = os.pipe()
        try:
            self._send((telling,), fork_server.ORPHANS + reaper.to_bytes(8, "little"))
        except OSError:
            return
        finally:
            os.close(telling)
        try:
            os.read(told, 1)
        finally:
            os.close(told)

    def _ask(self, descriptors: Sequence[int], message: bytes) -> None:
        if self._ours is None or self._owner != os.getpid():
            self._start()
        try:
            self._send(descriptors, message)
        except OSError:  # it was killed
            self._start()
            self._send(descriptors, message)

    def _send(self, descriptors: Sequence[int], message: bytes) -> None:
        assert self._ours is not None
        self._ours.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", descriptors))])

    def _start(self) -> None:
        if self._ours is not None:
            self._ours.close()
            if self._owner == os.getpid():
                with suppress(ChildProcessError):
                    os.waitpid(self._pid, 0)  # its socket is closed: it ends at once
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        argv = [sys.executable, "-I", "-S", "-c", fork_server.BOOT, _PACKAGES]
        streams = [(os.POSIX_SPAWN_DUP2, theirs.fileno(), 0), *((os.POSIX_SPAWN_OPEN, number, "/dev/null", os.O_WRONLY, 0) for number in (1, 2))]
        with theirs:
            self._pid, self._owner = os.posix_spawn(sys.executable, argv, {}, file_actions=streams, setsid=True), os.getpid()


class _Reapers:
    """Reapers for the programs of this process, one of them ready in advance: to fork it, limit it and put it into its group takes some milliseconds."""

    def __init__(self) -> None:
        self.server = _Server()
        self._ready: dict[bool, tuple[tuple[Any, ...], Reaped]] = {}

    def take(self, limits: ResourceLimits, held: Restriction | None) -> "Reaped":
        """`held`: what holds the program; a reaper that waits for one has made its mounts and given up its rights."""
        ready = self._ready.pop(held is not None, None)
        if ready is not None:
            made_for, reaped = ready
            if made_for == _what_counts(limits, held) and reaped.alive():
                return reaped
            reaped.close()
        return self._limited(limits)

    def prepare(self, limits: ResourceLimits, held: Restriction | None) -> None:
        """The next one, for a program that is held in the same way, if it is at all. Where there is no process for it now, there may be when it is needed."""
        if (held is not None) not in self._ready:
            with suppress(OSError):
                made_for, reaped = _what_counts(limits, held), self._limited(limits)
                if held is not None:
                    reaped.send(expectation(held))
                self._ready[held is not None] = (made_for, reaped)

    def _limited(self, limits: ResourceLimits) -> "Reaped":
        pipes: list[int] = []
        group = ProcessGroup.make(limits)
        try:
            for _ in range(4):
                pipes += os.pipe()
            control_read, control, status, status_write, out, out_write, err, err_write = pipes
            theirs = [control_read, status_write, out_write, err_write]
            pipes = [control, status, out, err]
            try:
                theirs += [group.entrance()] if group else []
                self.server.fork(theirs)
            finally:
                for fd in theirs:
                    os.close(fd)
            reaped = Reaped(control, status, out, err, group)
        except OSError:
            for fd in pipes:
                os.close(fd)
            if group:
                remove_later(group)
            raise
        reaped.limit(limits)
        return reaped


def _what_counts(limits: ResourceLimits, held: Restriction | None) -> tuple[Any, ...]:
    """What must be the same for a reaper that was made ahead. Where a place was replaced, its mount is gone."""
    if held is None or held.mounts is None:
        return limits, os.getpid(), None
    return limits, os.getpid(), held.mounts, [_identity(path) for paths in held.mounts[1:] for path in paths]


def _identity(path: str) -> tuple[int, int, int]:
    try:
        seen = os.lstat(path)
    except OSError:
        return 0, 0, 0
    return seen.st_dev, seen.st_ino, seen.st_ctime_ns


_reapers = _Reapers()


def start_reaped(order: Order, limits: ResourceLimits) -> "Reaped":
    """Start a program under a reaper of its own. To be called in the spawning thread. Raises `ToolExecutionError` when no process can be started."""
    try:
        live = _reapers.take(limits, order.restriction)
    except OSError as error:
        raise ToolExecutionError(f"no process could be started: {error.strerror}") from error
    live.send(order.encoded())
    live.successor = limits, order.restriction
    return live


def listening_in(process: int) -> socket.socket:
    """A socket that listens in the network namespace of a process. To be called in the spawning thread. Raises `ToolExecutionError`."""
    try:
        return _reapers.server.listen(process)
    except OSError as error:
        raise ToolExecutionError(f"the command could not be given its proxy: {error.strerror or error}") from error


class Reaped:
    """A program under its reaper, which tells by the status pipe when nothing of it is left; when the pipe ends, the reaper has ended too."""

    def __init__(self, control: int, status: int, out: int, err: int, group: ProcessGroup | None) -> None:
        self._control, self._status, self.stdout, self.stderr, self._group = control, status, out, err, group
        self.successor: tuple[ResourceLimits, Restriction | None] | None = None
        """For what a reaper is prepared when this one ends."""
        self._text = b""
        while b"\n" not in self._text:
            part = os.read(status, 64)
            if not part:
                raise ChildProcessError(0, "its reaper ended at once")
            self._text += part
        self.root = int(self._text[1 : self._text.index(b"\n")])
        os.set_blocking(status, False)

    def limit(self, limits: ResourceLimits) -> None:
        """Before the program is sent: what it starts inherits the limits."""
        with suppress(ProcessLookupError):
            apply(limits, self.root)

    def alive(self) -> bool:
        """Whether its reaper still waits: the status pipe is open, and nothing more was told."""
        try:
            return bool(os.read(self._status, 64))
        except BlockingIOError:
            return True

    def send(self, data: bytes) -> None:
        with suppress(BrokenPipeError):  # a reaper that died at once is reported by its exit code
            while data:
                data = data[os.write(self._control, data) :]

    def _told(self, letter: bytes) -> int | None:
        return next((int(line[1:]) for line in self._text.splitlines() if line.startswith(letter)), None)

    @property
    def failure(self) -> int | None:
        """`errno` when the program could not be started."""
        return self._told(b"e")

    def terminate(self) -> None:
        self.send(b"t")

    def kill(self) -> None:
        self.send(b"k")

    async def gone(self) -> int:
        while True:
            try:
                part = os.read(self._status, 64)
            except BlockingIOError:
                await anyio.wait_readable(self._status)
                continue
            self._text += part
            if self._told(b"x") is not None:
                return self.exit_code
            if not part:
                await in_spawner(lambda: _reapers.server.end_orphans(self.root))  # it was killed, or has failed: what it watched over must not live on
                return self.exit_code

    def ended(self, seconds: float) -> bool:
        """Wait until no process of it is left; False when that takes longer. Blocks."""
        waiting = select.poll()
        waiting.register(self._status, select.POLLIN)
        deadline = time.monotonic() + seconds
        while waiting.poll(max(0.0, deadline - time.monotonic()) * 1000):
            part = os.read(self._status, 64)
            self._text += part
            if not part or self._told(b"x") is not None:
                return True
        return False

    @property
    def exit_code(self) -> int:
        """Of a program that has ended; 137 where its reaper was killed."""
        code = self._told(b"x")
        return 137 if code is None else code

    def close(self) -> None:
        for fd in (self._control, self._status, self.stdout, self.stderr):  # if anything is left, the reaper ends it now
            os.close(fd)
        if self._group:
            remove_later(self._group)  # its reaper is about to end
        if self.successor is not None:
            limits, held = self.successor
            later_on_spawner(lambda: _reapers.prepare(limits, held))  # now, and not beside a program that begins
