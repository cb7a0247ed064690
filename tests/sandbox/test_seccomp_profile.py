"""The profile that an engine is given says what our own filter says."""

import errno
from typing import Any

import msgspec
import pytest

from neuralclaw.sandbox.container.seccomp_profile import FILE, ContainerCalls, conditions, others, profile
from neuralclaw.sandbox.seccomp import TERMINAL_AND_FLAGS, syscalls
from neuralclaw.types.datafile import read_data_file


def decide(rules: list[dict[str, Any]], name: str, *arguments: int) -> str:
    """What the engine's library makes of the rules: those of one call are joined by "or", the conditions of a rule by "and"."""
    for rule in rules:
        if name in rule["names"] and all(arguments[one["index"]] & one["value"] == one["valueTwo"] for one in rule.get("args", ())):
            return "allowed" if rule["action"] == "SCMP_ACT_ALLOW" else errno.errorcode[rule["errnoRet"]]
    return "EPERM"


@pytest.fixture
def rules() -> list[dict[str, Any]]:
    told: dict[str, Any] = msgspec.json.decode(profile("x86_64"))
    assert (told["defaultAction"], told["architectures"]) == ("SCMP_ACT_ERRNO", ["SCMP_ARCH_X86_64"])
    return list(told["syscalls"])


def test_no_call_that_our_filter_refuses_or_looks_at_is_on_the_list_of_what_is_allowed() -> None:
    allowed = set(read_data_file(FILE, ContainerCalls).allowed)
    table = syscalls()
    refused = {name for group in (table.refused, table.absent) for names in group.values() for name in names}
    assert allowed & (refused | set(conditions())) == set()
    assert {"read", "execve", "futex", "connect", "wait4"} <= allowed


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (("keyctl", 0), "EPERM"),
        (("io_uring_setup", 0), "ENOSYS"),
        (("clone3", 0), "ENOSYS"),
        (("read", 0), "allowed"),
        (("clone", 0x1200011), "allowed"),
        (("clone", 0x10000000), "EPERM"),
        (("unshare", 0x400), "allowed"),
        (("unshare", 0x10000000), "EPERM"),
        (("unshare", 0x80), "EPERM"),
        (("socket", 2, 1, 0), "allowed"),
        (("socket", 16, 3, 0), "allowed"),
        (("socket", 16, 3, 15), "EPERM"),
        (("socket", 40, 1, 0), "EPERM"),
        (("personality", 0x40000), "EPERM"),
        (("personality", 0xFFFFFFFF), "allowed"),
        (("ioctl", 0, 0x5401), "allowed"),
        (("ioctl", 0, 0x5412), "EPERM"),
        (("ioctl", 0, 1 << 32 | 0x5412), "EPERM"),
        (("prlimit64", 7, 0, 0), "allowed"),
        (("prlimit64", 7, 0, 1 << 40), "EPERM"),
        (("prlimit64", 0, 0, 1 << 40), "allowed"),
        (("setpriority", 0, 7), "EPERM"),
        (("chmod", 0, 0o755), "allowed"),
        (("chmod", 0, 0o4755), "EPERM"),
        (("openat", 0, 0, 0, 0o4755), "allowed"),
        (("openat", 0, 0, 0o100, 0o4755), "EPERM"),
        (("openat", 0, 0, 0o100, 0o644), "allowed"),
        (("openat", 0, 0, 0o20000000, 0o4644), "EPERM"),
    ],
)
def test_the_rules_decide_as_our_filter_does(rules: list[dict[str, Any]], call: tuple[Any, ...], said: str) -> None:
    assert decide(rules, *call) == said


def test_all_numbers_but_those_that_are_refused_match() -> None:
    matched = [value for value in range(256) if any(value & mask == wanted for mask, wanted in others((0, 3, 200), 8))]
    assert matched == [value for value in range(256) if value not in (0, 3, 200)]
    near = {value ^ 1 << bit for value in TERMINAL_AND_FLAGS for bit in range(32)} - set(TERMINAL_AND_FLAGS)
    rules = list(others(TERMINAL_AND_FLAGS))
    assert all(any(value & mask == wanted for mask, wanted in rules) for value in near)
    assert not any(value & mask == wanted for value in TERMINAL_AND_FLAGS for mask, wanted in rules)
