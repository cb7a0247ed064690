"""What capabilities bring to turns, as the home takes it."""

from collections.abc import Sequence
from typing import Any, Protocol

from ..capability import CapabilityContext, ContextSource, TurnContext
from ..ports import Provider


class TurnParts(Protocol):
    """What capabilities bring to turns."""

    def sources(self) -> Sequence[tuple[ContextSource, CapabilityContext]]: ...
    async def tools(self, turn: TurnContext) -> Sequence[tuple[str, Sequence[Any]]]:
        """The tools of a turn, by the name of their capability. A capability that fails brings none."""
        ...

    def wrap(self, turn: TurnContext, provider: Provider) -> Provider:
        """The turn's provider inside those of capabilities."""
        ...


class Nothing:
    """No capability takes part."""

    def sources(self) -> Sequence[tuple[ContextSource, CapabilityContext]]:
        return ()

    async def tools(self, turn: TurnContext) -> Sequence[tuple[str, Sequence[Any]]]:
        return ()

    def wrap(self, turn: TurnContext, provider: Provider) -> Provider:
        return provider


NOTHING: TurnParts = Nothing()
