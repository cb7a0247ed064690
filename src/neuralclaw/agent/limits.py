"""The circuit breakers of a turn (row M3), and the clock that stands still while a person is asked."""

from collections.abc import Iterator
from contextlib import contextmanager

import anyio

from ..ports import Clock
from ..types.events import LimitHit
from ..types.options import Limits
from .state import CallState, TurnState


def fired(state: TurnState, limits: Limits) -> LimitHit | None:
    """The breaker that stops the turn before its next model call, if any."""
    if state.errors_in_row >= limits.errors:
        return LimitHit(kind="errors", text=f"Stopped after {limits.errors} errors in a row. So far: {state.done_so_far()}.")
    if len(state.messages) >= limits.iterations and state.answer is None:
        return LimitHit(kind="iterations", text=f"Stopped at the limit of {limits.iterations} model calls in a turn. So far: {state.done_so_far()}.")
    if state.messages and state.messages[-1].stop == "length":
        return LimitHit(kind="output", text=f"The model's reply was cut off at its output limit. So far: {state.done_so_far()}.")
    return None


def repeats(state: TurnState, call: CallState, limits: Limits) -> bool:
    """Whether running this call would be the same call with the same arguments `limits.repeats` times in a row."""
    return call.call.error is None and state.repeats_before(call) + 1 >= limits.repeats


def repeated(state: TurnState, call: CallState) -> LimitHit:
    return LimitHit(kind="repeats", text=f"Stopped: {call.call.name} was called again with the same arguments. So far: {state.done_so_far()}.")


def out_of_time(state: TurnState, limits: Limits) -> LimitHit:
    return LimitHit(kind="time", text=f"Stopped after {limits.seconds:g} s. So far: {state.done_so_far()}.")


class RunningTime:
    """Running time of a turn in milliseconds, summed over its runs; waiting for a person does not count.

    `scope` is cancelled when the limit is reached.
    """

    def __init__(self, clock: Clock, before_ms: int, limit_seconds: float) -> None:
        self._clock = clock
        self._start = clock.monotonic()
        self._before = before_ms
        self._paused = 0.0
        self._pauses = 0
        self._pause_start = 0.0
        self._limit = limit_seconds
        self.scope = anyio.CancelScope()
        self._arm()

    @property
    def ms(self) -> int:
        now = self._pause_start if self._pauses else self._clock.monotonic()
        return self._before + round((now - self._start - self._paused) * 1000)

    def _arm(self) -> None:
        self.scope.deadline = anyio.current_time() + max(0.0, self._limit - self.ms / 1000)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stand still inside; several may wait at once."""
        if not self._pauses:
            self._pause_start = self._clock.monotonic()
            self.scope.deadline = float("inf")
        self._pauses += 1
        try:
            yield
        finally:
            self._pauses -= 1
            if not self._pauses:
                self._paused += self._clock.monotonic() - self._pause_start
                self._arm()
