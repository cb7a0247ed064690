"""What one run of a turn needs, as one value, and the journal as the run sees it."""

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from ..ports import Asker, Clock, Gate, Provider, Redaction, Store, Toolset
from ..types.entries import Draft, Entry
from ..types.events import Durable, Passing
from ..types.labels import NONE, Labels
from ..types.options import TurnOptions
from ..types.rows import Lease, OutboxItem, Result
from .context import Conversation
from .limits import RunningTime
from .redaction import NO_REDACTION, Searched, redacted
from .state import TurnState


class Journal:
    """Appends entries of one session under its lease and folds them, those of other processes too.

    Every text in the bodies it writes and reads has gone through the redaction of `searched`; `rows` come clean from who makes them.
    Entry numbers of a session rise by one, so a gap in what an append returns tells that another process wrote between: it is read then.
    """

    def __init__(self, store: Store, lease: Lease, session: str, publish: Callable[[Sequence[Entry]], None], searched: Searched) -> None:
        self._store, self._lease, self._session, self._publish, self._searched = store, lease, session, publish, searched
        self.state = TurnState(0)
        self.conversation = Conversation()

    def begin(self, state: TurnState, conversation: Conversation) -> None:
        """Take over the folded state of a turn."""
        self.state, self.conversation = state, conversation

    async def append(self, *bodies: Durable, labels: Labels = NONE, rows: Sequence[OutboxItem | Result] = ()) -> None:
        """Write the bodies in one transaction, then fold and publish them."""
        drafts = [Draft(self.state.number, redacted(body, self._searched.redaction), labels) for body in bodies]
        written = await self._store.append(self._session, drafts, lease=self._lease, rows=rows)
        self._searched.written(written)
        if written[0].entry != self.state.last_entry + 1:
            foreign = self._searched.entries(await self._store.read(self._session, after=self.state.last_entry))
            written = [*(e for e in foreign if e.entry < written[0].entry), *written]
        self._take(written)

    async def sync(self) -> None:
        """Fold what other processes have written since."""
        self._take(self._searched.entries(await self._store.read(self._session, after=self.state.last_entry)))

    async def settle(self) -> None:
        """Fold what a cancelled `append` may have written all the same: behind a barrier no write of this process is under way."""
        await self.barrier()
        await self.sync()

    async def barrier(self) -> None:
        await self._store.barrier()

    def _take(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            self.state.apply(entry)
            self.conversation.apply(entry)
        self._publish(entries)


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a run of a turn uses. `show` publishes passing events; `outbox` is the address the answer is delivered to."""

    session: str
    options: TurnOptions
    """Those of `turn.started`, with what this run may change: the approvals mode and whether someone is present."""
    provider: Provider
    model: str
    """The model's name within the provider."""
    tools: Toolset
    gate: Gate
    asker: Asker
    clock: Clock
    journal: Journal
    store: Store
    show: Callable[[Passing], None]
    time: RunningTime
    system: str
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    model_timeout: float = 120.0
    outbox: str | None = None
    environment: Callable[[str], Awaitable[str]] | None = None
    """Describes the machine and a workspace at this moment, for the model."""
    redaction: Redaction = NO_REDACTION
    """Keeps secrets out of what is shown; the journal has its own."""
    closing: Callable[[], bool] = bool
    """Whether the program ends, so that a cancellation is nobody's wish for this turn."""

    @property
    def state(self) -> TurnState:
        return self.journal.state
