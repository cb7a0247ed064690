"""The one place where the command line opens a home. What a command gets is a client of the desk, or verbs alone; each loads what it needs and no more."""

import argparse
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

from ..capability import Verb
from ..config import SettingsRequest
from ..config.process_environment import environ
from ..plugins import load
from ..types.actions import Who

if TYPE_CHECKING:
    from ..app.desk_client import DeskClient  # a command that only reads does not load it
    from ..ports import VerbCaller

NO_WORKSPACE = "/"
"""The workspace of a command that works in none, where the current directory was deleted: nothing may be written there."""


def opened(args: argparse.Namespace, *, works: bool = False, **more: Any) -> "AbstractAsyncContextManager[DeskClient]":
    """The client that the options of this command describe; `more` is in place of them. `works`: it does something in the workspace, which must be there."""
    wanted = {name: getattr(args, name, None) for name in ("workspace", "trust", "approvals", "model")} | more
    if not works and not workspace_of(args):
        wanted["workspace"] = NO_WORKSPACE
    client: AbstractAsyncContextManager[DeskClient] = load("open.client")(home=args.home, **{k: v for k, v in wanted.items() if v is not None})
    return client


@asynccontextmanager
async def opened_for(row: Verb, args: argparse.Namespace, tell: Callable[[str], None]) -> "AsyncIterator[VerbCaller]":
    """What this verb needs of the home and no more: the settings, the record, a home that is only read, or all of it. `tell` shows what it says beside
    its value."""
    if row.needs == "settings":
        async with load("open.settings")(SettingsRequest(args.home, environ), tell) as desk:
            yield desk
    elif row.needs == "record":
        async with opened_record(args.home, workspace_of(args)) as desk:
            yield desk
    else:
        options = {"readonly": True} if row.reads else {"who": who_sits(sys.stdin is not None and sys.stdin.isatty())}
        place = argparse.Namespace(home=args.home)  # an argument of the verb is no option of the client
        async with opened(place, tell=tell, thinks=not (row.reads or row.begins_no_turn), **options) as client:
            yield client.desk


def opened_record(home: str | None, workspace: str = "") -> "AbstractAsyncContextManager[VerbCaller]":
    """The verbs that need the record alone: they work on a full disk, on a read-only home, and where the configuration cannot be read."""
    desk: AbstractAsyncContextManager[VerbCaller] = load("open.record")(home, workspace=workspace)
    return desk


def workspace_of(args: argparse.Namespace) -> str:
    """The workspace that the options mean, as a real path; "" where the current directory was deleted."""
    try:
        return os.path.realpath(getattr(args, "workspace", None) or os.getcwd())  # noqa: PTH109  # pathlib costs start-up time
    except FileNotFoundError:
        return ""


def who_sits(present: bool) -> Who:
    """For whom a command works: the owner at the terminal, else a program."""
    return "owner" if present else "program"
