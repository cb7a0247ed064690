"""What works on this machine, what is missing and how to get it: the checks behind `neuralclaw doctor`."""

import os
import shutil
import sys
from typing import Any

import anyio.to_thread

from ..errors import ConfigError
from .parts import Parts

OLDEST_PYTHON = (3, 11)


def check(name: str, ok: bool, text: str, *, fix: str | None = None, needed: bool = True) -> dict[str, Any]:
    """One line. `needed` false: the agent works without it, and a failed check does not fail `doctor`."""
    return {"check": name, "ok": ok, "text": text, "fix": fix, "needed": needed}


async def checks(parts: Parts, *, rebuilt: bool) -> list[dict[str, Any]]:
    """Every check, those that need a trial run in a worker thread."""
    found = [python(), config(parts), home(parts, rebuilt), await record(parts), await model(parts)]
    trials = await anyio.to_thread.run_sync(parts.sandbox.real.trials)
    chosen = parts.sandbox.name
    for trial in trials:
        used = " (used for commands)" if trial.check == f"sandbox.{chosen}" else ""
        found.append(check(trial.check, trial.ok, trial.text + used, fix=trial.fix, needed=trial.check == f"sandbox.{chosen}"))
    found.append(git(parts.loaded.env.get("PATH", "")))
    return found


def python() -> dict[str, Any]:
    version = sys.version_info
    return check("python", version >= OLDEST_PYTHON, f"{version.major}.{version.minor}.{version.micro}", fix="install Python 3.11 or newer")


def config(parts: Parts) -> dict[str, Any]:
    notices = "".join(f"; {notice}" for notice in parts.loaded.notices)
    return check("config", True, (parts.loaded.file or "defaults, no file") + notices)


def home(parts: Parts, rebuilt: bool) -> dict[str, Any]:
    folder = parts.loaded.home
    free = shutil.disk_usage(folder).free
    writable = os.access(folder, os.W_OK)
    text = f"{folder}, {free // 2**20:,} MB free" + (", derived tables rebuilt" if rebuilt else "")
    return check("home", writable and free > 2**20, text if writable else f"{folder} cannot be written", fix="make room, or name another with --home DIR")


async def record(parts: Parts) -> dict[str, Any]:
    report = await parts.store.verify()
    if report.bad is None:
        return check("record", True, f"{report.records} records, all as they were written")
    return check("record", False, f"record {report.bad.record} of session {report.bad.session}: {report.bad.why}", fix="neuralclaw audit verify")


async def model(parts: Parts) -> dict[str, Any]:
    name, why = parts.models.default()
    try:
        await parts.models.thinking(parts.models.full_name(None))
    except ConfigError as error:
        return check("model", False, error.text, fix=error.hint or None)
    honest = "; it is no language model: set a service's key, for instance OPENAI_API_KEY" if name.startswith("offline") else ""
    return check("model", True, f"{name}, because {why}{honest}")


def git(path: str) -> dict[str, Any]:
    found = shutil.which("git", path=path)
    return check("git", found is not None, found or "not found", fix="apt-get install git", needed=False)
