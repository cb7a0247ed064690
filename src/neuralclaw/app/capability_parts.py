"""What capabilities bring to a client of the home: to its turns, and in the background."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from ..capability import CapabilityContext, ContextSource, Service, TurnContext
from ..errors import AgentError
from ..ports import Channel, Desk, Provider
from .capability_tools import BroughtTools


class CapabilityParts(Protocol):
    """What capabilities bring."""

    def sources(self) -> Sequence[tuple[ContextSource, CapabilityContext]]: ...
    async def tools(self, turn: TurnContext) -> Sequence[BroughtTools]:
        """The tools of a turn, by capability. One that fails brings none, and says why."""
        ...

    def wrap(self, turn: TurnContext, provider: Provider) -> Provider:
        """The turn's provider inside those of capabilities."""
        ...

    def services(self) -> Sequence[tuple[Service, CapabilityContext]]: ...
    def channels(self) -> Mapping[str, Channel]:
        """The channels by name, each made when it is first used."""
        ...

    def channel_desk(self, channel: str) -> Desk:
        """The desk that the channel of that name is served with. Raises `AgentError` where the home is not open."""
        ...


class NoCapabilityParts:
    """No capability takes part."""

    def sources(self) -> Sequence[tuple[ContextSource, CapabilityContext]]:
        return ()

    async def tools(self, turn: TurnContext) -> Sequence[BroughtTools]:
        return ()

    def wrap(self, turn: TurnContext, provider: Provider) -> Provider:
        return provider

    def services(self) -> Sequence[tuple[Service, CapabilityContext]]:
        return ()

    def channels(self) -> Mapping[str, Channel]:
        return {}

    def channel_desk(self, channel: str) -> Desk:
        raise AgentError("no capability takes part, and so no channel")


NOTHING: CapabilityParts = NoCapabilityParts()
