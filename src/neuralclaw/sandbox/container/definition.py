"""A container as the engine is told of it: every control of the sandbox stands here."""

import os
import resource
from contextlib import suppress
from typing import Any

from ..resource_limits import LIMITS
from .container_options import ContainerOptions, labels
from .mounted import TEMPORARY, Mounted
from .way_in import WAY

WATCH = (
    "bash",
    "--norc",
    "-c",
    'trap "" HUP INT TERM; while IFS= read -r line; do case $line in t*) kill -TERM -1 ;; *) kill -KILL -1 ;; esac 2>/dev/null; echo "$line"; done',
)
"""The first process. It ends all others on a word from us, which takes no new process where there may be none; when our end of its input is closed it ends,
and the container with it."""
_OPEN_FILES = 4096
_MB = 1024**2


def definition(seen: Mounted, options: ContainerOptions, *, session: str, podman: bool, way: str = "") -> dict[str, Any]:
    """The body of `POST /containers/create`, which `create` adds the seccomp profile to. `way`: a directory that it has as `WAY`, "" for none."""
    return {
        "Image": options.image,
        "Entrypoint": list(WATCH),
        "Cmd": [],
        "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
        "User": seen.user,
        "WorkingDir": seen.home or "/",  # made in the image's root, so that a home is there
        "Hostname": "runner",
        "OpenStdin": True,
        "StdinOnce": True,
        "NetworkDisabled": True,
        "Labels": labels(options.data_home, session),
        "HostConfig": _host(seen, options, podman=podman, way=way),
    }


def _host(seen: Mounted, options: ContainerOptions, *, podman: bool, way: str) -> dict[str, Any]:
    memory = options.memory_mb * _MB
    binds = [_bind(path, read_only=True) for path in seen.read] + [_bind(path, read_only=False) for path in (*seen.write, *seen.pinned)]
    binds += [_bind(path, read_only=True) for path in seen.kept]
    binds += [{**_bind(way, read_only=True), "Target": WAY}] if way else []
    covers = [{**_bind("/dev/null", read_only=True), "Target": path} for path in seen.hidden if not os.path.isdir(path)]
    empty = ",notmpcopyup" if podman else ""  # Podman would fill it with what it covers
    temporary = {TEMPORARY: f"rw,nosuid,nodev,exec,mode=1777,size={options.tmpfs_mb * _MB}{empty}"}
    temporary |= {path: f"ro,nosuid,nodev,noexec,size=4096{empty}" for path in seen.hidden if os.path.isdir(path)}
    return {
        "AutoRemove": True,
        "ReadonlyRootfs": True,
        "CapDrop": ["ALL"],
        "NetworkMode": "none",
        "IpcMode": "private",
        "Privileged": False,
        "SecurityOpt": ["no-new-privileges:true"],
        "Memory": memory,
        "MemorySwap": memory,  # memory and swap together
        "NanoCpus": int(options.cpus * 1e9),
        "PidsLimit": options.pids,
        "Tmpfs": temporary,
        "ShmSize": options.tmpfs_mb * _MB,
        "Mounts": [*binds, *covers],
        "Ulimits": [_limit(name, value) for name, value in ulimits(memory).items()],
        "LogConfig": {"Type": "none"},
        "UsernsMode": "host",
    }


def ulimits(memory: int) -> dict[str, int]:
    """Resource limits of each process. `nproc` counts all processes of its user on the machine, so the highest that can be reached here: Podman would
    raise it above that, which fails where its service may not."""
    _, processes = resource.getrlimit(resource.RLIMIT_NPROC)
    with suppress(OSError), open("/proc/sys/kernel/pid_max", encoding="ascii") as file:
        most = int(file.read())
        processes = most if processes == resource.RLIM_INFINITY else min(processes, most)
    return {"core": 0, "fsize": LIMITS.file_size, "data": max(memory, LIMITS.memory), "nofile": _OPEN_FILES, "nproc": processes}


def _bind(path: str, *, read_only: bool) -> dict[str, Any]:
    return {"Type": "bind", "Source": path, "Target": path, "ReadOnly": read_only, "BindOptions": {"Propagation": "rprivate"}}


def _limit(name: str, value: int) -> dict[str, Any]:
    return {"Name": name, "Soft": value, "Hard": value}
