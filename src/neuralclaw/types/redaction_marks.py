"""The mark that redaction leaves in place of a secret: `[REDACTED:kind]`."""

import re
from typing import Any

_MARK = re.compile(r"\[REDACTED:[^\]\r\n]{1,200}\]")


def redaction_mark(value: Any) -> str:
    """The first mark in a text, or in the texts of a list or an object; "" where there is none."""
    if isinstance(value, str):
        found = _MARK.search(value)
        return found[0] if found else ""
    if isinstance(value, dict):
        return redaction_mark([*value, *value.values()])
    if isinstance(value, list | tuple):
        return next(filter(None, map(redaction_mark, value)), "")
    return ""
