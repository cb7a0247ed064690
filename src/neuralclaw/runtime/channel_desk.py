"""The desk as a channel or a service has it: its messages have the defaults of work in the background, and what it is told is on the disk when a call
returns, so that a channel can acknowledge it to where it came from.
"""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, cast, get_args
from urllib.parse import quote

import anyio
import msgspec

from .. import lookups
from ..errors import UsageError, WorkspaceError
from ..ports import Desk, Store, Subscriber, TurnEvents
from ..types.actions import Origin, Who
from ..types.entries import HOME, Event
from ..types.events import Inbound, TurnStarted
from ..types.options import StartOptions, TurnOptions
from ..types.records import Accepted


class ChannelDesk:
    """The port `Desk` over another one, for the channel of that name, or for a service (""). A call that writes returns behind a barrier of the store; where
    that fails it raises `StoreError`, and what was recorded stays: the same message sent again, with its key, is not a second one. `turn` withdraws its
    message then, as leaving it does.

    A message without options has the `defaults` with questions that park, the workspace `workspaces/SESSION` of the home, and its sender as its origin; in a
    session whose last turn came from somewhere else it has that turn's options with questions that park. The answer to a message with an `address` goes there.
    """

    def __init__(self, desk: Desk, store: Store, home: str, defaults: TurnOptions, channel: str = "") -> None:
        self._desk, self._store, self._home, self._defaults, self._channel = desk, store, home, defaults, channel

    @asynccontextmanager
    async def turn(self, session: str, inbound: Inbound, start: StartOptions | None = None) -> AsyncIterator[TurnEvents]:
        async with self._desk.turn(session, await self._filled(session, inbound), start) as events:
            await self._store.barrier()
            yield events

    async def send(self, session: str, inbound: Inbound, start: StartOptions | None = None) -> Accepted:
        accepted = await self._desk.send(session, await self._answered(session, inbound), start)
        await self._store.barrier()
        return accepted

    async def queue(self, session: str, inbound: Inbound) -> Accepted:
        accepted = await self._desk.queue(session, await self._answered(session, inbound))
        await self._store.barrier()
        return accepted

    async def steer(self, session: str, inbound: Inbound) -> int:
        entry = await self._desk.steer(session, await self._answered(session, inbound))
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

    async def answer(
        self, approval_id: str, decision: str, *, by: str, value: Mapping[str, Any] | None = None, text: str | None = None, channel: str = ""
    ) -> None:
        await self._desk.answer(approval_id, decision, by=by, value=value, text=text, channel=self._channel or channel)
        await self._store.barrier()

    async def leave(self, session: str) -> None:
        await self._desk.leave(session)

    def events(self, session: str, *, after: int | None = None) -> AbstractAsyncContextManager[Subscriber]:
        return self._desk.events(session, after=after)

    async def do(self, verb: str, /, **arguments: Any) -> Any:
        value = await self._desk.do(verb, **arguments)
        await self._store.barrier()
        return value

    async def _answered(self, session: str, inbound: Inbound) -> Inbound:
        """The message of somebody who does not follow its turn: its answer goes to where the conversation is, unless it names another address, or ""."""
        if inbound.reply_to is None and inbound.address:
            inbound = msgspec.structs.replace(inbound, reply_to=inbound.address)
        return await self._filled(session, inbound)

    async def _filled(self, session: str, inbound: Inbound) -> Inbound:
        """The message with its channel and options. Raises `UsageError` for an address without a channel, `WorkspaceError` where it can have no workspace."""
        inbound = msgspec.structs.replace(inbound, channel=inbound.channel or self._channel)
        if not inbound.channel and (inbound.address or inbound.reply_to):
            raise UsageError(
                "the message has an address and names no channel, so its answer would reach nobody; nothing was recorded",
                hint="name the channel: Inbound(channel=…, address=…)",
            )
        options = inbound.options
        if session == HOME or (options is not None and options.workspace):
            return inbound
        workspace = own_workspace(self._home, session)
        if options is not None:
            await _make(workspace)
            return msgspec.structs.replace(inbound, options=msgspec.structs.replace(options, workspace=workspace))
        who = cast(Who, inbound.by) if inbound.by in get_args(Who) else "program"
        origin = Origin(who=who, channel=inbound.channel)
        last = await self._last(session)
        if last is None or last.workspace == workspace:
            await _make(workspace)
        if last is not None and last.origin == origin:
            return inbound  # as the turn before
        options = last or msgspec.structs.replace(self._defaults, workspace=workspace)
        return msgspec.structs.replace(inbound, options=msgspec.structs.replace(options, approvals="park", origin=origin))

    async def _last(self, session: str) -> TurnOptions | None:
        """The options of the session's last turn; None for a session without one."""
        row = await lookups.session(self._store, session)
        begun = await self._store.read(session, from_turn=row.last_turn, kinds=("turn.started",)) if row is not None and row.last_turn else []
        return next((entry.body.options for entry in begun if isinstance(entry.body, TurnStarted)), None)


def own_workspace(home: str, session: str) -> str:
    """The directory of a session that nobody began in a directory of their own. A name that cannot be one of a directory is written with `%`."""
    name = quote(session, safe=" @+")
    return os.path.join(os.path.realpath(home), "workspaces", name if name.strip(".") else name.replace(".", "%2E"))  # noqa: PTH118


async def _make(workspace: str) -> None:
    """Make the directory where it is not there."""
    try:
        await anyio.Path(workspace).mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise WorkspaceError(f"the workspace {workspace} cannot be made ({error.strerror}); nothing was recorded") from error
