"""Large pastes appear in the input as one short mark, and are sent whole."""

_LINES, _LENGTH = 8, 1_000
"""A paste with more lines or characters is folded."""


class PastePlaceholders:
    """The pastes behind the marks in the input."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def fold(self, text: str) -> str:
        """What to put into the input for a paste: itself, or its mark."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.count("\n") + (not text.endswith("\n"))
        if lines <= _LINES and len(text) <= _LENGTH:
            return text
        what = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        mark = f"[pasted {what}]"
        number = 1
        while self._texts.get(mark, text) != text:
            number += 1
            mark = f"[pasted {what}, {number}]"
        self._texts[mark] = text
        return mark

    def whole(self, text: str) -> str:
        """The text with every mark replaced by what is behind it."""
        for mark, behind in self._texts.items():
            text = text.replace(mark, behind)
        return text
