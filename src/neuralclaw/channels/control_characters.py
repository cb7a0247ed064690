"""Characters that a terminal would obey, or hide, become visible escapes."""

import re

from ..types.exact_texts import exact as exact


class _Visible(dict[int, str]):
    """A translation table that is made once: each code in it as a visible escape."""

    def __init__(self, *ranges: tuple[int, int]) -> None:
        super().__init__()
        for first, last in ranges:
            self.update((code, f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}") for code in range(first, last + 1))


_CONTROL = _Visible((0, 8), (11, 31), (127, 159), (0x202A, 0x202E), (0x2066, 0x2069))


def visible(text: str) -> str:
    """Text in which control characters and those that turn the reading direction become visible escapes; newline and tab stay."""
    return text.replace("\r\n", "\n").translate(_CONTROL)


_SGR = re.compile("\x1b\\[([0-9;]*)m")
_COLOURS = frozenset(str(code) for code in (*range(30, 50), *range(90, 108)))


def colourless(text: str) -> str:
    """What this program wrote for a terminal, without colours: bold, dim and underlined stay."""
    return _SGR.sub(_without_colour, text)


def _without_colour(found: re.Match[str]) -> str:
    kept = [code for code in found[1].split(";") if code not in _COLOURS]
    return f"\x1b[{';'.join(kept)}m" if kept else ""
