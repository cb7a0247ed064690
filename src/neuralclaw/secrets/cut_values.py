"""What is left of a configured value at the ends of a text that a program printed: its last characters at the beginning, its first ones at the end.
Of a key that nobody configured, the first ones.

In other texts nothing is looked for: one that ends as a secret begins is an ordinary one, such as the name of a host, and arguments of a call are used
as they are told. Where this program cuts a text itself, `types.cut_texts` drops what may begin a secret.
"""

import re
from collections.abc import Mapping
from functools import cached_property

from .formats import KEY_PREFIXES, PREFIXES
from .spellings import FEWEST, SHORTEST

LEAST = 5
"""Characters of a value that are told apart from ordinary text at all; of a longer value it takes more than half, and `SHORTEST` are enough."""
_BLANK = " \t\r\n\ufffd"
_WINDOW = 512
"""Characters before a cut in which the beginning of a key is looked for."""
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?:([^/?#@\s]*)@)?[^/?#@\s]*")
_MIXED = re.compile(r"(?=.*[A-Za-z])(?=.*[0-9])|(?=.*[a-z]).+[A-Z]")


class CutValues:
    """Replaces what is left of cut values. `kinds`: the spellings that are looked for, each with its kind."""

    def __init__(self, kinds: Mapping[str, str]) -> None:
        self._kinds = kinds
        self._values = tuple(kinds)

    @cached_property
    def _all(self) -> str:
        return "\n".join(self._values)

    def _may_be_part(self, piece: str) -> bool:
        """A quick look at the `LEAST` characters at a cut: whether they are in a spelling."""
        return len(piece) == LEAST and piece in self._all

    def redact_ends(self, text: str, *, begins: bool, ends: bool) -> str:
        """The text without them; the same object when there is none. White space is looked past."""
        inner = text.strip(_BLANK)
        clean = self._without_ends(inner, begins=begins, ends=ends)
        if clean is inner:
            return text
        at = len(text) - len(text.lstrip(_BLANK))
        return f"{text[:at]}{clean}{text[at + len(inner) :]}"

    def _without_ends(self, text: str, *, begins: bool, ends: bool) -> str:
        length = 0
        if begins and self._may_be_part(text[:LEAST]):
            length, kind = self._last_of_a_value(text)
            if length:
                shown = f"[REDACTED:{kind}]"
                text, length = shown + text[length:], len(shown)
        rest = text[length:]
        if ends and not rest.endswith(self._values):
            size, kind = self._first_of_a_value(rest) if self._may_be_part(rest[-LEAST:]) else (0, "")
            if not size:
                size, kind = _first_of_a_key(rest)
            if size:
                text = f"{text[:-size]}[REDACTED:{kind}]"
        return text

    def _first_of_a_value(self, text: str) -> tuple[int, str]:
        """How many characters at the end are the first ones of a value, and its kind; 0 where none are."""
        piece, longest, found = text[-LEAST:], 0, ""
        for value, kind in self._kinds.items():
            at = value.find(piece)
            while 0 <= at < len(value) - LEAST:
                size = at + LEAST
                if longest < size and text.endswith(value[:size]) and _tells(value, 0, size):
                    longest, found = size, kind
                at = value.find(piece, at + 1)
        return longest, found

    def _last_of_a_value(self, text: str) -> tuple[int, str]:
        """How many characters at the beginning are the last ones of a value, or all of them from its midst; 0 where none are."""
        piece, longest, found = text[:LEAST], 0, ""
        for value, kind in self._kinds.items():
            at = value.find(piece, 1)
            while at > 0:
                part = value[at : at + len(text)]
                if len(part) > longest and text.startswith(part) and _tells(value, at, at + len(part)):
                    longest, found = len(part), kind
                at = value.find(piece, at + 1)
        return longest, found


def _first_of_a_key(text: str) -> tuple[int, str]:
    """How many characters at the end are the first ones of a key that nobody configured, and its kind; 0 where none are."""
    cut = text[-_WINDOW:]
    for prefix, shape in KEY_PREFIXES:
        at = cut.rfind(prefix)
        if at < 0:
            continue
        behind = at + max(len(longer) for longer, _ in KEY_PREFIXES if cut.startswith(longer, at))
        if len(cut) - behind >= SHORTEST and shape.partial.match(cut, at) and _MIXED.match(cut, behind):
            return len(cut) - (behind if shape.form.keep else at), shape.kind
    return 0, ""


def _tells(value: str, start: int, end: int) -> bool:
    """Whether this part of a value says something of it: it is mixed as chance mixes, and is not what every key of its format or every address has."""
    part = value[start:end]
    if any(prefix.startswith(part) or (part.startswith(prefix) and len(part) < len(prefix) + SHORTEST) for prefix, _ in PREFIXES):
        return False
    first, last = _telling(value)
    part = value[max(start, first) : min(end, last)]
    return len(part) >= max(LEAST, min(SHORTEST, (last - first) // 2 + 1)) and len(set(part)) >= FEWEST and _MIXED.match(part) is not None


def _telling(value: str) -> tuple[int, int]:
    """From where to where a value is secret: of an address what is before the host, else what is behind it."""
    address = _ADDRESS.match(value)
    if address is None:
        return 0, len(value)
    return (address.end(), len(value)) if address[1] is None else address.span(1)
