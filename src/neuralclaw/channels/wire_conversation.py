"""A conversation with a program that gives one object after the other, until it gives none any more."""

from collections import deque
from collections.abc import AsyncIterable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any, Protocol

import anyio
import msgspec

from ..errors import NeuralClawError, SessionBusy, UsageError, no_result
from ..ports import Desk, TurnEvents
from ..types.entries import Event
from ..types.events import ApprovalRequested, Inbound, Message, TurnFinished
from ..types.ids import new_id
from ..types.options import StartOptions
from .renderer import Renderer
from .wire import AnswerIn, AnyObject, CancelIn, MessageIn

FollowedTurn = AbstractAsyncContextManager[TurnEvents]


class MessageDefaults(Protocol):
    """Who sends, and what the desk takes of what they say, checked: raises `UsageError`."""

    @property
    def who(self) -> str: ...
    def message(self, text: str, *, key: str | None = None, images: Iterable[Any] = (), **asked: Any) -> Inbound:
        """A message that begins a turn, under the sender's options with those that are asked for."""
        ...

    def word(self, text: str, *, key: str | None = None) -> Inbound:
        """A message to a turn that runs."""
        ...

    def starting(self, *, retry: bool = False, **asked: Any) -> StartOptions:
        """What is wanted of a turn that is gone on with."""
        ...

    def before(self, message: Inbound, *, retry: bool = False) -> StartOptions:
        """What is wanted of an older turn that goes on before this message's."""
        ...


class TurnRequest(msgspec.Struct):
    """A turn to follow: that of a message, or without a text the one that is unfinished. `resume`: finish what is unfinished first."""

    text: str | None
    key: str = msgspec.field(default_factory=lambda: new_id(16))
    resume: bool = False
    retry: bool = False
    given: bool = False
    """It began the conversation: where it cannot begin, the conversation ends."""
    recorded: bool = False
    """Its message is on record, and waits for the end of what stands before it."""
    again: bool | None = None
    """Its message was sent before, and its turn is shown again. None: the first of its own events that have an entry decides it."""


class WireConversation:
    """The input that objects are: messages, answers, cancel. One that cannot be used is an `error` event and changes nothing.

    `defaults` say who sends the messages; `options` are those of each turn, but for `images`, which belong to the first message. `first` is the turn
    it begins with, if any.
    """

    def __init__(
        self,
        objects: AsyncIterable[AnyObject | UsageError],
        renderer: Renderer,
        defaults: MessageDefaults,
        *,
        session: str,
        options: Mapping[str, Any],
        first: TurnRequest | None = None,
    ) -> None:
        self._objects, self._renderer, self._defaults, self._session = objects, renderer, defaults, session
        self._options = {name: value for name, value in options.items() if name != "images"}
        self._images = options.get("images", ())
        self._desk: Desk
        self._jobs = deque([first] if first is not None else [])
        self._news = anyio.Event()
        self._scope = anyio.CancelScope()
        self._ended = self._stopped = False
        self._events: TurnEvents | None = None
        """Those of the turn that runs."""
        self._begun = anyio.Event()
        self._moved = anyio.Event()
        """Set when a turn begins, and when one could not begin."""
        self._running = False
        self._speaking = anyio.Lock()
        self._late: list[tuple[int, TurnRequest]] = []
        """Words to a running turn, each with its entry: what the turn has not seen at its end begins the next one."""
        self._held: list[TurnRequest] = []
        """Messages that wait behind a parked turn."""
        self._seen = self._entry = self._queued = 0
        """What the turn has seen, what was shown, and what was queued: the highest entry of each."""
        self._inbound: set[int] = set()
        """The messages that were shown."""
        self._last: TurnFinished | None = None

    async def serve(self, desk: Desk) -> TurnFinished | NeuralClawError | None:
        """Follow one turn after the other until the objects end; the end of the last, or what kept it from beginning. None where there was none, and
        where `stop` found none running. Raises what keeps the first turn from beginning."""
        self._desk = desk
        ended: TurnFinished | NeuralClawError | None = None
        with self._scope:
            async with anyio.create_task_group() as group:
                group.start_soon(self._read)
                while not self._stopped and (job := await self._next_job()) is not None:
                    ended = await self._one(job)
                group.cancel_scope.cancel()
        return None if self._scope.cancelled_caught else ended

    async def stop(self) -> None:
        """Stop the turn that runs, and begin no other."""
        self._stopped = True
        if self._events is not None:
            await self._desk.stop(self._events, by=self._defaults.who)
        else:
            self._scope.cancel()

    async def _next_job(self) -> TurnRequest | None:
        while not self._jobs:
            if self._ended:
                return None
            await self._news.wait()
            self._news = anyio.Event()
        return self._jobs.popleft()

    async def _one(self, job: TurnRequest) -> TurnFinished | NeuralClawError:
        """Follow one turn to its end. What keeps a later message from beginning a turn is an `error` event, and the conversation goes on."""
        try:
            with self._turning():
                await self._follow(job)
        except (UsageError, SessionBusy) as error:
            if job.given:
                raise
            await self._trouble(error)
            return error
        async with self._speaking:  # a word that is being written now is counted
            unseen = [late for entry, late in self._late if entry > self._seen]
            self._late.clear()
        last = self._last
        if last is None:
            raise no_result()
        if last.waiting:
            recorded = [job for job in self._jobs if job.recorded]
            self._jobs = deque(job for job in self._jobs if not job.recorded)
            self._held += [*([job] if job.text is not None and self._seen == 0 else []), *unseen, *recorded]
        else:
            self._jobs.extendleft(reversed([*self._held, *unseen]))
            self._held = []
        return last

    @contextmanager
    def _turning(self) -> Iterator[None]:
        self._running, self._begun, self._seen, self._last = True, anyio.Event(), 0, None
        try:
            yield
        finally:
            self._running, self._events = False, None
            self._begun.set()
            self._moved.set()

    async def _follow(self, job: TurnRequest) -> None:
        async with self._turn(job) as events:
            self._events = events
            async for event in events:
                await self.saw(event)
                if self._is_new(event, job):
                    self._renderer.show(event)
                    await self._renderer.room()
        self._renderer.turned()

    def _turn(self, job: TurnRequest) -> FollowedTurn:
        if job.text is None:
            return self._desk.resume(self._session, self._defaults.starting(retry=job.retry, **self._options), by=self._defaults.who)
        images, self._images = self._images, ()
        message = self._defaults.message(job.text, key=job.key, images=images, **self._options)
        return self._desk.turn(self._session, message, self._defaults.before(message, retry=job.retry) if job.resume else None)

    def _is_new(self, event: Event, job: TurnRequest) -> bool:
        """Whether to show the event: one with an entry is shown once, in the order of the record, unless the turn of a message that was sent before is."""
        if event.entry is None:
            return True
        if job.again is None and not isinstance(event.body, ApprovalRequested):  # open questions of before come ahead of everything
            job.again = event.entry <= self._entry
        new, again = event.entry > self._entry, bool(job.again)
        if isinstance(event.body, Inbound):
            new, again = event.entry not in self._inbound, again and event.body.key == job.key
            self._inbound.add(event.entry)
        self._entry = max(self._entry, event.entry)
        return new or again

    async def saw(self, event: Event) -> None:
        if not self._begun.is_set():
            self._begun.set()
            self._moved.set()
            if self._ended:
                await self._desk.leave(self._session)  # whoever sent this message has gone
        if isinstance(event.body, Message):
            self._seen = max(self._seen, event.body.seen)
        elif isinstance(event.body, TurnFinished):
            self._last, self._running = event.body, False  # what comes in from now on is the next turn

    async def _read(self) -> None:
        async for said in self._objects:
            try:
                await self._do(said)
            except NeuralClawError as error:
                await self._trouble(error)
        self._ended = True
        await self._desk.leave(self._session)
        self._news.set()

    async def _trouble(self, error: NeuralClawError) -> None:
        self._renderer.trouble(error.kind, error.text)
        await self._renderer.room()

    async def _do(self, said: AnyObject | UsageError) -> None:
        match said:
            case UsageError():
                raise said
            case MessageIn():
                await self._say(TurnRequest(said.text, said.key or new_id(16)), queue=said.queue)
            case AnswerIn():
                await self._answer(said)
            case CancelIn():
                if self._running:
                    await self._begun.wait()
                if not self._running or self._events is None:
                    raise UsageError("nothing runs that could be cancelled; nothing was changed")
                await self._desk.stop(self._events, by=self._defaults.who)

    async def _say(self, job: TurnRequest, *, queue: bool) -> None:
        """A word to the running turn, else the next turn; with `queue` always a turn of its own. What waits behind another message is on record at once."""
        queue = queue or (bool(self._jobs) and not self._running)
        await self._begin_first()
        if queue and (self._running or self._jobs):
            before = max(self._entry, self._queued)
            message = self._defaults.message(job.text or "", key=job.key, **self._options)
            entry = (await self._desk.queue(self._session, message)).entry
            job.recorded, job.again, self._queued = True, entry <= before, max(entry, before)
        elif self._running:
            async with self._speaking:
                if self._running:
                    entry = await self._desk.steer(self._session, self._defaults.word(job.text or "", key=job.key))
                    job.recorded, job.again = True, False
                    self._late.append((entry, job))
                    return
        self._jobs.append(job)
        self._news.set()

    async def _begin_first(self) -> None:
        """Returns when every message of before is on record: its session is there then, and what comes next stands behind it."""
        while (self._running and not self._begun.is_set()) or any(job.text is not None and not job.recorded for job in self._jobs):
            self._moved = anyio.Event()
            await self._moved.wait()

    async def _answer(self, said: AnswerIn) -> None:
        await self._desk.answer(said.approval_id, said.decision or "once", by=self._defaults.who, value=said.value, text=said.text)
        if not self._running and self._last is not None and said.approval_id in self._last.waiting:
            self._jobs.appendleft(TurnRequest(None, again=False))  # the turn was parked: it goes on
            self._news.set()
