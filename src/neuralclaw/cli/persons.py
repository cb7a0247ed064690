"""Who sits at standard input while a turn runs: a person at the terminal, a program that speaks JSON lines, or nobody."""

import sys
from typing import Any, Protocol

import anyio
import msgspec

from ..app import Agent
from ..channels.lines import Lines
from ..channels.questions import Questions
from ..channels.screen import Screen, exact
from ..errors import AlreadyAnswered, NeuralClawError, UsageError
from ..types.entries import Event
from ..types.events import ApprovalRequested, ApprovalResolved, TurnFinished
from .sinks import Sink


class Person(Protocol):
    """Sees every event and may answer meanwhile; `serve` runs beside the turn until it is cancelled."""

    def saw(self, event: Event) -> None: ...
    async def serve(self, agent: Agent) -> None: ...


class Nobody:
    """Nobody can answer."""

    def saw(self, event: Event) -> None:
        pass

    async def serve(self, agent: Agent) -> None:
        pass


class Told(Nobody):
    """Nobody types here, but the questions are told on `err`: somebody may answer from another terminal."""

    def __init__(self, err: Screen) -> None:
        self._err = err

    def saw(self, event: Event) -> None:
        match event.body:
            case ApprovalRequested(approval_id=question, action=action, choices=choices, summary=summary):
                self._err.line(exact(summary or f"{action.tool} wants to run: {action.show}"), "bold")
                self._err.line(f"waits for an answer: neuralclaw approvals answer {question} {'|'.join(choices)}", "yellow")
            case _:
                pass


class Elsewhere(Told):
    """The same as long as standard input stays open: its end means that nobody is there."""

    def __init__(self, lines: Lines | None, err: Screen) -> None:
        super().__init__(err)
        self._lines = lines
        self._session = ""
        self._begun = anyio.Event()

    def saw(self, event: Event) -> None:
        super().saw(event)
        self._session = event.session
        self._begun.set()

    async def serve(self, agent: Agent) -> None:
        while self._lines is not None and await self._lines.next() is not None:
            pass
        await self._begun.wait()
        await agent.leave(self._session)


def elsewhere(err: Screen) -> Person:
    """Whoever may be there when `ask` is wanted and no terminal is at hand; the question is told on `err`."""
    if sys.stdin is None:
        return Elsewhere(None, err)
    return Told(err) if sys.stdin.isatty() else Elsewhere(Lines(sys.stdin.fileno()), err)


class AtTerminal:
    """A person who is asked on standard error and types the answer. Standard input is read only while a question is open."""

    def __init__(self, err: Screen, lines: Lines) -> None:
        self._err, self._lines = err, lines
        self._questions = Questions(err)
        self._asked = anyio.Event()
        self._reading = anyio.CancelScope()
        self._session = ""

    def saw(self, event: Event) -> None:
        self._session = event.session
        match event.body:
            case ApprovalRequested():
                if self._questions.current is None:
                    self._lines.forget()
                self._questions.add(event.body)
                self._asked.set()
            case ApprovalResolved():
                if self._questions.resolved(event.body):
                    self._reading.cancel()
            case TurnFinished():
                self._questions.clear()
                self._reading.cancel()
            case _:
                pass

    async def serve(self, agent: Agent) -> None:
        while True:
            await self._asked.wait()
            self._asked = anyio.Event()
            while self._questions.current is not None:
                await self._answer(agent)
                if self._lines.ended:
                    await agent.leave(self._session)
                    return

    async def _answer(self, agent: Agent) -> None:
        line, question = None, self._questions.current
        with anyio.CancelScope() as self._reading:
            line = await self._lines.next()
        if line is None or question is None or self._questions.current is not question:
            return  # answered elsewhere meanwhile: what was typed was not meant for the next question
        reply = self._questions.read(line)
        if reply is None:
            return
        self._questions.mine.add(question.approval_id)
        try:
            await agent.answer(question.approval_id, reply.decision, text=reply.text)
        except AlreadyAnswered as error:
            self._err.line(error.text, "dim")
        self._lines.forget()
        self._questions.drop(question.approval_id)


class Spoken(msgspec.Struct, frozen=True, tag_field="type"):
    """One object on standard input."""


class MessageIn(Spoken, frozen=True, tag="message"):
    """Something to say: the task, or a word to the running turn."""

    text: str


class AnswerIn(Spoken, frozen=True, tag="answer"):
    """The answer to a question; `value` is that of a form, `text` goes with a no."""

    approval_id: str
    decision: str | None = None
    value: dict[str, Any] | None = None
    text: str | None = None


class CancelIn(Spoken, frozen=True, tag="cancel"):
    """Stop the turn."""


class Program:
    """A program that writes one JSON object a line. A line that cannot be used gives an `error` event and changes nothing."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._decoder: msgspec.json.Decoder[MessageIn | AnswerIn | CancelIn] = msgspec.json.Decoder(MessageIn | AnswerIn | CancelIn)
        self._lines = Lines(sys.stdin.fileno()) if sys.stdin is not None else None
        self._session = ""
        self._begun = anyio.Event()

    def saw(self, event: Event) -> None:
        self._session = event.session
        self._begun.set()

    async def first(self, agent: Agent) -> str | None:
        """The text of the first message, or None when input ended before one came."""
        while (spoken := await self._next()) is not None:
            if isinstance(spoken, MessageIn):
                return spoken.text
            await self._do(agent, spoken)
        return None

    async def serve(self, agent: Agent) -> None:
        await self._begun.wait()  # before, it is not known which session the lines are for
        while (spoken := await self._next()) is not None:
            await self._do(agent, spoken)
        await agent.leave(self._session)

    async def _next(self) -> MessageIn | AnswerIn | CancelIn | None:
        while self._lines is not None and (line := await self._lines.next()) is not None:
            if not line.strip():
                continue
            try:
                return self._decoder.decode(line)
            except msgspec.DecodeError as error:
                self._sink.trouble("UsageError", f"a line on standard input cannot be used: {error}")
                await self._sink.room()
        return None

    async def _do(self, agent: Agent, spoken: MessageIn | AnswerIn | CancelIn) -> None:
        try:
            match spoken:
                case MessageIn(text=text):
                    await agent.steer(text, session=self._session)
                case CancelIn() if self._session:
                    await agent.cancel(self._session)
                case CancelIn():
                    raise UsageError("nothing runs that could be cancelled")
                case AnswerIn(approval_id=question, decision=decision, value=value, text=text):
                    if decision is None and value is None:
                        raise UsageError("an answer needs a decision or a value")
                    await agent.answer(question, decision or "once", value=value, text=text)
        except NeuralClawError as error:
            self._sink.trouble(error.kind, error.text)
            await self._sink.room()
