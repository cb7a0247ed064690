"""What commands print: data on standard output, everything else on standard error; one JSON value where it was asked for."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

import msgspec

from ..channels import text_layout
from ..channels.control_characters import visible
from ..channels.screen import Screen
from ..channels.value_text import compact as compact
from ..channels.value_text import field_lines, value_text
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
    cells = [[_cell(row.get(c)) for c in columns] for row in map(value_text, rows)]
    shown = out()
    heading, *lines = text_layout.table([[c.upper() for c in columns], *cells], shown.width, drop=[columns.index(name) for name in drop])
    shown.line(heading, "bold")
    for line in lines:
        shown.line(line)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, (list, tuple, set)):
        return ", ".join(map(str, value)) or "-"
    return visible(str(value)).replace("\n", " ")


def fields(value: Mapping[str, Any]) -> None:
    """An object as lines `name: value`."""
    shown = out()
    for line in field_lines(value):
        shown.line(line)


def plain(value: Any) -> Any:
    """A verb's value as JSON types: structs become objects, tuples lists."""
    return msgspec.to_builtins(value, str_keys=True)
