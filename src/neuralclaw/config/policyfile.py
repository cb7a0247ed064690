"""A policy file on its own: a list of rules, a `safety` section, or a whole configuration."""

import os
from typing import Literal, NamedTuple

from ..errors import ConfigError, UsageError
from .checked_examples import ExamplesOf, failed_examples
from .document import LayerSource, Node, read_json, read_text
from .load import LoadedSettings
from .semantics import check as check_meaning
from .settings import SafetySection, Settings
from .settings_fitter import SettingsFitter
from .yamldoc import read_yaml

PolicyForm = Literal["rules", "section", "whole"]


class PolicyFile(NamedTuple):
    """What a policy file says. `keys`: those of the `safety` section, where the file is that section alone."""

    settings: Settings
    form: PolicyForm
    keys: tuple[str, ...]


def read(path: str, examples: ExamplesOf, person_home: str) -> tuple[PolicyFile | None, list[str]]:
    """What the file says, None where it says nothing that can be used, and what is wrong with it, a sentence for each problem with its line.

    Raises `UsageError` when there is no file.
    """
    if os.path.isdir(path):  # noqa: PTH112
        raise UsageError(f"there is no file {path}: it is a directory", hint="name the file with the rules")
    try:
        text = read_text(path)
    except ConfigError as error:
        return None, [error.text]
    if text is None:
        raise UsageError(f"there is no file {path}")
    problems: list[str] = []
    source = LayerSource(path, path)
    try:
        tree = (read_json if path.endswith(".json") else read_yaml)(text, source, problems)
    except ConfigError as error:
        return None, [*problems, error.text]
    whole, form = _whole(tree)
    fit = SettingsFitter({}, Settings, problems)
    settings = fit.fit(Settings, whole, "")
    if problems:
        return None, problems
    problems += check_meaning(settings, fit.nodes, fit.unset, home="")
    if not problems:
        loaded = LoadedSettings(settings, "", {"HOME": person_home})
        loaded.nodes = fit.nodes
        problems += failed_examples(loaded, examples)
    return (None if problems else PolicyFile(settings, form, tuple(tree.value) if form == "section" else ())), problems


def _whole(tree: Node) -> tuple[Node, PolicyForm]:
    """The tree as a configuration, and which of the three forms it has."""
    if isinstance(tree.value, list):
        return _below("safety", _below("rules", tree)), "rules"
    if isinstance(tree.value, dict) and tree.value and set(tree.value) <= set(SafetySection.__struct_fields__):
        return _below("safety", tree), "section"
    return tree, "whole"


def _below(name: str, tree: Node) -> Node:
    return Node({name: tree}, tree.source, tree.line)
