"""The journal as one run of a turn sees it: what it appends it folds, and so does it with what others append."""

from collections.abc import Callable, Sequence

import anyio

from .. import lookups
from ..errors import StoreError
from ..ports import Store
from ..types.entries import Draft, Entry
from ..types.events import Durable
from ..types.labels import AGENT, Labels, join
from ..types.records import Lease, OutboxItem, SettledReservation, StoredResult
from .context import Conversation
from .redaction import Searched, redacted
from .state import TurnState

RECORD_SECONDS = 15.0
"""How long a write of a turn is waited for: the store waits 10 s for a lock, and what is before it in the queue comes on top."""


class Journal:
    """Appends entries of one session under its lease and folds them, those of other processes too.

    Every text in the bodies it writes and reads has gone through the redaction of `searched`; `rows` come clean from who makes them.
    Entry numbers of a session rise by one, so a gap in what an append returns tells that another process wrote between: it is read then.
    `labels` is the join of the labels of every entry of the session, those that no request holds any more too.
    """

    def __init__(self, store: Store, lease: Lease, session: str, publish: Callable[[Sequence[Entry]], None], searched: Searched) -> None:
        self._store, self._lease, self._session, self._publish, self._searched = store, lease, session, publish, searched
        self._pictures: dict[str, bytes] = {}
        self.state = TurnState(0)
        self.conversation = Conversation()
        self.labels: Labels = frozenset()

    def begin(self, state: TurnState, conversation: Conversation, labels: Labels) -> None:
        """Take over the folded state of a turn."""
        self.state, self.conversation, self.labels = state, conversation, labels

    async def append(
        self,
        *bodies: Durable,
        labels: Labels | None = None,
        rows: Sequence[OutboxItem | StoredResult | SettledReservation] = (),
        blobs: Sequence[bytes] = (),
        turn: int | None = None,
    ) -> None:
        """Write the bodies in one transaction, then fold and publish them.

        `labels` None: what comes from the agent after all that the session has read. `turn`: another one than the state's. A cancellation waits
        until the write is known, for at most `RECORD_SECONDS`; then `StoreError` is raised, and nobody may continue from this state.
        """
        own = join(self.labels, AGENT) if labels is None else labels
        number = self.state.number if turn is None else turn
        drafts = [Draft(number, redacted(body, self._searched.redaction), own) for body in bodies]
        if blobs:
            drafts[0] = Draft(number, drafts[0].body, own, tuple(blobs))
        written: list[Entry] = []
        with anyio.move_on_after(RECORD_SECONDS, shield=True):
            written = await self._store.append(self._session, drafts, lease=self._lease, rows=rows)
        if not written:
            raise StoreError(
                f"the record did not take a step of session {self._session} within {RECORD_SECONDS:g} s; whether it was written is not known",
                hint=f"when the disk answers again: neuralclaw run --resume {self._session}",
            )
        self._searched.written(written)
        if written[0].entry != self.state.last_entry + 1:
            foreign = self._searched.entries(await self._store.read(self._session, after=self.state.last_entry))
            written = [*(e for e in foreign if e.entry < written[0].entry), *written]
        self._take(written)

    async def sync(self) -> None:
        """Fold what other processes have written since."""
        self._take(self._searched.entries(await self._store.read(self._session, after=self.state.last_entry)))

    async def barrier(self) -> None:
        """Returns when all that was appended is on the disk."""
        await self._store.barrier()

    async def pictures(self, digests: Sequence[str]) -> dict[str, bytes]:
        """The bytes of these pictures by digest; those of the request before are at hand."""
        missing = [digest for digest in digests if digest not in self._pictures]
        found = self._pictures | (await lookups.blobs(self._store, missing) if missing else {})
        self._pictures = {digest: found[digest] for digest in digests if digest in found}
        return self._pictures

    def _take(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            self.labels = join(self.labels, entry.header.labels) if not self.labels.issuperset(entry.header.labels) else self.labels
            self.state.apply(entry)
            self.conversation.apply(entry)
        self._publish(entries)
