"""Values for tables: times in the local time zone, to the minute; the first sentence of a text."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

_TIMES = ("updated", "created", "started", "since", "until", "expires")
_END = re.compile(r"[.!?](?=\s|$)|\n\s*\n|\Z")


def value_text(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with its times as local ones."""
    return {name: local(value) if name in _TIMES and isinstance(value, str) else value for name, value in row.items()}


def local(time: str) -> str:
    """A time of the record (RFC 3339) in the time zone of this machine, to the minute: `2026-11-22 04:21`. Anything else stays as it is."""
    try:
        return datetime.fromisoformat(time).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return time


def sentence(text: str) -> str:
    """The first sentence of a text, whole, on one line."""
    found = _END.search(text.strip())
    whole = text.strip()[: found.end()] if found else text
    return " ".join(whole.split())
