"""Help as wide as the terminal that it is printed at."""

import os
import sys

_BELOW = 6
"""Spaces before a text that stands below its name, where beside it there is no room."""


def columns() -> int:
    """Cells of a line of standard output; 0 where it is no terminal or one that does not say."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns if sys.stdout.isatty() else 0
    except (OSError, ValueError):  # no descriptor, or none any more
        return 0


def fitted(text: str, width: int) -> str:
    """The text with lines of at most `width` cells (0: as they are), broken between words. What stands behind a name and two spaces goes on below itself."""
    if not width or all(len(line) <= width for line in text.split("\n")):
        return text
    return "\n".join(part for line in text.split("\n") for part in _fitted(line, width))


def _fitted(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    margin = len(line) - len(line.lstrip(" "))
    name, gap, rest = line[margin:].partition("  ")
    if not gap or not margin:
        return _filled(line[margin:].split(), " " * margin, " " * margin, width)
    beside = len(line) - len(rest.lstrip(" "))
    if beside > width // 2:
        return [*_filled(name.split(), " " * margin, " " * _BELOW, width), *_filled(rest.split(), " " * _BELOW, " " * _BELOW, width)]
    return _filled(rest.split(), line[:beside], " " * beside, width)


def _filled(words: list[str], first: str, margin: str, width: int) -> list[str]:
    """Lines of words behind `first`, and behind `margin` from the second one on; a longer word stays whole."""
    margin = margin[: max(width - max(map(len, words), default=0), 0)]
    lines = [first if first.strip() else margin]
    empty = True
    for word in words:
        if not empty and len(lines[-1]) + 1 + len(word) > width:
            lines.append(margin)
            empty = True
        lines[-1] += word if empty else f" {word}"
        empty = False
    return lines
