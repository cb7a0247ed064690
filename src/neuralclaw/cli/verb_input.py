"""What a verb is given besides the words of its command line: a value that is typed unseen, or standard input and output themselves."""

import os
import sys
from collections.abc import Mapping
from typing import Any

from ..capability import Verb
from ..errors import UsageError
from . import output
from .line_prompts import InputEnded, LinePrompts

MOST = 16 * 2**20
"""Bytes of a value from standard input at most."""


def with_input(row: Verb, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, with those that the verb takes from standard input or from a person. Raises `UsageError` where nothing comes."""
    found = {**given, **{name: _value(question.format_map(dict(given)), name) for name, question in row.hidden.items()}}
    if row.filters:
        if sys.stdin is None:
            raise UsageError("standard input is closed", hint=row.example)
        source, sink = sys.stdin.fileno(), sys.stdout
        found |= {"read": lambda size: os.read(source, size), "write": lambda data: output.raw(data, sink)}
    return found


def _value(question: str, name: str) -> str:
    """Typed at a terminal without being shown; else all of standard input, without its last line break."""
    prompts = LinePrompts()
    if prompts.person:
        try:
            value = prompts.secret(f"{question} (what you type is not shown): ")
        except InputEnded:
            value = ""
    else:
        data = sys.stdin.buffer.read(MOST) if sys.stdin is not None else b""
        value = data.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", "surrogateescape")
    if not value:
        raise UsageError(f"standard input is empty: there is no {name}")
    return value
