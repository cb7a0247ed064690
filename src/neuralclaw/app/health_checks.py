"""What works on this machine, what is missing and how to get it: the checks behind `neuralclaw doctor`."""

import os
import shutil
import sys
from collections.abc import Collection
from typing import Any

import anyio.to_thread
import msgspec

from ..capability import DoctorCheck
from ..config import refuse_caps
from ..errors import ConfigError
from .capabilities import ClientCapabilities
from .capability_health import capability_checks
from .home import Home
from .models.model_checks import model_checks

OLDEST_PYTHON = (3, 11)


def check(name: str, ok: bool, text: str, *, fix: str | None = None, needed: bool = True) -> DoctorCheck:
    """One line. `needed` false: the agent works without it, and a failed check does not fail `doctor`."""
    return DoctorCheck(check=name, ok=ok, text=text, fix=fix, needed=needed)


async def checks(home: Home, given: ClientCapabilities, *, rebuilt: bool, call: bool = False) -> list[dict[str, Any]]:
    """Every check, those that need a trial run in a worker thread. `call`: the models are called once for real."""
    found = [python(), config(home), home_folder(home, rebuilt), await record(home)]
    found += await model_checks(home, real_call=call)
    trials = await anyio.to_thread.run_sync(home.sandbox.real.trials)
    chosen = home.sandbox.name
    for trial in trials:
        used = (
            (" (used for commands)" if trial.ok else "; tools.terminal.sandbox asks for it, so no turn can run") if trial.check == f"sandbox.{chosen}" else ""
        )
        found.append(check(trial.check, trial.ok, trial.text + used, fix=trial.fix, needed=trial.check == f"sandbox.{chosen}"))
    found.append(git(home.loaded.env.get("PATH", "")))
    found += [one async for one in capability_checks(home.loaded, given, home.store.failed_tables, rebuilt=rebuilt)]
    return [msgspec.to_builtins(one) for one in found]


def python() -> DoctorCheck:
    version = sys.version_info
    return check("python", version >= OLDEST_PYTHON, f"{version.major}.{version.minor}.{version.micro}", fix="uv python install 3.12")


def config(home: Home) -> DoctorCheck:
    notices = "".join(f"; {notice}" for notice in home.loaded.notices)
    try:
        refuse_caps(home.loaded, "no turn can begin")
    except ConfigError as error:
        return check("config", False, error.text, fix=error.hint)
    return check("config", True, (home.loaded.file or "defaults, no file") + notices)


def home_folder(home: Home, rebuilt: bool) -> DoctorCheck:
    folder = home.loaded.home
    free = shutil.disk_usage(folder).free
    writable = os.access(folder, os.W_OK)
    text = f"{folder}, {free // 2**20:,} MB free" + (_rebuilt(home.store.failed_tables) if rebuilt else "")
    if not writable:
        return check("home", False, f"{folder} cannot be written", fix=f"chmod u+rwx {folder}")
    return check("home", free > 2**20, text, fix="export NEURALCLAW_HOME=DIR, a directory on a disk with room")


def _rebuilt(failed: Collection[str]) -> str:
    return f", derived tables rebuilt but {', '.join(failed)}" if failed else ", derived tables rebuilt"


async def record(home: Home) -> DoctorCheck:
    report = await home.store.verify()
    if report.bad is None:
        return check("record", True, f"{report.records} records, all as they were written")
    return check("record", False, f"record {report.bad.record} of session {report.bad.session}: {report.bad.why}", fix="neuralclaw audit verify")


def git(path: str) -> DoctorCheck:
    found = shutil.which("git", path=path)
    return check("git", found is not None, found or "not found", fix="apt-get install git", needed=False)
