"""Brings the layers together: defaults, file, `.env`, environment, command line; the last one that says something wins.

The data directory is `--home`, else `NEURALCLAW_HOME`, else `$XDG_DATA_HOME/neuralclaw` (`~/.local/share/neuralclaw`). The
configuration (`config.yaml` or `config.json`, and `.env` beside it) is in the data directory; where that was not named, also
in `$XDG_CONFIG_HOME/neuralclaw` (`~/.config/neuralclaw`), which is looked at when the data directory has neither.

Any setting can be in a variable `NEURALCLAW_<SECTION>__<KEY>`, deeper ones with more `__`: `NEURALCLAW_LLM__DEFAULT_PROVIDER`,
`NEURALCLAW_TOOLS__TERMINAL__SHELL`. Lists are words with commas between them or JSON, sections are JSON. An empty variable
counts as not set, everywhere.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from ..errors import ConfigError
from . import process_environment
from .describe import masked, names_secret, suggest_key
from .document import LayerSource, Node, merge, node_of, open_to_others, read_dotenv, read_json, read_text
from .former_capabilities import remember_capabilities
from .sections import Extensions, ExtensionsOf, ExtraSection, NoExtensions, TreeReading, enabled, no_extensions, origins, with_sections, written_values
from .semantics import check
from .settings import Settings
from .settings_fitter import ABSENT
from .yamldoc import read_yaml

PREFIX = "NEURALCLAW_"
COMMAND_LINE = "command line"
PROGRAM = "Agent.open"
"""Where values come from that a program gives."""
REFERENCE = re.compile(r"\$\{(?P<name>[^}:]+)(?::-(?P<default>[^}]*))?\}")
"""A value that is one variable and nothing else."""
TELEGRAM = {"bot_token": "TELEGRAM_BOT_TOKEN", "authorized_user_ids": "TELEGRAM_USER_ID"}
"""Variables that fill the telegram section where the file does not."""


class SettingValue(NamedTuple):
    """One line of `config show`: a key, its effective value with secrets masked, and where that comes from."""

    key: str
    value: Any
    origin: str


class SettingsRequest(NamedTuple):
    """What settings were asked for: `--home`, the environment, and a whole `Settings` value or values above those of the files."""

    home: str | None
    environ: Mapping[str, str]
    settings: Settings | Mapping[str, Any] | None = None


class LoadedSettings:
    """The effective settings and where they come from.

    `home` is the absolute data directory (it may not exist yet), `file` the configuration file that was read or None, `env` the
    merged `.env` and environment without empty values, `dotenv` the line of each of its variables that `.env` gave, `notices` sentences for the person,
    `hidden` absolute directories besides `home` that no program sees into. `extensions`: what capabilities bring, with their `sections`; `others` is
    what was written under names that are no built-in sections.
    """

    def __init__(self, settings: Settings, home: str, env: dict[str, str]) -> None:
        self.settings, self.home, self.env = settings, home, env
        self.file: str | None = None
        self.notices: tuple[str, ...] = ()
        self.hidden: tuple[str, ...] = ()
        self.origins: dict[str, str] = {}
        self.unset: dict[str, str] = {}
        self.dotenv: dict[str, int] = {}
        self.nodes: dict[str, Node] = {}
        self.asked = SettingsRequest(home, env)
        self.extensions: Extensions = NoExtensions()
        self.sections: dict[str, ExtraSection] = {}
        self.others: dict[str, Node] = {}

    def section(self, name: str) -> Any:
        """The section that the capability of that name brings, as its struct, decoded when it is first asked for.

        Raises `ConfigError` that names every problem with file, line and key, and `KeyError` where the capability brings no section.
        """
        return self.sections[name].value

    def check_sections(self) -> None:
        """Decode the section of every capability. Raises `ConfigError` that names every problem with file, line and key."""
        if problems := [problem for section in self.sections.values() for problem in section.problems]:
            raise ConfigError(sentence(problems))

    def variable_origin(self, name: str) -> str:
        """Where a variable of `env` comes from: `.env:3` or `environment NAME`."""
        return f".env:{self.dotenv[name]}" if name in self.dotenv else f"environment {name}"

    def place(self, key: str) -> str:
        """Where a key is set, for errors: the file's whole path with the line, or the variable; the nearest section's place for what has none."""
        part, section = key, self.sections.get(key.partition(".")[0])
        nodes = section.reading[1].nodes if section is not None else self.nodes
        while part and part not in nodes:
            part = part.rpartition(".")[0]
        return nodes[part].place if part else "settings"

    def origin(self, key: str) -> str:
        """`default`, `config.yaml:12`, `.env:3`, `environment NAME`, `command line` or `Agent.open`. Raises `ConfigError` for a key that does not exist."""
        section = self.sections.get(key.partition(".")[0])
        if (found := (section.reading[1] if section is not None else self).origins.get(key)) is not None:
            return found
        if (written := next((value.origin for value in self.values if value.key == key), None)) is not None:
            return written
        raise ConfigError(f"unknown key {key}{suggest_key(with_sections(self.extensions.sections), key)}")

    def key_place(self, service: str) -> str:
        """Where the key of a service that the settings describe comes from: the variable that they name, else the key with its file; "" where there is none."""
        key = f"llm.providers.{service}.api_key"
        node = self.nodes.get(key)
        if node is None or not isinstance(node.value, str) or not node.value:
            return ""
        if node.source.expand and (found := REFERENCE.fullmatch(node.value.strip())) and (self.env.get(found["name"]) or not found["default"]):
            return found["name"]
        if node.source.expand:
            return f"{key} in {node.source.label}"
        return node.source.label.removeprefix("environment ") if node.source.text else key

    @property
    def values(self) -> tuple[SettingValue, ...]:
        """Every effective key, in the order of the settings, those of capabilities last: as they are written where they do not fit."""
        secrets = [value for name, value in self.env.items() if names_secret(name) and len(value) >= 8]
        found = [SettingValue(key, masked(key, value, secrets), self.origins.get(key, "default")) for key, value in flat(self.settings, "")]
        for name, section in self.sections.items():
            value, fit = section.reading
            said = flat(value, name) if value is not ABSENT else written_values(section.node, name, self.env) if section.node is not None else ()
            written = origins(section.node, name) if value is ABSENT and section.node is not None else fit.origins
            found += [SettingValue(key, masked(key, one, secrets), written.get(key, "default")) for key, one in said]
        return tuple(found)

    def require(self, prefix: str) -> None:
        """Call before a lazy section is used (`telegram`, `llm.providers.NAME`, `mcp.servers.NAME`).

        Raises `ConfigError` when a variable that it names is not set.
        """
        sentences = [text for key, text in self.unset.items() if key == prefix or key.startswith((f"{prefix}.", f"{prefix}["))]
        if sentences:
            raise ConfigError("; ".join(sentences), hint="Set it in the environment or in .env, or give a default: ${NAME:-default}.")


def flat(value: Any, key: str) -> Iterator[tuple[str, Any]]:
    """Every leaf of the settings as (key, plain value); lists are leaves."""
    if isinstance(value, msgspec.Struct):
        value = {name: getattr(value, name) for name in value.__struct_fields__}
    elif not (isinstance(value, dict) and value):
        yield key, msgspec.to_builtins(value)
        return
    for name, inner in value.items():
        yield from flat(inner, f"{key}.{name}" if key else name)


def load(
    *, home: str | None, environ: Mapping[str, str], overrides: Mapping[str, Any] | None = None, extensions: ExtensionsOf = no_extensions
) -> LoadedSettings:
    """The settings in effect. `overrides`: values of the command line by dotted key (or nested); None in them is a value.

    `extensions` loads the capabilities that are enabled; their sections are decoded when they are used, and their names are put on record in the home.
    Raises `ConfigError` that names every problem with its file, line and key.
    """
    data, folders = data_directories(home, environ)
    problems: list[str] = []
    notices: list[str] = []
    tree, file = config_file(folders, problems, notices)
    dotenv, dotenv_path = dotenv_file([posixpath.dirname(file)] if file else folders)
    if any(value and names_secret(name) for name, (value, _) in dotenv.items()) and open_to_others(dotenv_path):
        notices.append(f"{dotenv_path} holds keys and can be read by others on this machine: chmod 600 {dotenv_path}")
    env = {name: value for name, (value, _) in dotenv.items() if value} | {name: value for name, value in environ.items() if value}
    tree = layered(tree, variables(dotenv, dotenv_path, environ), overrides or {})
    loaded = LoadedSettings(Settings(), data, env)
    loaded.dotenv = {name: line for name, (value, line) in dotenv.items() if value and not environ.get(name)}
    if tree is None and "TELEGRAM_BOT_TOKEN" not in env and "TELEGRAM_USER_ID" not in env:
        tree = Node({}, LayerSource("defaults", "default"))
    else:
        tree = merge(telegram(environ, dotenv, dotenv_path), tree or Node({}, LayerSource("defaults", "default")))
    read = TreeReading(tree, env, extensions, problems, folders)
    remember_capabilities(folders, read.taking_part)
    if not problems:
        problems += check(read.settings, read.fit.nodes, read.fit.unset)
    if problems or read.settings is ABSENT:
        raise ConfigError(sentence(problems))
    take(loaded, read)
    given = [loaded.sections[name] for name in _sections_of(overrides or {}) if name in loaded.sections]
    if wrong := [text for section in given for text in section.problems if text.startswith(f"{_caller()}: ")]:
        raise ConfigError(sentence(wrong))
    loaded.file, loaded.notices = file, (*notices, *loaded.notices)
    return loaded


def _caller() -> str:
    """Who gives values on top of the files and the environment."""
    return COMMAND_LINE if process_environment.ours else PROGRAM


def _sections_of(overrides: Mapping[str, Any]) -> set[str]:
    """The sections that values on top are of: what a caller says is checked at once, what the files say when it is used."""
    return {key.partition(".")[0] for key in overrides}


def enabled_names(asked: SettingsRequest) -> tuple[str, ...]:
    """The names in `capabilities.enabled`; none where the configuration cannot be read at all. For what works beside a configuration with problems."""
    home, environ, settings = asked
    if isinstance(settings, Settings):
        return settings.capabilities.enabled
    try:
        _, folders = data_directories(home, environ)
        tree, file = config_file(folders, [], [])
        dotenv, path = dotenv_file([posixpath.dirname(file)] if file else folders)
    except ConfigError:
        return ()
    env = {name: value for name, (value, _) in dotenv.items() if value} | {name: value for name, value in environ.items() if value}
    laid = layered(tree, variables(dotenv, path, environ), settings or {})
    return enabled(laid, env)[0] if laid is not None else ()


def take(loaded: LoadedSettings, read: TreeReading) -> None:
    """Put what was read from a tree into the settings that are loaded."""
    loaded.settings, loaded.notices = read.settings, (*read.fit.former.values(), *read.notices)
    loaded.origins, loaded.unset, loaded.nodes = read.fit.origins, read.fit.unset, read.fit.nodes
    loaded.extensions, loaded.sections, loaded.others = read.extensions, read.sections, read.others


def sentence(problems: list[str]) -> str:
    """One problem as it is, several as a list."""
    return problems[0] if len(problems) == 1 else f"{len(problems)} problems in the configuration:\n  " + "\n  ".join(problems)


def data_directories(home: str | None, environ: Mapping[str, str]) -> tuple[str, list[str]]:
    """The data directory, and the directories where the configuration may be."""
    named = home or environ.get("NEURALCLAW_HOME")
    person = environ.get("HOME") or ""
    if named:
        named = person + named[1:] if person and (named == "~" or named.startswith("~/")) else named
        if "\0" in named:
            raise ConfigError("the data directory's name holds a zero byte")
        folder = posixpath.abspath(named)
        return folder, [folder]

    def base(variable: str, default: str) -> str:
        value = environ.get(variable, "")
        if posixpath.isabs(value):
            return value
        if not posixpath.isabs(person):
            raise ConfigError("no data directory is known: neither HOME nor NEURALCLAW_HOME is set", hint="Name one with --home DIR or NEURALCLAW_HOME.")
        return posixpath.join(person, default)

    folder = posixpath.join(base("XDG_DATA_HOME", ".local/share"), "neuralclaw")
    return folder, [folder, posixpath.join(base("XDG_CONFIG_HOME", ".config"), "neuralclaw")]


def target(home: str | None, environ: Mapping[str, str]) -> tuple[str, bool]:
    """The configuration file that is read, or would be, and whether it is there. A new one is beside the `.env` that is there."""
    _, folders = data_directories(home, environ)
    files = [posixpath.join(folder, name) for folder in folders for name in ("config.yaml", "config.json")]
    there = [file for file in files if posixpath.exists(file)]
    if there:
        return there[0], True
    with_dotenv = [folder for folder in folders if posixpath.exists(posixpath.join(folder, ".env"))]
    return posixpath.join((with_dotenv or folders)[0], "config.yaml"), False


def config_file(folders: list[str], problems: list[str], notices: list[str]) -> tuple[Node | None, str | None]:
    """The tree and path of the first configuration file. Two in one directory are an error, two in two directories a notice."""
    readings: list[tuple[str, str]] = []
    for folder in folders:
        here = [(path, text) for name in ("config.yaml", "config.json") if (text := read_text(path := posixpath.join(folder, name))) is not None]
        if len(here) > 1:
            raise ConfigError(f"{here[0][0]} and {here[1][0]} are both there", hint="Keep one of them.")
        if not here and posixpath.exists(other := posixpath.join(folder, "config.yml")):
            notices.append(f"{other} is not read: its name must be config.yaml")
        readings += here
    if not readings:
        return None, None
    path, text = readings[0]
    notices.extend(f"{ignored} is not read: {path} comes first" for ignored, _ in readings[1:])
    source = LayerSource(path, posixpath.basename(path), expand=True)
    return (read_yaml if path.endswith(".yaml") else read_json)(text, source, problems), path


def dotenv_file(folders: list[str]) -> tuple[dict[str, tuple[str, int]], str]:
    """The `.env` beside the configuration: its variables with their lines, and its path."""
    for folder in folders:
        path = posixpath.join(folder, ".env")
        text = read_text(path)
        if text is not None:
            return read_dotenv(text, path), path
    return {}, ".env"


def variables(dotenv: Mapping[str, tuple[str, int]], path: str, environ: Mapping[str, str]) -> Iterator[tuple[list[str], Node]]:
    """The settings in variables, as (key parts, node), weakest first."""
    for name, (value, line) in dotenv.items():
        if value and name.startswith(PREFIX) and "__" in name:
            yield key_parts(name), Node(value, LayerSource(path, ".env", text=True), line)
    for name, value in environ.items():
        if value and name.startswith(PREFIX) and "__" in name:
            yield key_parts(name), Node(value, LayerSource(f"environment {name}", f"environment {name}", text=True))


def key_parts(name: str) -> list[str]:
    """`NEURALCLAW_LLM__TOP_P` as `llm`, `top_p`."""
    return name[len(PREFIX) :].lower().split("__")


def layered(tree: Node | None, variables: Iterator[tuple[list[str], Node]], overrides: Mapping[str, Any]) -> Node | None:
    """The file's tree with variables and command line above it; None when nobody said anything."""
    line = LayerSource(_caller(), _caller())
    layers = [*variables, *((key.split("."), node_of(value, line)) for key, value in overrides.items())]
    for parts, node in layers:
        for part in reversed(parts):
            node = Node({part: node}, node.source, node.line)
        tree = node if tree is None else merge(tree, node)
    return tree


def telegram(environ: Mapping[str, str], dotenv: Mapping[str, tuple[str, int]], path: str) -> Node:
    """The lowest layer: Telegram's well-known variables."""
    section: dict[str, Node] = {}
    for key, name in TELEGRAM.items():
        if environ.get(name):
            section[key] = Node(environ[name], LayerSource(f"environment {name}", f"environment {name}", text=True))
        elif name in dotenv and dotenv[name][0]:
            section[key] = Node(dotenv[name][0], LayerSource(path, ".env", text=True), dotenv[name][1])
    source = LayerSource("defaults", "default")
    return Node({"telegram": Node(section, source)} if section else {}, source)
