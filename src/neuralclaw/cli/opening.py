"""The one place where the command line opens a home. What a command gets is a client of the desk, or verbs alone; each loads what it needs and no more."""

import argparse
import os
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

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
