"""A policy file on its own: a list of rules, a `safety` section, or a whole configuration."""

from ..errors import ConfigError, UsageError
from .document import LayerSource, Node, read_json, read_text
from .semantics import check as check_meaning
from .settings import SafetySection, Settings
from .settings_fitter import SettingsFitter
from .yamldoc import read_yaml


def check(path: str) -> list[str]:
    """What is wrong with the file, a sentence for each problem with its line; empty when it can be used. Raises `UsageError` when there is no file."""
    text = read_text(path)
    if text is None:
        raise UsageError(f"there is no file {path}")
    problems: list[str] = []
    source = LayerSource(path, path)
    try:
        tree = (read_json if path.endswith(".json") else read_yaml)(text, source, problems)
    except ConfigError as error:
        return [*problems, error.text]
    fit = SettingsFitter({}, Settings, problems)
    settings = fit.fit(Settings, _whole(tree), "")
    if not problems:
        problems += check_meaning(settings, fit.nodes, fit.unset, home="")
    return problems


def _whole(tree: Node) -> Node:
    """The tree as a configuration, whichever of the three forms it has."""
    if isinstance(tree.value, list):
        tree = Node({"rules": tree}, tree.source, tree.line)
    if isinstance(tree.value, dict) and tree.value and set(tree.value) <= set(SafetySection.__struct_fields__):
        tree = Node({"safety": tree}, tree.source, tree.line)
    return tree
