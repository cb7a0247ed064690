"""`calculate` and `echo`."""

import math
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralclaw.errors import ToolError
from neuralclaw.tools.calculate import calculate
from neuralclaw.tools.registry import Registry

from .grants import call

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("2 + 3 * 4", "14"),
        ("(2 + 3) * 4", "20"),
        ("0.1 + 0.2", "0.3"),
        ("7 / 2", "3.5"),
        ("6 / 2", "3"),
        ("7 // 2", "3"),
        ("-7 % 3", "2"),
        ("2 ** 10", "1024"),
        ("2^10", "1024"),
        ("2 ** -1", "0.5"),
        ("2 ** 200", str(2**200)),
        ("3 × 4 ÷ 2 − 1", "5"),
        ("sqrt(16)", "4"),
        ("sqrt(2)", "1.41421356237"),
        ("round(2.567, 2)", "2.57"),
        ("round(2.5)", "2"),
        ("max(1, 2.5, -3)", "2.5"),
        ("abs(-3)", "3"),
        ("sin(pi / 2)", "1"),
        ("log(e)", "1"),
        ("log(8, 2)", "3"),
        ("log10(1000)", "3"),
        ("floor(-2.5) + ceil(2.1)", "0"),
        ("1e20", "1e+20"),
        ("1/3", "0.333333333333"),
        ("1_000 * 2", "2000"),
        ("  5 ", "5"),
        ("1 ** 1000000000", "1"),
    ],
)
async def test_arithmetic_is_right(registry: Registry, tmp_path: Path, expression: str, expected: str) -> None:
    assert (await call(registry, tmp_path, "calculate", expression=expression)).content == expected


@pytest.mark.parametrize(
    ("expression", "match"),
    [
        ("1 / 0", "divides by zero"),
        ("0 ** -1", "divides by zero"),
        ("9 ** 9 ** 9 ** 9", "too large"),
        ("10 ** 100000", "too large"),
        ("2 ** 39999 * 2 ** 39999", "too large"),
        ("10.0 ** 400", "too large"),
        ("exp(1000)", "too large"),
        ("1e999", "too large"),
        ("sqrt(-1)", "has no result"),
        ("(-8) ** 0.5", "not real"),
        ("log(0)", "has no result"),
        ("max()", "has no result"),
        ("round(5, -10000000000)", "at most 1,000 digits"),
        ("round(1, 0.5)", "has no result"),
        ("", "not an arithmetic expression"),
        ("2 +", "not an arithmetic expression"),
        ("x + 1", "unknown name 'x'"),
        ("foo(1)", "unknown function 'foo'"),
        ("__import__('os')", "unknown function '__import__'"),
        ("(1).real", "is not arithmetic"),
        ("'a' * 9", "is not arithmetic"),
        ("[1] * 9", "is not arithmetic"),
        ("True + 1", "is not arithmetic"),
        ("1j", "is not arithmetic"),
        ("lambda: 1", "is not arithmetic"),
        ("max(1, key=abs)", "is not arithmetic"),
        ("max(*[1])", "is not arithmetic"),
        ("1 if 1 else 2", "is not arithmetic"),
        ("-" * 900 + "1", "nested too deeply|not arithmetic"),
        ("(" * 400 + "1" + ")" * 400, "not an arithmetic expression|nested too deeply"),
        ("[" + "-" * 900 + "1]", "nested too deeply|not arithmetic"),
        ("1+" * 600 + "1", "at most 1,000"),
    ],
)
async def test_what_cannot_be_calculated_is_said(registry: Registry, tmp_path: Path, expression: str, match: str) -> None:
    began = time.monotonic()
    with pytest.raises(ToolError, match=match) as caught:
        await call(registry, tmp_path, "calculate", expression=expression)
    assert time.monotonic() - began < 20
    assert len(caught.value.text) < 300


@given(st.integers(), st.integers(), st.integers(min_value=1))
def test_whole_numbers_are_exact(a: int, b: int, c: int) -> None:
    assert calculate(f"({a}) * ({b}) + ({a}) // {c}") == str(a * b + a // c)


def test_long_whole_numbers_are_written_out() -> None:
    text = calculate("7 ** 12000")
    assert len(text) == math.floor(12000 * math.log10(7)) + 1
    assert (text[:4], text[-6:]) == (f"{7**12000 // 10 ** (len(text) - 4)}", f"{pow(7, 12000, 10**6):06}")
    assert calculate("0 - 7 ** 12000") == "-" + text


async def test_echo_gives_the_text_back(registry: Registry, tmp_path: Path) -> None:
    assert (await call(registry, tmp_path, "echo", text=" as it is\n")).content == " as it is\n"
