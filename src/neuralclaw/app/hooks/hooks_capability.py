"""`HOOKS`: the capability that brings the commands about the owner's hooks, and what `doctor` says of them."""

from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack
from typing import Any

import msgspec
from anyio.to_thread import run_sync

from ...capability import Capability, CapabilityContext, DoctorCheck, TurnContext, Verb
from ...config import BUILT_IN_TOOLS
from ...errors import ConfigError, UsageError
from ...plugins import load
from ...types.hooks import TURN_EVENTS, HookDefinition, HookTrial, idle_names
from ..capability_context import BuiltInContext


class HookRow(msgspec.Struct, frozen=True, kw_only=True):
    """A hook as `hooks list` shows it. `state`: `pinned`, or why it blocks; `files`: what is pinned, with the SHA-256 of today."""

    name: str
    event: str
    command: tuple[str, ...]
    tools: tuple[str, ...]
    powers: tuple[str, ...]
    timeout: float
    on_failure: str
    state: str
    files: dict[str, str]
    digest: str
    pinned: str = ""
    """What `digest` says in the configuration; `digest` here is what it would have to say today."""


def _rows(hooks: tuple[HookDefinition, ...], home: str) -> list[HookRow]:
    """The hooks as they stand. Reads their files."""
    return [_row(hook, home) for hook in load("hooks.named")(hooks)]


def _row(hook: HookDefinition, home: str) -> HookRow:
    with ExitStack() as stack:
        state, files, digest = load("hooks.look")(hook, home, stack)
    return HookRow(
        name=hook.name,
        event=hook.event,
        command=hook.command,
        tools=hook.tools,
        powers=tuple(str(one) for one in hook.powers),
        timeout=hook.timeout,
        on_failure=hook.on_failure,
        state=state or "pinned",
        files=files,
        digest=digest,
        pinned=hook.digest,
    )


async def _of(context: BuiltInContext) -> list[HookRow]:
    loaded = context.loaded
    return await run_sync(_rows, loaded.settings.hooks, loaded.env.get("HOME", ""))


async def list_hooks(context: BuiltInContext) -> list[HookRow]:
    """The hooks of the settings, in their order."""
    return await _of(context)


async def pin_hook(context: BuiltInContext, name: str) -> HookRow:
    """Pin a hook to its program as it is now: its digest goes into the configuration file. Raises `UsageError`, `ConfigError`."""
    rows = await _of(context)
    number = next((at for at, row in enumerate(rows) if row.name == name), None)
    if number is None:
        raise UsageError(
            f"there is no hook {name!r}; nothing was changed",
            hint=f"there are {', '.join(row.name for row in rows)}" if rows else "docs/hooks.md says how to set one",
        )
    row = rows[number]
    if not row.digest:
        raise ConfigError(f"the hook {name} cannot be pinned: {row.state}; nothing was changed")
    file = context.loaded.file
    if file is None:
        raise ConfigError("the hooks are not set in a file; nothing was changed", hint=f'Write it where the hook is set: digest: "{row.digest}"')
    await run_sync(load("hooks.pin"), file, number, row.digest)
    context.notice(f"{name} runs {', '.join(row.files)} as it is now; after a change of it, it blocks until it is pinned again.")
    return msgspec.structs.replace(row, state="pinned", pinned=row.digest)


async def try_hook(context: BuiltInContext, name: str, *, recorded: str | None = None) -> HookTrial:
    """Run one hook with a sample of its event, or with a recorded call. Raises `UsageError` for a hook or call that is not there."""
    trial: HookTrial = await load("hooks.trial")(context, name, recorded)
    return trial


def _shown(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A hook as people read it."""
    of_calls = row["event"] not in TURN_EVENTS
    chosen = {field: ", ".join(row[field]) or ("all" if of_calls else "-") for field in ("tools", "powers")}
    return dict(row) | {"command": " ".join(row["command"])} | chosen


async def check_hooks(context: CapabilityContext) -> AsyncIterator[DoctorCheck]:
    """One check for each hook: one that blocks as it stands, or that runs for no call, is not as its owner wants it."""
    assert isinstance(context, BuiltInContext), "a built-in capability gets its context"
    tools = await context.home.tools_and_problems(TurnContext(session="", options=context.defaults.turn)) if context.loaded.settings.hooks else None
    known = BUILT_IN_TOOLS | {name for spec in tools[0].tools() for name in (spec.name, *spec.aliases)} if tools else BUILT_IN_TOOLS
    for row, hook in zip(await _of(context), context.loaded.settings.hooks, strict=True):
        fine, idle = row.state == "pinned", list(idle_names([hook], known))
        fix = None if fine else f"neuralclaw hooks pin {row.name}" if row.digest else f"mend the command of the hook {row.name} in the configuration"
        if idle and fine:
            fix = "neuralclaw tools list"
        text = "; ".join([f"{row.event}: {row.state}", *idle])
        yield DoctorCheck(check=f"hooks.{row.name}", ok=fine and not idle, text=text, fix=fix, needed=True)


HOOKS = Capability(
    name="hooks",
    summary="programs before and after turns, tools and approvals",
    checks=check_hooks,
    verbs=(
        Verb(
            name="hooks.list",
            summary="List the hooks of the configuration, and whether each is pinned to its program.",
            run=list_hooks,
            example="neuralclaw hooks list",
            columns=("name", "event", "command", "state"),
            display=_shown,
            empty="there is no hook; docs/hooks.md says how to set one",
            needs="settings",
            reads=True,
        ),
        Verb(
            name="hooks.pin",
            summary="Pin a hook to its program as it is now, after you have read it.",
            run=pin_hook,
            example="neuralclaw hooks pin guard",
            help={"name": "the hook, by its name"},
            display=_shown,
            needs="settings",
            in_chat=False,
        ),
        Verb(
            name="hooks.test",
            summary="Run one hook with a sample of its event, or with a recorded call, and show what it is told and what would follow; nothing else is done.",
            run=try_hook,
            example="neuralclaw hooks test guard",
            help={"name": "the hook, by its name", "recorded": "a recorded call, SESSION/CALL_ID"},
            spelled={"recorded": "--recorded SESSION/CALL_ID"},
            render=lambda value: load("hooks.trial_lines")(value),
            succeeded=lambda value: value["outcome"] != "failed",
            reads=True,
            in_chat=False,
        ),
    ),
)
