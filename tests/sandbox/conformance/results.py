"""The attempts, made: which sandboxes this machine can run, as which users, and the results as one table."""

import json
import os
import platform
import shutil
import sys
from functools import cache

from neuralclaw.kernel import landlock_abi

from ...ordinary_user import ORDINARY, run_as
from ..engine import ENGINES, daemon
from .cases import CASES

SANDBOXES = [*ENGINES, *(name for name, here in (("bubblewrap", shutil.which("bwrap")), ("landlock", landlock_abi())) if here)]
"""A container of each engine, and the others."""
USERS = {"root": 0, "user": ORDINARY} if os.geteuid() == 0 else {"user": os.geteuid()}


@cache
def results(kind: str, user: str) -> dict[str, tuple[str, bool]]:
    """For each attempt what it said, and whether anything outside was changed. Takes some ten seconds the first time."""
    uid = USERS[user]
    command = [sys.executable, "-m", "tests.sandbox.conformance.driver", kind]
    env = {**os.environ, **(daemon(kind).env if kind in ENGINES else {})}
    done = run_as(uid, command, env=env, timeout=300)
    if done.returncode:
        raise AssertionError(done.stderr[-2000:])
    return {name: (said, changed) for name, (said, changed) in json.loads(done.stdout).items()}


def table() -> str:
    """Markdown: held of attempted by subject, for each sandbox and user, and what is open."""
    columns = [(kind, user) for kind in SANDBOXES for user in USERS]
    lines = ["| attempts | of them | " + " | ".join(f"{kind}, {user}" for kind, user in columns) + " |", "|---" * (len(columns) + 2) + "|"]
    subjects = list(dict.fromkeys(case.subject for case in CASES.values()))
    for subject in [*subjects, "all"]:
        names = [name for name, case in CASES.items() if subject in (case.subject, "all")]
        held = [sum(results(kind, user)[name][0].startswith("held") and not results(kind, user)[name][1] for name in names) for kind, user in columns]
        lines.append(f"| {subject} | {len(names)} | " + " | ".join(map(str, held)) + " |")
    escaped = {user: sum(said == "escaped" for said, _ in results("outside", user).values()) for user in USERS}
    lines += ["", "Possible without a sandbox: " + ", ".join(f"{count} as {user}" for user, count in escaped.items()) + f" (Linux {platform.release()})."]
    for kind, user in columns:
        names = [name for name in CASES if not results(kind, user)[name][0].startswith("held")]
        lines += [f"Open in {kind} as {user}: {', '.join(name.replace('_', ' ') for name in names) or 'none'}."]
    return "\n".join(lines)
