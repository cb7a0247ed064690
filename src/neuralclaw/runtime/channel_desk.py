"""The desk as a channel has it: what it is told is on the disk when a call returns, so that the channel can acknowledge it to where it came from."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from ..ports import Desk, Store, Subscriber, TurnEvents
from ..types.entries import Event
from ..types.events import Inbound
from ..types.options import StartOptions
from ..types.records import Accepted


class ChannelDesk:
    """The port `Desk` over another one. A call that writes returns behind a barrier of the store; where that fails it raises `StoreError`, and what was
    recorded stays: the same message sent again, with its key, is not a second one. `turn` withdraws its message then, as leaving it does.
    """

    def __init__(self, desk: Desk, store: Store) -> None:
        self._desk, self._store = desk, store

    @asynccontextmanager
    async def turn(self, session: str, inbound: Inbound, start: StartOptions | None = None) -> AsyncIterator[TurnEvents]:
        async with self._desk.turn(session, inbound, start) as events:
            await self._store.barrier()
            yield events

    async def send(self, session: str, inbound: Inbound, start: StartOptions | None = None) -> Accepted:
        accepted = await self._desk.send(session, inbound, start)
        await self._store.barrier()
        return accepted

    async def queue(self, session: str, inbound: Inbound) -> Accepted:
        accepted = await self._desk.queue(session, inbound)
        await self._store.barrier()
        return accepted

    async def steer(self, session: str, inbound: Inbound) -> int:
        entry = await self._desk.steer(session, inbound)
        await self._store.barrier()
        return entry

    def resume(self, session: str, start: StartOptions | None = None, *, by: str) -> AbstractAsyncContextManager[TurnEvents]:
        return self._desk.resume(session, start, by=by)

    def recover(self, start: StartOptions | None = None, *, by: str) -> AsyncIterator[Event]:
        return self._desk.recover(start, by=by)

    async def stop(self, events: TurnEvents, *, by: str) -> None:
        await self._desk.stop(events, by=by)
        await self._store.barrier()

    async def cancel(self, session: str, *, by: str, turn: int | None = None, message: int | None = None) -> None:
        await self._desk.cancel(session, by=by, turn=turn, message=message)
        await self._store.barrier()

    async def answer(self, approval_id: str, decision: str, *, by: str, value: Mapping[str, Any] | None = None, text: str | None = None) -> None:
        await self._desk.answer(approval_id, decision, by=by, value=value, text=text)
        await self._store.barrier()

    async def leave(self, session: str) -> None:
        await self._desk.leave(session)

    def events(self, session: str, *, after: int | None = None) -> AbstractAsyncContextManager[Subscriber]:
        return self._desk.events(session, after=after)

    async def do(self, verb: str, /, **arguments: Any) -> Any:
        value = await self._desk.do(verb, **arguments)
        await self._store.barrier()
        return value
