"""Values as people read them: times in the local time zone, to the minute; lists with commas, amounts of money, the first sentence of a text."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

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


def field_lines(value: Mapping[str, Any]) -> list[str]:
    """An object as lines `name: value`, in words; what is nested deeper than a list stands as JSON."""
    return [f"{name}: {text}" for name, text in field_texts(value)]


def field_texts(value: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The fields of an object, each with its value in words."""
    return [(name, money(one) if name == "usd" and isinstance(one, int | float) else worded(one)) for name, one in value.items()]


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
