"""What of a session's record its next request is made of."""

from ..agent.compaction import history_start
from ..agent.context import KINDS
from ..ports import Store
from ..types.entries import Entry
from ..types.events import TurnStarted


async def read_history(store: Store, session: str, last: int) -> tuple[TurnStarted | None, list[Entry]]:
    """The beginning of turn `last`, the newest (0: there is none), and the entries that its history is made of: all of that turn, and those before it
    from where the last compaction begins it."""
    newest = await store.read(session, from_turn=last) if last else []
    started = next((e.body for e in newest if isinstance(e.body, TurnStarted) and e.turn == last), None)
    alone = started is not None and started.options.limits.history.alone
    first = history_start([e.body for e in newest], started)
    older = [] if alone or not last else [e for e in await store.read(session, after=max(0, first - 1), kinds=KINDS) if e.turn < last]
    waiting = await store.read(session, after=started.inbound, kinds=("inbound", "cancel")) if started else await store.read(session, kinds=KINDS)
    known = {e.entry: e for e in (*waiting, *older, *newest)}
    return started, [known[n] for n in sorted(known)]
