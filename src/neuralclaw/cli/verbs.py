"""The way from a command to a verb of the desk: read-only ones without writing a byte, the others through an agent."""

import argparse
import os
import sys
from typing import Any

import anyio

from ..app import Agent, reader
from . import output


def read(args: argparse.Namespace, verb: str, /, **arguments: Any) -> Any:
    """The value of a verb that only reads: works on a full disk, a read-only home and beside running processes."""
    return anyio.run(_read, args, verb, arguments)


async def _read(args: argparse.Namespace, verb: str, arguments: dict[str, Any]) -> Any:
    async with reader(args.home, workspace=workspace_of(args)) as desk:
        return output.plain(await desk.do(verb, **arguments))


READING = ("tools.list", "tools.show", "config.show")
"""Verbs that need the parts of an agent and write nothing."""


def look(args: argparse.Namespace, verb: str, /, **arguments: Any) -> Any:
    """The value of a verb that needs the parts of an agent and writes nothing of the record: works on a read-only home."""
    return anyio.run(_ask, args, verb, {"readonly": True, "tell": _tell}, arguments)


def _tell(text: str) -> None:
    """Show what a verb says beside its value."""
    output.err().line(text, "yellow")


def ask(args: argparse.Namespace, verb: str, /, *, who: str = "program", **arguments: Any) -> Any:
    """The value of a verb that needs the whole agent. `--workspace --trust --approvals --model` count where the command has them.

    `who` asks: the owner, or a program.
    """
    return look(args, verb, **arguments) if verb in READING else anyio.run(_ask, args, verb, {"who": who}, arguments)


async def _ask(args: argparse.Namespace, verb: str, options: dict[str, Any], arguments: dict[str, Any]) -> Any:
    async with opened(args, works=verb == "tools.call", thinks=False, **options) as agent:
        return output.plain(await agent.do(verb, **arguments))


def at_terminal() -> str:
    """Who types this command: the owner at a terminal, else a program."""
    return "owner" if sys.stdin is not None and sys.stdin.isatty() else "program"


def workspace_of(args: argparse.Namespace) -> str:
    """The workspace that the options mean, as a real path; "" where the current directory was deleted."""
    try:
        return os.path.realpath(getattr(args, "workspace", None) or os.getcwd())  # noqa: PTH109  # pathlib costs start-up time
    except FileNotFoundError:
        return ""


NO_WORKSPACE = "/"
"""The workspace of a command that works in none, where the current directory was deleted: nothing may be written there."""


def opened(args: argparse.Namespace, *, works: bool = False, **more: Any) -> Any:
    """The agent that the options of this command describe. `works`: it does something in the workspace, which must be there."""
    wanted = {name: getattr(args, name, None) for name in ("workspace", "trust", "approvals", "model")}
    if not works and not workspace_of(args):
        wanted["workspace"] = NO_WORKSPACE
    return Agent.open(home=args.home, **{name: value for name, value in wanted.items() if value is not None}, **more)
