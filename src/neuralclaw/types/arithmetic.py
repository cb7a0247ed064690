"""Arithmetic that is in a text, worked out without running code. Who asks says which operators, names and functions there are, and how large a
value may become: the calculator and the analysis of command lines read the same grammar (Python's, by `ast`) and have different operators.
"""

import ast
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

MAX_DEPTH = 100


class NotArithmetic(ValueError):
    """The text is no arithmetic: it cannot be read (`syntax`), is nested too deeply (`depth`), or has a `part` that is not known (`name`, `function`,
    or any other, `part`)."""

    def __init__(self, kind: Literal["syntax", "depth", "name", "function", "part"], part: str) -> None:
        super().__init__(part)
        self.kind, self.part = kind, part


class Operators(msgspec.Struct, frozen=True, kw_only=True):
    """What an expression may hold. `bound` gets every value that is read or worked out, and raises `OverflowError` for one that is too large."""

    binary: Mapping[type[ast.operator], Callable[[Any, Any], Any]]
    unary: Mapping[type[ast.unaryop], Callable[[Any], Any]]
    bound: Callable[[Any], Any]
    constants: Mapping[str, float] = {}
    functions: Mapping[str, Callable[..., Any]] = {}


def evaluate(text: str, operators: Operators) -> Any:
    """The value of one expression: whole numbers are exact.

    The time for reading grows with the text, which the caller keeps short. Raises `NotArithmetic`, `ZeroDivisionError`, `OverflowError`, and
    what the functions raise for their arguments.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotArithmetic("syntax", str(getattr(error, "msg", None) or error)) from None
    return _value(tree.body, operators, MAX_DEPTH)


def _value(node: ast.expr, known: Operators, depth: int) -> Any:
    if depth < 0:
        raise NotArithmetic("depth", "")
    match node:
        case ast.Constant(value=bool() | None):
            pass
        case ast.Constant(value=int() | float() as number):
            return known.bound(number)
        case ast.UnaryOp() if type(node.op) in known.unary:
            return known.bound(known.unary[type(node.op)](_value(node.operand, known, depth - 1)))
        case ast.BinOp() if type(node.op) in known.binary:
            return known.bound(known.binary[type(node.op)](_value(node.left, known, depth - 1), _value(node.right, known, depth - 1)))
        case ast.Name() if node.id in known.constants:
            return known.constants[node.id]
        case ast.Name():
            raise NotArithmetic("name", node.id)
        case ast.Call(func=ast.Name() as name, keywords=[]) if name.id in known.functions:
            return known.bound(known.functions[name.id](*[_value(argument, known, depth - 1) for argument in node.args]))
        case ast.Call(func=ast.Name() as name) if name.id not in known.functions:
            raise NotArithmetic("function", name.id)
    raise NotArithmetic("part", _source(node))


def _source(node: ast.expr) -> str:
    try:
        return ast.unparse(node)
    except RecursionError:
        raise NotArithmetic("depth", "") from None
