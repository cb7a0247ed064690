"""A chain of models: when one is out, the next is asked, visibly."""

from collections.abc import AsyncGenerator, AsyncIterator, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing

import msgspec

from ..errors import LLMAuthError, LLMModelError, LLMRateLimitError, LLMTimeoutError, LLMUnavailableError
from ..ports import Clock, Provider
from ..types.messages import Failure, Finished, ModelEvent, ModelInfo, ModelReply, Notice, Request, Retrying

OUT_SECONDS = 60.0
"""How long a model that was out is not asked first."""
OUT = frozenset(error.__name__ for error in (LLMUnavailableError, LLMTimeoutError, LLMRateLimitError, LLMAuthError, LLMModelError))
"""Failures that another model may not have. A request that is too long or that a service objects to would fail there too."""

NO_REPLY = ModelReply(stop="error", failure=Failure("LLMUnavailableError", "the provider gave no reply"))


class Link(msgspec.Struct, frozen=True):
    """One model of a chain: its provider, its name within that provider, and its full name `P:M`."""

    provider: Provider
    model: str
    name: str


class FallbackProvider:
    """Asks the first model of the chain, and the next when it is out after its own retries.

    Going on is shown as `Retrying` with the full name of the next model, and with `discard` where parts were given out. A model
    that was out comes last for `OUT_SECONDS`; a `Notice` says so. `out` holds when each one was out, by full name: chains of one
    process share it. `Request.model` is not looked at: every link has its own. All but the last that is asked know that there is
    another (`Request.others`). `ModelReply.by` says who answered. The tokens of an attempt that broke off are counted in the reply's usage.
    When every model is out, the failure is of the first one's kind and names them all.
    """

    def __init__(self, chain: Sequence[tuple[Provider, str, str]], clock: Clock, out: MutableMapping[str, float] | None = None) -> None:
        self._chain = [Link(*link) for link in chain]
        self._clock = clock
        self._out: MutableMapping[str, float] = {} if out is None else out

    def info(self, model: str) -> ModelInfo:
        """What the first model can; the window is the smallest of the chain, so that a request fits them all."""
        known = [link.provider.info(link.model) for link in self._chain]
        return msgspec.structs.replace(known[0], context=min(info.context for info in known))

    def count(self, request: Request) -> int:
        return self._chain[0].provider.count(_for(self._chain[0], request))

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        return aclosing(self._events(request))

    async def _events(self, request: Request) -> AsyncGenerator[ModelEvent]:
        order = self._order()
        if order[0] is not self._chain[0]:
            yield Notice(f"{self._chain[0].name} was unavailable a moment ago: asking {order[0].name}", order[0].name)
        failed: list[tuple[Link, ModelReply]] = []
        for place, link in enumerate(order):
            shown, reply = False, NO_REPLY
            asked = msgspec.structs.replace(_for(link, request), others=place + 1 < len(order))
            async with link.provider.stream(asked) as events:
                async for event in events:
                    if isinstance(event, Finished):
                        reply = event.reply
                        break
                    shown = _shown(event, shown)
                    yield msgspec.structs.replace(event, model=link.name) if isinstance(event, Retrying) else event
            if reply.failure is None or reply.failure.kind not in OUT:
                if reply.failure is None:
                    self._out.pop(link.name, None)
                yield Finished(self._answered(link, reply, failed))
                return
            if not reply.failure.lacks:  # one that cannot see pictures is not out: the next request may have none
                self._out[link.name] = self._clock.monotonic()
            failed.append((link, reply))
            if place + 1 < len(order):
                following = order[place + 1].name
                yield Retrying(place + 1, 0, f"{reply.failure.text}; continuing with {following}", following, shown)
        yield Finished(self._all_out(failed))

    def _order(self) -> list[Link]:
        """The chain, those that were out a moment ago behind the others."""
        now = self._clock.monotonic()
        out = {name for name, since in self._out.items() if now - since < OUT_SECONDS}
        return sorted(self._chain, key=lambda link: link.name in out)

    def _answered(self, link: Link, reply: ModelReply, failed: Sequence[tuple[Link, ModelReply]]) -> ModelReply:
        """The reply with all tokens, saying who gave it."""
        return _with_usage(msgspec.structs.replace(reply, by=link.name), failed)

    def _all_out(self, failed: Sequence[tuple[Link, ModelReply]]) -> ModelReply:
        link, last = failed[-1]
        if len(failed) == 1:
            return self._answered(link, last, ())
        first = next((reply.failure for link, reply in failed if link is self._chain[0]), None) or last.failure
        each = "; ".join(f"{link.name}: {reply.failure.text}" for link, reply in failed if reply.failure)
        failure = msgspec.structs.replace(first, text=f"every model of the chain is unavailable: {each}") if first else None
        return self._answered(link, msgspec.structs.replace(last, failure=failure), failed[:-1])


def _for(link: Link, request: Request) -> Request:
    return msgspec.structs.replace(request, model=link.model)


def _shown(event: ModelEvent, shown: bool) -> bool:
    """Whether parts are on the screen after this event: a discarding retry took them back."""
    if isinstance(event, Retrying):
        return shown and not event.discard
    return shown or not isinstance(event, Notice)


def _with_usage(reply: ModelReply, failed: Sequence[tuple[Link, ModelReply]]) -> ModelReply:
    """The reply with the tokens of attempts that broke off; one that was refused before a token cost nothing."""
    usage = reply.usage
    for _, before in failed:
        if before.usage.input or before.usage.output:
            usage = before.usage + usage
    return msgspec.structs.replace(reply, usage=usage)
