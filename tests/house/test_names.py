"""One name, one thing: a type or a file is found by its name alone."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable

from .source import Module, modules

# File names that stand in several rooms: {"file": "why"}.
SHARED_FILE_NAMES = {
    "facts": "the values of what was looked up, and the look-up",
    "journal": "the journal as a turn sees it, and as the store writes it",
    "patterns": "patterns of a search, and those of the shell's analysis",
    "questions": "the values of questions, and how the gate words one",
    "sentences": "what happened, for every kind of event, and what an analysis of a command found",
    "sessions": "`neuralclaw sessions`, and the sessions that this process drives",
    "tools": "`neuralclaw tools`, and the values of tools",
    "verbs": "the table of verbs, and the way of a command to it",
}


def type_names_used_twice(source: Iterable[Module]) -> list[str]:
    """Each name that two types have, with the files: classes, nested ones too, and names in CamelCase that a module assigns."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for module in source:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(module.path)
        for node in module.tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
            for target in targets:
                if isinstance(target, ast.Name) and re.fullmatch(r"_?[A-Z]\w*[a-z]\w*", target.id):
                    found[target.id].append(module.path)
    return [f"{name}: {', '.join(paths)}" for name, paths in sorted(found.items()) if len(paths) > 1]


def file_names(source: Iterable[Module]) -> dict[str, list[str]]:
    """The files of each name, packages (`__init__.py`) left out."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for module in source:
        name = module.path.rpartition("/")[2].removesuffix(".py")
        if name != "__init__":
            found[name].append(module.path)
    return found


def test_a_type_name_means_one_type() -> None:
    assert type_names_used_twice(modules()) == []


def test_a_file_name_means_one_file() -> None:
    twice = {name: paths for name, paths in file_names(modules()).items() if len(paths) > 1}
    assert {name: paths for name, paths in twice.items() if name not in SHARED_FILE_NAMES} == {}


def test_every_shared_file_name_is_still_shared() -> None:
    found = file_names(modules())
    assert [name for name in SHARED_FILE_NAMES if len(found.get(name, [])) < 2] == []


def test_two_types_of_one_name_are_noticed_in_one_file_and_in_two() -> None:
    def module(path: str, text: str) -> Module:
        return Module("neuralclaw.x", "x", path, text, ast.parse(text))

    one, two = module("x/one.py", "class Line: ...\nclass Word:\n    class Part: ..."), module("x/two.py", "class Line: ...\nclass Part: ...")
    assert type_names_used_twice([one, two]) == ["Line: x/one.py, x/two.py", "Part: x/one.py, x/two.py"]
    assert type_names_used_twice([module("x/one.py", "class Line: ...\nclass Line: ...")]) == ["Line: x/one.py, x/one.py"]
    assert type_names_used_twice([one]) == []
    alias = module("x/three.py", "Line = list[str]\nLINE = 3\nPART: int = 4")
    assert type_names_used_twice([one, alias]) == ["Line: x/one.py, x/three.py"]
    assert type_names_used_twice([alias, module("x/four.py", "Line: type[int] = int\nLINE = 5")]) == ["Line: x/three.py, x/four.py"]
