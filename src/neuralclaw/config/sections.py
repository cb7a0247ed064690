"""Sections of the settings that capabilities bring: they stand beside the built-in ones, and each is decoded when it is first used."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import msgspec

from ..errors import ConfigError
from .describe import FORMER, suggest_key
from .document import LayerSource, Node
from .former_capabilities import known_capabilities
from .settings import CapabilitiesSection, Settings
from .settings_fitter import ABSENT, SettingsFitter, interpolate, unset_hint


class LeftOut(NamedTuple):
    """A capability that `capabilities.enabled` names without effect, and why. `origin`: the package that brings it, "" where none does.

    `fix`: what a person can do about it; "" for one that is built in: it takes part, and only its name there has no effect.
    """

    name: str
    why: str
    origin: str = ""
    version: str = ""
    fix: str = "Install the package that brings it"

    def told(self, place: str = "") -> str:
        """The notice of it. `place`: where `capabilities.enabled` is set."""
        enabled = f"capabilities.enabled ({place})" if place else "capabilities.enabled"
        if not self.fix:
            return f"{self.name} has no effect in {enabled}: {self.why}. Take it out there."
        kept = " What it recorded and its settings are kept." if self.origin else ""
        end = "" if self.why.endswith("?") else "."
        return f"The capability {self.name} is left out: {self.why}{end}{kept} {self.fix}, or take it out of {enabled}."


class Extensions(Protocol):
    """What the settings have to know of capabilities."""

    @property
    def names(self) -> Collection[str]:
        """Those that take part."""
        ...

    @property
    def sections(self) -> Mapping[str, type[msgspec.Struct]]:
        """The sections that they bring."""
        ...

    @property
    def left_out(self) -> Sequence[LeftOut]: ...

    def installed(self) -> Collection[str]:
        """Names of all that packages bring, enabled or not. Looks at every package."""
        ...


class NoExtensions:
    """There are none."""

    names: Collection[str] = ()
    sections: Mapping[str, type[msgspec.Struct]] = {}
    left_out: Sequence[LeftOut] = ()

    def installed(self) -> Collection[str]:
        return ()


ExtensionsOf = Callable[[Sequence[str]], Extensions]
"""From the names in `capabilities.enabled` to what they bring."""


def no_extensions(enabled: Sequence[str]) -> Extensions:
    """For those who read settings without capabilities."""
    return NoExtensions()


class ExtraSection:
    """One capability's section as it was written, and as a value once it is asked for. `node` None: nothing is set."""

    def __init__(self, name: str, kind: type[msgspec.Struct], node: Node | None, env: Mapping[str, str]) -> None:
        self.name, self.kind, self.node, self._env = name, kind, node, env

    @cached_property
    def reading(self) -> tuple[Any, SettingsFitter]:
        """The value, ABSENT where there is a problem, and what was found on the way."""
        root = msgspec.defstruct("Root", [(self.name, self.kind, msgspec.field(default_factory=self.kind))])
        fit = SettingsFitter(self._env, root, [], lazy=(f"{self.name}.",))
        tree = Node({} if self.node is None else {self.name: self.node}, LayerSource("defaults", "default"))
        value = fit.fit(root, tree, "")
        return (ABSENT if value is ABSENT or fit.problems else getattr(value, self.name)), fit

    @property
    def problems(self) -> list[str]:
        """What is wrong with it; a variable that is not set is none until the section is used."""
        return self.reading[1].problems

    @property
    def value(self) -> Any:
        """The section as its struct. Raises `ConfigError` that names every problem with file, line and key, and variables that are not set."""
        found, fit = self.reading
        if problems := [*fit.problems, *fit.unset.values()]:
            raise ConfigError("; ".join(problems), hint="" if fit.problems else unset_hint(problems))
        return found


def with_sections(sections: Mapping[str, type[msgspec.Struct]]) -> type[msgspec.Struct]:
    """The settings with these sections behind the built-in ones: for the schema, and for the nearest key."""
    if not sections:
        return Settings
    fields = [(name, kind, msgspec.field(default_factory=kind)) for name, kind in sections.items()]
    return msgspec.defstruct("Settings", fields, bases=(Settings,), frozen=True, kw_only=True, forbid_unknown_fields=True)


def written_values(node: Node, key: str, env: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Every value that was written below a node, references replaced where their variables are set."""
    if isinstance(node.value, dict):
        for name, child in node.value.items():
            yield from written_values(child, f"{key}.{name}", env)
    elif isinstance(node.value, list):
        for number, child in enumerate(node.value):
            yield from written_values(child, f"{key}[{number}]", env)
    elif node.source.expand and isinstance(node.value, str) and "${" in node.value:
        text, missing, bad = interpolate(node.value, env)
        yield key, node.value if missing or bad else text
    else:
        yield key, node.value


def origins(node: Node, key: str) -> dict[str, str]:
    """Where each value stands that was written below a node, by the keys of `leaves`."""
    if isinstance(node.value, dict):
        children = [(f"{key}.{name}", child) for name, child in node.value.items()]
    elif isinstance(node.value, list):
        children = [(f"{key}[{number}]", child) for number, child in enumerate(node.value)]
    else:
        return {key: node.origin}
    return {place: origin for name, child in children for place, origin in origins(child, name).items()}


class TreeReading:
    """A tree read as settings: the built-in sections decoded, the others told apart. `problems` and `notices` are complete afterwards.

    `folders`: where the names of the capabilities stand that took part before.
    """

    def __init__(self, tree: Node, env: Mapping[str, str], extensions: ExtensionsOf, problems: list[str], folders: Sequence[str] = ()) -> None:
        self.problems, self._folders = problems, folders
        self.notices: list[str] = []
        own, self.others = _parted(tree)
        names, place = enabled(own, env)
        self.extensions = extensions(names)
        self.fit = SettingsFitter(env, with_sections(self.extensions.sections) if self.others else Settings, problems)
        self.settings: Any = self.fit.fit(Settings, own, "")
        self.sections = {name: ExtraSection(name, kind, self.others.get(name), env) for name, kind in self.extensions.sections.items()}
        self._tell_left_out(place)
        self._tell_repeated(names, place)
        self._tell_unused(names)
        self.taking_part = tuple(name for name in names if name in self.extensions.names)

    def _tell_left_out(self, place: str) -> None:
        self.notices.extend(one.told(place) for one in self.extensions.left_out)

    def _tell_repeated(self, names: Sequence[str], place: str) -> None:
        repeated = dict.fromkeys(name for number, name in enumerate(names) if name in names[:number])
        self.notices.extend(f"{name} occurs more than once in capabilities.enabled ({place}). Once is enough." for name in repeated)

    def _tell_unused(self, asked: Sequence[str]) -> None:
        """Sections that nobody reads: of a capability that takes no part, now or since it was removed, which is a notice; of nothing, which is a problem."""
        unused, told = [], {one.name for one in self.extensions.left_out if one.origin}  # that they are left out says it already
        for name, node in self.others.items():
            if name in self.sections:
                continue
            if name in self.extensions.names:
                self.problems.append(f"{node.place}: the capability {name} takes no settings")
            elif name in told:
                continue
            elif name in asked or name in self.extensions.installed() or name in known_capabilities(self._folders):
                unused.append(f"{name} ({node.place})")
            else:
                self.problems.append(f"{node.place}: unknown key {name}{suggest_key(self.fit.root, name)}")
        if unused:
            self.notices.append(f"Settings of capabilities that are not installed or not enabled have no effect: {', '.join(unused)}")


def _parted(tree: Node) -> tuple[Node, dict[str, Node]]:
    """The tree with the keys that the program itself has, and the sections of others."""
    if not isinstance(tree.value, dict):
        return tree, {}
    fields = {*Settings.__struct_fields__, *FORMER, "$schema"}
    others = {name: node for name, node in tree.value.items() if name not in fields}
    return (Node({name: node for name, node in tree.value.items() if name in fields}, tree.source, tree.line) if others else tree), others


def enabled(tree: Node, env: Mapping[str, str]) -> tuple[tuple[str, ...], str]:
    """The names in `capabilities.enabled` and where they stand; none where they cannot be read, which is a problem of the tree."""
    section = tree.value.get("capabilities") if isinstance(tree.value, dict) else None
    if section is None:
        return (), ""
    fit = SettingsFitter(env, Settings, [])
    found = fit.fit(CapabilitiesSection, section, "capabilities")
    node: Node = fit.nodes.get("capabilities.enabled") or section
    return (() if found is ABSENT else found.enabled), node.place
