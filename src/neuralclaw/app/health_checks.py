"""What works on this machine, what is missing and how to get it: the checks behind `neuralclaw doctor`."""

import os
import shutil
import sys
from collections.abc import Collection, Mapping
from typing import Any

import anyio.to_thread
import msgspec

from ..capability import DoctorCheck
from ..errors import ConfigError
from ..plugins import load
from ..secrets.spellings import unfit
from ..types.proxies import named_proxies, unused_proxy
from .capabilities import ClientCapabilities
from .capability_health import capability_checks
from .home import Home
from .models.model_checks import model_checks
from .record.anchoring import ACCEPT, MESSAGES, REBUILD, anchor_check, bad_place, home_anchor, is_mended, message_check, place_checks, uncompared

OLDEST_PYTHON = (3, 11)


def check(name: str, ok: bool, text: str, *, fix: str | None = None, needed: bool = True) -> DoctorCheck:
    """One line. `needed` false: the agent works without it, and a failed check does not fail `doctor`."""
    return DoctorCheck(check=name, ok=ok, text=text, fix=fix, needed=needed)


async def checks(home: Home, given: ClientCapabilities, *, rebuilt: bool, call: bool = False) -> list[dict[str, Any]]:
    """Every check, those that need a trial run in a worker thread. `call`: the models are called once for real."""
    found = [python(), config(home), home_folder(home, rebuilt), *await record(home, rebuilt)]
    found += await message(home, given)
    found += await model_checks(home, real_call=call)
    found.append(await reading(home))
    trials = await anyio.to_thread.run_sync(home.sandbox.real.trials)
    chosen = home.sandbox.name
    for trial in trials:
        used = (
            (" (used for commands)" if trial.ok else "; tools.terminal.sandbox asks for it, so no turn can run") if trial.check == f"sandbox.{chosen}" else ""
        )
        found.append(check(trial.check, trial.ok, trial.text + used, fix=trial.fix, needed=trial.check == f"sandbox.{chosen}"))
    found.append(await anyio.to_thread.run_sync(secret_store, home))
    found += outbound(home.loaded.env)
    found.append(git(home.loaded.env.get("PATH", "")))
    found += [one async for one in capability_checks(home.loaded, given, home.store.failed_tables, rebuilt=rebuilt)]
    return [msgspec.to_builtins(one) for one in found]


def python() -> DoctorCheck:
    version = sys.version_info
    return check("python", version >= OLDEST_PYTHON, f"{version.major}.{version.minor}.{version.micro}", fix="uv python install 3.12")


def config(home: Home) -> DoctorCheck:
    notices = "".join(f"; {notice}" for notice in home.loaded.notices)
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


async def record(home: Home, rebuilt: bool) -> list[DoctorCheck]:
    report = await home.store.verify()
    anchors = [anchor_check(report, home_anchor(home.loaded)), *place_checks(report)]
    if report.bad is None:
        but = "".join(f"; not compared: {uncompared(one)}" for one in report.unchecked)
        return [check("record", True, f"{report.records} records, all as they were written{but}"), *anchors]
    bad = msgspec.to_builtins(report.bad)
    fix = REBUILD if is_mended(report.bad.table, report.bad.why) and not rebuilt else f"restore a backup, then: {ACCEPT}"
    return [check("record", False, f"{bad_place(bad)}: {report.bad.why}", fix=fix), *anchors]


async def message(home: Home, given: ClientCapabilities) -> list[DoctorCheck]:
    """Whether marks of the record can be sent where the settings ask for that."""
    if "audit" not in home.loaded.sections:
        return []
    try:
        settings = home.loaded.section("audit").anchor.message
    except ConfigError:  # the check of the capability says so
        return []
    if settings is None:
        return []
    channels = {name for one in given.capabilities.bringing("channels") for name in one.channels}
    sent = await home.store.read(MESSAGES, kinds=("audit.sent",))
    return [message_check(settings, channels, getattr(sent[-1].body, "record", None) if sent else None)]


async def reading(home: Home) -> DoctorCheck:
    """Whether content can be read in sessions without tools, and by which model."""
    try:
        model = home.models.full_name(None)
        language = (await home.models.chosen(model)).info.language
    except ConfigError as error:
        return check("reading", False, f"read_as has no model: {error.text}", fix=error.hint or "neuralclaw init", needed=False)
    if not language:
        return check("reading", False, f"read_as needs a language model, and {model} is none", fix="neuralclaw init", needed=False)
    return check("reading", True, f"read_as takes values from pages and files, read by {model} in sessions without tools", needed=False)


def secret_store(home: Home) -> DoctorCheck:
    """The secret store, which was opened when the settings were loaded; no value and no name is told."""
    loaded = home.loaded
    store = load("secrets.store")(loaded.home, loaded.env)
    if not store.exists():
        return check("secrets", True, "no secret store; neuralclaw secrets set NAME makes one", needed=False)
    unsearched = sum(1 for value in loaded.stored.values() if unfit(value))
    told = f", {unsearched} of them too short or too plain to be found in texts" if unsearched else ""
    return check("secrets", True, f"{len(loaded.stored)} in {store.path}{told}; the key is in {store.key_place()}")


def outbound(env: Mapping[str, str]) -> list[DoctorCheck]:
    """A proxy that the environment names, which is not used; nothing where it names none."""
    named = named_proxies(env)
    text = f"{unused_proxy(env)} Models and pages are reached directly or not at all, by commands too"
    return [check("network.proxy", False, text, fix=f"unset {' '.join(named)}", needed=False)] if named else []


def git(path: str) -> DoctorCheck:
    found = shutil.which("git", path=path)
    return check("git", found is not None, found or "not found", fix="apt-get install git", needed=False)
