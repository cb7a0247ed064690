"""Checks the examples of the owner's rules when settings are loaded."""

from functools import cache
from typing import Any

from .. import config
from ..safety.rule_examples import ExampleJudge
from ..safety.shell import analyse
from ..tools.builtin import internet_tools, own_tools, workspace_tools
from ..tools.file_formats import FileFormats
from ..types.tools import ToolSpec


def failed_examples(settings: config.Settings, person_home: str) -> list[tuple[str, str]]:
    """The examples that do not hold, as (key, what is wrong with it). Looks up nothing."""
    policy = config.policy(settings, own_data=(), person_home=person_home)
    found = ExampleJudge(policy, built_in_tools().get, analyse).failed(settings.safety.rules)
    return [(one.key, one.text) for one in found]


@cache
def built_in_tools() -> dict[str, ToolSpec]:
    """The built-in tools by all their names, as the gate judges them. They are never called."""
    unused: Any = None
    formats = FileFormats((), unused)
    made = [*workspace_tools(unused, unused, {}, formats=formats), *internet_tools(unused, formats), *own_tools(unused, unused)]
    return {name: tool.spec for tool in made for name in (tool.spec.name, *tool.spec.aliases)}
