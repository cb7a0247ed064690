"""Patterns for finding files and text that cannot run away: globs, and regular expressions with bounded matching."""

from collections.abc import Callable

from ..errors import ToolError

_BACKTRACKS = 10_000
_SPECIAL = frozenset("\\^$.|?*+()[]{}")


def line_matcher(pattern: str, ignore_case: bool) -> tuple[Callable[[str], bool], bool]:
    """A test for one line, and whether the pattern was taken as plain text (because it is no regular expression, or has nothing of one).

    Python's own `re` can take for ever on `(a+)+$` and holds the interpreter meanwhile, so that no thread and no time limit
    helps. The engine inside jsonschema_rs is linear, and with back-references or look-around stops after a number of steps;
    a line that needs more does not match.
    """
    if not pattern:
        raise ToolError("the pattern is empty")
    if not _SPECIAL.isdisjoint(pattern):
        import jsonschema_rs

        try:
            options = jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACKS)
            validator = jsonschema_rs.validator_for({"pattern": f"(?i){pattern}" if ignore_case else pattern}, pattern_options=options)
        except ValueError:  # its ValidationError: no regular expression
            pass
        else:
            return validator.is_valid, False
    if ignore_case:
        folded = pattern.casefold()
        return lambda line: folded in line.casefold(), True
    return lambda line: pattern in line, True


def not_regular(pattern: str) -> str:
    """Why a pattern that has something of a regular expression is none, in a few words; "" where it has nothing of one."""
    if _SPECIAL.isdisjoint(pattern):
        return ""
    import re

    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return str(error)
    return "the search does not know a part of it"


def path_matcher(pattern: str) -> Callable[[str], bool]:
    """A test for a path relative to where the search began.

    `*` and `?` stay within one name, `**` spans any number of directories, `[…]` is a set of characters and `{a,b}` a choice.
    Without a slash the pattern is for the name alone, at any depth.
    """
    pattern = pattern.removeprefix("./")
    if not pattern:
        raise ToolError("the pattern is empty")
    if pattern.startswith("/") or ".." in pattern.split("/"):
        raise ToolError("the pattern is relative to `path`; put the directory there")
    import jsonschema_rs

    try:
        whole = jsonschema_rs.validator_for({"pattern": f"^(?:{_regex(pattern)})$"}, pattern_options=jsonschema_rs.RegexOptions())
    except ValueError:  # its ValidationError: a set of characters like [z-a]
        raise ToolError(f"{pattern!r} is no pattern for file names") from None
    if "/" in pattern:
        return lambda path: whole.is_valid(_text(path))
    return lambda path: whole.is_valid(_text(path.rpartition("/")[2]))


def _text(path: str) -> str:
    """The path with U+FFFD for bytes that are no UTF-8."""
    return path.encode(errors="surrogateescape").decode(errors="replace")


def _regex(pattern: str) -> str:
    parts: list[str] = []
    depth, i = 0, 0
    while i < len(pattern):
        char, i = pattern[i], i + 1
        if char == "*" and pattern[i : i + 1] == "*":
            i += 1
            if pattern[i : i + 1] == "/":
                parts.append("(?:[^/]+/)*")
                i += 1
            else:
                parts.append("[\\s\\S]*")
        elif char == "*":
            parts.append("[^/]*")
        elif char == "?":
            parts.append("[^/]")
        elif char == "[" and "]" in pattern[i + 1 :]:
            end = pattern.index("]", i + 1)
            chosen = pattern[i:end].replace("\\", "\\\\").replace("[", "\\[")
            parts.append("[^" + chosen[1:] + "/]" if chosen[0] in "!^" else f"[{chosen}]")
            i = end + 1
        elif char == "{" and "}" in pattern[i:]:
            depth += 1
            parts.append("(?:")
        elif char == "}" and depth:
            depth -= 1
            parts.append(")")
        elif char == "," and depth:
            parts.append("|")
        else:
            parts.append(f"\\{char}" if char in _SPECIAL else char)
    return "".join(parts) + ")" * depth
