"""What commands print: data on standard output, everything else on standard error; one JSON value where it was asked for."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

import msgspec

from ..channels import text_layout
from ..channels.control_characters import visible
from ..channels.screen import Screen
from ..config.process_environment import environ
from . import table_text

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
    cells = [[_cell(row.get(c)) for c in columns] for row in map(table_text.value_text, rows)]
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
    """An object as lines `name: value`, in words; what is nested deeper than a list stands as JSON."""
    shown = out()
    for name, one in value.items():
        shown.line(f"{name}: {money(one) if name == 'usd' and isinstance(one, int | float) else worded(one)}")


def worded(value: Any) -> str:
    """A plain value as a person reads it: lists with commas, numbers to six digits."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list) and not any(isinstance(one, list | dict) for one in value):
        return ", ".join(map(worded, value)) or "none"
    return value if isinstance(value, str) else compact(value)


def money(usd: float) -> str:
    """An amount in US dollars, rounded to what a person can use."""
    return "less than 0.0001" if 0 < usd < 0.0001 else f"{usd:.4f}" if usd else "0"


def compact(value: Any) -> str:
    """A value as JSON on one line."""
    return msgspec.json.encode(value).decode()


def plain(value: Any) -> Any:
    """A verb's value as JSON types: structs become objects, tuples lists."""
    return msgspec.to_builtins(value, str_keys=True)
