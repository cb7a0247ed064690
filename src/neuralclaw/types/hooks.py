"""Hooks: programs of the owner that run before and after turns, calls of tools and approvals. What one is, what it is told, and how its run ends."""

from collections.abc import Iterator, Sequence, Set
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from .risk import Power
from .suggestions import did_you_mean

HookEvent = Literal["before_turn", "after_turn", "before_tool", "after_tool", "before_approval", "after_approval"]
HookOutcome = Literal["passed", "blocked", "failed"]

TURN_EVENTS = ("before_turn", "after_turn")
"""Events that are about no call."""


class HookDefinition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One hook of the owner (`hooks`). Without `tools` and `powers` it runs for every call; with both, for calls that meet both."""

    event: HookEvent
    command: Annotated[tuple[str, ...], Meta(min_length=1)]
    """The program, by its absolute path, `~/…` or a name in the system's directories, and its arguments. No shell reads them."""
    digest: str = ""
    """SHA-256 (hex) of the files that the command names, with commas between them where there are several. Without it the hook blocks and does not run."""
    name: str = ""
    """What it is called in the record; without one `EVENT-NUMBER`, by its place in the list."""
    tools: tuple[str, ...] = ()
    """Names or aliases of tools."""
    powers: tuple[Power, ...] = ()
    """Powers of the concrete call, of which it has at least one."""
    timeout: Annotated[float, Meta(gt=0, le=600)] = 30.0
    """Seconds after which it and all that it started are killed, which is a failure."""
    on_failure: Literal["block", "pass"] = "block"
    """What a failure means: any exit code but 0 and 2, a signal, the end of its time, a program that cannot be started."""


class HookSubject(msgspec.Struct, frozen=True, kw_only=True):
    """What an event is about, as far as it chooses hooks: the names of the tool (none: a turn), and the powers of the call."""

    event: HookEvent
    tools: tuple[str, ...] = ()
    powers: tuple[Power, ...] = ()


class HookResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a run of a hook ended. `blocks`: what it is about does not go on. `exit_code` None: it did not run to its end."""

    outcome: HookOutcome
    blocks: bool
    reason: str = ""
    exit_code: int | None = None
    duration_ms: int = 0


class HookTrial(msgspec.Struct, frozen=True, kw_only=True):
    """A run of one hook that is part of no turn. `told`: the JSON that it read; `would`: what would follow in a turn. `outcome` "" where it would not run for
    this call, and was not run."""

    hook: str
    event: HookEvent
    told: dict[str, Any]
    outcome: str = ""
    blocks: bool = False
    reason: str = ""
    exit_code: int | None = None
    duration_ms: int = 0
    would: str = ""


HookInput = dict[str, Any]
"""What a hook reads as JSON; `docs/hooks.md` has the fields."""


def idle_names(hooks: Sequence[HookDefinition], known: Set[str]) -> Iterator[str]:
    """A sentence for each name in `tools` that none of the known tools has: the hook would run for no call. A tool of an MCP server (`SERVER::TOOL`) is not
    known before its server is asked, and is taken as it stands."""
    for number, hook in enumerate(hooks, 1):
        for name in hook.tools:
            if "::" in name or any(fnmatchcase(one, name) for one in known):
                continue
            near = did_you_mean(name, sorted(known)) or "."
            yield f"The hook {hook.name or f'{hook.event}-{number}'} names the tool {name!r}, which is not there, and runs for no call of it{near}"
