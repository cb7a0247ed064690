"""What a call changed in a text file: a unified diff of bounded size for people, and its first lines for the model."""

import re

from ..types.cut_texts import cut_text

_MAX_COMPARED = 30_000  # characters of the part that differs; comparing more takes too long
_MAX_LINES = 200
_MAX_CHARACTERS = 10_000
_NOTE_LINES, _NOTE_WIDTH = 40, 200
_CONTEXT, _AROUND = 3, 20  # lines shown around a change, and lines around all of it that are compared
_HUNK = r"@@ -(\d+)((?:,\d+)?) \+(\d+)((?:,\d+)?) @@"


def bounded_diff(path: str, before: str, after: str) -> str | None:
    """The change of the file `path`, cut after its first lines with a note; None where nothing changed or too much for a diff."""
    if before == after:
        return None
    same = _common(before, after)
    tail = _common(before[: same - 1 if same else None : -1], after[: same - 1 if same else None : -1])
    first, last = _line_start(before, same), tail - _below(before[len(before) - tail :])
    old, new = before[first : len(before) - last], after[first : len(after) - last]
    if len(old) + len(new) > _MAX_COMPARED:
        return None
    import difflib  # costs start-up time

    skipped = before.count("\n", 0, first)
    lines = list(difflib.unified_diff(_lines(old), _lines(new), path, path, lineterm="", n=_CONTEXT))
    lines = [_moved(line, skipped) if line.startswith("@@") else line for line in lines]
    return _cut(lines)


def diff_note(diff: str) -> str:
    """The first lines of a diff, without the file's name, as the model reads them behind the result of a change."""
    lines = diff.split("\n")[2:]
    kept = [cut_text(line, _NOTE_WIDTH) for line in lines[:_NOTE_LINES]]
    more = len(lines) - len(kept)
    return "\n".join(kept + ([f"[{more:,} more lines of the change]"] if more else []))


def _common(one: str, other: str) -> int:
    """How many characters both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _line_start(text: str, at: int) -> int:
    """Where the line is that is `_AROUND` lines above the one at `at`."""
    for _ in range(_AROUND + 1):
        at = text.rfind("\n", 0, at)
        if at < 0:
            return 0
    return at + 1


def _below(text: str) -> int:
    """How much of the text that stays the same is the rest of a line and the `_AROUND` lines below it."""
    at = 0
    for _ in range(_AROUND + 1):
        at = text.find("\n", at) + 1
        if at == 0:
            return len(text)
    return at


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def _moved(header: str, by: int) -> str:
    return re.sub(_HUNK, lambda m: f"@@ -{int(m[1]) + by}{m[2]} +{int(m[3]) + by}{m[4]} @@", header, count=1)


def _cut(lines: list[str]) -> str:
    kept, size = 0, 0
    while kept < min(len(lines), _MAX_LINES) and size + len(lines[kept]) <= _MAX_CHARACTERS:
        size += len(lines[kept]) + 1
        kept += 1
    more = len(lines) - kept
    return "\n".join(lines[:kept] + ([f"[{more:,} more lines]"] if more else []))
