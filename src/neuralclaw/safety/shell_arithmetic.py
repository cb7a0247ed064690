"""The value of `$((…))`, where it is surely known before the shell works it out."""

import ast
import operator

from ..types.arithmetic import NotArithmetic, Operators, evaluate
from .lazy_regex import lazy_pattern

_PLAIN = lazy_pattern(r"[0-9+*/%()\s-]{1,80}")


def _quotient(a: int, b: int) -> int:
    """Division as in C: what is left over keeps the sign of `a`."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _bound(value: int) -> int:
    if not -(2**63) <= value < 2**63:
        raise OverflowError  # the shell continues with the lowest 64 bits
    return value


OPERATORS = Operators(
    binary={ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: _quotient, ast.Mod: lambda a, b: a - b * _quotient(a, b)},
    unary={ast.UAdd: operator.pos, ast.USub: operator.neg},
    bound=_bound,
)


def shell_number(text: str) -> int | None:
    """The value of plain whole numbers with `+ - * / %` and parentheses, or None: for variables, assignments, subscripts, other operators, octal
    numbers, more than 64 bits, and all else that means in a shell what it means nowhere else."""
    if not _PLAIN.fullmatch(text):
        return None
    try:
        value: int = evaluate(text, OPERATORS)
    except (NotArithmetic, ZeroDivisionError, OverflowError):
        return None
    return value
