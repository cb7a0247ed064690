"""What the runtime asks of the home before it runs a turn; `app` makes it."""

from typing import Protocol

import msgspec

from ..agent.equipment import Equipment
from ..agent.redaction import Searched
from ..ports import Clock, Redaction, Store
from ..types.events import TurnStarted
from ..types.options import TurnOptions
from .asker import JournalAsker
from .bus import Bus


class MakeEquipment(Protocol):
    """Makes what a run needs, for its session and options."""

    async def __call__(self, session: str, number: int, options: TurnOptions, begun: TurnStarted | None) -> Equipment:
        """`number`: the turn's, in its session. `begun` None: the turn begins. Else it is gone on with, under the system prompt and definitions it began with.

        May wait for a service or for code of others: a cancel and the time limit of the turn end it. Raises `NeuralClawError` where the turn cannot run now.
        """
        ...


class ResolveOptions(Protocol):
    """Fills in and checks the options of a message before it is recorded."""

    async def __call__(self, session: str, options: TurnOptions | None) -> TurnOptions:
        """The options with the whole name of the model, and the tools by their own names. None, and what is empty: the client's own.

        Raises `ConfigError` for a model that cannot be asked, `ToolNotFoundError` and `UsageError`.
        """
        ...


class RuntimePorts(msgspec.Struct, frozen=True, kw_only=True):
    """The ports that all sessions of a process are run with. `redaction` keeps secrets out of what is said to them and what they show."""

    store: Store
    clock: Clock
    bus: Bus
    asker: JournalAsker
    equip: MakeEquipment
    resolve: ResolveOptions
    redaction: Redaction
    searched: Searched
    """Entries that were read, without secrets: the journals of all sessions search none twice."""
