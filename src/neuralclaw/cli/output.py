"""What commands print: data on standard output, everything else on standard error; one JSON value where it was asked for."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

import msgspec

from ..channels import text_layout
from ..channels.control_characters import visible
from ..channels.screen import Screen
from ..channels.value_text import compact as compact
from ..channels.value_text import field_texts as field_texts
from ..channels.value_text import value_text
from ..channels.value_text import worded as worded
from ..config.process_environment import environ

# The two variables say what the person's screen can show; they are no settings of the agent.
_TERM = environ.get("TERM", "")
COLOUR = not environ.get("NO_COLOR")
"""Colours are wanted; bold and dim are no colours."""
_PLAIN = _TERM == "dumb"


def screen(stream: TextIO) -> Screen:
    """A stream as the person sees it."""
    return Screen(stream, plain=_PLAIN, colour=COLOUR, term=_TERM)


def out() -> Screen:
    """Standard output."""
    return screen(sys.stdout)


def err() -> Screen:
    """Standard error."""
    return screen(sys.stderr)


def json_line(value: Any, stream: TextIO | None = None) -> None:
    """One JSON value on a line, in UTF-8 whatever the locale is, flushed."""
    raw(msgspec.json.encode(value) + b"\n", stream or sys.stdout)


def raw(data: bytes, stream: TextIO) -> None:
    """Bytes behind the text that was written before, flushed."""
    stream.flush()
    stream.buffer.write(data)
    stream.buffer.flush()


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], *, empty: str, drop: Sequence[str] = ()) -> None:
    """Rows under a heading, columns aligned; `empty` goes to standard error when there are none. A narrow screen does without the columns `drop`."""
    if not rows:
        err().line(empty)
        return
    lay_out(cells(rows, columns), [columns.index(name) for name in drop])


def cells(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> list[list[str]]:
    """The texts of a table, its heading first."""
    return [[c.upper() for c in columns], *([_cell(row.get(c)) for c in columns] for row in map(value_text, rows))]


def lay_out(lines: Sequence[Sequence[str]], drop: Sequence[int]) -> None:
    """Print cells under their heading as wide as the screen; where it is narrow, without the columns `drop`, the first one first."""
    shown = out()
    heading, *rest = text_layout.table(lines, shown.width, drop=drop)
    shown.line(heading, "bold")
    for line in rest:
        shown.line(line)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, (list, tuple, set)):
        return ", ".join(map(str, value)) or "-"
    return visible(str(value)).replace("\n", " ")


def plain(value: Any) -> Any:
    """A verb's value as JSON types: structs become objects, tuples lists."""
    return msgspec.to_builtins(value, str_keys=True)
