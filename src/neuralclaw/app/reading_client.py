"""What a verb works with that says it only reads: the store and the desk of its client, without what writes."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, NoReturn

from ..errors import AgentError
from ..ports import Desk, Store, Subscriber, TurnEvents
from ..types.entries import Draft, Entry
from ..types.events import Inbound
from ..types.grants import StandingGrant
from ..types.options import StartOptions
from ..types.records import Accepted, AnchorReport, Lease, OpenQuestion, Record, SessionRow, StateRow, VerifyReport


def refuse(command: str, what: str) -> NoReturn:
    """Raise `AgentError` for what a verb that only reads may not do."""
    raise AgentError(f"the command {command} only reads, and may not {what}; nothing was recorded", hint="a Verb that writes does not say reads=True")


class ReadingStore:
    """`Store` without its writing methods: each raises `AgentError`. `command`: the verb, for the error."""

    def __init__(self, store: Store, command: str) -> None:
        self._store, self._command = store, command

    async def read(
        self,
        session: str,
        *,
        after: int = 0,
        from_turn: int = 0,
        kinds: Sequence[str] | None = None,
        verified: bool = False,
        limit: int | None = None,
    ) -> list[Entry]:
        return await self._store.read(session, after=after, from_turn=from_turn, kinds=kinds, verified=verified, limit=limit)

    async def rows(
        self, table: str, where: Mapping[str, Any] = {}, *, order: Sequence[str] = (), descending: bool = False, limit: int | None = None
    ) -> list[dict[str, Any]]:
        return await self._store.rows(table, where, order=order, descending=descending, limit=limit)

    def changes(self, after: int | None = None) -> AsyncIterator[Sequence[Entry]]:
        return self._store.changes(after)

    async def sessions(self, *, session: str | None = None, unfinished: bool = False) -> list[SessionRow]:
        return await self._store.sessions(session=session, unfinished=unfinished)

    async def questions(self, *, approval_id: str | None = None, session: str | None = None, open_only: bool = True) -> list[OpenQuestion]:
        return await self._store.questions(approval_id=approval_id, session=session, open_only=open_only)

    async def grants(self, session: str | None = None, workspace: str | None = None) -> list[StandingGrant]:
        return await self._store.grants(session, workspace)

    async def holder(self, name: str) -> str | None:
        return await self._store.holder(name)

    async def verify(self) -> VerifyReport:
        return await self._store.verify()

    async def append(self, session: str, drafts: Sequence[Draft], *, lease: Lease | None = None, rows: Sequence[StateRow] = ()) -> list[Entry]:
        refuse(self._command, "record an event")

    async def put_record(self, space: str, key: str, value: Any, *, expect: int | None = None) -> Record:
        refuse(self._command, "keep a value")

    async def accept_anchor(self) -> AnchorReport:
        refuse(self._command, "anchor the record")

    async def barrier(self) -> None:
        refuse(self._command, "write to the disk")

    async def acquire(self, name: str) -> Lease | None:
        refuse(self._command, "take a lease")

    async def release(self, lease: Lease) -> None:
        refuse(self._command, "give a lease back")

    async def aclose(self) -> None:
        refuse(self._command, "close the store")


class ReadingClientDesk:
    """`Desk` that shows events and runs verbs that only read; all else raises `AgentError`. `reads`: whether the verb of that name only reads."""

    def __init__(self, desk: Desk, command: str, reads: Callable[[str], bool]) -> None:
        self._desk, self._command, self._reads = desk, command, reads

    def events(self, session: str, *, after: int | None = None) -> AbstractAsyncContextManager[Subscriber]:
        return self._desk.events(session, after=after)

    async def do(self, verb: str, /, **arguments: Any) -> Any:
        if not self._reads(verb):
            refuse(self._command, f"run {verb}")
        return await self._desk.do(verb, **arguments)

    def turn(self, session: str, inbound: Inbound, start: StartOptions | None = None) -> AbstractAsyncContextManager[TurnEvents]:
        refuse(self._command, "send a message")

    async def send(self, session: str, inbound: Inbound, start: StartOptions | None = None) -> Accepted:
        refuse(self._command, "send a message")

    async def queue(self, session: str, inbound: Inbound) -> Accepted:
        refuse(self._command, "send a message")

    async def steer(self, session: str, inbound: Inbound) -> int:
        refuse(self._command, "send a message")

    def resume(self, session: str, start: StartOptions | None = None, *, by: str) -> AbstractAsyncContextManager[TurnEvents]:
        refuse(self._command, "resume a session")

    def recover(self, start: StartOptions | None = None, *, by: str) -> AsyncIterator[Any]:
        refuse(self._command, "resume a session")

    async def stop(self, events: TurnEvents, *, by: str) -> None:
        refuse(self._command, "stop a turn")

    async def cancel(self, session: str, *, by: str, turn: int | None = None, message: int | None = None) -> None:
        refuse(self._command, "cancel a turn")

    async def answer(
        self, approval_id: str, decision: str, *, by: str, value: Mapping[str, Any] | None = None, text: str | None = None, channel: str = ""
    ) -> None:
        refuse(self._command, "answer a question")

    async def leave(self, session: str) -> None:
        refuse(self._command, "leave a session")
