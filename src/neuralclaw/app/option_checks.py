"""What a program or a person hands over when an agent is opened or a turn begun, checked before anything is recorded."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, cast, get_args

from ..errors import ToolNotFoundError, UsageError, WorkspaceError
from ..ports import Toolset
from ..types.actions import Who
from ..types.cut_texts import cut_text
from ..types.entries import CALLS, HOME
from ..types.ids import new_id
from ..types.messages import Image
from ..types.options import ApprovalsMode
from ..types.risk import Trust

SESSION_ID = re.compile(r"(?=.*[A-Za-z0-9])[A-Za-z0-9._-]{1,64}")
RESERVED = (HOME, CALLS)
TURN_OPTIONS = ("model", "trust", "approvals", "max_iterations", "timeout", "max_budget_usd", "tools", "refusals")
"""What a turn can be asked to run under, by name."""
LONGEST = 31_536_000
"""The longest running time of a turn, in seconds: a year."""


def real_directory(path: str | os.PathLike[str] | None) -> str:
    """A workspace, absolute and real. Raises `WorkspaceError` when it is not a directory, `UsageError` when it is not a path."""
    if path is not None and not isinstance(path, str | os.PathLike):
        raise refused("workspace", path, "a path")
    try:
        real = os.path.realpath(path if path is not None else os.getcwd())  # noqa: PTH109
    except FileNotFoundError as error:
        raise WorkspaceError(
            "the current directory was deleted, and it is the workspace; nothing was run", hint="go to another one, or name one with --workspace DIR"
        ) from error
    if real != real.encode(errors="replace").decode():
        raise WorkspaceError(f"the name of the workspace {real!r:.200} is not UTF-8; nothing was run", hint="rename it, or name another with --workspace DIR")
    if not os.path.isdir(real):  # noqa: PTH112
        raise WorkspaceError(f"the workspace {real} is not a directory", hint="make it first, or name another with --workspace DIR")
    return real


def still_there(workspace: str, session: str) -> None:
    """A turn is continued where it began. Raises `WorkspaceError` when that place was deleted; the turn stays as it is."""
    if not os.path.isdir(workspace):  # noqa: PTH112
        raise WorkspaceError(
            f"the workspace {workspace} of this turn is not there any more; the turn stays unfinished",
            hint=f"bring the directory back, or end the turn: neuralclaw sessions cancel {session}",
        )


def new_session(name: str | None) -> str:
    """The name, checked, or a new one of 10 characters."""
    if name is None:
        return new_id()
    if not isinstance(name, str) or not SESSION_ID.fullmatch(name) or name in RESERVED:
        raise UsageError(
            f"{cut_text(str(name), 80)!r} cannot be the name of a session; nothing was recorded",
            hint="1 to 64 letters, digits, dots, dashes and underscores, one letter or digit at least; home and tools are reserved",
        )
    return name


def continued(name: str) -> str:
    """The name of a session that is there, to be continued. Raises `UsageError` for the reserved ones, which hold no conversation."""
    if name in RESERVED:
        raise UsageError(f"the session {name} holds no conversation and is never continued; nothing was recorded", hint="neuralclaw sessions list")
    return name


def refused(name: str, value: object, wanted: str) -> UsageError:
    return UsageError(f"{name} cannot be {value!r:.80}; nothing was recorded", hint=f"{name} is {wanted}")


def known_only(options: Mapping[str, object]) -> None:
    """Refuse options that no turn has."""
    for name in options:
        if name in TURN_OPTIONS:
            continue
        raise UsageError(f"a turn has no option {name!r}; nothing was recorded", hint=f"there are: {', '.join(TURN_OPTIONS)}")


def of_new_turns(options: Mapping[str, object]) -> None:
    """Refuse what holds for new turns alone where an unfinished one is continued, and options that no turn has."""
    for name in ("model", "trust", "tools", "refusals"):
        if options.get(name) is not None:
            raise UsageError(
                f"{name} holds for a new turn, and there is no text for one: an unfinished turn keeps its own; nothing was changed",
                hint=f"leave {name} out, or give the text of the next turn",
            )
    known_only({name: value for name, value in options.items() if value is not None})


def checked_text(text: object, images: Sequence[Image] = ()) -> str:
    """The text of a message. Raises `UsageError` for what is no text, cannot be written as UTF-8, or is blank where no picture goes with it."""
    if not isinstance(text, str):
        raise refused("text", text, "a text")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"the message has a character that is no Unicode text ({error.reason}, position {error.start}); nothing was recorded") from error
    if not text.strip() and not images:
        raise UsageError("the message is empty; nothing was recorded", hint="give a text, or pictures")
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


def dollars(name: str, value: object) -> float:
    """An amount in USD: a finite number above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise refused(name, value, "an amount in USD above 0")
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


def refusals_of(value: object) -> Literal["count", "ignore"]:
    """Whether a refusal decides the status of a turn."""
    if value not in (None, "count", "ignore"):
        raise refused("refusals", value, "count or ignore")
    return "ignore" if value == "ignore" else "count"


def tool_names(names: object) -> tuple[str, ...]:
    """A list of names of tools. Raises `ToolNotFoundError` for what is no name, and `UsageError` for what is no list."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise refused("tools", names, "a list of names")
    listed = tuple(names)
    for name in listed:
        if not isinstance(name, str):
            raise _no_tool(name)
    return listed


def tools_of(names: Iterable[str], tools: Toolset) -> tuple[str, ...]:
    """The tools of these names or aliases, by their own names, each once. Raises `ToolNotFoundError`."""
    found: list[str] = []
    for name in names:
        spec = tools.find(name)
        if spec is None:
            raise _no_tool(name)
        found.append(spec.name)
    return tuple(sorted(set(found)))


def _no_tool(name: object) -> ToolNotFoundError:
    return ToolNotFoundError(f"there is no tool named {name!r:.80}; nothing was recorded", hint="neuralclaw tools list")
