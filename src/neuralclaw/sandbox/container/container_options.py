"""What the settings say of containers, and what keeps those of one home apart from others."""

import hashlib
import os
import re

import msgspec

IMAGE = "neuralclaw-runner:latest"
LABELS = ("neuralclaw.home", "neuralclaw.session", "neuralclaw.process")
HOME, SESSION, PROCESS = LABELS
_PREFIX = "neuralclaw-runner-"
_LONGEST = 80


class ContainerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`tools.terminal.docker_image` and `tools.terminal.container`. `read_only`: the workspace is mounted so, whatever a grant allows.

    `idle_seconds`: a container that runs nothing for so long is removed. `data_home`: the agent's own; containers of another one are not touched.
    """

    image: str = IMAGE
    cpus: float = 1
    memory_mb: int = 512
    pids: int = 128
    tmpfs_mb: int = 64
    read_only: bool = False
    idle_seconds: float = 900
    data_home: str = ""


def container_name(session: str, variant: str = "") -> str:
    """`neuralclaw-runner-SESSION`. In place of what a name may not have stands "-", and a digest behind it keeps such sessions apart.

    `variant`: what tells apart the containers of one session.
    """
    plain = re.sub(r"[^A-Za-z0-9_.-]", "-", session)[:_LONGEST]
    digest = hashlib.sha256(session.encode(errors="surrogateescape")).hexdigest()[:8]
    name = plain if plain == session and plain else f"{plain}-{digest}"
    return f"{_PREFIX}{name}" + (f"-{variant}" if variant else "")


def labels(data_home: str, session: str) -> dict[str, str]:
    """Of a container that this process makes."""
    return {HOME: home_label(data_home), SESSION: session, PROCESS: this_process()}


def home_label(data_home: str) -> str:
    """The home, without its path, which others who use the engine need not read."""
    return hashlib.sha256(os.path.realpath(data_home).encode(errors="surrogateescape")).hexdigest()[:16]


def this_process() -> str:
    """This process: its numbers are those of its process namespace, and used again, so that its start belongs to it."""
    return f"{_namespace()}.{os.getpid()}.{_started(os.getpid())}"


def has_ended(process: str) -> bool:
    """Whether a process of this machine that wrote such a label has ended; False where that cannot be known."""
    namespace, pid, started = (*process.split("."), "", "")[:3]
    return bool(namespace and namespace == _namespace() and pid.isdigit()) and _started(int(pid)) != started


def _namespace() -> str:
    try:
        return str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        return ""


def _started(pid: int) -> str:
    """When it started, in ticks since the machine did; "" where it is not there."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == b"Z" else fields[19].decode()
