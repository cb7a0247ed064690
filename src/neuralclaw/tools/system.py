"""`system_info`, `disk_info`, `network_info`, `process_list`, `process_signal`: the machine the agent runs on."""

import os
import signal
import time
from typing import Annotated, Any, Literal

import msgspec

from ..errors import ToolError, ToolExecutionError
from ..tool import tool
from ..types.tools import ToolResult

SignalName = Literal["TERM", "INT", "HUP", "KILL", "STOP", "CONT", "USR1", "USR2", "QUIT"]

_GIB = 2**30
_MIB = 2**20


@tool(risk="LOW", effect="pure", category="system", aliases=["info"])
def system_info() -> ToolResult:
    """Operating system, kernel, processor, load, memory, disk, uptime and battery of this machine, in one call."""
    import platform

    import psutil

    memory, disk = psutil.virtual_memory(), psutil.disk_usage("/")
    data: dict[str, Any] = {
        "os": _os_name(platform.platform(terse=True)),
        "kernel": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "hostname": platform.node(),
        "cpus": os.cpu_count(),
        "load": [round(value, 2) for value in os.getloadavg()],
        "memory": {"total": memory.total, "available": memory.available, "percent": memory.percent},
        "disk": {"path": "/", "total": disk.total, "free": disk.free, "percent": disk.percent},
        "uptime_seconds": round(time.time() - psutil.boot_time()),
        "python": platform.python_version(),
        "battery": None,
    }
    battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
    if battery is not None:
        data["battery"] = {"percent": round(battery.percent), "plugged": battery.power_plugged}
    lines = [
        f"os: {data['os']}",
        f"kernel: {data['kernel']} {data['architecture']}",
        f"hostname: {data['hostname']}",
        f"cpus: {data['cpus']}, load {' '.join(map(str, data['load']))}",
        f"memory: {memory.available / _GIB:.1f} of {memory.total / _GIB:.1f} GiB available ({memory.percent:g} % used)",
        f"disk: {disk.free / _GIB:.1f} of {disk.total / _GIB:.1f} GiB free on / ({disk.percent:g} % used)",
        f"uptime: {_span(data['uptime_seconds'])}",
        f"python: {data['python']}",
    ]
    if data["battery"]:
        lines.append(f"battery: {data['battery']['percent']} %" + (", plugged in" if data["battery"]["plugged"] else ""))
    return ToolResult(content="\n".join(lines), metadata=data)


@tool(risk="LOW", effect="pure", category="system")
def disk_info() -> ToolResult:
    """Free and used space of every mounted disk. For the size of a directory use `du` in the terminal."""
    import psutil

    disks: list[dict[str, Any]] = []
    mounts = {part.mountpoint: part.fstype for part in psutil.disk_partitions(all=False)} or {"/": ""}  # a container may list none
    for mount, kind in mounts.items():
        try:
            usage = psutil.disk_usage(mount)
        except OSError as error:
            disks.append({"mount": mount, "error": error.strerror})
            continue
        disks.append({"mount": mount, "type": kind, "total": usage.total, "used": usage.used, "free": usage.free, "percent": usage.percent})
    lines = [
        f"{disk['mount']}: cannot be read: {disk['error']}"
        if "error" in disk
        else f"{disk['mount']}: {disk['free'] / _GIB:.1f} of {disk['total'] / _GIB:.1f} GiB free ({disk['percent']:g} % used) {disk['type']}".rstrip()
        for disk in disks
    ]
    return ToolResult(content="\n".join(lines), metadata={"disks": disks})


@tool(risk="LOW", effect="pure", category="system")
def network_info() -> ToolResult:
    """Network interfaces of this machine with their addresses, and how much went through them. Nothing is sent, so it does not tell
    whether a host can be reached."""
    import psutil

    states, traffic = psutil.net_if_stats(), psutil.net_io_counters(pernic=True)
    interfaces: list[dict[str, Any]] = []
    for name, addresses in sorted(psutil.net_if_addrs().items()):
        counters = traffic.get(name)
        interfaces.append(
            {
                "name": name,
                "up": name in states and states[name].isup,
                "addresses": [address.address for address in addresses if address.family.name in ("AF_INET", "AF_INET6")],
                "sent": counters.bytes_sent if counters else 0,
                "received": counters.bytes_recv if counters else 0,
            }
        )
    lines = [
        f"{item['name']}: {'up' if item['up'] else 'down'}, {', '.join(item['addresses']) or 'no address'}, "
        f"sent {item['sent'] / _MIB:.1f} MiB, received {item['received'] / _MIB:.1f} MiB"
        for item in interfaces
    ]
    return ToolResult(content="\n".join(lines) or "no network interface", metadata={"interfaces": interfaces})


@tool(risk="LOW", effect="pure", category="system")
def process_list(
    name: str | None = None, sort: Literal["memory", "cpu", "pid"] = "memory", limit: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 20
) -> ToolResult:
    """List running processes by name, with memory and processor time. Their arguments are not shown: they may hold secrets.

    Example: {"name": "python", "sort": "memory"}

    Args:
        name: Only processes whose name contains this.
        sort: By resident memory, by processor time used, or by process id.
        limit: How many to show.
    """
    import psutil

    rows: list[dict[str, Any]] = []
    for process in psutil.process_iter(["pid", "name", "username", "memory_info", "cpu_times", "status"]):
        info = process.info
        if name and name.lower() not in (info["name"] or "").lower():
            continue
        used, spent = info["memory_info"], info["cpu_times"]
        rows.append(
            {
                "pid": info["pid"],
                "name": info["name"] or "?",
                "user": info["username"] or "?",
                "memory": used.rss if used else 0,
                "cpu_seconds": round(spent.user + spent.system, 1) if spent else 0.0,
                "status": info["status"],
            }
        )
    keys = {"memory": lambda row: -row["memory"], "cpu": lambda row: -row["cpu_seconds"], "pid": lambda row: row["pid"]}
    chosen = sorted(rows, key=keys[sort])[:limit]
    lines = [f"{row['pid']} {row['name']} ({row['user']}): {row['memory'] / _MIB:.1f} MiB, {row['cpu_seconds']} s, {row['status']}" for row in chosen]
    if len(rows) > len(chosen):
        lines.append(f"[{len(chosen)} of {len(rows)} processes shown]")
    return ToolResult(content="\n".join(lines) or "no such process", metadata={"count": len(rows), "processes": chosen})


@tool(risk="HIGH", effect="once", powers=["execute"], sinks=["execute"], category="system")
def process_signal(pid: int, signal: SignalName = "TERM") -> str:
    """Send a signal to one process of this machine, for example TERM to end it. Look the id up with process_list first. What the
    terminal started has ended with its call and needs no signal.
    Example: {"pid": 4711, "signal": "TERM"}

    Args:
        pid: Its process id.
        signal: The signal's name.
    """
    import psutil

    if pid <= 1:
        raise ToolError(f"{pid} names no single process that may be signalled")
    if pid in (os.getpid(), os.getppid()):
        raise ToolError(f"process {pid} is this agent itself (or what started it); leave the chat to end it")
    try:
        # psutil looks at the process's start time first, so a number that was given away again is not hit.
        process = psutil.Process(pid)
        name = process.name()
        process.send_signal(_NUMBERS[signal])
    except psutil.NoSuchProcess:
        raise ToolExecutionError(f"there is no process {pid}") from None
    except psutil.AccessDenied:
        raise ToolExecutionError(f"process {pid} belongs to someone else: the system refuses") from None
    return f"Sent {signal} to process {pid} ({name})."


_NUMBERS: dict[str, int] = {word: getattr(signal, f"SIG{word}") for word in ("TERM", "INT", "HUP", "KILL", "STOP", "CONT", "USR1", "USR2", "QUIT")}


def _os_name(plain: str) -> str:
    """The distribution's name of itself; `plain` where there is none."""
    import platform

    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", plain)
    except OSError:  # no os-release file: not a Linux distribution
        return plain


def _span(seconds: int) -> str:
    days, rest = divmod(seconds, 86_400)
    hours, rest = divmod(rest, 3_600)
    return (f"{days} d " if days else "") + f"{hours} h {rest // 60} min"
