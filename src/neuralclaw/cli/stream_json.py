"""`run --input stream-json`: a conversation with a program that writes one JSON object a line, until its input ends."""

import sys
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any

import anyio
import msgspec

from ..app import Agent
from ..channels.line_reader import LineReader
from ..errors import NeuralClawError, SessionBusy, UsageError
from ..types.entries import Event
from ..types.events import Message, TurnFinished
from ..types.ids import new_id
from .event_output import EventSink
from .failure import code_of, exit_code
from .interrupts import StopRequest

DECISIONS = ("once", "session", "always", "no")


class InputObject(msgspec.Struct, frozen=True, tag_field="type", forbid_unknown_fields=True):
    """One object on standard input."""


class MessageIn(InputObject, frozen=True, tag="message"):
    """Something to say: the next task, or a word to the running turn. `queue`: it waits for the end of that turn."""

    text: str
    queue: bool = False


class AnswerIn(InputObject, frozen=True, tag="answer"):
    """The answer to a question; `value` is that of a form, `text` a word for the model beside it."""

    approval_id: str
    decision: str | None = None
    value: dict[str, Any] | None = None
    text: str | None = None


class CancelIn(InputObject, frozen=True, tag="cancel"):
    """Stop the turn."""


class TurnRequest(msgspec.Struct):
    """A turn to follow: that of a message, or without a text the one that is unfinished. `resume`: finish what is unfinished first."""

    text: str | None
    key: str = msgspec.field(default_factory=lambda: new_id(16))
    images: tuple[str, ...] = ()
    resume: bool = False
    retry: bool = False
    given: bool = False
    """It stands on the command line: where it cannot begin, the program ends."""


class SteeringMessage(msgspec.Struct):
    """A word to a running turn, with its entry: what the turn has not seen at its end begins the next one."""

    entry: int
    job: TurnRequest


class JsonLines:
    """A program at standard input. A line that cannot be used gives an `error` event and changes nothing."""

    def __init__(self, agent: Agent, sink: EventSink, stop: StopRequest, *, session: str, options: Mapping[str, Any], images: tuple[str, ...] = ()) -> None:
        self._agent, self._sink, self._stop, self._session, self._options = agent, sink, stop, session, options
        self._images = images  # they belong to the first message
        self._decoder: msgspec.json.Decoder[MessageIn | AnswerIn | CancelIn] = msgspec.json.Decoder(MessageIn | AnswerIn | CancelIn)
        self._lines = LineReader(sys.stdin.fileno()) if sys.stdin is not None else None
        self._jobs: deque[TurnRequest] = deque()
        self._news = anyio.Event()
        self._ended = False
        self._events: Any = None
        """Those of the turn that runs."""
        self._begun = anyio.Event()
        self._running = False
        self._speaking = anyio.Lock()
        self._late: list[SteeringMessage] = []
        self._held: list[TurnRequest] = []
        """Messages that wait behind a parked turn."""
        self._seen = 0
        self._last: TurnFinished | None = None

    async def serve(self, first: TurnRequest | None) -> int:
        """Follow one turn after the other until input ends; the exit code of the last. Raises `UsageError` where there was none."""
        if first is not None:
            self._jobs.append(first)
        code: int | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(self._read)
            while not self._stop.stopped and (job := await self._next_job()) is not None:
                code = await self._one(job)
            group.cancel_scope.cancel()
        if code is None:
            raise UsageError("standard input ended without a message; nothing was run", hint='a line is an object: {"type": "message", "text": "list ."}')
        return code

    async def _next_job(self) -> TurnRequest | None:
        while not self._jobs:
            if self._ended:
                return None
            await self._news.wait()
            self._news = anyio.Event()
        return self._jobs.popleft()

    async def _one(self, job: TurnRequest) -> int:
        """Follow one turn; its exit code. What keeps a later message from beginning a turn is an `error` event, and the conversation goes on."""
        try:
            with self._turning():
                await self._follow(job)
        except (UsageError, SessionBusy) as error:
            if job.given:
                raise
            await self._trouble(error)
            return code_of(error)
        async with self._speaking:  # a word that is being written now is counted
            unseen = [late.job for late in self._late if late.entry > self._seen]
            self._late.clear()
        last = self._last
        if last is None:
            raise UsageError("the turn ended without a result; what was recorded is kept", hint="neuralclaw sessions list --unfinished")
        if last.waiting:
            self._held += [*([job] if job.text is not None and self._seen == 0 else []), *unseen]
        else:
            self._jobs.extendleft(reversed([*self._held, *unseen]))
            self._held = []
        return exit_code(last)

    @contextmanager
    def _turning(self) -> Iterator[None]:
        self._running, self._begun, self._seen, self._last = True, anyio.Event(), 0, None
        try:
            yield
        finally:
            self._running, self._events, self._stop.how = False, None, None
            self._begun.set()

    async def _follow(self, job: TurnRequest) -> None:
        async with self._turn(job) as events:
            self._events, self._stop.how = events, self._cancel
            async for event in events:
                await self._note(event)
                self._sink.show(event)
                await self._sink.room()
        self._sink.turned()

    def _turn(self, job: TurnRequest) -> AbstractAsyncContextManager[Any]:
        if job.text is None:
            return self._agent.resume(self._session, retry=job.retry, **self._options)
        images, self._images = job.images or self._images, ()
        if job.resume:
            return self._agent.resume(self._session, text=job.text, images=images, retry=job.retry, **self._options)
        return self._agent.turn(job.text, session=self._session, key=job.key, images=images, **self._options)

    async def _note(self, event: Event) -> None:
        if not self._begun.is_set():
            self._begun.set()
            if self._ended:
                await self._agent.leave(self._session)  # whoever sent this message has gone
        if isinstance(event.body, Message):
            self._seen = max(self._seen, event.body.seen)
        elif isinstance(event.body, TurnFinished):
            self._last, self._running = event.body, False  # what comes in from now on is the next turn

    async def _cancel(self) -> None:
        await self._agent.stop(self._events)

    async def _read(self) -> None:
        while (spoken := await self._spoken()) is not None:
            try:
                await self._do(spoken)
            except NeuralClawError as error:
                await self._trouble(error)
        self._ended = True
        await self._agent.leave(self._session)
        self._news.set()

    async def _spoken(self) -> MessageIn | AnswerIn | CancelIn | None:
        while self._lines is not None and (line := await self._lines.next()) is not None:
            if not line.strip():
                continue
            try:
                return self._decoder.decode(line)
            except (msgspec.DecodeError, UnicodeEncodeError) as error:
                await self._trouble(UsageError(f"a line on standard input cannot be used: {error}; nothing was changed"))
        return None

    async def _trouble(self, error: NeuralClawError) -> None:
        self._sink.trouble(error.kind, error.text)
        await self._sink.room()

    async def _do(self, spoken: MessageIn | AnswerIn | CancelIn) -> None:
        match spoken:
            case MessageIn(text=text, queue=queue):
                if not text.strip():
                    raise UsageError("the message is empty; nothing was changed")
                await self._say(TurnRequest(text), queue=queue)
            case AnswerIn():
                await self._answer(spoken)
            case CancelIn():
                if self._running:
                    await self._begun.wait()
                if not self._running:
                    raise UsageError("nothing runs that could be cancelled; nothing was changed")
                await self._cancel()

    async def _say(self, job: TurnRequest, *, queue: bool) -> None:
        """A word to the running turn, else the next turn."""
        if self._running and not queue:
            await self._begun.wait()  # before, the session may not be there
            async with self._speaking:
                if self._running:
                    entry = await self._agent.steer(job.text or "", session=self._session, key=job.key)
                    self._late.append(SteeringMessage(entry, job))
                    return
        self._jobs.append(job)
        self._news.set()

    async def _answer(self, spoken: AnswerIn) -> None:
        question, decision = spoken.approval_id, spoken.decision
        if decision is None and spoken.value is None:
            raise UsageError("an answer needs a decision or a value; nothing was changed")
        if decision is not None and decision not in DECISIONS:
            raise UsageError(f"{decision!r} is no decision; nothing was changed", hint=f"one of {', '.join(DECISIONS)}")
        await self._agent.answer(question, decision or "once", value=spoken.value, text=spoken.text)
        if not self._running and self._last is not None and question in self._last.waiting:
            self._jobs.appendleft(TurnRequest(None))  # the turn was parked: it goes on
            self._news.set()
