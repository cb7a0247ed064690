"""What a program or a person hands over when an agent is opened or a turn begun, checked: settings, workspace, session."""

import os
import re
from collections.abc import Mapping
from typing import Any

from .. import config
from ..errors import AgentError, WorkspaceError
from ..types.entries import HOME
from ..types.ids import new_id

SESSION_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


def load_settings(home: str | os.PathLike[str] | None, environ: Mapping[str, str], settings: config.Settings | Mapping[str, Any] | None) -> config.Loaded:
    """The settings in effect: a whole `Settings` value, or those of files and environment with `settings` on top."""
    folder = os.fspath(home) if home is not None else None
    if isinstance(settings, config.Settings):
        place, _ = config.places(folder, environ)
        return config.Loaded(settings, place, {name: value for name, value in environ.items() if value})
    return config.load(home=folder, environ=environ, overrides=settings)


def real_directory(path: str | os.PathLike[str] | None) -> str:
    """A workspace, absolute and real. Raises `AgentError` when it is no directory."""
    real = os.path.realpath(path if path is not None else os.getcwd())  # noqa: PTH109
    if not os.path.isdir(real):  # noqa: PTH112
        raise WorkspaceError(f"the workspace {real} is not a directory", hint="make it first, or name another with --workspace DIR")
    return real


def new_session(name: str | None) -> str:
    """The name, checked, or a new one of 10 characters."""
    if name is None:
        return new_id()
    if not SESSION_ID.fullmatch(name) or name == HOME:
        raise AgentError(f"{name[:80]!r} cannot be the name of a session", hint="1 to 64 letters, digits, dots, dashes and underscores; home is reserved")
    return name
