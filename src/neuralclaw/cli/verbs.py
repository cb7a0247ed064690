"""The way from a command to a verb of the desk: read-only ones without writing a byte, the others through an agent."""

import argparse
import sys
from functools import partial
from typing import Any

import anyio

from ..types.actions import Who
from . import output
from .opening import opened, opened_record, who_sits, workspace_of


def read(args: argparse.Namespace, verb: str, /, **arguments: Any) -> Any:
    """The value of a verb that only reads: works on a full disk, a read-only home and beside running processes."""
    return anyio.run(partial(recorded, args, verb, **arguments))


async def recorded(args: argparse.Namespace, verb: str, /, **arguments: Any) -> Any:
    """The same, where a loop runs."""
    async with opened_record(args.home, workspace_of(args)) as desk:
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
    async with opened(args, works=verb == "tools.call", thinks=False, **options) as client:
        return output.plain(await client.desk.do(verb, **arguments))


def at_terminal() -> Who:
    """Who types this command: the owner at a terminal, else a program."""
    return who_sits(sys.stdin is not None and sys.stdin.isatty())
