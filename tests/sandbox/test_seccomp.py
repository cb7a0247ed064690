"""The filters, read by an interpreter of classic BPF, for every kind of machine they are made for."""

import errno
import re
import struct
from pathlib import Path

import pytest

from neuralclaw.sandbox.handed_over import _aarch64, _x86_64
from neuralclaw.sandbox.seccomp import FILE, converter_filter, known, program_filter
from neuralclaw.types.datafile import read_data_file

MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
NUMBERS: dict[str, list[int | None]] = read_data_file(FILE, dict)["numbers"]  # type: ignore[type-arg]
HEADERS = {"x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"), "aarch64": Path("/usr/include/asm-generic/unistd.h")}


def decided(program: bytes, number: int, *arguments: int, machine: int) -> str:
    """What a filter says of a call: `allow`, `hand over` or the name of an error."""
    data = struct.pack("=IIQ6Q", number, machine, 0, *arguments, *[0] * (6 - len(arguments)))
    code = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
    at = value = 0
    while True:
        kind, yes, no, operand = code[at]
        at += 1
        if kind == 0x20:
            value = struct.unpack_from("=I", data, operand)[0]
        elif kind == 0x54:
            value &= operand
        elif kind == 0x06:
            return {0x7FFF: "allow", 0x7FC0: "hand over"}.get(operand >> 16) or errno.errorcode.get(operand & 0xFFFF, "done")
        else:
            holds = {0x15: value == operand, 0x25: value > operand, 0x45: bool(value & operand)}[kind]
            at += yes if holds else no


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def say(machine: str, name: str, *arguments: int, program: bytes | None = None) -> str:
    number = NUMBERS[name][list(MACHINES).index(machine)]
    if number is None:
        return "no such call"
    made = program if program is not None else program_filter("own", "handed over", shared=False, machine=machine)
    return decided(made, number, *arguments, machine=MACHINES[machine])


REFUSED = (
    "ptrace keyctl add_key request_key bpf perf_event_open userfaultfd mount umount2 setns pivot_root chroot process_vm_readv pidfd_getfd init_module swapon"
)


@pytest.mark.parametrize("name", REFUSED.split())
def test_calls_that_reach_the_kernel_or_other_processes_are_refused(machine: str, name: str) -> None:
    assert say(machine, name) == "EPERM"


@pytest.mark.parametrize("name", ["io_uring_setup", "clone3", "openat2", "shmget", "mq_open"])
def test_calls_that_programs_can_do_without_do_not_exist(machine: str, name: str) -> None:
    assert say(machine, name) == "ENOSYS"


@pytest.mark.parametrize("name", ["read", "mmap", "futex", "openat", "clone", "newfstatat", "getrandom", "exit_group"])
def test_ordinary_calls_are_left_alone(machine: str, name: str) -> None:
    assert say(machine, name) == "allow"


def test_sockets_by_what_they_lead_to(machine: str) -> None:
    unix, internet, internet6, routes, packets, vsock = 1, 2, 10, 16, 17, 40
    stream, datagram, raw, closing = 1, 2, 3, 0o2000000

    def families(sockets: str) -> list[str]:
        made = program_filter(sockets, "handed over", shared=False, machine=machine)  # type: ignore[arg-type]
        return [say(machine, "socket", family, stream, 0, program=made) for family in (unix, internet, internet6, routes, packets, vsock)]

    assert families("own") == ["allow", "ENETUNREACH", "ENETUNREACH", "EACCES", "EACCES", "EACCES"]
    assert families("proxied") == ["allow", "allow", "ENETUNREACH", "EACCES", "EACCES", "EACCES"]
    assert families("namespaced") == ["allow", "allow", "allow", "allow", "EACCES", "EACCES"]
    assert [say(machine, "socket", unix, kind | closing) for kind in (stream, 5, datagram, raw)] == ["allow", "allow", "EACCES", "EACCES"]
    assert [say(machine, "socketpair", unix, kind | closing) for kind in (stream, 5, datagram, raw)] == ["allow", "allow", "EACCES", "EACCES"]
    proxied = program_filter("proxied", "handed over", shared=False, machine=machine)
    made = [
        say(machine, "socket", internet, kind, protocol, program=proxied) for kind, protocol in ((1, 0), (1 | closing, 6), (1, 262), (1, 132), (2, 0), (5, 0))
    ]
    assert made == ["allow", "allow", "EACCES", "EACCES", "ENETUNREACH", "ENETUNREACH"]
    events = program_filter("namespaced", "allowed", shared=True, machine=machine)
    assert say(machine, "socket", routes, raw, 15, program=events) == "EACCES"


def test_a_connection_that_needs_no_connect_is_refused_where_connections_are_judged(machine: str) -> None:
    made = program_filter("proxied", "handed over", shared=False, machine=machine)
    flags = {"sendto": 3, "sendmsg": 2, "sendmmsg": 3}
    for name, place in flags.items():
        said = [say(machine, name, *(value if at == place else 0 for at in range(6)), program=made) for value in (0, 0x4000, 0x20000000, 0x20004000)]
        assert said == ["allow", "allow", "EACCES", "EACCES"], name
    options = [say(machine, "setsockopt", 3, level, option, program=made) for level, option in ((0, 4), (0, 1), (1, 4), (6, 1))]
    assert options == ["EPERM", "allow", "allow", "allow"]
    assert say(machine, "listen", 3, 1, program=made) == say(machine, "connect", 3, 1, program=made) != "allow"


def test_arguments_decide_where_a_call_has_harmless_uses(machine: str) -> None:
    assert [say(machine, "clone", flags) for flags in (0x11, 0x3D0F00, 0x10000011, 0x40000000)] == ["allow", "allow", "EPERM", "EPERM"]
    assert [say(machine, "unshare", flags) for flags in (0x400, 0x10000000, 0x80)] == ["allow", "EPERM", "EPERM"]
    assert [say(machine, "ioctl", 0, request) for request in (0x5401, 0x5412, 0x541C, 0x40086602)] == ["allow", "EPERM", "EPERM", "EPERM"]
    assert [say(machine, "ioctl", 0, 0x5412 | high << 32) for high in (1, 0xFFFFFFFF)] == ["EPERM", "EPERM"]
    assert [say(machine, "prlimit64", pid, 7, new) for pid, new in ((0, 8), (5, 0), (5, 8), (5, 1 << 32))] == ["allow", "allow", "EPERM", "EPERM"]
    assert [say(machine, "setpriority", kind, who) for kind, who in ((0, 0), (0, 5), (2, 0), (1, 0))] == ["allow", "EPERM", "EPERM", "EPERM"]
    assert [say(machine, "personality", value) for value in (0, 0xFFFFFFFF, 0x40000)] == ["allow", "allow", "EPERM"]


def test_no_program_is_made_that_runs_with_the_rights_of_its_owner(machine: str) -> None:
    made = program_filter("namespaced", "allowed", shared=True, machine=machine)
    assert [say(machine, "fchmod", 3, mode, program=made) for mode in (0o755, 0o2755, 0o4755)] == ["allow", "allow", "EPERM"]
    assert [say(machine, "fchmodat", 3, 1, mode, program=made) for mode in (0o755, 0o4755)] == ["allow", "EPERM"]
    assert [say(machine, "openat", 3, 1, flags, 0o4755, program=made) for flags in (0, 0o100, 0o20200000)] == ["allow", "EPERM", "EPERM"]
    assert say(machine, "mknodat", 3, 1, 0o104755, program=made) == "EPERM"


def test_what_landlock_does_not_judge_is_handed_over_or_refused(machine: str) -> None:
    names = ["fchmod", "fchmodat", "fchmodat2", "fchown", "fchownat", "utimensat"]
    assert {say(machine, name) for name in names} == {"hand over"}
    assert {say(machine, name, program=program_filter("own", "refused", shared=False, machine=machine)) for name in names} == {"EPERM"}
    assert {say(machine, name) for name in ("setxattr", "fsetxattr", "removexattr", "setxattrat")} == {"ENOTSUP"}
    assert say(machine, "connect") == "hand over"
    old = program_filter("own", "handed over", shared=False, truncate=False, machine=machine)
    assert (say(machine, "truncate"), say(machine, "truncate", program=old)) == ("allow", "EACCES")


def test_a_process_stays_readable_for_what_answers_its_calls(machine: str) -> None:
    assert [say(machine, "prctl", option, 0) for option in (4, 38)] == ["done", "allow"]
    assert say(machine, "prctl", 4, 0, program=program_filter("namespaced", "allowed", shared=True, machine=machine)) == "allow"


def test_every_call_that_is_handed_over_is_answered(machine: str) -> None:
    made = program_filter("proxied", "handed over", shared=False, machine=machine)
    handed = {number for number in range(470) if decided(made, number, 1, machine=MACHINES[machine]) == "hand over"}
    assert handed == set({"x86_64": _x86_64, "aarch64": _aarch64}[machine]())


def test_a_call_that_is_younger_than_the_table_or_of_another_machine_does_not_exist(machine: str) -> None:
    made = program_filter("own", "allowed", shared=True, machine=machine)
    here = MACHINES[machine]
    assert [decided(made, number, machine=here) for number in (470, 0x40000000, 0x40000000 | 101, 0xFFFFFFFF)] == ["ENOSYS"] * 4
    others = [0x40000003, *(other for other in MACHINES.values() if other != here)]
    assert {decided(made, number, machine=other) for other in others for number in (0, 1, 20)} == {"ENOSYS"}


def test_the_converter_gets_what_computing_takes_and_nothing_else(machine: str) -> None:
    made = converter_filter(machine)
    assert {say(machine, name, program=made) for name in ("read", "write", "mmap", "futex", "exit_group", "brk")} == {"allow"}
    rest = ("openat", "clone", "socket", "unlinkat", "connect", "truncate", "ptrace", "fchmodat", "setxattr")
    assert {say(machine, name, program=made) for name in rest if name in NUMBERS} == {"EPERM"}


def test_numbers_are_those_of_the_systems_own_headers(machine: str) -> None:
    text = HEADERS[machine].read_text() if HEADERS[machine].exists() else ""
    theirs = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)\b", text)}
    column = list(MACHINES).index(machine)
    ours = {name: row[column] for name, row in NUMBERS.items() if name in theirs}
    assert ours == {name: theirs[name] for name in ours}
    assert len(ours) > 140 or not text


def test_machines_without_a_table_are_known_to_have_none() -> None:
    assert (known("x86_64"), known("aarch64"), known("riscv64")) == (True, True, False)
