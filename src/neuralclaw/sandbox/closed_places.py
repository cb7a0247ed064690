"""What no command has, whatever it is given: services of this machine, other processes, an administrator's rights. Found in what a command printed, as far
as it would have had them outside.
"""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from .program_run import Program

KERNEL = re.compile(
    r"\b(?:ptrace|PTRACE_\w+|unshare|setns|nsenter|mount|pivot_root|chroot|root directory|"
    r"keyctl|io_uring\w*|perf_event_open|userfaultfd|bpf|personality|setarch)\b.*"
    r"(?:not permitted|permission denied|not implemented)|^No permission to enable \S+ event",
    re.IGNORECASE,
)
_SOCKETS = re.compile(
    r"(?:netlink|raw|packet) socket.*(?:denied|not permitted)|RTNETLINK answers: Operation not permitted|socktype: SOCK_RAW|\bsocket: Operation not permitted",
    re.IGNORECASE,
)
_GAINED = re.compile(r'"no new privileges" flag|effective uid is not 0|setuid (?:bit|root)|\bsu: system error', re.IGNORECASE)
_RIGHTS = re.compile(
    r"operation not permitted|must be (?:the )?(?:root|super-?user)|are you root|only root|insufficient permissions|permission denied on key"
    r"|cannot set niceness|changing ownership of .*: invalid argument",
    re.IGNORECASE,
)
_MODE = re.compile(r"^chmod: changing permissions of .*: operation not permitted", re.IGNORECASE)
_PROCESS = re.compile(r"\b(?:p?kill|killall|renice|chrt|taskset|ionice)\b.*?\b(?P<process>\d{2,7})\b.*(?:no such process|not permitted)", re.IGNORECASE)
_FAILED = re.compile(r"cannot|can't|could ?n.t|could not|failed|unable|refused|denied|no such|not found|is the .* running", re.IGNORECASE)
_SOCKET_PATH = re.compile(r"(?:unix:(?://)?|[\s\"'‘`(=]|^)(?P<path>/[^\s\"'’`,;:()]+)")
_BUS = re.compile(r"\bconnect to (?:the )?(?:\w+ )?bus\b|\bD-?Bus\b", re.IGNORECASE)
_AGENT = re.compile(
    r"(?:open|make) a connection to your authentication agent|(?:can't connect to|connecting to|no) (?:the )?(?:gpg-)?agent\b|failed to start gpg-agent",
    re.IGNORECASE,
)
_DISPLAY = re.compile(
    r"(?:cannot|can't|could ?n.t|could not|unable to|failed to) (?:open|connect to) (?:the )?(?:x(?:11)? )?(?:display|wayland)|missing x server|\$DISPLAY\b",
    re.IGNORECASE,
)
_LOOPBACK = re.compile(r"\b(?:localhost|127\.0\.0\.\d+|::1)\b", re.IGNORECASE)
_UNREACHED = re.compile(r"refused|fail|could ?n.t|could not|unable|unreachable|ECONN", re.IGNORECASE)
_PORT = re.compile(r"(?:\bport[ =]|:)(?P<port>\d{2,5})\b", re.IGNORECASE)
_LISTENING = "0A"

ELSEWHERE = "No call can be given that; the person can do it in a terminal."


def closed_to_all(lines: Sequence[str], program: Program) -> list[str]:
    """One sentence for each of these that the lines show. Reads the disk."""
    root = os.geteuid() == 0
    said = []
    if any(KERNEL.search(line) for line in lines):
        said.append("Tracing, mounts, namespaces and keys of the kernel are closed to commands.")
    if any(_reaches_service(line) for line in lines):
        said.append(f"Services of this machine (sockets of Docker, buses, agents and displays, ports of its loopback) are closed to commands. {ELSEWHERE}")
    if any(_SOCKETS.search(line) for line in lines):
        said.append("Raw and netlink sockets (`ping`, `ip`, `ss`) are closed to commands.")
    processes = [line for line in lines if _other_process(line, program)]
    if processes:
        said.append(f"Processes that a command did not start are out of its reach. {ELSEWHERE}")
    others = [line for line in lines if line not in processes and not KERNEL.search(line) and not _SOCKETS.search(line)]
    if any(_GAINED.search(line) or _MODE.search(line) or (root and _RIGHTS.search(line)) for line in others):
        said.append(f"No command has an administrator's rights or gains them when it starts (`sudo`, `su`). {ELSEWHERE}")
    return said


def is_socket(path: str) -> bool:
    """Whether a program listens, or listened, at this path."""
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _reaches_service(line: str) -> bool:
    """Whether the line is a failure to reach a service that is there outside."""
    if _AGENT.search(line):
        return True
    person = f"/run/user/{os.getuid()}"
    if _BUS.search(line) and _FAILED.search(line):
        return any(map(is_socket, ("/run/dbus/system_bus_socket", f"{person}/bus")))
    if _DISPLAY.search(line):
        return any(map(is_socket, _displays(person)))
    if _FAILED.search(line) and any(is_socket(found["path"].rstrip(".")) for found in _SOCKET_PATH.finditer(line)):
        return True
    return bool(_LOOPBACK.search(line) and _UNREACHED.search(line)) and any(_listens(int(found["port"])) for found in _PORT.finditer(line))


def _displays(person: str) -> Iterator[str]:
    for place, names in (("/tmp/.X11-unix", "X*"), (person, "wayland-*")):
        yield from map(str, Path(place).glob(names))


def _listens(port: int) -> bool:
    """Whether a program of this machine listens at that port of its loopback, or everywhere."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            rows = Path(table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            _, local, _, state, *_ = row.split()
            if state == _LISTENING and int(local.rpartition(":")[2], 16) == port:
                return True
    return False


def _other_process(line: str, program: Program) -> bool:
    """Whether it is about a process that the person could signal. A process of the command's own has a number of its own too: a number that is not there counts
    only where the command names it."""
    found = _PROCESS.search(line)
    if found is None or ("no such" in line.lower() and not any(found["process"] in word for word in program.argv)):
        return False
    try:
        os.kill(int(found["process"]), 0)
    except (OSError, OverflowError):
        return False
    return True
