"""Checks that need more than one value or a look outside: run after every value fits its type."""

import posixpath
from collections.abc import Iterator, Mapping

from .document import Node
from .settings import Settings


def check(settings: Settings, nodes: Mapping[str, Node], unset: Mapping[str, str]) -> list[str]:
    """The problems of settings that each fit their type. `nodes`: where each key is; `unset`: keys that wait for a variable."""

    def place(key: str) -> str:
        while key and key not in nodes:
            key = key.rpartition(".")[0]
        return nodes[key].place if key in nodes else "defaults"

    problems = []
    retry, compaction = settings.llm.retry, settings.memory.compaction
    if retry.max_seconds < retry.min_seconds:
        key = "llm.retry.max_seconds"
        problems.append(f"{place(key)}: {key}: expected at least llm.retry.min_seconds ({retry.min_seconds}), found the number {retry.max_seconds}")
    if compaction.summarise > compaction.entries:
        key = "memory.compaction.summarise"
        problems.append(f"{place(key)}: {key}: expected at most memory.compaction.entries ({compaction.entries}), found the number {compaction.summarise}")
    problems += [
        f"{place(f'tools.filesystem.allowed_paths[{i}]')}: tools.filesystem.allowed_paths: {path!r} must be absolute or begin with ~/"
        for i, path in enumerate(settings.tools.filesystem.allowed_paths)
        if "\0" in path or not (posixpath.isabs(path) or path == "~" or path.startswith("~/"))
    ]
    problems += [f"{place(f'safety.rules[{number}]')}: safety.rules[{number}]: {text}" for number, text in rule_problems(settings)]
    if not known_zone(settings.scheduler.timezone):
        key = "scheduler.timezone"
        problems.append(f"{place(key)}: {key}: expected a time zone such as Europe/Berlin, found the text {settings.scheduler.timezone!r}")
    problems += [f"{place(key)}: {key}: {text}" for key, text in server_problems(settings) if key not in unset]
    return problems


def server_problems(settings: Settings) -> Iterator[tuple[str, str]]:
    """MCP servers that cannot be reached as they are written, as (key that is missing, what is wrong)."""
    for name, server in settings.mcp.servers.items():
        key = "command" if server.transport == "stdio" else "url"
        if not getattr(server, key):
            yield f"mcp.servers.{name}.{key}", f"a server with transport {server.transport} needs {'a command' if key == 'command' else 'a url'}"


def rule_problems(settings: Settings) -> list[tuple[int, str]]:
    """Rules that share an id or have no condition, as (number, what is wrong)."""
    problems, seen = [], set()
    for number, rule in enumerate(settings.safety.rules):
        if not rule.id or rule.id in seen:
            problems.append((number, f"the id {rule.id!r} must be unique and not empty"))
        seen.add(rule.id)
        if not (rule.tool or rule.command or rule.path or rule.host):
            problems.append((number, f"the rule {rule.id} has no condition: give it tool, command, path or host"))
    return problems


def known_zone(name: str) -> bool:
    """Whether the system knows a time zone of that name. UTC needs no data."""
    if name == "UTC":
        return True
    import zoneinfo

    try:
        zoneinfo.ZoneInfo(name)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        return False
    return True
