"""From an action to what it touches: pure, before any fact is known."""

import re
from collections.abc import Callable, Iterator

import msgspec

from ..types.actions import Action
from ..types.facts import PathWant, Wants
from ..types.options import Policy
from ..types.risk import Power
from ..types.tools import Touch
from ..types.urls import Url, parse
from . import ran_files
from .accesses import Access, access
from .bounds import AnalysisBounds, Exceeded
from .command_line import CommandLine
from .host_rules import released_by
from .paths import absolute, directory_in
from .secret_rules import SecretUse, uses

MAX_WANTS = 2_000
"""Paths and programs of one call that are looked up; a call that names more is not understood."""


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    """What a call touches. `paths` are those its path arguments name, `cwd` where a command runs."""

    paths: tuple[PathWant, ...] = ()
    urls: tuple[Url, ...] = ()
    line: CommandLine | None = None
    cwd: str = ""
    access: tuple[Access, ...] = ()
    secrets: tuple[SecretUse, ...] = ()
    extra: frozenset[Power] = frozenset()
    wants: Wants | None = None


class UnfitArgument(ValueError):
    """An argument that no tool could be called with, so that there is nothing to judge."""


_PATHS = frozenset({"read", "list", "write", "delete", "cwd"})
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:/", re.ASCII | re.IGNORECASE)
NOTHING = Analysis()
MANY_PLACES = f"it touches more than {MAX_WANTS:,} places"


def analyse(action: Action, policy: Policy, shell: Callable[..., CommandLine], bounds: AnalysisBounds | None = None) -> Analysis:
    """Paths, addresses and the command line of a call, which `shell` reads within `bounds`. `wants` is None when no fact is needed.

    Raises `Exceeded` for a call whose own arguments name more paths than are looked up, `UnfitArgument` for a text that holds a zero byte.
    """
    if not action.spec.touches:
        return NOTHING
    paths: list[PathWant] = []
    urls: list[Url] = []
    line: CommandLine | None = None
    asked: list[Access] = []
    cwd = _cwd(action)
    secrets = tuple(use for touch in action.spec.touches if touch.kind == "secrets" for use in uses(action.arguments.get(touch.argument)))
    env: dict[str, str | None] = {**_environment(action), **{use.at: None for use in secrets if use.name}}
    for touch in action.spec.touches:
        if touch.kind == "secrets":
            continue
        for value in _values(action, touch):
            if touch.kind == "command":
                line = _few(
                    shell(
                        value,
                        cwd=cwd if cwd == action.workspace else directory_in(cwd, None),
                        workspace=action.workspace,
                        policy=policy,
                        env=env,
                        bounds=bounds,
                    )
                )
            elif touch.kind == "url":
                urls.append(parse(value))
            elif touch.kind == "access":
                asked.append(access(value, cwd))
            elif touch.kind != "cwd":
                paths.append(PathWant(absolute(value, action.workspace), touch.kind))
            else:
                paths.append(PathWant(cwd, "list"))
    named = [*paths, *(one.want for one in asked if one.want is not None)]
    wants = _wants(named, _hosts(urls, action, policy), line, cwd)
    return Analysis(paths=tuple(paths), urls=tuple(urls), line=line, cwd=cwd, access=tuple(asked), secrets=secrets, wants=wants)


def _values(action: Action, touch: Touch) -> Iterator[str]:
    """The argument's strings; what is absent touches nothing, what is neither a string nor a list of strings cannot be judged."""
    value = action.arguments.get(touch.argument)
    values = value if isinstance(value, list) else [] if value is None else [value]
    for item in values:
        if not isinstance(item, str):
            raise TypeError(f"{touch.argument} is no text")
        if "\0" in item:
            raise UnfitArgument(f"{touch.argument} holds a zero byte, which no path, address or program can be given")
        if touch.kind in _PATHS and _ADDRESS.match(item):
            raise UnfitArgument(f"{touch.argument} is the address {item!r}, where a path is needed: name the path alone, as /etc/hostname")
        if item or touch.kind != "cwd":
            yield item


def _cwd(action: Action) -> str:
    for touch in action.spec.touches:
        if touch.kind == "cwd":
            value = action.arguments.get(touch.argument)
            if isinstance(value, str) and value:
                return absolute(value, action.workspace)
    return action.workspace


def _environment(action: Action) -> dict[str, str]:
    """Variables that a command tool is asked to set."""
    value = action.arguments.get("env_vars")
    return {str(k): str(v) for k, v in value.items()} if isinstance(value, dict) else {}


def _few(line: CommandLine) -> CommandLine:
    """The line with no more commands than those whose places are looked up."""
    places: set[PathWant | str] = set()
    for number, command in enumerate(line.commands):
        places.update(command.wants)
        places.add(command.program)
        if len(places) > MAX_WANTS:
            return msgspec.structs.replace(line, commands=line.commands[:number], understood=False, simple=False, exceeded=line.exceeded or MANY_PLACES)
    return line


def _hosts(urls: list[Url], action: Action, policy: Policy) -> tuple[str, ...]:
    """The names that are looked up; one of the machine's own network only where the owner opened it."""
    names = (u.host for u in urls if u.problem is None and u.literal is None and (not u.own or released_by(policy, action, u)))
    return tuple(dict.fromkeys(names))


def _wants(paths: list[PathWant], hosts: tuple[str, ...], line: CommandLine | None, cwd: str) -> Wants | None:
    wanted = list(paths)
    programs: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    if line is not None:
        wanted += [w for c in line.commands for w in c.wants]
        wanted += dict.fromkeys(PathWant(c.cwd, "list") for c in line.commands if c.cwd and c.cwd != cwd)  # what a yes covers depends on where it really is
        programs = tuple(dict.fromkeys(c.program for c in line.commands if c.program))
        scripts = tuple(dict.fromkeys(c.script for c in line.commands if c.script))
    files = ran_files.of_line(line) if line is not None and not line.only_reads and not line.blocks else ran_files.NamedFiles()
    repositories = line.read_with_git if line is not None else ()
    committed = line.changed_with_git if line is not None and not line.blocks else ()
    nested = any(place != cwd for place in repositories)
    undo = line is not None and (not line.only_reads or nested) and not line.blocks
    shell = line is not None and not (line.by_argv and line.only_reads)
    if not wanted and not programs and not hosts and not files.ran and not files.named:
        return None if line is None else Wants(cwd=cwd, undo=undo, shell=shell)
    if len(paths) + len(hosts) > MAX_WANTS:
        raise Exceeded(MANY_PLACES)
    found = tuple(dict.fromkeys(wanted))
    return Wants(
        paths=found,
        programs=programs,
        hosts=hosts,
        scripts=scripts,
        ran=files.ran,
        named=files.named,
        cwd=cwd,
        repositories=repositories,
        committed=committed,
        undo=undo,
        shell=shell,
    )
