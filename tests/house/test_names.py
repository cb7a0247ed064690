"""One name, one thing: a class or a file is found by its name alone."""

import ast
from collections import defaultdict
from collections.abc import Iterable

from .source import Module, modules

# File names that stand in several rooms: {"file": "why"}.
SHARED_FILE_NAMES = {
    "journal": "the journal as a turn sees it, and as the store writes it",
    "patterns": "patterns of a search, and those of the shell's analysis",
    "sentences": "what happened, for every kind of event, and what an analysis of a command found",
    "sessions": "`neuralclaw sessions`, and the sessions that this process drives",
    "tools": "`neuralclaw tools`, and the values of tools",
    "verbs": "the table of verbs, and the way of a command to it",
}


def classes_named_twice(source: Iterable[Module]) -> list[str]:
    """Each name that two classes have, nested ones too, with the files."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for module in source:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(module.path)
    return [f"{name}: {', '.join(paths)}" for name, paths in sorted(found.items()) if len(paths) > 1]


def file_names(source: Iterable[Module]) -> dict[str, list[str]]:
    """The files of each name, packages (`__init__.py`) left out."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for module in source:
        name = module.path.rpartition("/")[2].removesuffix(".py")
        if name != "__init__":
            found[name].append(module.path)
    return found


def test_a_class_name_means_one_class() -> None:
    assert classes_named_twice(modules()) == []


def test_a_file_name_means_one_file() -> None:
    twice = {name: paths for name, paths in file_names(modules()).items() if len(paths) > 1}
    assert {name: paths for name, paths in twice.items() if name not in SHARED_FILE_NAMES} == {}


def test_every_shared_file_name_is_still_shared() -> None:
    found = file_names(modules())
    assert [name for name in SHARED_FILE_NAMES if len(found.get(name, [])) < 2] == []


def test_two_classes_of_one_name_are_noticed_in_one_file_and_in_two() -> None:
    def module(path: str, text: str) -> Module:
        return Module("neuralclaw.x", "x", path, text, ast.parse(text))

    one, two = module("x/one.py", "class Line: ...\nclass Word:\n    class Part: ..."), module("x/two.py", "class Line: ...\nclass Part: ...")
    assert classes_named_twice([one, two]) == ["Line: x/one.py, x/two.py", "Part: x/one.py, x/two.py"]
    assert classes_named_twice([module("x/one.py", "class Line: ...\nclass Line: ...")]) == ["Line: x/one.py, x/one.py"]
    assert classes_named_twice([one]) == []
