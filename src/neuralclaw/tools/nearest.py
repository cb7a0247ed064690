"""Where a text that is not in a file nearly is, and what differs: for the error of an edit that found nothing."""

import re
import time
from collections.abc import Callable, Sequence

from ..types.cut_texts import cut_text

_MAX_LINES, _MAX_CHARS = 50_000, 2_000_000  # of a file that are looked through line by line
_MAX_OLD = 20_000  # characters of the text that is looked for
_MAX_PLACES = 200  # where the text without the blank lines around it may be
_MAX_COMPARED, _SECONDS = 400, 0.5  # lines that are compared letter by letter, and how long
_SHOWN_LINES, _SHOWN_CHARS = 8, 160
_LIKE = 0.6  # how much of a line must be the same, as `difflib` counts
_NUMBERED = r"[ \t]*\d+\t"
_TYPOGRAPHY = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "\xa0": " ", "…": "."})

_BLANK = " \t\n"

Spelling = Callable[[str], str]


def nearest(text: str, old: str) -> str:
    """One or more sentences that say where the text nearly is, with its lines behind their numbers; "" where nothing is near.

    It takes up to a second: a worker thread calls it.
    """
    whole, old_lines = text.replace("\r\n", "\n"), old.replace("\r\n", "\n")
    if old_lines != old or whole != text:
        at = whole.find(old_lines)
        if at >= 0:
            return _told(whole.split("\n"), whole.count("\n", 0, at), old_lines.split("\n"), _line_ends_differ(text))
    wanted = _core(old_lines).split("\n")
    if all(re.match(_NUMBERED, line) for line in wanted if line) and any(wanted):
        bare = "\n".join(re.sub(_NUMBERED, "", line, count=1) for line in wanted)
        if bare in whole:
            return "It is there without the line numbers: leave out each number and the tab behind it."
    return _around(whole, old_lines) or _line_by_line(whole, wanted)


def _line_by_line(whole: str, wanted: list[str]) -> str:
    """Where the wanted lines are in another spelling, or what is most like them, in the first part of the text."""
    cut = len(whole) > _MAX_CHARS
    lines = (whole[: whole.rfind("\n", 0, _MAX_CHARS) + 1 or _MAX_CHARS] if cut else whole).split("\n")
    searched, wanted = lines[:_MAX_LINES], "\n".join(wanted)[:_MAX_OLD].split("\n")
    for spelling, differs in _SPELLINGS:
        at = _place(searched, wanted, spelling)
        if at is not None:
            return _told(lines, at, wanted, differs(lines[at : at + len(wanted)], wanted))
    filled = [i for i, line in enumerate(searched) if line.strip()]
    bare = [line for line in wanted if line.strip()]
    at = _place([searched[i] for i in filled], bare, _white)
    if at is not None:
        found = lines[filled[at] : filled[at + len(bare) - 1] + 1]
        return _told(lines, filled[at], found, "other blank lines between its lines")
    at = _like(searched, wanted)
    part = f" of its first {len(searched):,} lines" if len(searched) < len(lines) or cut else ""
    if at is not None:
        return f"The nearest text{part} is at line {at + 1:,}:\n{_shown(lines, at, len(wanted))}"
    return f"Nothing in its first {len(searched):,} lines is like that, and the rest was not looked through." if part else ""


def _told(lines: Sequence[str], at: int, wanted: Sequence[str], differs: str) -> str:
    return f"It is there at line {at + 1:,} with {differs}:\n{_shown(lines, at, len(wanted))}"


def _line_ends_differ(text: str) -> str:
    """What differs where only the line ends do."""
    windows = text.count("\r\n")
    if not windows:
        return "LF line ends where you gave CRLF"
    return "CRLF line ends where you gave others" if windows == text.count("\n") else "line ends of both kinds, CRLF and LF"


def _core(old: str) -> str:
    """The text without the blank lines before and behind it."""
    head = old[: len(old) - len(old.lstrip(_BLANK))]
    bare = old[head.rfind("\n") + 1 :].rstrip(_BLANK)
    behind = old[head.rfind("\n") + 1 + len(bare) :]
    return bare + behind.partition("\n")[0]


def _around(text: str, old: str) -> str:
    """Where the text is whole, but not with the blank lines and line ends that were given around it; "" where it is not."""
    core = _core(old)
    if not core.strip():
        return ""
    start = old.index(core)
    above, below = old[:start], old[start + len(core) :]
    best, place, at = -1, -1, text.find(core)
    for _ in range(_MAX_PLACES):
        if at < 0:
            break
        same = _same(above[::-1], text[max(0, at - len(above)) : at][::-1]) + _same(below, text[at + len(core) : at + len(core) + len(below)])
        if same > best:
            best, place = same, at
        at = text.find(core, at + 1)
    if place < 0:
        return ""
    end = place + len(core)
    told = [_edge(above[::-1], text[max(0, place - 10_000) : place][::-1], _ABOVE), _edge(below, text[end : end + 10_000], _BELOW)]
    return _told(text.split("\n"), text.count("\n", 0, place), core.split("\n"), " and ".join(filter(None, told)))


_ABOVE = ("before it on the same line", "before it", "because the file begins there", "above it")
_BELOW = ("behind it on the same line", "behind it", "because the file ends there", "below it")


def _same(one: str, other: str) -> int:
    """How many characters both begin with."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _edge(old: str, there: str, words: tuple[str, str, str, str]) -> str:
    """What is other on one side of the text, read away from it: `old` is what was given there, `there` what the file has; "" where it is the same."""
    if there.startswith(old):
        return ""
    line, beside, end, side = words
    blank = there[: len(there) - len(there.lstrip(_BLANK))]
    has, wanted, ends = blank.count("\n"), old.count("\n"), blank == there
    if has >= wanted:
        return f"other white space {side}"
    if not ends:
        return f"{_counted(has - 1, 'blank line')} {side} where you gave {wanted - 1}" if has else f"more text {line}"
    if has and words is _BELOW:
        return f"{_counted(has - 1, 'blank line')} {side} where you gave {wanted - 1}, {end}"
    return f"{_counted(has, 'line end')} {beside}{f' where you gave {wanted}' if has else ''}, {end}"


def _counted(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'s' if number > 1 else ''}"


def line_list(text: str, old: str) -> str:
    """The lines where a text begins that is there more than once: `lines 4, 17 and 90`."""
    numbers: list[int] = []
    at = text.find(old)
    while at >= 0 and len(numbers) < 11:
        numbers.append(text.count("\n", 0, at) + 1)
        at = text.find(old, at + len(old))
    shown = [f"{number:,}" for number in dict.fromkeys(numbers[:10])]
    if len(numbers) > 10:
        return f"lines {', '.join(shown)}, …"
    return f"line {shown[0]}" if len(shown) == 1 else f"lines {', '.join(shown[:-1])} and {shown[-1]}"


def _white(line: str) -> str:
    return " ".join(line.split())


def _white_differs(found: Sequence[str], wanted: Sequence[str]) -> str:
    def begins(lines: Sequence[str]) -> str:
        return "".join(line[: len(line) - len(line.lstrip())] for line in lines)

    within = wanted[0] == wanted[0].lstrip()  # it may begin within its line, whose indentation then says nothing
    has, given = begins(found[within:]), begins(wanted[within:])
    if "\t" in has and "\t" not in given and " " in given:
        return "tabs where you gave blanks"
    if "\t" in given and "\t" not in has and " " in has:
        return "blanks where you gave tabs"
    if [line.rstrip() for line in found] == [line.rstrip() for line in wanted]:
        return "other white space at the ends of lines"
    if [line.strip() for line in found] == [line.strip() for line in wanted]:
        return "other indentation"
    return "other white space"


_SPELLINGS: tuple[tuple[Spelling, Callable[[Sequence[str], Sequence[str]], str]], ...] = (
    (_white, _white_differs),
    (lambda line: _white(line.translate(_TYPOGRAPHY)), lambda *_: "other quotes, dashes or blanks"),
    (lambda line: _white(line.translate(_TYPOGRAPHY)).casefold(), lambda *_: "other capitals"),
)


def _place(lines: Sequence[str], wanted: Sequence[str], spelling: Spelling) -> int | None:
    """The first line of the wanted lines, each in this spelling; the first and the last may be parts of theirs."""
    text, looked_for = "\n".join(map(spelling, lines)), "\n".join(map(spelling, wanted))
    at = text.find(looked_for) if looked_for.strip() else -1
    return None if at < 0 else text.count("\n", 0, at)


def _like(lines: Sequence[str], wanted: Sequence[str]) -> int | None:
    """The line from which on the text is most like the wanted lines, found by the longest of them."""
    import difflib  # costs start-up time, and few calls come here

    anchor = max(range(len(wanted)), key=lambda i: len(wanted[i].strip()))
    line = wanted[anchor].strip()
    words = set(re.findall(r"\w{3,}", line))
    if not words:
        return None
    shared = sorted(((len(words & set(re.findall(r"\w{3,}", one))), -i) for i, one in enumerate(lines) if len(one) < 2_000), reverse=True)
    matcher = difflib.SequenceMatcher(b=line[:500], autojunk=False)
    best, place, until = _LIKE, None, time.monotonic() + _SECONDS
    for count, negative in shared[:_MAX_COMPARED]:
        if not count or time.monotonic() > until:
            break
        matcher.set_seq1(lines[-negative].strip()[:500])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and (ratio := matcher.ratio()) > best:
            best, place = ratio, -negative
    return None if place is None else max(0, place - anchor)


def _shown(lines: Sequence[str], at: int, count: int) -> str:
    """The lines behind their numbers, as read_file shows them."""
    end = min(len(lines), at + min(count, _SHOWN_LINES))
    shown = [f"{number}\t{cut_text(line, _SHOWN_CHARS)}" for number, line in enumerate(lines[at:end], at + 1)]
    return "\n".join(shown + ([f"[{count - _SHOWN_LINES} more lines]"] if count > _SHOWN_LINES else []))
