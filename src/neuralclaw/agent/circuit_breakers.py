"""The circuit breakers of a turn (row M3), and the clock that stands still while a person is asked."""

from collections.abc import Iterator
from contextlib import contextmanager

import anyio

from ..ports import Clock
from ..types.events import LimitHit, LimitKind
from ..types.options import Limits
from .state import CallState, TurnState

_ERROR = 120
"""Characters of the last error that a person is told."""


def fired(state: TurnState, limits: Limits) -> LimitHit | None:
    """The breaker that stops the turn before its next model call, if any."""
    if too_many_errors(state, limits):
        row = state.error_row
        last = (row[0].finished.error or "") if row[0].finished is not None else ""
        what = f"{len(row)} error{'s' if len(row) > 1 else ''} in a row, the last one: {_short(last)}"
        return _hit("errors", state, what, "agent.max_consecutive_errors allows more", go_on='Say what to do differently, or "go on"')
    if len(state.messages) >= limits.iterations and state.answer is None:
        what = f"the limit of {limits.iterations} model calls in a turn"
        return _hit("iterations", state, what, "--max-iterations N or agent.max_iterations_per_turn raises the limit")
    if state.messages and state.messages[-1].stop == "length":
        return _hit("output", state, "a reply that the model's output limit cut off", "llm.max_tokens raises the limit")
    return None


def too_many_errors(state: TurnState, limits: Limits) -> bool:
    """Whether the row of errors ends the turn: it is long enough, and the model had read one of them when it made the last call.

    Calls that one reply makes together are several guesses of which none could learn from another. Where one error is the limit there is no row.
    """
    row = state.error_row
    return len(row) >= limits.errors and (limits.errors == 1 or row[0].reply != row[-1].reply)


def repeats(state: TurnState, call: CallState, limits: Limits) -> bool:
    """Whether running this call would be the same call with the same arguments `limits.repeats` times in a row."""
    return call.call.error is None and state.repeats_before(call) + 1 >= limits.repeats


def repeated(state: TurnState, call: CallState, limits: Limits) -> LimitHit:
    what = f"the same call of {call.call.name} for the {_ordinal(limits.repeats)} time in a row"
    return _hit("repeats", state, what, "agent.max_repeated_calls allows more", go_on='Say what to do differently, or "go on"')


def over_budget(state: TurnState, cap: str, remedy: str) -> LimitHit:
    """The next model call might cost more than a cap leaves. `cap` names it, with what is spent."""
    return _hit("budget", state, f"{cap}: the next model call might cost more than is left", remedy)


def out_of_time(state: TurnState, limits: Limits) -> LimitHit:
    return _hit("time", state, f"the limit of {limits.seconds:g} s for a turn", "--timeout SECONDS or agent.max_turn_timeout_seconds raises the limit")


def _hit(kind: LimitKind, state: TurnState, what: str, remedy: str, *, go_on: str = 'Say "go on"') -> LimitHit:
    """What stopped the turn, what was done, and what the person can do now: three sentences."""
    return LimitHit(kind=kind, text=f"Stopped at {what}. Done so far: {state.done_so_far()}. {go_on} to continue; {remedy}.")


def _short(text: str) -> str:
    line = " ".join(text.split()).rstrip(".")
    return line if len(line) <= _ERROR else line[: _ERROR - 1] + "…"


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


class RunningTime:
    """Running time of a turn in milliseconds, summed over its runs; waiting for a person does not count."""

    def __init__(self, clock: Clock, before_ms: int, limit_seconds: float) -> None:
        self._clock = clock
        self._start = clock.monotonic()
        self._before = before_ms
        self._paused = 0.0
        self._pauses = 0
        self._pause_start = 0.0
        self._limit = limit_seconds
        self._scope = anyio.CancelScope()

    @property
    def ms(self) -> int:
        now = self._pause_start if self._pauses else self._clock.monotonic()
        return self._before + round((now - self._start - self._paused) * 1000)

    @contextmanager
    def limited(self) -> Iterator[anyio.CancelScope]:
        """Cancels what runs inside when the limit is reached, and then ends; the scope says whether it was (`cancelled_caught`). One at a time."""
        self._scope = anyio.CancelScope()
        self._arm()
        with self._scope:
            yield self._scope

    def _arm(self) -> None:
        self._scope.deadline = anyio.current_time() + max(0.0, self._limit - self.ms / 1000)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stand still inside; several may wait at once."""
        if not self._pauses:
            self._pause_start = self._clock.monotonic()
            self._scope.deadline = float("inf")
        self._pauses += 1
        try:
            yield
        finally:
            self._pauses -= 1
            if not self._pauses:
                self._paused += self._clock.monotonic() - self._pause_start
                self._arm()
