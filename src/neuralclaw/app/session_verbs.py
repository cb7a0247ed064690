"""The verbs that change sessions: say something to one, stop its turn. From any process, whoever runs the turn."""

from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import msgspec

from .. import lookups
from ..agent.inbox import Inbox
from ..errors import ConfigError, SessionBusy, no_result
from ..ports import Desk, Store, TurnEvents
from ..runtime.sessions import lease_name
from ..types.entries import Event
from ..types.events import Cancel, TurnFinished, TurnStarted
from ..types.ids import new_id
from ..types.records import SessionRow
from .defaults import ClientDefaults
from .option_checks import checked_name, checked_text, continued

PATIENCE = 5.0
"""Seconds that a turn may take to stop, or its process to let the session go, before the caller is told that it has not."""
_LOOK = 0.05
"""Seconds between two looks at a session that another process holds."""


class MessageReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a message. `steered`: a turn that runs sees it before its next model call; else `finished` is the end of the turn it began.

    `holder`: who runs the turn, where it is another process.
    """

    session: str
    turn: int
    steered: bool
    holder: str | None = None
    finished: dict[str, Any] | None = None


class StopReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a cancel. `turn` is null and `cancelled` false where nothing ran; `ended` false: `holder` has not ended the turn yet."""

    session: str
    turn: int | None = None
    cancelled: bool = False
    ended: bool = False
    holder: str | None = None


def session_verbs(store: Store, desk: Desk, defaults: ClientDefaults) -> "SessionVerbs":
    """The verbs of a client, under its defaults."""
    return SessionVerbs(store, desk, defaults)


class SessionVerbs:
    """The verbs of a client, under its defaults."""

    def __init__(self, store: Store, desk: Desk, defaults: ClientDefaults) -> None:
        self._store, self._desk, self._defaults, self._who = store, desk, defaults, defaults.who

    async def send(self, *, session: str, text: str) -> dict[str, Any]:
        """Steer the turn that runs in the session, in whichever process; where none does, begin one here and bring it to its end."""
        name, key = continued((await lookups.find_session(self._store, checked_name(session))).session), new_id(16)
        checked_text(text)
        tries = round(PATIENCE / _LOOK)
        while True:
            try:
                return plain(await self._steered(name, text, key) or await self._ended(name, self._turn(name, text, key)))
            except SessionBusy:  # between two turns of another process
                tries -= 1
                if tries < 0:
                    raise
            await anyio.sleep(_LOOK)

    async def _steered(self, name: str, text: str, key: str) -> MessageReceipt | None:
        """Say it to the running turn; None where none runs. A turn that ended before it was said has not seen it: then it begins the next one, here."""
        row = await self._row(name)
        if row.state != "running" or not row.open_turn:
            return None
        turn = row.open_turn
        entry = await self._desk.steer(name, self._defaults.word(text, key=key))
        stands = (await self._store.read(name, after=entry - 1))[0].turn
        for _ in range(round(PATIENCE / _LOOK)):
            row = await self._row(name)
            if stands == turn and row.state == "running" and row.open_turn == turn:
                break
            try:
                return await self._ended(name, self._turn(name, text, key))
            except SessionBusy:  # its process is on its way out, or goes on with this message
                await anyio.sleep(_LOOK)
        return MessageReceipt(session=name, turn=stands, steered=True, holder=await self._holder(name))

    def _turn(self, name: str, text: str, key: str) -> AbstractAsyncContextManager[TurnEvents]:
        return self._desk.turn(name, self._defaults.message(text, key=key))

    async def _ended(self, name: str, turn: AbstractAsyncContextManager[TurnEvents]) -> MessageReceipt:
        last: Event | None = None
        async with turn as events:
            async for event in events:
                last = event if isinstance(event.body, TurnFinished) else last
        if last is None:
            raise no_result()
        return MessageReceipt(session=name, turn=last.turn, steered=False, finished=last.to_dict())

    async def cancel(self, *, session: str) -> dict[str, Any]:
        """Stop the session's turn, wherever it runs; one that is parked or was interrupted ends here, and what waits behind it is withdrawn."""
        row = await lookups.find_session(self._store, checked_name(session))
        if not row.open_turn and not row.pending:
            return plain(StopReceipt(session=row.session))
        turn = row.open_turn or row.last_turn + 1
        if row.state != "running":
            await self._withdraw_waiting(row)
        await self._desk.cancel(row.session, by=self._who, turn=row.open_turn or None)
        try:
            wanted = self._defaults.starting(retry=True, one_turn=True)
            await self._ended(row.session, self._desk.resume(row.session, wanted, by=self._who))
        except ConfigError:  # its model is not there now: it ends when it is taken up
            pass
        except SessionBusy:
            await self._over(row.session, turn)
        left = await self._row(row.session)
        ended = left.open_turn != turn
        return plain(StopReceipt(session=row.session, turn=turn, cancelled=True, ended=ended, holder=None if ended else await self._holder(row.session)))

    async def _withdraw_waiting(self, row: SessionRow) -> None:
        """Withdraw the messages that wait behind the turn that is cancelled: no turn begins with them."""
        inbox = Inbox()
        began = await self._store.read(row.session, from_turn=row.last_turn, kinds=("turn.started",)) if row.last_turn else []
        after = max((entry.body.inbound for entry in began if isinstance(entry.body, TurnStarted)), default=0)
        for entry in await self._store.read(row.session, after=after, kinds=("inbound", "turn.started", "message", "cancel")):
            inbox.apply(entry)
            if isinstance(entry.body, Cancel) and entry.body.message is not None:
                inbox.withdraw(entry.body)
        waiting = [message for message in inbox if message.cancelled_by is None]
        for message in waiting if row.open_turn else waiting[1:]:
            await self._desk.cancel(row.session, by=self._who, turn=message.turn, message=message.entry)

    async def _over(self, name: str, turn: int) -> None:
        """Returns when the turn, which another process runs, has ended, or when that takes too long."""
        for _ in range(round(PATIENCE / _LOOK)):
            if (await self._row(name)).open_turn != turn:
                return
            await anyio.sleep(_LOOK)

    async def _row(self, name: str) -> SessionRow:
        return await lookups.find_session(self._store, name)

    async def _holder(self, name: str) -> str | None:
        return await self._store.holder(lease_name(name))


def plain(value: MessageReceipt | StopReceipt) -> dict[str, Any]:
    """A verb's value as JSON types."""
    said: dict[str, Any] = msgspec.to_builtins(value)
    return said
