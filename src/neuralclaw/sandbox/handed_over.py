"""Calls of a program that Landlock confines and does not judge itself: modes, owners and times of files, connections to Unix sockets
and to the outbound proxy, and the processors of a thread.

The filter hands each over (`SECCOMP_RET_USER_NOTIF`, `linux/seccomp.h`) and it is done here, in the reaper. The file is opened once, without any right to
its content; whether it lies in a place to write is asked of that very file, and the call is made with it: no name is looked up twice. What lies elsewhere
gets EPERM, as from a file system that is read-only for this program. The reaper has the program's own user and no capabilities, so nothing is done that the
program might not do outside.

A call that cannot be understood, or whose program has ended meanwhile, does nothing: its arguments are the program's, and whatever they make fail here is an
error of that call alone. No call may block here: the agent is heard between two of them.
"""

import errno
import os
import struct
import sys
from collections.abc import Callable
from fcntl import ioctl
from select import POLLOUT, poll

from .. import kernel
from .program_lookup import beneath

_RECEIVE, _SEND, _STILL_WAITS = 0xC0502100, 0xC0182101, 0x40082102
_NOTICE, _ANSWER = struct.Struct("=QIIiIQ6Q"), struct.Struct("=QqiI")
_CURRENT, _NO_FOLLOW, _EMPTY_PATH = -100, 0x100, 0x1000
_LONGEST = 4096
_UNIX, _INET, _LONGEST_ADDRESS = 1, 2, 110  # sizeof(struct sockaddr_un)
_LOOPBACK, _LOOPBACK_MILLISECONDS = bytes((127, 0, 0, 1)), 500
_SET_USER_ID = 0o4000
_PAGE = 4096
_NO_IDENTITY = 0xFFFFFFFF
_MICROSECONDS = 1_000_000


class HandedOver:
    """Answers the calls of one program and of what it starts. `listener`: where they are read; `roots`: the places that it may write, but for what is in the
    `closed` ones; `proxy`: the port of this machine's loopback that it may connect to, 0 for none."""

    def __init__(self, listener: int, roots: tuple[str, ...], closed: tuple[str, ...] = (), proxy: int = 0) -> None:
        self.listener, self._allowed = listener, (roots, closed, proxy)
        self._calls = _x86_64() if os.uname().machine == "x86_64" else _aarch64()

    def answer(self) -> None:
        """Take one call, do it or refuse it, and let its program go on."""
        notice = bytearray(_NOTICE.size)
        try:
            ioctl(self.listener, _RECEIVE, notice)
        except OSError:
            return  # its program has ended
        id, pid, _, number, _, _, *arguments = _NOTICE.unpack(notice)
        call = _Call(pid, arguments, self._allowed, lambda: ioctl(self.listener, _STILL_WAITS, struct.pack("=Q", id)))
        error = 0
        try:
            self._calls[number](call)
        except OSError as failed:
            error = failed.errno or errno.EPERM
        except Exception:  # numbers that no call takes, as far as they are not known here: this process must go on, it ends what the program started
            error = errno.EINVAL
        finally:
            call.close()
        try:
            ioctl(self.listener, _SEND, _ANSWER.pack(id, 0, -error, 0))
        except OSError:
            return


class _Call:
    """One call: whose it is, and its arguments. `check` raises `OSError` when the program no longer waits: then its number may be another's."""

    def __init__(self, pid: int, arguments: list[int], allowed: tuple[tuple[str, ...], tuple[str, ...], int], check: Callable[[], object]) -> None:
        self._pid, self._arguments, self._check = pid, arguments, check
        self._roots, self._closed, self._proxy = allowed
        self._open: list[int] = []

    def close(self) -> None:
        for descriptor in self._open:
            os.close(descriptor)

    def number(self, at: int) -> int:
        """An argument that is a C `int`."""
        value = self._arguments[at] & 0xFFFFFFFF
        return value - (1 << 32) if value >> 31 else value

    def identity(self, at: int) -> int:
        """An argument that is a user or a group: a `uid_t`, -1 for the one that stays."""
        value = self._arguments[at] & _NO_IDENTITY
        return -1 if value == _NO_IDENTITY else value

    def memory(self, at: int, size: int) -> bytes | None:
        """What an argument points to; None for a null pointer."""
        return self._read(self._arguments[at], size) if self._arguments[at] else None

    def at(self, directory: int, path: int, flags: int = 0) -> "_File":
        """The file that a directory's descriptor and a path name; `flags` as for `fchownat`."""
        name = self._text(path) if self._arguments[path] else b""
        if not name and (flags & _EMPTY_PATH or not self._arguments[path]):
            return self.file(directory)
        return self._named(name, self.number(directory), follow=not flags & _NO_FOLLOW)

    def path(self, at: int, *, follow: bool = True) -> "_File":
        return self._named(self._text(at), _CURRENT, follow=follow)

    def file(self, at: int) -> "_File":
        """The file of a descriptor."""
        number = self.number(at)
        try:
            opened = self._opened(f"/proc/{self._pid}/cwd" if number == _CURRENT else f"/proc/{self._pid}/fd/{number}")
        except FileNotFoundError:
            raise OSError(errno.EBADF, "descriptor") from None
        return self._judged(opened, own=True)

    def connect(self) -> None:
        """Connect a stream: a Unix one to a socket that lies in a place to write, never to an abstract one; one of IPv4 to the proxy."""
        size = min(self.number(2), _LONGEST_ADDRESS)
        if size <= 2:
            raise OSError(errno.EINVAL, "address")
        address = self._read(self._arguments[1], size)
        family = int.from_bytes(address[:2], sys.byteorder)
        if self._proxy and family == _INET:
            if address[2:8] != self._proxy.to_bytes(2, "big") + _LOOPBACK:
                raise OSError(errno.ENETUNREACH, "not the proxy")
            copy = self._stream(_INET)
            self._unblocked(copy, lambda: kernel.connect_loopback(copy, self._proxy))
            return
        name = address[2:].partition(b"\0")[0]
        if family != _UNIX or not name:
            raise OSError(errno.EPERM, "abstract")
        target = self._named(name, _CURRENT, follow=True)
        copy = self._stream(_UNIX)
        self._unblocked(copy, lambda: target.connect(copy))

    def listen(self) -> None:
        """Accept connections at a Unix socket that lies in a directory; at no other, since those lie open to others."""
        copy = self._stream(_UNIX)
        if kernel.socket_name(copy)[:1] == b"\0":
            raise OSError(errno.EACCES, "abstract")
        kernel.listen(copy, self.number(1))

    def _stream(self, family: int) -> int:
        """A copy of the program's socket, of this family."""
        copy = kernel.descriptor_of(self._process(), self.number(0))
        self._open.append(copy)
        self._check()
        if kernel.socket_family(copy) != family:
            raise OSError(errno.EACCES if family == _UNIX else errno.EAFNOSUPPORT, "family")
        return copy

    def _unblocked(self, stream: int, connect: Callable[[], None]) -> None:
        """A full queue is an error, and does not hold up the reaper. On the loopback a connection is made at once, though the kernel says it takes a while."""
        waits = os.get_blocking(stream)
        os.set_blocking(stream, False)
        try:
            connect()
        except BlockingIOError as failed:
            if not waits or failed.errno != errno.EINPROGRESS:
                raise
            waiting = poll()
            waiting.register(stream, POLLOUT)
            if not waiting.poll(_LOOPBACK_MILLISECONDS):
                raise OSError(errno.ETIMEDOUT, "loopback") from None
            if error := kernel.socket_error(stream):
                raise OSError(error, "loopback") from None
        finally:
            os.set_blocking(stream, waits)

    def pin(self) -> None:
        """Hold a thread of the same process to some processors, as mathematical libraries do with theirs."""
        thread = self.number(0) or self._pid
        try:
            same = self._process(thread) == self._process()
        except FileNotFoundError:
            raise OSError(errno.ESRCH, "thread") from None
        if not same:
            raise OSError(errno.EPERM, "another process")
        kernel.set_affinity(thread, self._read(self._arguments[2], min(self._arguments[1], _LONGEST)))

    def _process(self, thread: int = 0) -> int:
        """The process of a thread, by default of the one that called."""
        with open(f"/proc/{thread or self._pid}/status", "rb") as status:
            return next(int(line.split()[1]) for line in status if line.startswith(b"Tgid:"))

    def _text(self, at: int) -> bytes:
        """A path, read page by page: the next page may not be there."""
        address, text = self._arguments[at], b""
        while len(text) < _LONGEST:
            head, end, _ = self._read(address + len(text), _PAGE - (address + len(text)) % _PAGE).partition(b"\0")
            text += head
            if end:
                return text
        raise OSError(errno.ENAMETOOLONG, "path")

    def _read(self, address: int, size: int) -> bytes:
        memory = self._opened(f"/proc/{self._pid}/mem", os.O_RDONLY)
        try:
            data = os.pread(memory, size, address)
        except (OSError, OverflowError):
            data = b""
        if len(data) < size:
            raise OSError(errno.EFAULT, "unreadable")
        return data

    def _named(self, name: bytes, directory: int, *, follow: bool) -> "_File":
        if not name:
            raise OSError(errno.ENOENT, "path")
        own = False
        for self_named, place in ((b"/proc/self/", b""), (b"/proc/thread-self/", b""), (b"/dev/fd/", b"fd/")):
            if name.startswith(self_named):  # it means itself, and not the process that acts for it
                rest = place + name[len(self_named) :]
                name, own = b"/proc/%d/%s" % (self._pid, rest), rest.startswith(b"fd/") and rest[3:].isdigit()  # and not `fd/../..`
        base = None
        if not name.startswith(b"/"):
            base = self._opened(f"/proc/{self._pid}/cwd" if directory == _CURRENT else f"/proc/{self._pid}/fd/{directory}", os.O_PATH | os.O_DIRECTORY)
        return self._judged(self._opened(name, os.O_PATH | (0 if follow else os.O_NOFOLLOW), base), own=own)

    def _opened(self, name: str | bytes, flags: int = os.O_PATH, base: int | None = None) -> int:
        opened = os.open(name, flags | os.O_CLOEXEC, dir_fd=base)
        self._open.append(opened)
        self._check()  # still the same process: what was opened is what it named
        return opened

    def _judged(self, opened: int, *, own: bool) -> "_File":
        """Raises `OSError` for a file outside. `own`: one without a name is the program's, which has it open."""
        place = os.readlink(f"/proc/self/fd/{opened}")
        written = any(beneath(place, root) for root in self._roots) and not any(beneath(place, root) for root in self._closed)
        if written or (own and os.fstat(opened).st_nlink == 0):
            return _File(opened)
        raise OSError(errno.EPERM, "outside")


class _File:
    """An open file without any right to its content."""

    def __init__(self, descriptor: int) -> None:
        self._place = f"/proc/self/fd/{descriptor}"

    def mode(self, mode: int) -> None:
        if mode & _SET_USER_ID:
            raise OSError(errno.EPERM, "set-user-ID")
        os.chmod(self._place, mode & 0o7777)

    def owner(self, user: int, group: int) -> None:
        os.chown(self._place, user, group)

    def connect(self, stream: int) -> None:
        kernel.connect_unix(stream, self._place)

    def times(self, nanoseconds: bytes | None) -> None:
        """`nanoseconds`: two `struct timespec`, None for now."""
        kernel.set_times(self._place, nanoseconds)


def _from_seconds(data: bytes | None) -> bytes | None:
    """`struct utimbuf` as two `struct timespec`."""
    if data is None:
        return None
    accessed, modified = struct.unpack("=qq", data)
    return struct.pack("=qqqq", accessed, 0, modified, 0)


def _from_microseconds(data: bytes | None) -> bytes | None:
    """Two `struct timeval` as two `struct timespec`."""
    if data is None:
        return None
    first, part, second, other = struct.unpack("=qqqq", data)
    if not (0 <= part < _MICROSECONDS and 0 <= other < _MICROSECONDS):
        raise OSError(errno.EINVAL, "microseconds")
    return struct.pack("=qqqq", first, part * 1000, second, other * 1000)


def _aarch64() -> dict[int, Callable[[_Call], None]]:
    """By the numbers of `asm-generic/unistd.h`."""
    return {
        52: lambda c: c.file(0).mode(c.number(1)),
        53: lambda c: c.at(0, 1).mode(c.number(2)),
        54: lambda c: c.at(0, 1, c.number(4)).owner(c.identity(2), c.identity(3)),
        55: lambda c: c.file(0).owner(c.identity(1), c.identity(2)),
        122: lambda c: c.pin(),
        201: lambda c: c.listen(),
        203: lambda c: c.connect(),
        88: lambda c: c.at(0, 1, c.number(3)).times(c.memory(2, 32)),
        452: lambda c: c.at(0, 1, c.number(3)).mode(c.number(2)),
    }


def _x86_64() -> dict[int, Callable[[_Call], None]]:
    """By the numbers of `syscall_64.tbl`."""
    return {
        42: lambda c: c.connect(),
        50: lambda c: c.listen(),
        90: lambda c: c.path(0).mode(c.number(1)),
        91: lambda c: c.file(0).mode(c.number(1)),
        92: lambda c: c.path(0).owner(c.identity(1), c.identity(2)),
        93: lambda c: c.file(0).owner(c.identity(1), c.identity(2)),
        94: lambda c: c.path(0, follow=False).owner(c.identity(1), c.identity(2)),
        132: lambda c: c.path(0).times(_from_seconds(c.memory(1, 16))),
        203: lambda c: c.pin(),
        235: lambda c: c.path(0).times(_from_microseconds(c.memory(1, 32))),
        260: lambda c: c.at(0, 1, c.number(4)).owner(c.identity(2), c.identity(3)),
        261: lambda c: c.at(0, 1).times(_from_microseconds(c.memory(2, 32))),
        268: lambda c: c.at(0, 1).mode(c.number(2)),
        280: lambda c: c.at(0, 1, c.number(3)).times(c.memory(2, 32)),
        452: lambda c: c.at(0, 1, c.number(3)).mode(c.number(2)),
    }
