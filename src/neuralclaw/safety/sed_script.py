"""Scripts of sed, parsed: the commands of a script that can only print. Any other command, and any spelling that two versions of sed may read differently,
is not understood."""

import re

from .delimited import CONTROL, DELIMITERS, after_expression, after_text
from .lazy_regex import lazy_pattern

_POSITION = lazy_pattern(r"\d+(?:~\d+)?|\$|[+~]\d+")
_ADDRESS_FLAGS = lazy_pattern(r"[ \t]*[IM]*")
_BLANK = lazy_pattern(r"[ \t]*")
_BETWEEN = lazy_pattern(r"[ \t\n;]*")
_PLAIN = lazy_pattern(r"[=dDFgGhHnNpPxz]|[lLqQ](?:[ \t]*\d+)?|[btT][ \t]*\w*(?=[ \t]*(?:[;\n]|\Z))")
_END = lazy_pattern(r"[ \t]*(?:[;\n]|(?=[}#])|\Z)")
_WHOLE_LINE = lazy_pattern(r"#[^\n]*(?:\n|\Z)|[aic][ \t]*[^\s\\][^\\\n]*(?:\n|\Z)")
_LABEL = lazy_pattern(r":[ \t]*\w+[ \t]*(?:[;\n]|\Z)")
_REPLACED_FLAGS = lazy_pattern(r"[gpiImM0-9]*")


def sed_only_reads(script: str) -> bool:
    """Whether a script of sed surely neither writes files, nor runs commands, nor reads files that it names."""
    if CONTROL.search(script) is not None:
        return False
    place = _after(_BETWEEN, script, 0)
    while place < len(script):
        end = _after_command(script, place)
        if end is None:
            return False
        place = _after(_BETWEEN, script, end)
    return True


def _after(pattern: re.Pattern[str], script: str, place: int) -> int:
    found = pattern.match(script, place)
    return place if found is None else found.end()


def _after_command(script: str, place: int) -> int | None:
    """The place behind one command with its addresses."""
    start = _after_addresses(script, place)
    if start is None or start >= len(script):
        return None
    letter = script[start]
    if letter == "{":
        return start + 1
    if letter in "#:" and start > place:
        return None
    whole = _WHOLE_LINE.match(script, start) or _LABEL.match(script, start)
    if whole is not None:
        return whole.end()
    if letter == "}":
        end: int | None = start + 1
    elif letter in "sy":
        end = _after_replacing(script, start)
    else:
        plain = _PLAIN.match(script, start)
        end = None if plain is None else plain.end()
    ended = None if end is None else _END.match(script, end)
    return None if ended is None else ended.end()


def _after_addresses(script: str, place: int) -> int | None:
    start = _after_address(script, place)
    if start is None or start == place:
        return start
    start = _after(_BLANK, script, start)
    if script.startswith(",", start):
        second = _after(_BLANK, script, start + 1)
        start = _after_address(script, second)
        if start is None or start == second:
            return None
        start = _after(_BLANK, script, start)
    return _after(_BLANK, script, start + 1) if script.startswith("!", start) else start


def _after_address(script: str, place: int) -> int | None:
    """The place behind one address; `place` itself where none begins there, None where its end is not sure."""
    if script.startswith("\\", place):
        delimiter = script[place + 1 : place + 2]
        end = after_expression(script, place + 2, delimiter) if delimiter in DELIMITERS else None
    elif script.startswith("/", place):
        end = after_expression(script, place + 1)
    else:
        return _after(_POSITION, script, place)
    return None if end is None else _after(_ADDRESS_FLAGS, script, end)


def _after_replacing(script: str, place: int) -> int | None:
    """The place behind `s/…/…/flags` or `y/…/…/`, whose flags do no more than replace."""
    delimiter = script[place + 1 : place + 2]
    if delimiter not in DELIMITERS:
        return None
    middle = (after_expression if script[place] == "s" else after_text)(script, place + 2, delimiter)
    end = None if middle is None else after_text(script, middle, delimiter)
    return end if end is None or script[place] == "y" else _after(_REPLACED_FLAGS, script, end)
