"""Where a text that is not in a file nearly is, and what differs: for the error of an edit that found nothing."""

import re
from collections.abc import Callable, Sequence

_MAX_LINES = 50_000  # of a file that are looked through
_MAX_COMPARED = 400  # lines that are compared letter by letter
_SHOWN_LINES, _SHOWN_CHARS = 8, 160
_LIKE = 0.6  # how much of a line must be the same, as `difflib` counts
_NUMBERED = re.compile(r"[ \t]*\d+\t")
_TYPOGRAPHY = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "\xa0": " ", "…": "."})

Spelling = Callable[[str], str]


def nearest(text: str, old: str) -> str:
    """One or more sentences that say where the text nearly is, with its lines behind their numbers; "" where nothing is near."""
    lines, wanted = text.split("\n")[:_MAX_LINES], old.strip("\n").split("\n")
    if all(_NUMBERED.match(line) for line in wanted if line) and any(wanted):
        bare = "\n".join(_NUMBERED.sub("", line, count=1) for line in wanted)
        if bare in text:
            return "It is there without the line numbers: leave out each number and the tab behind it."
    for spelling, differs in _SPELLINGS:
        at = _place(lines, wanted, spelling)
        if at is not None:
            return f"It is there at line {at + 1:,} with {differs(lines[at : at + len(wanted)], wanted)}:\n{_shown(lines, at, len(wanted))}"
    at = _like(lines, wanted)
    return "" if at is None else f"The nearest text is at line {at + 1:,}:\n{_shown(lines, at, len(wanted))}"


def places(text: str, old: str) -> str:
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

    has, given = begins(found), begins(wanted)
    if "\t" in has and "\t" not in given and " " in given:
        return "tabs where you gave blanks"
    if "\t" in given and "\t" not in has and " " in has:
        return "blanks where you gave tabs"
    if [line.rstrip("\r") for line in found[:-1]] == [line.rstrip("\r") for line in wanted[:-1]] and found[-1].startswith(wanted[-1]):
        return "line ends of both kinds, CRLF and LF"
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
    """The first line from which on the wanted lines stand, each in this spelling; the first and the last may be parts of theirs."""
    told = [spelling(line) for line in wanted]
    if not any(told):
        return None
    has = [spelling(line) for line in lines]
    if len(told) == 1:
        return next((i for i, line in enumerate(has) if told[0] in line), None)
    middle = told[1:-1]
    for i in range(len(has) - len(told) + 1):
        if has[i].endswith(told[0]) and has[i + len(told) - 1].startswith(told[-1]) and has[i + 1 : i + len(told) - 1] == middle:
            return i
    return None


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
    best, place = _LIKE, None
    for count, negative in shared[:_MAX_COMPARED]:
        if not count:
            break
        matcher.set_seq1(lines[-negative].strip()[:500])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and (ratio := matcher.ratio()) > best:
            best, place = ratio, -negative
    return None if place is None else max(0, place - anchor)


def _shown(lines: Sequence[str], at: int, count: int) -> str:
    """The lines behind their numbers, as read_file shows them."""
    end = min(len(lines), at + min(count, _SHOWN_LINES))
    cut = [line.rstrip("\r") for line in lines[at:end]]
    shown = [f"{number}\t{line if len(line) <= _SHOWN_CHARS else line[:_SHOWN_CHARS] + '…'}" for number, line in enumerate(cut, at + 1)]
    return "\n".join(shown + ([f"[{count - _SHOWN_LINES} more lines]"] if count > _SHOWN_LINES else []))
