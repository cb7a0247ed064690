"""One name, one thing: a type or a file is found by its name alone."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable

from .source import Module, modules


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
    assert twice == {}


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
