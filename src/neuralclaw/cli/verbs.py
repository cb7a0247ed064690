"""The way from a command to a verb of the desk: read-only ones without writing a byte, the others through an agent."""

import argparse
from typing import Any

import anyio

from ..app import Agent, reader
from . import output


def read(args: argparse.Namespace, verb: str, /, **arguments: Any) -> Any:
    """The value of a verb that only reads: works on a full disk, a read-only home and beside running processes."""
    return anyio.run(_read, args.home, verb, arguments)


async def _read(home: str | None, verb: str, arguments: dict[str, Any]) -> Any:
    async with reader(home) as desk:
        return output.plain(await desk.do(verb, **arguments))


def ask(args: argparse.Namespace, verb: str, /, **arguments: Any) -> Any:
    """The value of a verb that needs the whole agent. `--workspace --trust --approvals --model` count where the command has them."""
    return anyio.run(_ask, args, verb, arguments)


async def _ask(args: argparse.Namespace, verb: str, arguments: dict[str, Any]) -> Any:
    async with opened(args, thinks=False) as agent:
        return output.plain(await agent.do(verb, **arguments))


def opened(args: argparse.Namespace, **more: Any) -> Any:
    """The agent that the options of this command describe."""
    wanted = {name: getattr(args, name, None) for name in ("workspace", "trust", "approvals", "model")}
    return Agent.open(home=args.home, **{name: value for name, value in wanted.items() if value is not None}, **more)
