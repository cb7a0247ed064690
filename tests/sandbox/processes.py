"""Who runs on this machine, and what the tests of both sandboxes share."""

import os
import shutil
import uuid
from pathlib import Path

from neuralclaw.ports import ExecResult, Sandbox
from neuralclaw.sandbox.bubblewrap import Bubblewrap
from neuralclaw.sandbox.landlock import Landlock
from neuralclaw.sandbox.process import ProcessSandbox
from neuralclaw.sandbox.resource_limits import LIMITS, ResourceLimits
from neuralclaw.types.grants import Grant

PATH = os.environ["PATH"]
BWRAP = shutil.which("bwrap") or "/usr/bin/bwrap"


def sandbox(name: str, limits: ResourceLimits = LIMITS, hidden: tuple[str, ...] = (), home: str = "") -> Sandbox:
    if name == "process":
        return ProcessSandbox(limits)
    return Landlock(hidden=hidden, home=home, limits=limits) if name == "landlock" else Bubblewrap(BWRAP, hidden=hidden, home=home, limits=limits)


async def sh(box: Sandbox, grant: Grant, script: str, *, timeout: float | None = 20.0, max_bytes: int = 100_000) -> ExecResult:
    """Run a shell script in the grant's workspace."""
    return await box.exec(grant, ["sh", "-c", script], cwd=grant.workspace, env={"PATH": PATH}, timeout=timeout, max_bytes=max_bytes)


def marker() -> str:
    """A number of seconds no other process sleeps, to find a `sleep` again by."""
    return str(10_000_000 + uuid.uuid4().int % 80_000_000)


def running(mark: str) -> list[int]:
    """Process ids whose command line has the mark as an argument of its own."""
    found = []
    for directory in Path("/proc").iterdir():
        if directory.name.isdigit():
            try:
                arguments = (directory / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if mark.encode() in arguments:
                found.append(int(directory.name))
    return found
