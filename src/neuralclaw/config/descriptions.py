"""What is said about each key of the settings: the docstring under it, read from the source of its struct."""

from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any, get_args

import msgspec

from .describe import field_types


@cache
def descriptions(kind: type[msgspec.Struct]) -> dict[str, str]:
    """Key -> what its docstring says, on one line; those of the structs it is derived from too. Empty where there is no source to read."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if issubclass(base, msgspec.Struct) and base is not msgspec.Struct:
            found |= _own(base)
    return found


def _own(kind: type[msgspec.Struct]) -> dict[str, str]:
    import ast  # these three cost 10 ms, and every start imports this module
    import inspect
    import textwrap

    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError, SyntaxError):  # made at run time, or installed without its source
        return {}
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    found = {}
    for key, below in pairwise(body):
        if isinstance(key, ast.AnnAssign) and isinstance(key.target, ast.Name) and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            found[key.target.id] = " ".join(str(below.value.value).split())
    return found


def structs(kind: Any) -> Iterator[type[msgspec.Struct]]:
    """A section and every section below it, each as often as it occurs."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
        for inner in field_types(kind).values():
            yield from structs(inner)
    else:
        for inner in get_args(kind):
            yield from structs(inner)
