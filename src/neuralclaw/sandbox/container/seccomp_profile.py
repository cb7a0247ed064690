"""What `seccomp.py` refuses, as the profile that an engine takes (OCI: `linux.seccomp`), together with what Docker's own profile leaves out.

A list of what is allowed: a call that is not on it gives EPERM, and one that is younger than the list ENOSYS (runc's addition). The engine's library
compares one argument once in a rule, and rules of one call are joined by "or": so what is refused for some values is written as all other values.
"""

import errno
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import msgspec

from ...types.datafile import read_data_file
from ..seccomp import CREATES, NAMESPACES, PERSONALITIES, SET_USER_ID, TERMINAL_AND_FLAGS, TIME_NAMESPACE, syscalls

FILE = "sandbox/tables/container_calls.json"
ARCHITECTURES = {"x86_64": "SCMP_ARCH_X86_64", "aarch64": "SCMP_ARCH_AARCH64"}
_ALL = 0xFFFFFFFF
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16

Condition = tuple[int, int, int]
"""Of an argument, by its place: these bits have this value."""


class ContainerCalls(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file: calls that are allowed whatever their arguments are; names are those of the kernel's tables."""

    allowed: tuple[str, ...]


def conditions() -> dict[str, list[list[Condition]]]:
    """Calls that are allowed for some arguments: any of the lists, all conditions of a list."""
    own = [[(0, _ALL, 0)]]
    return {
        "socket": [*([(0, _ALL, family)] for family in (_UNIX, _INET, _INET6)), [(0, _ALL, _NETLINK), (2, _ALL, 0)]],
        "clone": [[(0, NAMESPACES, 0)]],
        "unshare": [[(0, NAMESPACES | TIME_NAMESPACE, 0)]],
        "personality": [[(0, _ALL, value)] for value in PERSONALITIES],
        "ioctl": [[(1, mask, value)] for mask, value in others(TERMINAL_AND_FLAGS)],
        "prlimit64": [[(2, 2**64 - 1, 0)], *own],
        "setpriority": [[(0, _ALL, 0), (1, _ALL, 0)]],
        "ioprio_set": [[(0, _ALL, 1), (1, _ALL, 0)]],
        **dict.fromkeys(("sched_setscheduler", "sched_setparam", "sched_setattr"), own),
        **{name: [[(1, SET_USER_ID, 0)]] for name in ("chmod", "fchmod", "creat", "mknod")},
        **{name: [[(2, SET_USER_ID, 0)]] for name in ("fchmodat", "fchmodat2", "mknodat")},
        # The mode counts only where a file is made.
        "open": [[(1, CREATES, 0)], [(2, SET_USER_ID, 0)]],
        "openat": [[(2, CREATES, 0)], [(3, SET_USER_ID, 0)]],
    }


def others(values: Sequence[int], bits: int = 32) -> Iterator[tuple[int, int]]:
    """Masks and values that together match every number but these: one for each branch of their tree where none of them lies."""
    prefixes: set[tuple[int, int]] = set()
    for depth in range(1, bits + 1):
        mask = (1 << bits) - (1 << (bits - depth))
        taken = {value & mask for value in values}
        for prefix in taken:
            sibling = prefix ^ (1 << (bits - depth))
            if sibling not in taken:
                prefixes.add((mask, sibling))
    return iter(sorted(prefixes))


@cache
def profile(machine: str) -> str:
    """The profile as JSON, for programs of this kind of machine alone."""
    allow, refuse, compare = "SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO", "SCMP_CMP_MASKED_EQ"
    allowed = read_data_file(FILE, ContainerCalls).allowed
    absent = sorted(name for names in syscalls().absent.values() for name in names)
    rules: list[dict[str, Any]] = [
        {"names": allowed, "action": allow},
        {"names": absent, "action": refuse, "errnoRet": errno.ENOSYS},
    ]
    for name, choices in conditions().items():
        for choice in choices:
            args = [{"index": index, "value": mask, "valueTwo": value, "op": compare} for index, mask, value in choice]
            rules.append({"names": [name], "action": allow, "args": args})
    told = {"defaultAction": refuse, "defaultErrnoRet": errno.EPERM, "architectures": [ARCHITECTURES[machine]], "syscalls": rules}
    return msgspec.json.encode(told).decode()
