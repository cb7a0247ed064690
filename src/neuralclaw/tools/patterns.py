"""Patterns for finding files and text that cannot run away: globs and regular expressions, both matched in linear time."""

from collections.abc import Callable, Iterator

from ..errors import ToolError
from .regex import NotRegular, compile_pattern, compile_whole, matching_lines

_SPECIAL = frozenset("\\^$.|?*+()[]{}")


class LineSearch:
    """The search for one pattern in the lines of texts. `why_plain`: why it is searched as plain text; "" for a regular expression, and for a pattern
    that has nothing of one. Raises `ToolError` for an empty pattern, and for one with parts that the search does not know."""

    def __init__(self, pattern: str, *, ignore_case: bool = False) -> None:
        if not pattern:
            raise ToolError("the pattern is empty")
        self.plain, self.why_plain = True, ""
        self._text, self._ignore_case = pattern.casefold() if ignore_case else pattern, ignore_case
        if not _SPECIAL.isdisjoint(pattern):
            try:
                self._pattern = compile_pattern(pattern, ignore_case=ignore_case)
                self.plain = False
            except NotRegular as error:
                self.why_plain = str(error)

    def hits(self, text: str) -> Iterator[tuple[int, str]]:
        """The lines that match, with their numbers from 1."""
        if self.plain:
            return self._holding(text)
        return ((number, line.decode()) for number, line in matching_lines(self._pattern, text.encode()))

    def _holding(self, text: str) -> Iterator[tuple[int, str]]:
        for number, line in enumerate(text.split("\n"), 1):
            line = line.rstrip("\r")
            if self._text in (line.casefold() if self._ignore_case else line):
                yield number, line


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
    try:
        whole = compile_whole(_regex(pattern))
    except NotRegular:  # a set of characters like [z-a]
        raise ToolError(f"{pattern!r} is not a pattern for file names") from None
    if "/" in pattern:
        return lambda path: whole.fullmatch(_utf8(path)) is not None
    return lambda path: whole.fullmatch(_utf8(path.rpartition("/")[2])) is not None


def _utf8(path: str) -> bytes:
    """The path with U+FFFD for bytes that are no UTF-8, and for line feeds, which no pattern matches."""
    return path.encode(errors="surrogateescape").decode(errors="replace").replace("\n", "\ufffd").encode()


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
