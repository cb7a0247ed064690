"""What one analysis may cost. Everything that input can blow up counts here, so that the end is certain and the same on every machine."""

from collections.abc import Callable

STEPS = 3_000_000
"""Units of work of one analysis: about one character looked at, or a twentieth of a node visited; some 25 to 35 ns each."""
QUICK_STEPS = 40_000
"""Units that are spent at once, on the event loop: about a millisecond. Ordinary commands need a tenth of it."""
SECONDS, QUICK_SECONDS = 0.1, 0.01
LENGTH = 1_000_000
"""Characters that all expansions together may make."""
NESTING = 120
"""Levels of the grammar's tree; a chain of `&&` has one for each command."""
MAX_TEXT = 256_000
"""Characters of a command line that is read at all."""
QUICK_TEXT = 4_000
"""Characters of a command line that is tried at once."""

_LOOK = 4_096


class Exceeded(Exception):
    """The analysis stopped at a bound. `reason` says at which, as the end of a sentence."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class AnalysisBounds:
    """Counts one analysis. `clock` gives seconds; without one only steps and lengths are counted."""

    __slots__ = ("_clock", "_look", "_until", "length", "nesting", "steps")

    def __init__(self, clock: Callable[[], float] | None = None, *, steps: int = STEPS, seconds: float = SECONDS, length: int = LENGTH) -> None:
        self._clock, self._until = clock, (clock() + seconds if clock is not None else 0.0)
        self.steps, self.length, self.nesting = steps, length, 0
        self._look = steps - _LOOK

    @classmethod
    def quick(cls, clock: Callable[[], float]) -> "AnalysisBounds":
        """For an attempt on the event loop."""
        return cls(clock, steps=QUICK_STEPS, seconds=QUICK_SECONDS)

    def step(self, count: int = 20) -> None:
        """Count work before it is done. Raises `Exceeded`."""
        self.steps -= count
        if self.steps < self._look:
            self._look = self.steps - _LOOK
            if self.steps < 0:
                raise Exceeded("it takes too many steps to work out")
            if self._clock is not None and self._clock() > self._until:
                raise Exceeded(f"it takes more than {SECONDS * 1000:.0f} ms to work out")

    def grow(self, count: int) -> None:
        """Count characters that an expansion makes."""
        self.length -= count
        if self.length < 0:
            raise Exceeded(f"it expands to more than {LENGTH:,} characters")
        self.step(count)

    def enter(self) -> None:
        """Go one level down in the grammar's tree; `leave` goes up again."""
        self.nesting += 1
        self.step()
        if self.nesting > NESTING:
            raise Exceeded(f"it is nested more than {NESTING} levels deep")

    def leave(self) -> None:
        self.nesting -= 1
