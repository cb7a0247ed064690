"""Text between two delimiters as `sed` and `awk` cut it: a regular expression whose end every implementation finds at the same place."""

import re
from functools import cache

from .lazy_regex import lazy_pattern

DELIMITERS = frozenset("/|,#@:!%_~+=-;")
"""Characters that may stand around an expression of sed. What a letter, a blank or a bracket ends is read in more than one way."""

CONTROL = lazy_pattern(r"[\x00-\x08\x0b-\x1f\x7f]")
"""Characters that some implementation takes for the end of a line."""


@cache
def _body(delimiter: str) -> re.Pattern[str]:
    cut = re.escape(delimiter)
    inner = rf"\[:\w+:\]|\\[^\]\[\n]|[^\]\[\\\n{cut}]"
    return re.compile(rf"(?:\\[^\n]|\[\^?(?:\](?:{inner})*|(?!\^)(?:{inner})+)\]|[^\[\\\n{cut}])*{cut}")


@cache
def _text(delimiter: str) -> re.Pattern[str]:
    cut = re.escape(delimiter)
    return re.compile(rf"(?:\\[^\n]|[^\\\n{cut}])*{cut}")


def after_expression(text: str, place: int, delimiter: str = "/") -> int | None:
    """The place behind the closing delimiter of the expression that begins at `place`. None: it has no end in its line, or a bracket in it holds the
    delimiter, a bracket or an escape that implementations read differently."""
    found = _body(delimiter).match(text, place)
    return None if found is None else found.end()


def after_text(text: str, place: int, delimiter: str) -> int | None:
    """The same for text in which brackets mean nothing: what an expression is replaced with."""
    found = _text(delimiter).match(text, place)
    return None if found is None else found.end()
