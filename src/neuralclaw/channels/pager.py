"""A long text on a screen of its own, as in `less`: it scrolls, and what was on the terminal comes back when it is closed."""

from collections.abc import Callable

_KEYS = "arrows, Page Up, Page Down · Ctrl-O, Esc or q closes"
_SHORT = "Esc closes"


class Pager:
    """Shows the lines that `made` gives for a width in cells, each a row of the screen. Closed at first."""

    def __init__(self) -> None:
        self.open = False
        self._made: Callable[[int], list[str]] = lambda width: []
        self._lines: list[str] = []
        self._width = self._room = self._top = 0

    def show(self, made: Callable[[int], list[str]]) -> None:
        """Open it at the beginning of these lines."""
        self.open, self._made, self._lines, self._width, self._top = True, made, [], 0, 0

    def close(self) -> None:
        self.open, self._lines, self._made = False, [], lambda width: []

    def move(self, lines: int = 0, pages: int = 0) -> None:
        """Scroll on by so many lines and pages, back where negative."""
        self._top = max(0, min(self._top + lines + pages * max(self._room - 1, 1), len(self._lines) - self._room))

    def to_end(self) -> None:
        self.move(len(self._lines))

    def to_begin(self) -> None:
        self._top = 0

    def drawn(self, width: int, rows: int) -> str:
        """The rows that are seen now, and a last one that says where they are and which keys there are."""
        if width != self._width:
            self._lines, self._width = self._made(width), width
        self._room = max(rows - 1, 1)
        self.move()
        shown = self._lines[self._top : self._top + self._room]
        where = f"lines {self._top + 1:,} to {self._top + len(shown):,} of {len(self._lines):,}"
        said = next((line for line in (f"{where} · {_KEYS}", f"{where} · {_SHORT}", _SHORT) if len(line) <= width), "")
        return "\n".join([*shown, *[""] * (self._room - len(shown)), f"\x1b[2m{said}\x1b[0m"])
