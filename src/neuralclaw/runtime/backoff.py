"""How long to wait before something that failed is tried again."""

from collections.abc import Iterator
from itertools import count

import msgspec

_DOUBLINGS = 64
"""More than any wait doubles before it is at its longest; a float has room for it."""


class Backoff(msgspec.Struct, frozen=True):
    """Waits in seconds: `first`, each one after it twice as long, and none above `longest`."""

    first: float
    longest: float

    def after(self, failures: int) -> float:
        """The wait after so many failures in a row, from 1."""
        return min(self.first * 2.0 ** min(max(failures - 1, 0), _DOUBLINGS), self.longest)

    def waits(self) -> Iterator[float]:
        """The waits after the first failure, the second, and so on without an end."""
        return (self.after(failures) for failures in count(1))
