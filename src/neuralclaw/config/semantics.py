"""Checks that need more than one value or a look outside: run after every value fits its type."""

import os.path
import posixpath
import re
from collections.abc import Iterator, Mapping

from ..types.hooks import TURN_EVENTS
from ..types.labels import LABEL_KINDS
from ..types.options import OwnerRule
from ..types.risk import Decision
from ..types.suggestions import did_you_mean
from ..types.urls import named_host
from .document import Node
from .settings import Settings
from .translate import absolute

_PATTERN = {"tool": r"[*?\[\s]", "command": r"[*?|&;<>()`\"'\\]|^\^|\$[\w{]", "path": r"[*?]|\$[\w{]"}
"""What shows that a condition of a rule was meant as a pattern, or as shell code: it is compared as it is written."""


def check(settings: Settings, nodes: Mapping[str, Node], unset: Mapping[str, str], *, home: str) -> list[str]:
    """The problems of settings that each fit their type. `nodes`: where each key is; `unset`: keys that wait for a variable; `home`: the person's home
    directory, "" where it is not known. Looks whether paths are directories."""

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
        f"{place(f'tools.filesystem.allowed_paths[{i}]')}: tools.filesystem.allowed_paths: {path!r} {problem}"
        for i, path in enumerate(settings.tools.filesystem.allowed_paths)
        if (problem := _path_problem(path, home))
    ]
    problems += [f"{place(f'safety.rules[{number}]')}: safety.rules[{number}]: {text}" for number, text in rule_problems(settings)]
    problems += [f"{place(f'hooks[{number}]')}: hooks[{number}]: {text}" for number, text in hook_problems(settings)]
    if not known_zone(settings.scheduler.timezone):
        key = "scheduler.timezone"
        problems.append(f"{place(key)}: {key}: expected a time zone such as Europe/Berlin, found the text {settings.scheduler.timezone!r}")
    problems += [f"{place(key)}: {key}: {text}" for key, text in server_problems(settings) if key not in unset]
    return problems


def _path_problem(path: str, home: str) -> str:
    """Why it cannot be an allowed path, "" where it can. One that is not there now may be later."""
    if problem := _place_problem(path):
        return problem
    if path.startswith("~") and not home:
        return ""
    real = absolute(path, home, "/")
    there = os.path.exists(real) and not os.path.isdir(real)  # noqa: PTH110, PTH112
    return "is not a directory: name the directory that it is in" if there else ""


def _place_problem(path: str) -> str:
    """Why it cannot be a directory that means the same everywhere, "" where it can."""
    return "must be absolute or begin with ~/" if "\0" in path or not (posixpath.isabs(path) or path == "~" or path.startswith("~/")) else ""


def server_problems(settings: Settings) -> Iterator[tuple[str, str]]:
    """MCP servers that cannot be reached as they are written, as (key that is missing, what is wrong)."""
    for name, server in settings.mcp.servers.items():
        key = "command" if server.transport == "stdio" else "url"
        if not getattr(server, key):
            yield f"mcp.servers.{name}.{key}", f"a server with transport {server.transport} needs {'a command' if key == 'command' else 'a url'}"


def rule_problems(settings: Settings) -> list[tuple[int, str]]:
    """Rules that share an id, have no condition, or have one that can never hold, as (number, what is wrong)."""
    problems, seen = [], set()
    for number, rule in enumerate(settings.safety.rules):
        if not rule.id or rule.id in seen:
            problems.append((number, f"the id {rule.id!r} must be unique and not empty"))
        seen.add(rule.id)
        named = rule.tool or rule.command or rule.path or rule.host
        around = (rule.power, rule.label, rule.soul, rule.who, rule.present, rule.channel)
        if not named and (rule.decision is Decision.ALLOW or all(one is None for one in around)):
            why = "allows without naming what" if any(one is not None for one in around) else "has no condition"
            problems.append((number, f"the rule {rule.id} {why}: give it tool, command, path or host"))
        if rule.inside and (rule.decision is not Decision.ALLOW or not rule.host or rule.command or rule.path):
            problems.append((number, f"the rule {rule.id} has inside: true, which goes with decision: allow and a host, and with no command and no path"))
        if rule.exact and (rule.decision is not Decision.ALLOW or not rule.command):
            problems.append((number, f"the rule {rule.id} has exact: true, which goes with decision: allow and a command"))
        problems += [(number, f"the rule {rule.id} {text}") for text in (*condition_problems(rule), *example_problems(rule))]
    return problems


def hook_problems(settings: Settings) -> Iterator[tuple[int, str]]:
    """Hooks that could not run as they are written, as (number, what is wrong)."""
    seen: set[str] = set()
    for number, hook in enumerate(settings.hooks):
        name = hook.name or f"{hook.event}-{number + 1}"
        if name in seen or not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", name):
            yield number, f"the name {name!r} must be unique, of letters, digits, dots, - and _, and at most 64 characters long"
        seen.add(name)
        program = hook.command[0] if hook.command else ""
        if not program.strip() or any("\0" in word for word in hook.command):
            yield number, f"the hook {name} has a command that names no program"
        elif "/" in program and not program.startswith(("/", "~/")):
            yield number, f"the hook {name} has the relative path {program!r}: give the absolute one"
        elif " " in program and len(hook.command) == 1:
            yield number, f"the hook {name} has a command in one text, {program!r}: write a list, the program and each of its arguments"
        if hook.event in TURN_EVENTS and (hook.tools or hook.powers):
            yield number, f"the hook {name} has {'tools' if hook.tools else 'powers'}, and {hook.event} is about no call"
        if any(not tool.strip() for tool in hook.tools):
            yield number, f"the hook {name} has an empty name in tools"
        if hook.digest and not all(re.fullmatch(r"[0-9a-fA-F]{64}", part.strip()) for part in hook.digest.split(",")):
            yield number, f"the hook {name} has the digest {hook.digest!r}: expected a SHA-256 in 64 hexadecimal digits (neuralclaw hooks pin {name})"


def condition_problems(rule: OwnerRule) -> Iterator[str]:
    """Conditions of a rule that no call can meet, since each is compared as it is written, as the end of a sentence that the rule begins."""
    for name, pattern in _PATTERN.items():
        text = getattr(rule, name) or ""
        if text != text.strip():
            yield f"has blanks around its {name}, {text!r}"
        elif found := re.search(pattern, text):
            yield f"has {found[0]!r} in its {name}, {text!r}: patterns, variables and operators are not understood there"
    for name in ("soul", "channel", "label"):
        if (text := getattr(rule, name)) is not None and (not text or text != text.strip() or re.search(r"[*?\s]", text)):
            yield f"has the {name} {text!r}, which is compared as it is written: give it one word without patterns"
    if rule.label is not None and (kind := rule.label.partition(":")[0]) not in LABEL_KINDS:
        near = did_you_mean(kind, list(LABEL_KINDS)) or f"; there are {', '.join(LABEL_KINDS)}"
        yield f"has the label {rule.label!r}, which nothing has{near}"
    if rule.workspace is not None and (text := _place_problem(rule.workspace)):
        yield f"has the workspace {rule.workspace!r}, which {text}"
    if rule.host and (problem := named_host(rule.host).problem) is not None:
        yield f"has the host {rule.host!r}: {problem}"


def example_problems(rule: OwnerRule) -> Iterator[str]:
    """Examples that say nothing which can be judged, as the end of a sentence that the rule begins."""
    for name, examples in (("match", rule.match), ("not_match", rule.not_match)):
        for number, example in enumerate(examples):
            where = f"has an example, {name}[{number}],"
            if isinstance(example, str):
                if not (rule.command or rule.host or rule.path or rule.tool):
                    yield f"{where} {example!r}, that may be anything: write {{command: {example!r}}}, or url, path or tool in place of command"
                continue
            if sum(getattr(example, one) is not None for one in ("command", "url", "path", "tool")) != 1:
                yield f"{where} that is no call: give it one of command, url, path and tool"
            if example.op is not None and example.path is None:
                yield f"{where} with op, which goes with path"
            if example.args and example.tool is None:
                yield f"{where} with args, which goes with tool"
            if example.workspace is not None and (text := _place_problem(example.workspace)):
                yield f"{where} with the workspace {example.workspace!r}, which {text}"


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
