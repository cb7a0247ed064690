"""Finishes every unfinished turn of a home, one session after the other."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager

import msgspec

from .. import lookups
from ..errors import NeuralClawError, SessionBusy, TurnSetAside
from ..ports import Clock, Store
from ..types.entries import Event, rfc3339
from ..types.events import ErrorEvent
from ..types.records import SessionRow

GoOn = Callable[[str], AbstractAsyncContextManager[AsyncIterator[Event]]]


async def recovered(store: Store, clock: Clock, go_on: GoOn) -> AsyncIterator[Event]:
    """The events of all of them, `seq` rising by one. `go_on` takes up a session.

    What runs elsewhere is left; a session that cannot continue, or was set aside, is named by a passing `error` event.
    """
    seq = 0
    for row in await store.sessions(unfinished=True):
        again = row.state != "set_aside"
        if not again:
            seq += 1
            yield left(clock, row, TurnSetAside(f"turn {row.open_turn} was set aside", hint=f"neuralclaw run --resume {row.session} --retry"), seq)
        while again:  # messages that wait behind the unfinished turn have turns of their own
            try:
                async with go_on(row.session) as events:
                    async for event in events:
                        seq += 1
                        yield msgspec.structs.replace(event, seq=seq)
            except SessionBusy:
                break
            except NeuralClawError as error:
                seq += 1
                yield left(clock, row, error, seq)
                break
            now = await lookups.session(store, row.session)
            again = now is not None and now.state in ("unfinished", "running")


def left(clock: Clock, row: SessionRow, error: NeuralClawError, seq: int) -> Event:
    """Tells of a session that could not be continued."""
    body = ErrorEvent(kind=error.kind, text=f"{row.session}: {error.text}", hint=error.hint)
    return Event(body=body, session=row.session, turn=row.open_turn, seq=seq, time=rfc3339(round(clock.now() * 1_000_000)))
