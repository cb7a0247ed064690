"""`HOOKS`: the capability that brings the commands about the owner's hooks, and what `doctor` says of them."""

from collections.abc import AsyncIterator
from contextlib import ExitStack

import msgspec
from anyio.to_thread import run_sync

from ...capability import Capability, CapabilityContext, DoctorCheck, Verb
from ...errors import ConfigError, UsageError
from ...plugins import load
from ...types.hooks import HookDefinition
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
        raise UsageError(f"there is no hook {name!r}; nothing was changed", hint=f"there {'are' if rows else 'is none'} {', '.join(row.name for row in rows)}")
    row = rows[number]
    if not row.digest:
        raise ConfigError(f"the hook {name} cannot be pinned: {row.state}; nothing was changed")
    file = context.loaded.file
    if file is None:
        raise ConfigError("the hooks are not set in a file; nothing was changed", hint=f'Write it where the hook is set: digest: "{row.digest}"')
    await run_sync(load("hooks.pin"), file, number, row.digest)
    context.notice(f"{name} runs {', '.join(row.files)} as it is now; after a change of it, it blocks until it is pinned again.")
    return msgspec.structs.replace(row, state="pinned")


async def check_hooks(context: CapabilityContext) -> AsyncIterator[DoctorCheck]:
    """One check for each hook."""
    assert isinstance(context, BuiltInContext), "a built-in capability gets its context"
    for row in await _of(context):
        fine = row.state == "pinned"
        fix = None if fine else f"neuralclaw hooks pin {row.name}" if row.digest else f"mend the command of the hook {row.name} in the configuration"
        yield DoctorCheck(check=f"hooks.{row.name}", ok=fine, text=f"{row.event}: {row.state}", fix=fix)


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
            display=lambda row: dict(row) | {"command": " ".join(row["command"])},
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
            needs="settings",
            in_chat=False,
        ),
    ),
)
