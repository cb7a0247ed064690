"""How the cost of something grows with its size: two measurements in one run, so that a slow machine changes nothing."""

import gc
import time
from collections.abc import Callable

STEP = 4
"""How many times larger the larger one of two sizes is."""

MOST = 10
"""How many times more it may cost. A cost that is linear is 4 times as much, a quadratic one 16 times."""


def growth(small: Callable[[], object], large: Callable[[], object]) -> float:
    """How many times the processor time of `small` it takes to do `large`; of each the least of three measurements counts."""
    return _seconds(large) / _seconds(small)


def assert_linear(do: Callable[[int], object], size: int) -> None:
    """Fail if doing it with `size` takes more than `MOST` times what it takes with a `STEP`th of the size."""
    found = growth(lambda: do(size // STEP), lambda: do(size))
    assert found < MOST, f"{STEP} times the size takes {found:.1f} times as long"


def _seconds(do: Callable[[], object]) -> float:
    least = float("inf")
    for _ in range(3):
        gc.collect()
        begun = time.process_time()
        do()
        least = min(least, time.process_time() - begun)
    return max(least, 0.0001)
