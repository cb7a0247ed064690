"""Brings the layers together: defaults, file, secret store, `.env`, environment, command line; the last one that says something wins.

The data directory is `--home`, else `NEURALCLAW_HOME`, else `$XDG_DATA_HOME/neuralclaw` (`~/.local/share/neuralclaw`). The
configuration (`config.yaml` or `config.json`, and `.env` beside it) is in the data directory; where that was not named, also
in `$XDG_CONFIG_HOME/neuralclaw` (`~/.config/neuralclaw`), which is looked at when the data directory has neither.

Any setting can be in a variable `NEURALCLAW_<SECTION>__<KEY>`, deeper ones with more `__`: `NEURALCLAW_LLM__DEFAULT_PROVIDER`,
`NEURALCLAW_TOOLS__TERMINAL__SHELL`, and a whole section in `NEURALCLAW_<SECTION>`. Lists are words with commas between them or JSON,
sections are JSON. An empty variable counts as not set, everywhere. A secret in the secret store of the home counts as a variable of its
name.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from ..errors import ConfigError
from . import process_environment
from .describe import masked, names_secret, suggest_key
from .directories import PLACES, data_directories, not_taken
from .document import LayerSource, Node, merge, node_of, open_to_others, read_dotenv, read_json, read_text
from .former_capabilities import remember_capabilities
from .sections import Extensions, ExtensionsOf, ExtraSection, NoExtensions, TreeReading, enabled, no_extensions, origins, with_sections, written_values
from .semantics import check
from .settings import Settings
from .settings_fitter import ABSENT, unset_hint
from .yamldoc import read_yaml

PREFIX = "NEURALCLAW_"
COMMAND_LINE = "command line"
PROGRAM = "Agent.open"
"""Where values come from that a program gives."""
REFERENCE = re.compile(r"\$\{(?P<name>[^}:]+)(?::-(?P<default>[^}]*))?\}")
"""A value that is one variable and nothing else."""
TELEGRAM = {"bot_token": "TELEGRAM_BOT_TOKEN", "authorized_user_ids": "TELEGRAM_USER_ID"}
"""Variables that fill the telegram section where the file does not."""


SECRET_STORE = LayerSource("secret store", "secret store", text=True)
StoredOf = Callable[[str, Mapping[str, str]], Mapping[str, str]]
"""Gives the secrets in the secret store of a data directory, by name; the second argument has the variables that the key is found with. Raises
`ConfigError`."""


def nothing_stored(folder: str, env: Mapping[str, str]) -> Mapping[str, str]:
    """There is no secret store."""
    return {}


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
    merged secret store, `.env` and environment without empty values, `dotenv` the line of each of its variables that `.env` gave, `stored` all that the
    secret store has, `notices` sentences for the person,
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
        self.stored: Mapping[str, str] = {}
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
        """Where a variable of `env` comes from: `.env:3`, `environment NAME` or `secret store`."""
        if name in self.dotenv:
            return f".env:{self.dotenv[name]}"
        return SECRET_STORE.label if name in self.stored and not self.asked.environ.get(name) else f"environment {name}"

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
        secrets = [value for name, value in (*self.env.items(), *self.stored.items()) if (names_secret(name) or name in self.stored) and len(value) >= 8]
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
            raise ConfigError("; ".join(sentences), hint=unset_hint(sentences))


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
    *,
    home: str | None,
    environ: Mapping[str, str],
    overrides: Mapping[str, Any] | None = None,
    extensions: ExtensionsOf = no_extensions,
    stored: StoredOf = nothing_stored,
) -> LoadedSettings:
    """The settings in effect. `overrides`: values of the command line by dotted key (or nested); None in them is a value.

    `extensions` loads the capabilities that are enabled; their sections are decoded when they are used, and their names are put on record in the home.
    `stored` opens the secret store.
    Raises `ConfigError` that names every problem with its file, line and key.
    """
    data, folders = data_directories(home, environ)
    problems: list[str] = []
    notices: list[str] = []
    tree, file = config_file(folders, problems, notices)
    dotenv, dotenv_path = dotenv_file([posixpath.dirname(file)] if file else folders)
    if any(value and names_secret(name) for name, (value, _) in dotenv.items()) and open_to_others(dotenv_path):
        notices.append(f"{dotenv_path} holds keys and can be read by others on this machine: chmod 600 {dotenv_path}")
    notices += not_taken(dotenv, dotenv_path)
    given = {name: value for name, (value, _) in dotenv.items() if value and name not in PLACES} | {name: value for name, value in environ.items() if value}
    kept = stored(data, given)
    env = {**{name: value for name, value in kept.items() if name not in PLACES}, **given}
    tree = layered(tree, chain(stored_variables(kept), variables(dotenv, dotenv_path, environ)), overrides or {})
    loaded = LoadedSettings(Settings(), data, env)
    loaded.stored, loaded.asked = kept, SettingsRequest(home, environ)
    loaded.dotenv = {name: line for name, (value, line) in dotenv.items() if value and name not in PLACES and not environ.get(name)}
    if tree is None and "TELEGRAM_BOT_TOKEN" not in env and "TELEGRAM_USER_ID" not in env:
        tree = Node({}, LayerSource("defaults", "default"))
    else:
        tree = merge(telegram(environ, dotenv, dotenv_path, kept), tree or Node({}, LayerSource("defaults", "default")))
    read = TreeReading(tree, env, extensions, problems, folders)
    remember_capabilities(folders, read.taking_part)
    if not problems:
        problems += check(read.settings, read.fit.nodes, read.fit.unset, home=env.get("HOME", ""))
    if problems or read.settings is ABSENT:
        raise ConfigError(sentence(problems))
    take(loaded, read)
    ours = [loaded.sections[name] for name in _sections_of(overrides or {}) if name in loaded.sections]
    if wrong := [text for section in ours for text in section.problems if text.startswith(f"{_caller()}: ")]:
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
    if isinstance(asked.settings, Settings):
        return asked.settings.capabilities.enabled
    try:
        tree, env = _written(asked)
    except ConfigError:
        return ()
    return enabled(tree, env)[0] if tree is not None else ()


def defaults_beside(asked: SettingsRequest) -> LoadedSettings:
    """The defaults in the data directory, with the variables of `.env` and the environment, whatever the configuration file says. Raises `ConfigError`."""
    data, folders = data_directories(asked.home, asked.environ)
    dotenv, _ = dotenv_file(folders)
    given = {name: value for name, (value, _) in dotenv.items() if value and name not in PLACES}
    return LoadedSettings(Settings(), data, given | {name: value for name, value in asked.environ.items() if value})


def section_alone(asked: SettingsRequest, name: str, kind: type[msgspec.Struct]) -> Any:
    """The section of one capability where it is written, else None, whatever else the configuration says. Secrets in the secret store are not looked at.

    Raises `ConfigError` for one that cannot be read.
    """
    tree, env = _written(asked)
    node = tree.value.get(name) if tree is not None and isinstance(tree.value, dict) else None
    return ExtraSection(name, kind, node, env).value if node is not None else None


def _written(asked: SettingsRequest) -> tuple[Node | None, Mapping[str, str]]:
    """What the file, `.env` and the environment say, and the variables. Raises `ConfigError`."""
    _, folders = data_directories(asked.home, asked.environ)
    tree, file = config_file(folders, [], [])
    dotenv, path = dotenv_file([posixpath.dirname(file)] if file else folders)
    env = {name: value for name, (value, _) in dotenv.items() if value} | {name: value for name, value in asked.environ.items() if value}
    settings = asked.settings if not isinstance(asked.settings, Settings) else None
    return layered(tree, variables(dotenv, path, asked.environ), settings or {}), env


def take(loaded: LoadedSettings, read: TreeReading) -> None:
    """Put what was read from a tree into the settings that are loaded."""
    loaded.settings, loaded.notices = read.settings, (*read.fit.former.values(), *read.notices)
    loaded.origins, loaded.unset, loaded.nodes = read.fit.origins, read.fit.unset, read.fit.nodes
    loaded.extensions, loaded.sections, loaded.others = read.extensions, read.sections, read.others


def sentence(problems: list[str]) -> str:
    """One problem as it is, several as a list."""
    return problems[0] if len(problems) == 1 else f"{len(problems)} problems in the configuration:\n  " + "\n  ".join(problems)


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
        if value and _is_setting(name):
            yield key_parts(name), Node(value, LayerSource(path, ".env", text=True), line)
    for name, value in environ.items():
        if value and _is_setting(name):
            yield key_parts(name), Node(value, LayerSource(f"environment {name}", f"environment {name}", text=True))


def _is_setting(name: str) -> bool:
    """Whether a variable is a setting, or a whole section: all that begin so, but for those that say where the home and its key are."""
    return name.startswith(PREFIX) and name not in (f"{PREFIX}HOME", f"{PREFIX}PASSPHRASE")


def stored_variables(kept: Mapping[str, str]) -> Iterator[tuple[list[str], Node]]:
    """The settings among stored secrets, as (key parts, node)."""
    for name, value in kept.items():
        if name.startswith(PREFIX) and "__" in name:
            yield key_parts(name), Node(value, SECRET_STORE)


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


def telegram(environ: Mapping[str, str], dotenv: Mapping[str, tuple[str, int]], path: str, kept: Mapping[str, str]) -> Node:
    """The lowest layer: Telegram's well-known variables."""
    section: dict[str, Node] = {}
    for key, name in TELEGRAM.items():
        if environ.get(name):
            section[key] = Node(environ[name], LayerSource(f"environment {name}", f"environment {name}", text=True))
        elif name in dotenv and dotenv[name][0]:
            section[key] = Node(dotenv[name][0], LayerSource(path, ".env", text=True), dotenv[name][1])
        elif name in kept:
            section[key] = Node(kept[name], SECRET_STORE)
    source = LayerSource("defaults", "default")
    return Node({"telegram": Node(section, source)} if section else {}, source)
