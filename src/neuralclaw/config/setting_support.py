"""What becomes of each setting in this version: it is read, or noticed where its part is not available yet.

One table, so that no setting is accepted and ignored. A key is written here as `describe.keys` spells it, or by the section that holds it.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from .load import LoadedSettings, flat
from .settings import Settings

SettingStatus = Literal["read", "notice"]

KEPT: dict[str, SettingStatus] = {
    "agent": "read",
    "agent.mode": "notice",
    "agent.evaluation_threshold": "notice",
    "agent.max_retries": "notice",
    "agent.reflection": "notice",
    "agent.personality": "notice",
    "context": "notice",
    "context.conversation": "read",
    "context.tool_results": "read",
    "context.response": "read",
    "llm": "read",
    "memory": "notice",
    "memory.max_short_term_turns": "read",
    "memory.compaction": "read",
    "tools.browser": "notice",
    "tools.terminal": "read",
    "tools.filesystem": "read",
    "safety": "read",
    "budget": "read",
    "mcp": "notice",
    "telegram": "notice",
    "scheduler": "notice",
    "scheduler.timezone": "read",
    "logging": "read",
    "prompts": "notice",
    "approvals": "read",
    "capabilities": "read",
    "hooks": "read",
}
"""Key or section -> what becomes of it; the longest entry that fits a key counts."""

ALIKE: dict[str, tuple[Any, ...]] = {"agent.mode": ("direct",), "agent.reflection": ("off",)}
"""Values besides the default that say what this version does anyway."""

_ABSENT: Any = object()


def status(key: str) -> SettingStatus:
    """What becomes of a key of the settings. Raises `KeyError` for one that the table does not have."""
    part = key if key in KEPT or "." in key.partition("[")[0] else key.partition("[")[0]  # a list at the top
    while part not in KEPT:
        if "." not in part:
            raise KeyError(key)
        part = part.rpartition(".")[0]
    return KEPT[part]


def unkept(loaded: LoadedSettings) -> str:
    """A sentence that names every setting whose part is not available yet and that was changed; "" where there is none."""
    keys = [key for key, _ in changed(loaded.settings, "notice") if not _of_environment(loaded, key)]
    if not keys:
        return ""
    return no_effect_yet([f"{key} ({loaded.place(key)})" for key in keys])


def no_effect_yet(named: Sequence[str]) -> str:
    """The sentence that names settings whose part is not available yet."""
    if len(named) == 1:
        return f"This setting has no effect yet, this version does not use it: {named[0]}"
    return f"These settings have no effect yet, this version does not use them: {', '.join(named)}"


def changed(settings: Settings, wanted: SettingStatus) -> Iterator[tuple[str, Any]]:
    """Keys of that status whose value is not the default, with the value. An MCP server counts as one, and not where it is switched off."""
    usual = dict(flat(Settings(), ""))
    for key, value in flat(msgspec.structs.replace(settings, mcp=type(settings.mcp)()), ""):
        if status(key) == wanted and value != usual.get(key, _ABSENT) and value not in ALIKE.get(key, ()):
            yield key, value
    if status("mcp.servers") == wanted:
        yield from ((f"mcp.servers.{name}", server) for name, server in settings.mcp.servers.items() if server.enabled)


def _of_environment(loaded: LoadedSettings, key: str) -> bool:
    """Whether a value comes from a variable that other programs read too (`TELEGRAM_BOT_TOKEN`): it may not be meant for this one."""
    return key.startswith("telegram.") and loaded.origins.get(key, "").startswith("environment TELEGRAM_")
