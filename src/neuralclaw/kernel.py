"""Calls of the Linux kernel that Python has no function for: Landlock, seccomp, capabilities, mounts, descriptors of other processes.

Numbers are those of the kernel's `include/uapi`: `linux/landlock.h`, `linux/seccomp.h`, `linux/prctl.h`, `linux/capability.h`, `linux/mount.h`. The
system calls used here have the same number on x86_64 and aarch64. Every function raises `OSError` when the kernel refuses; none blocks.
"""

import os
import struct
from functools import cache
from typing import Any

_SECCOMP = {"x86_64": 317, "aarch64": 277}
_LANDLOCK_CREATE_RULESET, _LANDLOCK_ADD_RULE, _LANDLOCK_RESTRICT_SELF = 444, 445, 446
_PIDFD_OPEN, _PIDFD_GETFD = 434, 438
_SOL_SOCKET, _SO_ERROR, _SO_DOMAIN = 1, 4, 39
_NS_GET_USERNS = 0xB701  # linux/nsfs.h
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_CLONE_NEWNS, _CLONE_NEWUSER = 0x20000, 0x10000000
_CLONE_TREE, _TREE_CLOSES_ON_EXEC, _RECURSIVE, _EMPTY_PATH = 1, 0x80000, 0x8000, 0x1000
_FROM_AND_TO_EMPTY_PATH = 0x4 | 0x40
_READ_ONLY = 1
_NO_SET_ID, _NO_DEVICES, _ALL_BELOW, _SLAVE = 1 << 1, 1 << 2, 1 << 14, 1 << 19

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHAR, MAKE_BLOCK = 1 << 6, 1 << 11
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
FILE_ACCESS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
"""The rights that a rule on something that is no directory may give."""
_OF_ABI = {1: REFER - 1, 2: TRUNCATE - 1, 3: IOCTL_DEV - 1, 4: IOCTL_DEV - 1, 5: 2 * IOCTL_DEV - 1}
_TCP_BIND_AND_CONNECT, _SCOPE_SOCKETS_AND_SIGNALS = 0b11, 0b11

_PR_SET_PDEATHSIG, _PR_SET_SECUREBITS, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 28, 36, 38
_SECBITS_NO_ROOT_LOCKED = 0b1111  # SECBIT_NOROOT, NO_SETUID_FIXUP, each with its lock
_SET_MODE_FILTER, _NEW_LISTENER, _WAIT_KILLABLE = 1, 1 << 3, 1 << 5


@cache
def load() -> Any:
    """The C library. Makes the first call here quick: `ctypes` takes 3 ms to load, and most runs that import this module make no call."""
    import ctypes

    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int) -> int:
    if result < 0:
        import ctypes

        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _system_call(number: int, *arguments: Any) -> int:
    import ctypes

    wide = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    return _checked(load().syscall(ctypes.c_long(number), *wide))


def prctl(option: int, value: int = 0, third: int = 0) -> int:
    return _checked(load().prctl(option, value, third, 0, 0))


def die_with_parent(signal: int) -> None:
    """The thread that started this process ends: this process gets the signal."""
    prctl(_PR_SET_PDEATHSIG, signal)


def adopt_orphans() -> None:
    """Descendants that leave their parents become children of this process."""
    prctl(_PR_SET_CHILD_SUBREAPER, 1)


def landlock_abi() -> int:
    """Version of Landlock in this kernel, 1 to 7 or more; 0 where it has none or it is switched off at boot."""
    try:
        return _system_call(_LANDLOCK_CREATE_RULESET, None, 0, 1)
    except OSError:
        return 0


def rights(abi: int) -> int:
    """All rights towards files that this version knows."""
    return _OF_ABI[min(abi, 5)]


def landlock_ruleset(abi: int) -> int:
    """A ruleset that takes every right away, TCP too from version 4 on. Signals and abstract sockets stay within from version 6 on. A descriptor."""
    fields = [rights(abi)]
    fields += [_TCP_BIND_AND_CONNECT] if abi >= 4 else []
    fields += [_SCOPE_SOCKETS_AND_SIGNALS] if abi >= 6 else []
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    return _system_call(_LANDLOCK_CREATE_RULESET, attributes, len(attributes), 0)


def landlock_allow(ruleset: int, place: int, access: int) -> None:
    """Give rights beneath an open file or directory."""
    _checked(load().syscall(_LANDLOCK_ADD_RULE, ruleset, 1, struct.pack("=Qi", access, place), 0))  # hundreds of them: without wrapping each number


def landlock_restrict(ruleset: int) -> None:
    """Hold this thread and what it starts to the ruleset, for good. Needs `no_new_privileges`."""
    _system_call(_LANDLOCK_RESTRICT_SELF, ruleset, 0)


def no_new_privileges() -> None:
    """No program that is started from here on gains rights by its set-user-ID bit or capabilities."""
    prctl(_PR_SET_NO_NEW_PRIVS, 1)


def drop_capabilities() -> None:
    """Give up all that root may, here or in a user namespace, for good and, with `no_new_privileges`, for whatever is started.

    To be root gives a program nothing then; what is left of the bounding set, no program can take from it.
    """
    if os.geteuid() == 0:
        try:
            prctl(_PR_SET_SECUREBITS, _SECBITS_NO_ROOT_LOCKED)
        except OSError:
            pass  # no right to: then a program that is started gets none either, since no new privileges may be gained
    header, empty = struct.pack("=Ii", 0x20080522, 0), bytes(24)  # _LINUX_CAPABILITY_VERSION_3
    _checked(load().capset(header, empty))


def seccomp_filter(program: bytes, *, listen: bool = False) -> int:
    """Install a classic BPF program. With `listen` a descriptor where calls that it hands over are read, else 0. Needs `no_new_privileges`."""
    import ctypes

    code = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    number = _SECCOMP[os.uname().machine]
    if not listen:
        return _system_call(number, _SET_MODE_FILTER, 0, head)
    try:
        return _system_call(number, _SET_MODE_FILTER, _NEW_LISTENER | _WAIT_KILLABLE, head)
    except OSError:  # before Linux 5.19
        return _system_call(number, _SET_MODE_FILTER, _NEW_LISTENER, head)


def descriptor_of(pid: int, number: int) -> int:
    """A copy of another process's descriptor."""
    process = _system_call(_PIDFD_OPEN, pid, 0)
    try:
        return _system_call(_PIDFD_GETFD, process, number, 0)
    finally:
        os.close(process)


def set_times(path: str, nanoseconds: bytes | None) -> None:
    """Times of access and of change: two `struct timespec`, where `UTIME_NOW` and `UTIME_OMIT` keep their meaning; None: now. Links are followed."""
    _checked(load().utimensat(-100, os.fsencode(path), nanoseconds, 0))


def connect_unix(stream: int, path: str) -> None:
    """Connect a Unix socket to the one at a path of up to 107 bytes."""
    address = struct.pack("=H", 1) + os.fsencode(path) + b"\0"
    _checked(load().connect(stream, address, len(address)))


def enter_network(process: int) -> None:
    """Have this process, of one thread, use the network namespace of another one, and the user namespace to which that belongs."""
    from fcntl import ioctl

    place = os.open(f"/proc/{process}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        owner = ioctl(place, _NS_GET_USERNS)
        try:
            _checked(load().setns(owner, 0))
            _checked(load().setns(place, 0))
        finally:
            os.close(owner)
    finally:
        os.close(place)


def own_mounts() -> None:
    """Give this process, of one thread, mounts of its own: what it mounts is there for nobody else. Where it has no right to, it gets a user namespace too,
    in which it is the same user and has all capabilities."""
    user, group = os.geteuid(), os.getegid()
    try:
        _checked(load().unshare(_CLONE_NEWNS))
    except PermissionError:
        _checked(load().unshare(_CLONE_NEWNS | _CLONE_NEWUSER))
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            file = os.open(f"/proc/self/{name}", os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.write(file, text.encode())
            finally:
                os.close(file)
    _checked(load().mount(b"none", b"/", None, _ALL_BELOW | _SLAVE, None))


def mount_memory(path: str, size: int, *, read_only: bool = False) -> None:
    """Put an empty directory in memory, of at most `size` bytes, where everybody may write, in the place of one."""
    flags = _NO_SET_ID | _NO_DEVICES | (_READ_ONLY if read_only else 0)
    _checked(load().mount(b"tmpfs", os.fsencode(path), b"tmpfs", flags, b"mode=1777,size=%d" % size))


def mount_at(source: int, target: int, *, read_only: bool) -> None:
    """Show an open file or directory (`O_PATH`), with what is mounted in it, in the place of another one, or as a mount of its own in its own place."""
    tree = _system_call(_OPEN_TREE, source, b"", _CLONE_TREE | _TREE_CLOSES_ON_EXEC | _RECURSIVE | _EMPTY_PATH)
    try:
        if read_only:
            attributes = struct.pack("=4Q", _READ_ONLY, 0, 0, 0)
            _system_call(_MOUNT_SETATTR, tree, b"", _RECURSIVE | _EMPTY_PATH, attributes, len(attributes))
        _system_call(_MOVE_MOUNT, tree, b"", target, b"", _FROM_AND_TO_EMPTY_PATH)
    finally:
        os.close(tree)


def connect_loopback(stream: int, port: int) -> None:
    """Connect a socket of IPv4 to a port of 127.0.0.1."""
    address = struct.pack("=H", 2) + port.to_bytes(2, "big") + bytes((127, 0, 0, 1)) + bytes(8)
    _checked(load().connect(stream, address, len(address)))


def listen(stream: int, backlog: int) -> None:
    """Let others connect to a socket."""
    _checked(load().listen(stream, backlog))


def socket_name(stream: int) -> bytes:
    """Where a Unix socket is bound: a path, a zero byte and an abstract name, or nothing."""
    import ctypes

    address, size = ctypes.create_string_buffer(128), ctypes.c_uint32(128)
    _checked(load().getsockname(stream, address, ctypes.byref(size)))
    return address.raw[2 : min(size.value, 128)]


def socket_family(stream: int) -> int:
    """`AF_UNIX`, `AF_INET` …"""
    return _socket_option(stream, _SO_DOMAIN)


def socket_error(stream: int) -> int:
    """What became of a connection that took a while: an `errno`, 0 for none. It is told once."""
    return _socket_option(stream, _SO_ERROR)


def _socket_option(stream: int, option: int) -> int:
    import ctypes

    value, size = ctypes.c_int(), ctypes.c_uint(4)
    _checked(load().getsockopt(stream, _SOL_SOCKET, option, ctypes.byref(value), ctypes.byref(size)))
    return value.value


def set_affinity(thread: int, mask: bytes) -> None:
    """The processors that a thread may run on, as a bit mask."""
    _checked(load().sched_setaffinity(thread, len(mask), mask))
