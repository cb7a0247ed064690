"""A provider over HTTP: one request, one stream, one verdict. What differs between services is their `WireFormat`."""

import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Any, Protocol

import anyio
import msgspec

from ..errors import SecurityError
from ..ports import HttpResponse, Net
from ..types.grants import Grant
from ..types.messages import Failure, Finished, ModelEvent, ModelInfo, ModelReply, Request, Usage
from . import models, service_errors
from .model_service import ModelEndpoint
from .reply_assembly import MAX_NAME, sound
from .sse import SSEEvent, SSETooLarge
from .stream_pacing import GATHER_SECONDS, StreamPacer

log = logging.getLogger(__name__)

MAX_REPLY_BYTES = 64 * 1024 * 1024
"""Bytes of a stream, framing included; more is a server gone mad."""

_ERROR_BYTES = 64 * 1024
_DRAIN_SECONDS = 0.25
_HEADERS = {"Accept-Encoding": "identity", "Content-Type": "application/json", "User-Agent": "neuralclaw"}


class Decoder(Protocol):
    """Bytes as the network cuts them become events: `SSEDecoder`, `JSONLinesDecoder`."""

    def feed(self, chunk: bytes) -> list[SSEEvent]:
        """The events that `chunk` completes. Raises `SSETooLarge`."""
        ...

    def close(self) -> list[SSEEvent]:
        """What was complete at the end of the stream but for its last line end."""
        ...


class ReplyParts(Protocol):
    """One reply put together from its events.

    `seen`: a piece of an answer has come; `done`: nothing more follows; `error`: the service's error object that was in the stream;
    `withheld`: the service's own word for why it stopped an answer that is none, else "".
    """

    seen: bool
    done: bool
    error: Any

    def add(self, event: SSEEvent) -> None:
        """Take in one event. Raises `msgspec.DecodeError` when it is none of the format."""
        ...

    def take(self) -> list[ModelEvent]:
        """The parts since the last time."""
        ...

    @property
    def withheld(self) -> str: ...
    @property
    def whole(self) -> bool:
        """Whether a stream that ends here is a finished answer."""
        ...

    def reply(self, info: ModelInfo) -> ModelReply:
        """The reply so far, its calls in the order in which they began; `model` "" where the service did not say."""
        ...


class WireFormat(Protocol):
    """What one kind of service says and understands. Stateless: one instance serves any number of streams."""

    path: str
    """Put behind the base URL."""
    accept: str
    """Media type of the stream."""
    optional: tuple[str, ...]
    """Names of parameters that can be left out when a model refuses them."""

    def headers(self, service: ModelEndpoint) -> dict[str, str]:
        """Headers of this format, the key among them."""
        ...

    def body(self, request: Request, info: ModelInfo, service: ModelEndpoint, without: frozenset[str]) -> bytes:
        """The request's bytes: the same request gives the same. `without` names refused parameters that are left out."""
        ...

    def decoder(self) -> Decoder: ...
    def parts(self, request: Request) -> ReplyParts: ...


class HttpProvider:
    """A `Provider` over HTTP. `grant` is the standing grant for the service's host.

    One instance serves any number of streams at once. What a model refuses among the optional parameters is learned from the
    service's answer and left out from then on.
    """

    def __init__(self, net: Net, grant: Grant, service: ModelEndpoint, wire: WireFormat) -> None:
        self._net, self._grant, self._service, self._wire = net, grant, service, wire
        self._url = service.at(wire.path)
        self._headers = {**_HEADERS, "Accept": wire.accept, **wire.headers(service)}
        self._refused: dict[str, frozenset[str]] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._service!r})"

    def info(self, model: str) -> ModelInfo:
        return models.info(self._service, model or self._service.default_model)

    def count(self, request: Request) -> int:
        """A quarter of the bytes of the request's JSON: near enough for English, code and tool schemas, cautious elsewhere. No tokenizer is loaded."""
        return len(self._body(request, self._without(request.model))) // 4

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        return aclosing(self._events(request if request.model else msgspec.structs.replace(request, model=self._service.default_model)))

    def _without(self, model: str) -> frozenset[str]:
        known = self._refused.get(model)
        return models.refused_parameters(self._service, model) if known is None else known

    def _body(self, request: Request, without: frozenset[str]) -> bytes:
        return self._wire.body(request, self.info(request.model), self._service, without)

    async def _events(self, request: Request) -> AsyncGenerator[ModelEvent]:
        """The parts of the reply, then `Finished`. Asks again at once when the service only refused an optional parameter."""
        parts = self._wire.parts(request)
        failure: Failure | None = None
        again = True
        while again:
            again = False
            without = self._without(request.model)
            body = self._body(request, without)
            try:
                async with self._net.request(self._grant, "POST", self._url, headers=self._headers, body=body, timeout=request.timeout) as response:
                    if response.status != 200 or not self._may_stream(response.headers):
                        answer = await response.read(_ERROR_BYTES)
                        again = self._learn(request.model, without, service_errors.complaint(response.status, answer))
                        failure = None if again else self._refusal(request.model, response, answer)
                    else:
                        async with aclosing(self._read(response, parts)) as events:
                            async for event in events:
                                yield event
                        failure = self._verdict(request.model, parts)
            except TimeoutError:
                failure = service_errors.timed_out(self._service, request.timeout)
            except OSError as error:
                failure = self._dropped(parts, error)
            except SecurityError as error:  # the address lies outside the grant
                failure = Failure(error.kind, error.text, error.hint)
            except (msgspec.DecodeError, SSETooLarge) as error:
                failure = service_errors.unreadable(self._service, f"a piece of the stream: {error}")
                log.warning("%s: %s", failure.text, failure.detail)
        for part in parts.take():  # what was before a piece that cannot be read
            yield part
        yield Finished(self._reply(request.model, parts, failure))

    def _learn(self, model: str, without: frozenset[str], found: service_errors.Complaint) -> bool:
        """Whether leaving out one parameter more than `without` is worth a try. Another stream may have learned the same meanwhile."""
        name = service_errors.refused_parameter(found, without, self._wire.optional)
        if name is None:
            return False
        self._refused[model] = self._without(model) | {name}
        return True

    def _refusal(self, model: str, response: HttpResponse, answer: bytes) -> Failure:
        """An answer that is no stream."""
        found = service_errors.complaint(response.status, answer)
        if response.status != 200:
            return service_errors.failure(found, self._service, model, response.headers)
        if b'"error"' in answer:
            return service_errors.failure(service_errors.complaint_of(0, _json(answer)), self._service, model, response.headers)
        return service_errors.unreadable(self._service, "it is no stream of events")

    async def _read(self, response: HttpResponse, parts: ReplyParts) -> AsyncGenerator[ModelEvent]:
        """Feed `parts` until they are done, an error object or the end of the body."""
        decoder = self._wire.decoder()
        pacer = StreamPacer(time.monotonic)
        total = 0
        async with _closing(response.chunks()) as chunks:
            async for chunk in chunks:
                total += len(chunk)
                if total > MAX_REPLY_BYTES:
                    raise SSETooLarge(f"more than {MAX_REPLY_BYTES >> 20} MB")
                events = decoder.feed(chunk)
                ended = _take(events, parts)
                for part in parts.take():
                    yield part
                if parts.done:
                    await _drain(chunks)
                if ended:
                    return
                if pacer.read(len(events)):
                    await anyio.sleep(GATHER_SECONDS)
        _take(decoder.close(), parts)
        for part in parts.take():
            yield part

    def _verdict(self, model: str, parts: ReplyParts) -> Failure | None:
        """None when the stream that ended is a whole answer."""
        if parts.error is not None:
            return service_errors.failure(service_errors.complaint_of(0, parts.error), self._service, model)
        if parts.withheld:
            return service_errors.withheld(self._service, parts.withheld)
        if parts.whole:
            return None
        return service_errors.broken(self._service, "broke off its answer half-way" if parts.seen else "sent an empty answer")

    def _dropped(self, parts: ReplyParts, error: OSError) -> Failure:
        if parts.seen:
            return service_errors.broken(self._service, "broke off its answer half-way: the connection was lost", str(error))
        return service_errors.no_connection(self._service, str(error))

    def _reply(self, model: str, parts: ReplyParts, failure: Failure | None) -> ModelReply:
        info = self.info(model)
        reply = parts.reply(info)
        named = reply.model if reply.model.isprintable() and len(reply.model) <= MAX_NAME else ""
        state = reply.state and msgspec.structs.replace(reply.state, items=sound(reply.state.items))
        reply = msgspec.structs.replace(reply, model=named or model, state=state)
        if failure is None:
            return reply
        free = info.price is not None and not parts.seen  # refused before a word was made
        usage = Usage(usd=0.0) if free else reply.usage
        return msgspec.structs.replace(reply, tool_calls=(), stop="error", state=None, usage=usage, failure=failure)

    def _may_stream(self, headers: Mapping[str, str]) -> bool:
        """Whether the body may be events: a service that says JSON or HTML sent something else."""
        kind = next((value for name, value in headers.items() if name.lower() == "content-type"), "").partition(";")[0].strip().lower()
        return kind == self._wire.accept or ("json" not in kind and "html" not in kind)


def _take(events: list[SSEEvent], parts: ReplyParts) -> bool:
    """Add events to the parts; True once nothing more can follow."""
    for event in events:
        if event.data:
            parts.add(event)
        if parts.done or parts.error is not None:
            return True
    return False


@asynccontextmanager
async def _closing(chunks: AsyncIterator[bytes]) -> AsyncGenerator[AsyncIterator[bytes]]:
    """The chunks, closed on leaving where they are a generator, which would otherwise be left to the garbage collector."""
    try:
        yield chunks
    finally:
        if isinstance(chunks, AsyncGenerator):
            await chunks.aclose()


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read to the end of a body that has said all, so that the connection can serve again; a slow end is not waited for."""
    with anyio.move_on_after(_DRAIN_SECONDS):
        try:
            async for _ in chunks:
                pass
        except OSError:
            return


def _json(data: bytes) -> object:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return data.decode("utf-8", "replace")
