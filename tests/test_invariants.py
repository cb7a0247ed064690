"""The map between the invariants and the tests that prove them."""

import ast
from pathlib import Path

from .invariants import LATER, STANDING

TESTS = Path(__file__).parent


def marked() -> dict[str, list[str]]:
    """Ids by the tests that carry them, read from the decorators, so that a run of a part of the tests knows the whole map."""
    found: dict[str, list[str]] = {}
    for file in sorted(TESTS.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.invariant":
                    for given in mark.args:
                        found.setdefault(ast.literal_eval(given), []).append(f"{file.relative_to(TESTS).as_posix()}::{node.name}")
    return found


def test_every_invariant_that_stands_has_a_test() -> None:
    assert sorted(set(STANDING) - set(marked())) == []


def test_every_marker_names_an_invariant_that_stands() -> None:
    assert {name: places for name, places in marked().items() if name not in STANDING} == {}


def test_only_tests_carry_the_marker() -> None:
    assert [place for places in marked().values() for place in places if not place.rpartition("::")[2].startswith("test_")] == []


def test_an_invariant_stands_or_comes_later_and_not_both() -> None:
    assert set(STANDING) & set(LATER) == set()
