"""The machine at this moment, as context for the model (row H4): orientation that no tool call is needed for."""

import os
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

import anyio
import anyio.to_thread
import msgspec

FRESH_SECONDS = 2.0
"""A sample of the machine serves every session for so long: looking through the processes takes some ms."""

TOP_PROCESSES = 20
_NAME_LENGTH = 32
_MIB = 2**20
_WHAT = "(The machine at this moment, for orientation. Nobody said this; it asks for nothing.)"
_encoder = msgspec.json.Encoder()


class MachineContext:
    """Describes workspace, processes, memory, disk, battery and uptime. One sample is shared by all who ask within `FRESH_SECONDS`."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._sample: dict[str, Any] = {}
        self._taken = float("-inf")
        self._texts: dict[str, str] = {}
        self._lock = anyio.Lock()

    async def describe(self, workspace: str) -> str:
        """One JSON object between tags that say what it is; the same keys every time, `battery` only where there is one."""
        async with self._lock:
            if self._monotonic() - self._taken >= FRESH_SECONDS:
                self._sample = await anyio.to_thread.run_sync(sample)
                self._taken, self._texts = self._monotonic(), {}
        if workspace not in self._texts:
            self._texts[workspace] = self._described(workspace)
        return self._texts[workspace]

    def _described(self, workspace: str) -> str:
        now = {"time": datetime.now().astimezone().isoformat(timespec="minutes"), "workspace": workspace, **disk_of(workspace), **self._sample}
        encoded = _encoder.encode(now).decode().replace("<", "\\u003c")  # the workspace's name closes no tag
        return f"<environment>\n{encoded}\n</environment>\n{_WHAT}"


def disk_of(path: str) -> dict[str, Any]:
    """Space of the disk that holds the path; nothing when it cannot be asked."""
    try:
        found = os.statvfs(path)
    except OSError:
        return {}
    return {"disk_mb": {"total": found.f_blocks * found.f_frsize // _MIB, "free": found.f_bavail * found.f_frsize // _MIB}}


def sample() -> dict[str, Any]:
    """What changes on this machine: sizes in MiB, `uptime_minutes`, the processes that hold most memory by name alone (arguments may hold secrets)."""
    import psutil

    memory = psutil.virtual_memory()
    found: dict[str, Any] = {
        "memory_mb": {"total": memory.total // _MIB, "available": memory.available // _MIB},
        "uptime_minutes": round((time.time() - psutil.boot_time()) / 60),
    }
    battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
    if battery is not None:
        found["battery"] = {"percent": round(battery.percent), "plugged": battery.power_plugged}
    found["processes"] = processes(psutil)
    return found


def processes(psutil: Any) -> list[str]:
    """`name memory` of the `TOP_PROCESSES` largest. A name is whatever a program gave itself, so only plain characters of it are kept."""
    sizes = [(p.info["memory_info"].rss, p.info["name"] or "") for p in psutil.process_iter(["name", "memory_info"]) if p.info["memory_info"]]
    largest = sorted(sizes, reverse=True)[:TOP_PROCESSES]
    return [f"{plain(name)} {size // _MIB} MB" for size, name in largest]


def plain(name: str) -> str:
    """Letters, digits and `._+-` of a name: no sentence can be said with a process name."""
    return "".join(letter for letter in name if letter.isascii() and (letter.isalnum() or letter in "._+-"))[:_NAME_LENGTH] or "?"
