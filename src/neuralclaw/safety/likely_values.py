"""What `${…}` may become, worked out roughly: nothing is called safe by it. A command is also judged for what it would be with this value."""

import re
from collections.abc import Callable
from fnmatch import fnmatchcase

from .lazy_regex import lazy_pattern

MAX_VALUE = 1_000
"""Characters of a value that is worked on."""
_FORM = lazy_pattern(r"(!?)([A-Za-z_]\w*|\d+)(?:\[([^\]]*)\])?(.*)", re.DOTALL)
_NAMED = lazy_pattern(r"\$\{?(\w+)\}?")
_SLICE = lazy_pattern(r":\s*(-?\d+)\s*(?::\s*(-?\d+))?")


def likely_value(source: str, text_of: Callable[[str], str]) -> str:
    """The value of an expansion, "" where it cannot be said; `text_of` gives that of a variable."""
    found = _FORM.fullmatch(source[2:-1])
    if found is None:
        return ""
    indirect, name, index, rest = found.groups()
    value = text_of(name)[:MAX_VALUE]
    if indirect:
        value = text_of(value)
    if index is not None and index.isdigit():
        value = next(iter(value.split()[int(index[:6]) : int(index[:6]) + 1]), "")
    rest = re.sub(r"[\\'\"]", "", _NAMED.sub(lambda match: text_of(match.group(1)), rest[:MAX_VALUE]))
    return _changed(value, rest)


def _changed(value: str, operator: str) -> str:
    if operator[:1] in (",", "^"):
        return value.lower() if operator[0] == "," else value.upper()
    if operator[:1] in ("#", "%"):
        return _stripped(value, operator[0], operator.lstrip(operator[0]))
    if operator[:1] == "/":
        pattern, _, other = operator.lstrip("/").lstrip("#%").partition("/")
        return value.replace(pattern, other, -1 if operator.startswith("//") else 1) if pattern else value
    cut = _SLICE.fullmatch(operator)
    if cut is None:
        return value
    start, length = int(cut.group(1)[:6]), cut.group(2)
    return value[start:] if length is None else value[start:][: int(length[:6])]


def _stripped(value: str, side: str, pattern: str) -> str:
    """The value without the shortest beginning, or end, that fits the pattern."""
    for size in range(len(value) + 1):
        if side == "#" and fnmatchcase(value[:size], pattern):
            return value[size:]
        if side == "%" and fnmatchcase(value[len(value) - size :], pattern):
            return value[: len(value) - size]
    return value
