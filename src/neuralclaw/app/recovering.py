"""Going on with every unfinished turn of a home, one session after the other."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager

import msgspec

from ..errors import NeuralClawError, SessionBusy, TurnSetAside
from ..runtime.verbs import find_session
from ..types.entries import Event, rfc3339
from ..types.events import ErrorEvent
from ..types.rows import SessionRow
from .parts import Parts

GoOn = Callable[[str], AbstractAsyncContextManager[AsyncIterator[Event]]]


async def recovered(parts: Parts, go_on: GoOn) -> AsyncIterator[Event]:
    """The events of all unfinished turns; `go_on` finishes those of one session. What runs elsewhere is left.

    A session that cannot go on is named by a passing `error` event, and the next one follows.
    """
    seq = 0
    for row in await parts.store.sessions(unfinished=True):
        again = row.state != "set_aside"
        if not again:
            seq += 1
            yield _left(parts, row, TurnSetAside(f"turn {row.open_turn} was set aside", hint=f"neuralclaw run --resume {row.session} --retry"), seq)
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
                yield _left(parts, row, error, seq)
                break
            again = (await find_session(parts.store, row.session)).state in ("unfinished", "running")


def _left(parts: Parts, row: SessionRow, error: NeuralClawError, seq: int) -> Event:
    """Tells of a session that could not be gone on with."""
    now = rfc3339(round(parts.clock.now() * 1_000_000))
    body = ErrorEvent(kind=error.kind, text=f"{row.session}: {error.text}", hint=error.hint)
    return Event(body=body, session=row.session, turn=row.open_turn, seq=seq, time=now)
