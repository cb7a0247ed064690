"""Each call of a model's service reserves what it may cost, where the turn that makes it has a cap. Around every provider, inside retries and fallbacks, so
that each attempt is counted."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from contextvars import ContextVar
from typing import Protocol

import anyio
import msgspec

from ..errors import BudgetError
from ..ports import Provider
from ..types.messages import Failure, Finished, ModelEvent, ModelInfo, ModelReply, ReasoningPart, Request, TextPart, Usage


class CallReservation(Protocol):
    """What is reserved for one call. `max_tokens`: those of the reply that it is for."""

    @property
    def id(self) -> str: ...
    @property
    def max_tokens(self) -> int: ...


class SpendingAccount(Protocol):
    """The caps of a turn."""

    async def reserve(self, request: Request, info: ModelInfo) -> CallReservation:
        """Reserve what the call may cost. Raises `BudgetError` where that does not fit under a cap."""
        ...

    async def spend(self, reservation: CallReservation, usage: Usage | None, text_bytes: int) -> None:
        """What the call has cost. `usage` None: the service did not say; then it is what was sent and `text_bytes` of reply."""
        ...


_account: ContextVar[SpendingAccount | None] = ContextVar("spending_account", default=None)
"""The account of the turn whose model call runs. It reaches the innermost provider through all wrappers, those of others too."""


class AccountedProvider:
    """A provider whose calls, however many it makes, are charged to one account. Outermost."""

    def __init__(self, inner: Provider, account: SpendingAccount) -> None:
        self._inner, self._spending = inner, account

    def info(self, model: str) -> ModelInfo:
        return self._inner.info(model)

    def count(self, request: Request) -> int:
        return self._inner.count(request)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        before = _account.set(self._spending)
        try:
            async with self._inner.stream(request) as events:
                yield events
        finally:
            _account.reset(before)


class MeteredProvider:
    """Reserves each call at the account of the turn, and says what it has cost. Without an account it changes nothing. Innermost."""

    def __init__(self, inner: Provider) -> None:
        self._inner = inner

    def info(self, model: str) -> ModelInfo:
        return self._inner.info(model)

    def count(self, request: Request) -> int:
        return self._inner.count(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        account = _account.get()
        return self._inner.stream(request) if account is None else aclosing(self._events(request, account))

    async def _events(self, request: Request, account: SpendingAccount) -> AsyncGenerator[ModelEvent]:
        try:
            reservation = await account.reserve(request, self.info(request.model))
        except BudgetError as error:
            yield Finished(ModelReply(stop="error", failure=Failure("BudgetError", error.text, error.hint)))
            return
        request = msgspec.structs.replace(request, max_tokens=reservation.max_tokens)
        reply: ModelReply | None = None
        heard = 0
        try:
            async with self._inner.stream(request) as events:
                async for event in events:
                    if isinstance(event, Finished):
                        reply = event.reply
                        break
                    if isinstance(event, TextPart | ReasoningPart):
                        heard += len(event.text.encode("utf-8", "surrogatepass"))
                    yield event
        finally:
            with anyio.CancelScope(shield=True):
                told = None if reply is None else _told(reply, heard)
                await account.spend(reservation, told, heard)
        if reply is not None:
            recorded = told is not None and (reply.failure is None or reply.failure.answered)
            yield Finished(msgspec.structs.replace(reply, reservations=(*reply.reservations, reservation.id)) if recorded else reply)


def _told(reply: ModelReply, heard: int) -> Usage | None:
    """The usage that the service told, None where it told none though it has answered something."""
    usage = reply.usage
    silent = not usage.input and not usage.output and bool(heard or reply.text or reply.tool_calls)
    return None if silent else usage
