"""How many of 250 everyday commands ask, with undo and without it: `python -m tests.undo.asking` prints them."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import anyio

from neuralclaw import config
from neuralclaw.app.clock import SystemClock
from neuralclaw.safety.gate import PolicyGate
from neuralclaw.safety.shell import analyse
from neuralclaw.sandbox.system_facts import SystemFacts
from neuralclaw.tools.terminal import terminal
from neuralclaw.types.actions import Action
from neuralclaw.types.risk import Decision

COMMANDS = (Path(__file__).parent / "everyday_commands.txt").read_text().splitlines()

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
"""Not the path of who counts: a program that is found in a place such as `/tmp` counts as a stranger."""


async def asking(workspace: Path, commands: Sequence[str] = COMMANDS, *, undo: bool) -> dict[Decision, list[str]]:
    """The commands by what the gate decides of them, under the settings as they come. The scripts that they name stand in the workspace."""
    for script in ("run.sh", "build.sh"):
        (workspace / script).write_text("#!/bin/sh\n")
        (workspace / script).chmod(0o755)
    policy = config.policy(config.Settings(), own_data=[f"{workspace}/../home"], person_home="")

    async def lacks(_: str, __: bool) -> str | None:
        return None if undo else ""

    facts = SystemFacts(policy, SYSTEM_PATH, undo_lacks=lacks)
    gate = PolicyGate(policy, facts, SystemClock(), analyse)
    found: dict[Decision, list[str]] = {decision: [] for decision in Decision}
    for command in commands:
        action = Action(session="s", turn=1, call_id="c", spec=terminal(None, {}).spec, arguments={"command": command}, workspace=str(workspace))  # type: ignore[arg-type]
        found[(await gate.judge(action)).decision].append(command)
    return found


async def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        for undo in (False, True):
            found = await asking(Path(directory), undo=undo)
            print("with undo" if undo else "without undo", {str(decision): len(commands) for decision, commands in found.items()})  # noqa: T201
        print("still ask:", *found[Decision.ASK], sep="\n  ")  # noqa: T201


if __name__ == "__main__":
    anyio.run(main)
