"""The way from a command to a verb of the desk: read-only ones without writing a byte, the others through an agent."""

import argparse
from typing import Any

import anyio

from . import output
from .opening import opened, opened_record, workspace_of


async def recorded(args: argparse.Namespace, verb: str, /, **arguments: Any) -> Any:
    """The value of a verb that needs the record alone: works on a full disk, a read-only home and beside running processes."""
    async with opened_record(args.home, workspace_of(args)) as desk:
        return output.plain(await desk.do(verb, **arguments))


def look(args: argparse.Namespace, verb: str, /, **arguments: Any) -> Any:
    """The value of a verb that needs the parts of an agent and writes nothing of the record: works on a read-only home."""
    return anyio.run(_ask, args, verb, {"readonly": True, "tell": _tell}, arguments)


def _tell(text: str) -> None:
    """Show what a verb says beside its value."""
    output.err().line(text, "yellow")


def ask(args: argparse.Namespace, verb: str, /, **arguments: Any) -> Any:
    """The value of a verb that needs the whole agent, for a program. `--workspace --trust --approvals --model` count where the command has them."""
    return anyio.run(_ask, args, verb, {"who": "program"}, arguments)


async def _ask(args: argparse.Namespace, verb: str, options: dict[str, Any], arguments: dict[str, Any]) -> Any:
    async with opened(args, thinks=False, **options) as client:
        return output.plain(await client.desk.do(verb, **arguments))
