"""Pages as steps: a command block, and the output it shows.

In a page, a fenced `sh` block is run and must end with 0. HTML comments on the lines above a fence change that:

    <!-- not run: needs a key -->     shown only, with the reason
    <!-- exit: 3 -->                  it ends with this code
    <!-- output -->                   above a `text` block: what the `sh` block before it prints, standard error included

In a shown output a line of `[…]` stands for any lines; times, durations, digests and the page's temporary home may differ. An id that the program made up is
named once in the page, `<!-- id: k3Jd82mQpz -->`: it may differ too, and later commands of the page are run with the real one.
`<!-- with: examples/reading_list -->` anywhere in the page: this package is installed before its commands are run.
"""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
HOME = "/home/you"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NOTES = re.compile(r"((?:^<!--[^\n]*-->\n)+)\Z", re.MULTILINE)
NOTE = re.compile(r"<!-- *(.*?) *-->")
# Written forms that differ from run to run, each with the pattern that any run fits.
VARYING = (
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?Z?)?",
    r"\b[0-9a-f]{64}\b|(?<=head )[0-9a-f]{16}\b",
    r"\b\d+ records\b",
    r'"duration_ms": ?\d+',
    r'"call_id": ?"direct-[a-z2-9]{10}"',
    r"\b\d+(?:\.\d+)? m?s\b",
)


class Block(NamedTuple):
    """A fenced block: its language, its text, the notes above it, and where its text stands in the page."""

    language: str
    text: str
    notes: tuple[str, ...]
    start: int
    end: int

    def note(self, name: str) -> str | None:
        """The text of the note `name: text`, or "" for a bare name; None when it is not there."""
        for note in self.notes:
            head, _, rest = note.partition(":")
            if head == name:
                return rest.strip()
        return None


class Step(NamedTuple):
    """One command of a page and what it shows, when it shows something."""

    command: Block
    shown: Block | None

    @property
    def exit(self) -> int:
        return int(self.command.note("exit") or 0)


def pages() -> list[Path]:
    """Every page whose commands are run."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found = []
    for match in FENCE.finditer(text):
        above = NOTES.search(text, 0, match.start())
        notes = tuple(NOTE.findall(above[1])) if above else ()
        found.append(Block(match[1], match[2], notes, match.start(2), match.end(2)))
    return found


def steps(text: str) -> list[Step]:
    """The commands to run, in order; those marked `not run` left out."""
    found: list[Step] = []
    for block in blocks(text):
        if block.language == "sh" and block.note("not run") is None:
            found.append(Step(block, None))
        elif block.note("output") is not None and found:
            found[-1] = found[-1]._replace(shown=block)
    return found


def ids(text: str) -> list[str]:
    """The made-up ids that a page names."""
    return [note.partition(":")[2].strip() for note in NOTE.findall(text) if note.startswith("id:")]


def packages(text: str) -> list[str]:
    """The folders of packages that a page's commands need."""
    return [note.partition(":")[2].strip() for note in NOTE.findall(text) if note.startswith("with:")]


def fits(shown: str, known: list[str]) -> re.Pattern[str]:
    """The pattern of every output that a page's text stands for. Group `id0` is the real id of `known[0]`, and so on, for those that the text shows."""
    named = [f"(?P<id{number}>{re.escape(name)})" for number, name in enumerate(known)]
    varying = [f"(?P<v{number}>{form})" for number, form in enumerate(VARYING)]
    marks = re.compile("|".join([*named, *varying, r"(?P<any>^\[…\]\n)"]), re.MULTILINE)
    pattern, place, seen = "", 0, set[str]()
    for match in marks.finditer(shown):
        pattern += re.escape(shown[place : match.start()])
        place, kind = match.end(), str(match.lastgroup)
        if kind == "any":
            pattern += r"(?:.*\n)*?"
        elif kind.startswith("v"):
            pattern += f"(?:{VARYING[int(kind[1:])]})"
        else:
            pattern += f"(?P={kind})" if kind in seen else rf"(?P<{kind}>[A-Za-z0-9]{{10}})"
            seen.add(kind)
    return re.compile(pattern + re.escape(shown[place:]))
