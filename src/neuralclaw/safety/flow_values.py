"""Values that reading mode gave: an action that uses one as what it sends, or to whom, asks unless the owner's own words fix it.

The content itself was not read, so nothing else asks: a source outside could choose a value, and say nothing (row P5).
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from urllib.parse import unquote

from ..types.actions import ReadValues
from .findings import Findings
from .value_spellings import amount, normal

RULE = "flow.value"
NAMED = 3
"""Sources and values that are named in a reason."""
PIECE = 4
"""Letters of a piece of a value that is looked for in an argument, of digits alone six; shorter ones stand in any text."""
_PARTS = re.compile(r"[^\w]+|_")
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_COUNT = re.compile(r"(?<![\w.,:@/-])\d+(?:[.,]\d+)*(?![\w@:/-])")
"""A number that stands by itself in a text, as in `amount=601`."""


def judge(findings: Findings, does: str, loose: Sequence[tuple[str, str | int | float]], known: ReadValues, sources: tuple[str, ...]) -> None:
    """Ask about an action with a sink that uses such a value. `loose`: its arguments that matter and that the owner's words do not fix; `sources`: those that
    chose values. Where values of theirs are not known here, as of a file that another session wrote, any argument may be one."""
    whole = known.whole and known.sources.issuperset(sources)
    used = [(name, value) for name, value in loose if not whole or uses(value, known.values)]
    if not used:
        return
    named = ", ".join(f"{name} {str(value)[:80]!r}" for name, value in used[:NAMED])
    findings.ask(RULE, f"{does} with {named}, which {listed(sources)} may have chosen{_read_in(known)}, and your own words do not name it")


def _read_in(known: ReadValues) -> str:
    """The sessions that read the values, the newest few by name."""
    if not known.sessions:
        return ""
    more = len(known.sessions) - NAMED
    return f" (read in {', '.join(known.sessions[-NAMED:])}{f' and {more} more' if more > 0 else ''})"


def uses(argument: str | int | float, values: Sequence[str | int | float]) -> bool:
    """Whether an argument could be made of one of these values. A number, also one in a text, could be computed from any number; a text is made of another one
    where a piece of it stands in it."""
    text = normal(str(argument))
    if (amount(text) is not None or _COUNT.search(text)) and any(_is_number(value) for value in values):
        return True
    texts = {text, normal(unquote(text))}
    return any(_in(value, one) for value in values for one in texts)


def _in(value: str | int | float, text: str) -> bool:
    if _is_number(value):
        wanted = amount(str(value).partition(" ")[0])
        if any(amount(found) == wanted for found in _DIGITS.findall(text)):
            return True
    whole = normal(str(value))
    if len(whole) < PIECE:
        return isinstance(value, str) and re.search(rf"(?<!\w){re.escape(whole)}(?!\w)", text) is not None
    return whole in text or (len(text) >= PIECE and text in whole) or any(piece in text for piece in _pieces(whole))


@lru_cache(maxsize=256)
def _pieces(whole: str) -> tuple[str, ...]:
    return tuple(_long(_PARTS.split(whole)))


def _long(pieces: Sequence[str]) -> Iterator[str]:
    return (piece for piece in pieces if len(piece) >= (6 if piece.isdecimal() else PIECE))


def _is_number(value: str | int | float) -> bool:
    """A number, or an amount with its currency."""
    return not isinstance(value, str) or amount(value.partition(" ")[0]) is not None


def listed(sources: tuple[str, ...]) -> str:
    """Sources in words, a few of them by name."""
    more = len(sources) - NAMED
    named = [_in_words(source) for source in sources[:NAMED]]
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")


def _in_words(source: str) -> str:
    kind, _, name = source.partition("/")
    words = {"web": f"the web page {name}", "mcp": f"the MCP server {name}", "tool": f"the tool {name}", "workspace": "the instructions in the workspace"}
    return words.get(kind, source or "outside")
