"""What a program or a person hands over when an agent is opened or a turn begun, checked before anything is recorded."""

import os
import re
from collections.abc import Mapping
from typing import Any, cast, get_args

from .. import config
from ..errors import UsageError, WorkspaceError
from ..types.actions import Who
from ..types.entries import HOME
from ..types.ids import new_id
from ..types.judging import Trust
from ..types.options import ApprovalsMode

SESSION_ID = re.compile(r"(?=.*[A-Za-z0-9])[A-Za-z0-9._-]{1,64}")
RESERVED = (HOME, "tools")
LONGEST = 31_536_000
"""The longest running time of a turn, in seconds: a year."""


def load_settings(
    home: str | os.PathLike[str] | None, environ: Mapping[str, str], settings: config.Loaded | config.Settings | Mapping[str, Any] | None
) -> config.Loaded:
    """The settings in effect: what was loaded already, a whole `Settings` value, or those of files and environment with `settings` on top."""
    if isinstance(settings, config.Loaded):
        return settings
    folder = os.fspath(home) if home is not None else None
    if isinstance(settings, config.Settings):
        place, _ = config.places(folder, environ)
        return config.Loaded(settings, place, {name: value for name, value in environ.items() if value})
    return config.load(home=folder, environ=environ, overrides=settings)


def real_directory(path: str | os.PathLike[str] | None) -> str:
    """A workspace, absolute and real. Raises `AgentError` when it is no directory."""
    if path is not None and not isinstance(path, str | os.PathLike):
        raise refused("workspace", path, "a path")
    real = os.path.realpath(path if path is not None else os.getcwd())  # noqa: PTH109
    if not os.path.isdir(real):  # noqa: PTH112
        raise WorkspaceError(f"the workspace {real} is not a directory", hint="make it first, or name another with --workspace DIR")
    return real


def new_session(name: str | None) -> str:
    """The name, checked, or a new one of 10 characters."""
    if name is None:
        return new_id()
    if not isinstance(name, str) or not SESSION_ID.fullmatch(name) or name in RESERVED:
        raise UsageError(
            f"{str(name)[:80]!r} cannot be the name of a session; nothing was recorded",
            hint="1 to 64 letters, digits, dots, dashes and underscores, one letter or digit at least; home and tools are reserved",
        )
    return name


def refused(name: str, value: object, wanted: str) -> UsageError:
    return UsageError(f"{name} cannot be {value!r:.80}; nothing was recorded", hint=f"{name} is {wanted}")


def known_only(others: Mapping[str, object]) -> None:
    """Refuse options that no turn has."""
    for name in others:
        raise UsageError(f"a turn has no option {name!r}; nothing was recorded", hint="there are: model, trust, approvals, max_iterations, timeout")


def checked_text(text: object) -> str:
    """The text of a message. Raises `UsageError` for what is no text, or cannot be written as UTF-8."""
    if not isinstance(text, str):
        raise refused("text", text, "a text")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"the message has a character that is no Unicode text ({error.reason}, position {error.start}); nothing was recorded") from error
    return text


def checked_name(session: object) -> str:
    """The name of a session that may be there, or a beginning of it."""
    if not isinstance(session, str) or not session.isascii():
        raise UsageError(f"{session!r:.80} cannot be the name of a session; nothing was changed", hint="neuralclaw sessions list")
    return session


def checked_who(who: object) -> Who:
    """For whom an agent works."""
    if who not in get_args(Who):
        raise refused("who", who, f"one of {', '.join(get_args(Who))}")
    return cast(Who, who)


def name_of(name: str, value: object) -> str | None:
    """A text that is not empty, or None."""
    if value is not None and (not isinstance(value, str) or not value.strip() or value != value.encode(errors="replace").decode()):
        raise refused(name, value, "a text that is not empty")
    return value


def count(name: str, value: object) -> int:
    """A whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise refused(name, value, "a whole number of at least 1")
    return value


def seconds(name: str, value: object) -> float:
    """A time in seconds: a finite number above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= LONGEST:
        raise refused(name, value, f"a number of seconds above 0 and at most {LONGEST:,}")
    return float(value)


def mode_of(value: object) -> ApprovalsMode:
    """How questions are treated."""
    modes = get_args(ApprovalsMode)
    if value not in modes:
        raise refused("approvals", value, f"one of {', '.join(modes)}")
    return cast(ApprovalsMode, value)


def trust_of(value: object) -> Trust:
    """A trust level."""
    if value not in [level.value for level in Trust]:
        raise refused("trust", value, f"one of {', '.join(level.value for level in Trust)}")
    return Trust(value)
