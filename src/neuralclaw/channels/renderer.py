"""The one pair for whoever sees events and gives answers: a renderer shows what happens, an input says what shall happen."""

from collections.abc import Awaitable
from typing import Any, Protocol

from ..ports import Desk
from ..types.entries import Event


class Renderer(Protocol):
    """Where events go: a terminal, a pipe, a socket."""

    def show(self, event: Event) -> None:
        """Show one event; it never waits."""

    def trouble(self, kind: str, text: str, hint: str = "") -> None:
        """Show an error outside the record, of the class `kind`: what was said cannot be used, or a turn could not begin."""

    def room(self) -> Awaitable[None]:
        """Wait until there is room for more."""
        ...

    def turned(self) -> None:
        """The turn is over; another one may follow."""


class Input(Protocol):
    """Where messages and answers come from: a person at a terminal, a program behind a pipe or a socket."""

    async def saw(self, event: Event) -> None:
        """Learn what has happened, after it was shown: which question waits, and that a turn has ended."""

    async def serve(self, desk: Desk) -> Any:
        """Give messages and answers to the desk, until there will be none any more or until it is cancelled."""
        ...
