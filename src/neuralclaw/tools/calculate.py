"""`calculate`: arithmetic without running code."""

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

from ..errors import ToolError
from ..tool import tool
from ..types.arithmetic import NotArithmetic, Operators, evaluate

_MAX_CHARS = 1_000
_MAX_BITS = 40_000  # about 12,000 digits: more is no answer a person reads

_SPELLINGS = {ord("^"): "**", ord("×"): "*", ord("·"): "*", ord("÷"): "/", ord("−"): "-"}
_CONSTANTS = {"pi": math.pi, "e": math.e, "tau": math.tau}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sqrt": lambda x: math.isqrt(x) if isinstance(x, int) and x >= 0 and math.isqrt(x) ** 2 == x else math.sqrt(x),
    "abs": abs,
    "round": lambda x, digits=0: _round(x, digits),
    "min": min,
    "max": max,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "log": math.log,
    "log10": math.log10,
    "log2": math.log2,
    "exp": math.exp,
    "floor": math.floor,
    "ceil": math.ceil,
}


@tool(risk="LOW", effect="pure", category="utility", instant=True)
def calculate(expression: str) -> str:
    """Calculate an arithmetic expression. Use it for every calculation with more than small numbers; it runs no code.

    There are + - * / // % ** (or ^), parentheses, sqrt, abs, round, min, max, sin, cos, tan (in radians), log, log10, log2, exp,
    floor, ceil, pi, e and tau. Whole numbers are exact; others are shown with 12 significant digits.
    Example: {"expression": "(3 + 4) * 2"}

    Args:
        expression: At most 1,000 characters, without words or units.
    """
    if len(expression) > _MAX_CHARS:
        raise ToolError(f"the expression has {len(expression):,} characters; at most {_MAX_CHARS:,} are calculated")
    try:
        return _text(evaluate(expression.translate(_SPELLINGS), _OPERATORS))
    except NotArithmetic as error:
        raise ToolError(_why(error, expression)) from None
    except ZeroDivisionError:
        raise ToolError(f"{_shown(expression)} divides by zero") from None
    except OverflowError:
        raise ToolError(f"the result of {_shown(expression)} is too large") from None
    except (ValueError, TypeError) as error:
        raise ToolError(f"{_shown(expression)} has no result: {error}") from None


def _why(error: NotArithmetic, expression: str) -> str:
    """What the model is told about an expression that is none."""
    match error.kind:
        case "syntax":
            return f"{_shown(expression)} is not an arithmetic expression: {error.part}"
        case "depth":
            return "the expression is nested too deeply"
        case "name":
            return f"unknown name {error.part!r}; there are {', '.join([*_CONSTANTS, *_FUNCTIONS])}"
        case "function":
            return f"unknown function {error.part!r}; there are {', '.join(_FUNCTIONS)}"
        case "part":
            return f"{_shown(error.part)} is not arithmetic; numbers, + - * / // % **, parentheses and {', '.join(_FUNCTIONS)} are"


def _power(base: Any, exponent: Any) -> Any:
    # Judged before it is calculated: the size of an integer power is known from its parts.
    if isinstance(base, int) and isinstance(exponent, int) and exponent > 0 and abs(base) > 1 and base.bit_length() * exponent > _MAX_BITS:
        raise OverflowError
    result = base**exponent
    if isinstance(result, complex):
        raise ValueError("a root of a negative number is not real")
    return result


def _round(value: Any, digits: int) -> Any:
    if abs(digits) > 1_000:
        raise ValueError("round takes at most 1,000 digits")
    return round(value, digits) if digits else round(value)


def _bounded(value: Any) -> Any:
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        raise OverflowError
    return value


_OPERATORS = Operators(
    binary={
        ast.Add: operator.add,
        ast.Sub: operator.sub,
        ast.Mult: operator.mul,
        ast.Div: operator.truediv,
        ast.FloorDiv: operator.floordiv,
        ast.Mod: operator.mod,
        ast.Pow: _power,
    },
    unary={ast.UAdd: operator.pos, ast.USub: operator.neg},
    bound=_bounded,
    constants=_CONSTANTS,
    functions=_FUNCTIONS,
)


def _text(value: Any) -> str:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise OverflowError
        # 12 digits hide the error of binary fractions: 0.1 + 0.2 is 0.3. A float that is whole is shown as such.
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else format(value, ".12g")
    return _digits(value)


def _digits(value: int) -> str:
    """An integer in decimal, also beyond the 4,300 digits that `str` allows."""
    sign, value, parts = ("-" if value < 0 else ""), abs(value), []
    while value >= 10**4_000:
        value, part = divmod(value, 10**4_000)
        parts.append(str(part).zfill(4_000))
    return sign + str(value) + "".join(reversed(parts))


def _shown(expression: str) -> str:
    return repr(expression if len(expression) <= 80 else expression[:80] + "…")
