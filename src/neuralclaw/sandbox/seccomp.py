"""The system calls that a program in a sandbox does not get, as a classic BPF program for seccomp.

A list of what is refused, since programs use nearly all the rest: `tables/syscalls.json` says which and why, and what needs a look at its arguments stands
here. A call that is younger than this table does not exist, so that nothing new in a kernel is open unasked. The converter of documents gets a list of what
is allowed instead. Formats: `linux/filter.h`, `linux/seccomp.h` (`struct seccomp_data`, return values), `linux/audit.h` (names of machines).

A filter sees numbers and never what they point to. What lies in memory (paths, `clone3`, `openat2`) is refused whole, or handed over (`handed_over.py`).
"""

import errno
import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Literal

import msgspec

from ..types.datafile import read_data_file

FILE = "sandbox/tables/syscalls.json"

_LOAD, _EQUAL, _GREATER, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x54, 0x06
_NUMBER, _MACHINE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _ERROR, _HAND_OVER = 0x7FFF0000, 0x00050000, 0x7FC00000
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_NEWEST = 469
"""`file_setattr` of Linux 6.17, the youngest call that this table was made for. The numbers of x32 lie above it."""

_UNIX, _INET, _INET6, _NETLINK, _KIND = 1, 2, 10, 16, 0xF
_STREAMS = (1, 5)  # SOCK_STREAM, SOCK_SEQPACKET
_TCP = (0, 6)
_SET_DUMPABLE = 4  # PR_SET_DUMPABLE
_FAST_OPEN = 0x20000000  # MSG_FASTOPEN: connects and sends
_IP, _IP_OPTIONS = 0, 4
NAMESPACES = 0x7E020000  # CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET; CLONE_NEWTIME is a bit of the signal for `clone`
TIME_NAMESPACE = 0x80
SET_USER_ID = 0o4000
CREATES = os.O_CREAT | 0o20000000  # __O_TMPFILE
PERSONALITIES = (0, 8, 0x20000, 0x20008, 0xFFFFFFFF)
TERMINAL_AND_FLAGS = (0x5412, 0x541C, 0x541D, 0x5423, 0x40086602, 0x401C5820)
"""TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD: input and output of a terminal; FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR: flags of a file that is only read."""

Sockets = Literal["own", "proxied", "namespaced"]
"""`own`: pairs, and Unix streams whose `connect` and `listen` are handed over. `proxied`: TCP over IPv4 too, held in the same way; `listen` needs no `bind`.
`namespaced`: Unix, IPv4, IPv6 and routes, for a network namespace that is empty. A Unix datagram can be sent to any socket that has a name, so there are
none but in a namespace."""
Metadata = Literal["allowed", "handed over", "refused"]
"""Modes, owners and times of files. Extended attributes can be changed where these are `allowed` only."""


class Syscalls(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file. `numbers`: of x86_64 and aarch64, null where the machine has no such call; names are those of the kernel's tables."""

    refused: dict[str, tuple[str, ...]]
    absent: dict[str, tuple[str, ...]]
    shared: dict[str, tuple[str, ...]]
    metadata: dict[str, tuple[str, ...]]
    converter: tuple[str, ...]
    numbers: dict[str, tuple[int | None, int | None]]

    def __post_init__(self) -> None:
        named = {name for group in (self.refused, self.absent, self.shared, self.metadata) for names in group.values() for name in names}
        if missing := (named | set(self.converter)) - set(self.numbers):
            raise ValueError(f"no number of {', '.join(sorted(missing))}")


@cache
def syscalls() -> Syscalls:
    return read_data_file(FILE, Syscalls)


class _Step(msgspec.Struct, frozen=True):
    """One instruction. A comparison goes to a label, or on to the next instruction where that is ""."""

    code: int
    value: int
    yes: str = ""
    no: str = ""
    label: str = ""


def _load(argument: int, *, high: bool = False) -> _Step:
    """Half of an argument: what is a C `int`, and flags, stand in the low one."""
    return _Step(_LOAD, _FIRST_ARGUMENT + 8 * argument + 4 * high)


def _refuse(number: int) -> _Step:
    return _Step(_RETURN, _ERROR | number)


def _ends(refusal: _Step) -> list[_Step]:
    return [msgspec.structs.replace(refusal, label="refuse"), _Step(_RETURN, _ALLOW, label="allow")]


def _only(argument: int, values: Sequence[int], refusal: _Step) -> list[_Step]:
    """Refused unless the argument is one of these."""
    return [_load(argument), *(_Step(_EQUAL, value, "allow") for value in values), *_ends(refusal)]


def _none_of(argument: int, values: Sequence[int], refusal: _Step) -> list[_Step]:
    return [_load(argument), *(_Step(_EQUAL, value, "refuse") for value in values), _Step(_RETURN, _ALLOW), *_ends(refusal)]


def _no_bit(argument: int, bits: int, refusal: _Step) -> list[_Step]:
    return [_load(argument), _Step(_ANY_BIT, bits, "refuse", "allow"), *_ends(refusal)]


_DENIED, _MISSING = _refuse(errno.EPERM), _refuse(errno.ENOSYS)
_CLOSED, _UNREACHABLE = _refuse(errno.EACCES), _refuse(errno.ENETUNREACH)


def _socket(sockets: Sockets) -> list[_Step]:
    """Without a namespace only streams, as what is no stream reaches a place without `connect`."""
    unreachable = msgspec.structs.replace(_UNREACHABLE, label="unreachable")
    if sockets == "namespaced":
        allowed = [_Step(_EQUAL, family, "allow") for family in (_INET, _INET6, _UNIX)]
        return [_load(0), *allowed, _Step(_EQUAL, _NETLINK, "", "refuse"), _load(2), _Step(_EQUAL, 0, "allow", "refuse"), *_ends(_CLOSED), unreachable]
    families = [_Step(_EQUAL, _INET, "internet" if sockets == "proxied" else "unreachable"), _Step(_EQUAL, _INET6, "unreachable")]
    kind = [msgspec.structs.replace(_load(1), label="internet"), _Step(_AND, _KIND), _Step(_EQUAL, _STREAMS[0], "", "unreachable")]
    protocol = [_load(2), *(_Step(_EQUAL, number, "allow") for number in _TCP), _CLOSED]
    return [_load(0), *families, _Step(_EQUAL, _UNIX, "", "refuse"), *_stream_kinds(), _CLOSED, *kind, *protocol, *_ends(_CLOSED), unreachable]


def _stream_kinds() -> list[_Step]:
    """`SOCK_RAW` of Unix sockets is a datagram too."""
    return [_load(1), _Step(_AND, _KIND), *(_Step(_EQUAL, kind, "allow") for kind in _STREAMS)]


def _socketpair() -> list[_Step]:
    """A datagram socket of a pair can be connected anew to any Unix socket that has a name; a stream cannot."""
    return [*_stream_kinds(), *_ends(_CLOSED)]


def _proxied() -> dict[str, list[_Step]]:
    """What would connect without `connect`, or lead a connection over another place (a source route)."""
    route = [_load(1), _Step(_EQUAL, _IP, "", "allow"), _load(2), _Step(_EQUAL, _IP_OPTIONS, "refuse", "allow"), *_ends(_DENIED)]
    sends = {name: _no_bit(flags, _FAST_OPEN, _CLOSED) for name, flags in (("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3))}
    return {**sends, "setsockopt": route}


def _null(argument: int) -> list[_Step]:
    """Allowed with a null pointer; else on at the label `set`."""
    return [_load(argument), _Step(_EQUAL, 0, "", "set"), _load(argument, high=True), _Step(_EQUAL, 0, "allow")]


def _created(flags: int, mode: int) -> list[_Step]:
    """The mode counts only where a file is made."""
    return [_load(flags), _Step(_ANY_BIT, CREATES, "", "allow"), *_no_bit(mode, SET_USER_ID, _DENIED)]


def _looked_at(sockets: Sockets) -> dict[str, list[_Step]]:
    """Calls that are refused for some arguments only."""
    own = [_Step(_EQUAL, 0, "allow", "refuse"), *_ends(_DENIED)]
    return {
        "socket": _socket(sockets),
        **({"socketpair": _socketpair()} if sockets != "namespaced" else {}),
        "clone": _no_bit(0, NAMESPACES, _DENIED),
        "unshare": _no_bit(0, NAMESPACES | TIME_NAMESPACE, _DENIED),
        "personality": _only(0, PERSONALITIES, _DENIED),
        "ioctl": _none_of(1, TERMINAL_AND_FLAGS, _DENIED),
        # Limits, priorities: of this process, not of another one of the person's.
        "prlimit64": [*_null(2), msgspec.structs.replace(_load(0), label="set"), *own],
        "setpriority": [_load(0), _Step(_EQUAL, 0, "", "refuse"), _load(1), *own],
        "ioprio_set": [_load(0), _Step(_EQUAL, 1, "", "refuse"), _load(1), *own],
        **{name: [_load(0), *own] for name in ("sched_setscheduler", "sched_setparam", "sched_setattr")},
        # A program that runs with this person's rights, whoever starts it.
        **{name: _no_bit(1, SET_USER_ID, _DENIED) for name in ("chmod", "fchmod", "creat", "mknod")},
        **{name: _no_bit(2, SET_USER_ID, _DENIED) for name in ("fchmodat", "fchmodat2", "mknodat")},
        "open": _created(1, 2),
        "openat": _created(2, 3),
    }


@cache
def program_filter(sockets: Sockets, metadata: Metadata, *, shared: bool, truncate: bool = True, machine: str = "") -> bytes:
    """The filter of a program.

    `shared` leaves message queues and shared memory that have names, for a program with an IPC namespace of its own. `truncate` false refuses to shorten a
    file by its path, for a Landlock that does not see it (before version 3).
    """
    table = syscalls()
    rules = _looked_at(sockets)
    rules |= {name: [_DENIED] for names in table.refused.values() for name in names}
    rules |= {name: [_MISSING] for names in table.absent.values() for name in names}
    if metadata != "allowed":
        for kind, names in table.metadata.items():
            taken = _refuse(errno.EOPNOTSUPP) if kind == "xattr" else _DENIED if metadata == "refused" else _Step(_RETURN, _HAND_OVER)
            rules |= {name: [taken] for name in names}
    if metadata == "handed over":
        rules["sched_setaffinity"] = [_load(0), _Step(_EQUAL, 0, "allow"), _Step(_RETURN, _HAND_OVER), _Step(_RETURN, _ALLOW, label="allow")]
        # A process that hides its memory, as agents of keys do, hides the arguments of its calls too. It is told that it does, and stays readable.
        rules["prctl"] = [_load(0), _Step(_EQUAL, _SET_DUMPABLE, "", "allow"), _refuse(0), _Step(_RETURN, _ALLOW, label="allow")]
    if sockets == "proxied":
        rules |= _proxied()
    if sockets != "namespaced":
        rules |= {name: [_Step(_RETURN, _HAND_OVER)] for name in ("connect", "listen")}
    if not shared:
        rules |= {name: [_MISSING] for names in table.shared.values() for name in names}
    if not truncate:
        rules["truncate"] = [_CLOSED]
    return _assemble(rules, _ALLOW, machine or os.uname().machine)


@cache
def converter_filter(machine: str = "") -> bytes:
    """The filter of a process that reads its input, computes, and writes its output."""
    allowed = {name: [_Step(_RETURN, _ALLOW)] for name in syscalls().converter}
    return _assemble(allowed, _ERROR | errno.EPERM, machine or os.uname().machine)


def known(machine: str) -> bool:
    """Whether there is a filter for this kind of machine."""
    return machine in _MACHINES


def _assemble(rules: Mapping[str, Sequence[_Step]], otherwise: int, machine: str) -> bytes:
    """Each rule behind a comparison with its number. Programs for another kind of machine, x32 among them, get no call at all."""
    column, name = _MACHINES[machine]
    numbers = syscalls().numbers
    ours = [_Step(_LOAD, _MACHINE), _Step(_EQUAL, name, "", "missing"), _Step(_LOAD, _NUMBER), _Step(_GREATER, _NEWEST, "", "known")]
    code = _coded([*ours, msgspec.structs.replace(_MISSING, label="missing")])
    for called, steps in rules.items():
        number = numbers[called][column]
        if number is not None:
            rule = _coded(steps)
            code += [(_EQUAL, 0, len(rule), number), *rule]
    code.append((_RETURN, 0, 0, otherwise))
    return b"".join(struct.pack("=HBBI", *one) for one in code)


def _coded(steps: Iterable[_Step]) -> list[tuple[int, int, int, int]]:
    """Labels as distances. A label that does not stand here is the place behind the last instruction."""
    steps = list(steps)
    places = {step.label: at for at, step in enumerate(steps) if step.label}

    def distance(label: str, at: int) -> int:
        return places.get(label, len(steps)) - at - 1 if label else 0

    return [(step.code, distance(step.yes, at), distance(step.no, at), step.value) for at, step in enumerate(steps)]
