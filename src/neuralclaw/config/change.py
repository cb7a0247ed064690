"""Sets one key of the configuration file, checked before it is written; comments, order and form of the rest stay."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from ..errors import ConfigError, UsageError
from ..types.suggestions import joined
from .checked_examples import ExamplesOf, failed_examples, no_examples
from .describe import is_secret, like_a_key, masked
from .directories import data_directories
from .document import LayerSource, Node, merge, node_of, read_json, read_text
from .edit import split_key
from .load import LoadedSettings, SettingsRequest, StoredOf, load, nothing_stored, sentence, take, target
from .save import changed, locked, write
from .sections import ExtensionsOf, TreeReading, no_extensions
from .semantics import check
from .services import service_problems
from .setting_support import changed as changed_settings
from .setting_support import no_effect_yet
from .settings_fitter import ABSENT
from .yamldoc import read_yaml


class Set(NamedTuple):
    """A key that was set: its value as it may be shown, the file, and what the person should know."""

    key: str
    value: Any
    file: str
    notices: tuple[str, ...]


class Checked(NamedTuple):
    """What a change is checked with: the services that are built in, the capabilities that are enabled, the secret store, the examples of rules, and the
    directories of the home."""

    known: Callable[[], Collection[str]]
    extensions: ExtensionsOf = no_extensions
    stored: StoredOf = nothing_stored
    examples: ExamplesOf = no_examples
    folders: Sequence[str] = ()


def set_key(asked: SettingsRequest, key: str, value: Any, by: Checked) -> Set:
    """Set `key` to `value` (text is read as YAML) in the configuration file of a home, which is made where there is none.

    Raises `UsageError` for what is no key or no YAML, and `ConfigError` for a key that does not exist or a value that does not fit; then nothing was
    changed. Processes that set keys at the same time wait for each other.
    """
    path = split_key(key)
    if not all(path):
        raise UsageError(f"{key!r} is not a key; nothing was changed", hint='a key is a name with dots, such as llm.temperature; "x.y" means a name with one')
    file, _ = target(asked.home, asked.environ)
    env, by = load_env(asked, by.stored), by._replace(folders=data_directories(asked.home, asked.environ)[1])
    with locked(file):
        old = read_text(file)
        below = tree_of(file, old or "")
        chosen = fitting(path, value, below, env, by)
        write({file: changed(file, old, {key: chosen})})
    return Set(
        key,
        masked(".".join(path), chosen),
        file,
        tuple(notices(path, chosen, file, lambda: load(home=asked.home, environ=asked.environ, extensions=by.extensions, stored=by.stored))),
    )


def load_env(asked: SettingsRequest, stored: StoredOf) -> dict[str, str]:
    """The variables that references in the file mean; the environment alone where the configuration cannot be read as it is."""
    try:
        return load(home=asked.home, environ=asked.environ, stored=stored).env
    except ConfigError:
        return {name: value for name, value in asked.environ.items() if value}


def tree_of(file: str, text: str) -> Node:
    """The tree of the file's text. Raises `ConfigError` where it cannot be read at all."""
    problems: list[str] = []
    source = LayerSource(file, file, expand=True)
    if not text.strip():
        return Node({}, source)
    return (read_json if file.endswith(".json") else read_yaml)(text, source, problems)


def fitting(path: list[str], value: Any, below: Node, env: dict[str, str], by: Checked) -> Any:
    """What is written for `value`: text as YAML reads it, or as it is where only text fits. Raises `ConfigError` where neither fits."""
    before = problems_of(below, env, by)
    chosen = parsed(value) if isinstance(value, str) else value
    found = _new(path, chosen, below, env, by, before)
    if found and isinstance(value, str) and chosen != value and not _new(path, value, below, env, by, before):
        return value
    if found:
        raise ConfigError(joined(sentence(found), "nothing was changed"), hint="neuralclaw config show lists every key; config schema says what each takes")
    return chosen


def parsed(text: str) -> Any:
    """Text as YAML. Raises `UsageError`."""
    import yaml

    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = getattr(error, "problem", None) or "it cannot be read"
        raise UsageError(f"VALUE is not YAML: {problem}; nothing was changed", hint="put quotes around a text: '\"like: this\"'") from error


def _new(path: list[str], value: Any, below: Node, env: dict[str, str], by: Checked, before: list[str]) -> list[str]:
    """The problems that the file has with this value and not without it."""
    node = node_of(value, LayerSource("config set", "config set", expand=True))
    for name in reversed(path):
        node = Node({name: node}, node.source)
    return [problem for problem in problems_of(merge(below, node), env, by) if problem not in before]


def problems_of(tree: Node, env: dict[str, str], by: Checked) -> list[str]:
    """All that is wrong with a configuration as this tree."""
    problems: list[str] = []
    read = TreeReading(tree, env, by.extensions, problems, by.folders)
    problems += [problem for section in read.sections.values() for problem in section.problems]
    if problems or read.settings is ABSENT:
        return problems
    loaded = LoadedSettings(read.settings, "", env)
    take(loaded, read)
    found = [*check(read.settings, read.fit.nodes, read.fit.unset, home=env.get("HOME", "")), *service_problems(loaded, by.known)]
    return found or failed_examples(loaded, by.examples)


def notices(path: list[str], value: Any, file: str, effective: Callable[[], LoadedSettings]) -> list[str]:
    """What the person should know after the key was set."""
    found = []
    plain = ".".join(path)
    key = ".".join(f'"{name}"' if "." in name else name for name in path)
    if isinstance(value, str) and "${" not in value and (is_secret(plain) or like_a_key(value)):
        name = "_".join(path[-2:]).upper().replace("-", "_").replace(".", "_")
        found.append(f"{file} now contains a key as plain text. Better: {name}=… in .env beside it, and neuralclaw config set {key} '${{{name}}}'")
    try:
        loaded = effective()
    except ConfigError as error:
        found.append(f"The configuration has other problems: {error.text}")
        return found
    unused = [name for name, _ in changed_settings(loaded.settings, "notice") if f"{name}.".startswith(f"{plain}.") or plain.startswith(f"{name}.")]
    if unused:
        found.append(no_effect_yet(unused))
    if path[0] == "capabilities" or path[0] in loaded.others:
        found += loaded.notices
    origin = next((one.origin for one in loaded.values if one.key == plain), "")
    if origin.startswith((".env", "environment")):
        by = origin.replace("environment ", "by the environment variable ") if origin.startswith("e") else f"in {origin}"
        found.append(f"{plain} is set {by} too, which wins over the file.")
    return found
