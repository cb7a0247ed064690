"""The package's source as syntax trees, and what they say about imports and functions."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "neuralclaw"
SRC = ROOT / "src" / PACKAGE
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Module(NamedTuple):
    """One file: `name` is dotted, `room` the part under the package ("" for the package itself), `path` is relative to the package."""

    name: str
    room: str
    path: str
    text: str
    tree: ast.Module

    @property
    def package(self) -> str:
        """What a relative import of one dot starts from."""
        return self.name if self.path.endswith("__init__.py") else self.name.rpartition(".")[0]


class Import(NamedTuple):
    """One imported thing, `neuralclaw.types.grants.Grant` or `os.path`; `where` is file:line."""

    target: str
    where: str
    inside: bool


@cache
def modules() -> tuple[Module, ...]:
    """Every module of the package, in the order of their paths."""
    found = []
    for file in sorted(SRC.rglob("*.py")):
        parts = file.relative_to(SRC).with_suffix("").parts
        inner = parts[:-1] if parts[-1] == "__init__" else parts
        text = file.read_text(encoding="utf-8")
        found.append(Module(".".join((PACKAGE, *inner)), inner[0] if inner else "", file.relative_to(SRC).as_posix(), text, ast.parse(text)))
    return tuple(found)


@cache
def files_of_tests() -> tuple[tuple[str, str], ...]:
    """Path and text of every test file but those of this room, which name what they forbid."""
    tests = ROOT / "tests"
    return tuple(
        (file.relative_to(ROOT).as_posix(), file.read_text(encoding="utf-8")) for file in sorted(tests.rglob("*.py")) if file.parent != tests / "house"
    )


def functions(tree: ast.AST, outer: str = "") -> Iterator[tuple[str, Function]]:
    """Every function with its dotted name inside the file, nested ones too."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Function):
            yield f"{outer}{node.name}", node
            yield from functions(node, f"{outer}{node.name}.")
        elif isinstance(node, ast.ClassDef):
            yield from functions(node, f"{outer}{node.name}.")
        else:
            yield from functions(node, outer)


def nodes(module: Module, outer: ast.AST | None = None, within: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Every node with the dotted name of the innermost function around it ("" at the top)."""
    for node in ast.iter_child_nodes(outer or module.tree):
        here = f"{within}.{node.name}".lstrip(".") if isinstance(node, Function | ast.ClassDef) else within
        yield within, node
        yield from nodes(module, node, here)


def imports(module: Module) -> Iterator[Import]:
    """Everything the module imports, relative ones made absolute, those under TYPE_CHECKING and in functions too."""
    inside = {id(node) for _, function in functions(module.tree) for node in ast.walk(function)}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = module.package.split(".")
                base = ".".join([*above[: len(above) - node.level + 1], *([base] if base else [])])
            targets = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        for target in targets:
            yield Import(target, f"{module.path}:{node.lineno}", id(node) in inside)


def own(target: str) -> str | None:
    """The module of this package that an import reaches, or None for somebody else's."""
    names = {module.name for module in modules()}
    while target and target not in names:
        target = target.rpartition(".")[0]
    return target or None


def room(name: str) -> str:
    """`store` for `neuralclaw.store.entry_writer`, "" for the package itself."""
    return name.split(".")[1] if "." in name else ""
