"""Regular expressions from outside, matched by RE2 in time linear in the text.

A model, a person or a server may give a pattern like `(a+)+$`, which Python's `re` tries for ever while it holds the interpreter. RE2 has no
such pattern, and for that reason neither look-around nor back references. Its `\\w`, `\\d`, `\\s` and `\\b` know ASCII alone, where a person means
letters: they are written anew here for all of Unicode. A `\\b` that is neither at the beginning nor at the end of an alternative stays ASCII.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..errors import ToolError

if TYPE_CHECKING:
    LinearPattern = Any  # re2 has no types

_MAX_MEMORY = 16 * 1024 * 1024  # bytes: `\\w{1,300}` needs more than the 8 MB that RE2 takes by itself

_WORD = r"\pL\pM\pN\p{Pc}"
_NO_WORD = r"\pC\pZ\pS\p{Pd}\p{Ps}\p{Pe}\p{Pi}\p{Pf}\p{Po}"
_SPACE = r"\s\x0b\x{85}\pZ"
_OUTSIDE = {
    "w": f"[{_WORD}]",
    "W": f"[^{_WORD}]",
    "d": r"\p{Nd}",
    "D": r"\P{Nd}",
    "s": f"[{_SPACE}]",
    "S": f"[^{_SPACE}]",
    "A": "^",
    "z": "$",
    "Z": "$",
}
_IN_CLASS = {"w": _WORD, "W": _NO_WORD, "d": r"\p{Nd}", "D": r"\P{Nd}", "s": _SPACE}
_BEFORE, _AFTER = f"(?:^|[^{_WORD}])", f"(?:$|[^{_WORD}])"
_BEGINS = r"(?:\((?:\?[imsU]*:|\?P?<\w+>)?)*\[?(?:\\[wd]|\w)"
"""A part of a pattern that begins with a letter or digit, within parentheses too."""
_ENDS = r"(?:(?<!\\)\w|\\[wd])[+*?)]*$"
_FLAGS = r"\(\?[imsU]+\)"
_TOKEN = r"\\Q.*?(?:\\E|$)|\\u[0-9A-Fa-f]{4}|\\.|\[:\^?\w+:\]|\[\^?\]?|."
_RETURNS = rb"(?<!\r)\r+$"

_GROUPS = {
    "(?=": "look-ahead",
    "(?!": "look-ahead",
    "(?<=": "look-behind",
    "(?<!": "look-behind",
    "(?>": "an atomic group",
    "(?(": "a condition",
    "(?#": "a comment",
    "(?P": "a back reference by name",
    "(?x": "spaces and comments in a pattern",
}


class NotRegular(ValueError):
    """The text is no regular expression; the message says why in a few words."""


def compile_pattern(pattern: str, *, ignore_case: bool = False) -> "LinearPattern":
    """The pattern for lines of UTF-8: `^` and `$` are where a line begins and ends, and nothing matches a line feed.

    Raises `NotRegular`, and `ToolError` for what other engines know and RE2 does not: it names that part.
    """
    return _compile(_for_unicode(pattern), case_sensitive=not ignore_case)


def compile_whole(pattern: str) -> "LinearPattern":
    """A pattern that the caller made, as it is. Raises `NotRegular`."""
    return _compile(pattern)


def matching_lines(pattern: "LinearPattern", data: bytes) -> Iterator[tuple[int, bytes]]:
    """Lines of UTF-8 text that match, each with its number from 1; carriage returns at their ends do not belong to them."""
    number, place = 1, 0
    data = re.sub(_RETURNS, b"", data, flags=re.MULTILINE)
    while place <= len(data) and (match := pattern.search(data, place)) is not None:
        start = data.rfind(b"\n", place, match.start()) + 1 or place
        end = data.find(b"\n", match.end())
        end = len(data) if end < 0 else end
        number += data.count(b"\n", place, start)
        yield number, data[start:end]
        number, place = number + 1, end + 1


def _compile(pattern: str, *, case_sensitive: bool = True) -> "LinearPattern":
    import re2  # type: ignore[import-untyped]  # 2 ms, needed where a pattern is used

    options = re2.Options()
    options.log_errors = False  # else it writes to standard error
    options.never_nl = True
    options.case_sensitive = case_sensitive
    options.max_mem = _MAX_MEMORY
    try:
        compiled = re2.compile(f"(?m){pattern}", options=options)
        re2.purge()  # its cache would keep 128 of them
        return compiled
    except UnicodeEncodeError:
        raise NotRegular("it holds half a character") from None
    except re2.error as error:
        why = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error)
        raise _refused(why.replace("(?m)", "", 1)) from None


def _refused(why: str) -> Exception:
    """What to raise for RE2's own message: an error that names what it does not know, or that the text is no pattern at all."""
    kind, _, part = why.partition(": ")
    name = ""
    if kind == "invalid perl operator":
        name = _GROUPS.get(part, "this kind of group")
    elif kind == "invalid escape sequence" and part[1:] in ("k", "g", *"123456789"):
        name = "a back reference"
    elif kind == "bad repetition operator" and part.endswith("+") and part[0] in "+*?{":
        name = "a possessive repetition"
    elif kind == "invalid repetition size" and _ascends(part):
        name = "a repetition of more than 1,000"
    elif kind.startswith("pattern too large"):
        name, part = "a pattern as large as this", ""
    if not name:
        return NotRegular(why)
    shown = f"{name}: {part}" if part else name
    return ToolError(
        f"the pattern has what the search does not know, {shown}", hint="write it without; patterns are those of RE2, which need no more than linear time"
    )


def _ascends(size: str) -> bool:
    least, comma, most = size.strip("{}").partition(",")
    return not (comma and most) or int(least) <= int(most)


def _for_unicode(pattern: str) -> str:
    """The pattern with classes and boundaries that know all letters."""
    parts: list[str] = []
    depth, in_class = 0, False
    flags = re.match(_FLAGS, pattern)
    first = flags.end() if flags is not None else 0
    for token in re.finditer(_TOKEN, pattern, re.DOTALL):
        text = token.group()
        if text == r"\C":
            raise ToolError(r"the pattern has what the search does not know, a single byte: \C")
        if text.startswith("\\u") and len(text) == 6:
            text = f"\\x{{{text[2:]}}}"
        elif text == r"\b" and not in_class:
            text = _boundary(pattern, token, begins=token.start() == first or parts[-1:] == ["|"]) if depth == 0 else text
        elif text.startswith("\\") and len(text) == 2:
            text = (_IN_CLASS if in_class else _OUTSIDE).get(text[1], text)
        elif in_class:
            in_class = text != "]"
        elif text.startswith("["):
            in_class = not text.endswith(":]")
        else:
            depth += (text == "(") - (text == ")")
        parts.append(text)
    return "".join(parts)


def _boundary(pattern: str, token: "re.Match[str]", *, begins: bool) -> str:
    """A `\\b` at an end of an alternative takes in the character beyond it: for the question whether a line matches that is the same."""
    if begins and re.compile(_BEGINS).match(pattern, token.end()):
        return _BEFORE
    if pattern[token.end() : token.end() + 1] in ("", "|") and re.search(_ENDS, pattern[max(token.start() - 20, 0) : token.start()]):
        return _AFTER
    return r"\b"
