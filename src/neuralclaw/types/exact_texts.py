"""Texts that a person decides on: no character in them is hidden."""

from unicodedata import category

_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U00016fe4\U0001d159")
"""Characters that fonts draw as nothing although their category says that they are letters, marks or symbols: fillers, a joiner, Braille's empty cell."""
_SELECTORS = ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
"""Variation selectors: they change, if anything, how the character before them is drawn."""


def exact(text: str) -> str:
    """Text in which every character that a person cannot see, or cannot tell from a space, is a visible escape: for what a person is asked to agree to.

    Escapes are those of Python: `\\t`, `\\x1b`, `\\u200b`, `\\U000e0041`. Lines stay lines. What stays of other characters is printable and has a
    width; a combining mark stays where there is something before it to combine with.
    """
    return "\n".join(line if line.isascii() and line.isprintable() else _exact_line(line) for line in text.split("\n"))


def _exact_line(line: str) -> str:
    shown: list[str] = []
    base = False
    for letter in line:
        mark = category(letter)[0] == "M"
        hidden = not letter.isprintable() or letter in _BLANK or _selects(letter) or (mark and not base)
        shown.append(_escape(letter) if hidden else letter)
        base = not hidden and letter != " "
    return "".join(shown)


def _selects(letter: str) -> bool:
    return any(first <= ord(letter) <= last for first, last in _SELECTORS)


def _escape(letter: str) -> str:
    code = ord(letter)
    if letter == "\t":
        return "\\t"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
