"""Who sits at standard input while a turn runs: a person at the terminal, or nobody. (A program that speaks JSON lines: `stream_json`.)"""

import sys
from typing import Protocol

import anyio

from ..app import Agent
from ..channels.command_hints import typed
from ..channels.line_reader import LineReader
from ..channels.nonblocking_output import NonblockingOutput
from ..channels.question_prompts import QuestionPrompts
from ..channels.screen import Screen, exact
from ..errors import AlreadyAnswered
from ..types.entries import Event
from ..types.events import ApprovalRequested, ApprovalResolved, TurnFinished


class StdinUser(Protocol):
    """Sees every event and may answer meanwhile; `serve` runs beside the turn until it is cancelled."""

    def saw(self, event: Event) -> None: ...
    async def serve(self, agent: Agent) -> None: ...


class AbsentUser:
    """Nobody can answer."""

    def saw(self, event: Event) -> None:
        pass

    async def serve(self, agent: Agent) -> None:
        pass


class QuestionNotice(AbsentUser):
    """Nobody types here, but the questions are told on `err`: somebody may answer from another terminal."""

    def __init__(self, err: Screen) -> None:
        self._err = err

    @property
    def there(self) -> bool:
        """Whether somebody can still answer: a question is open until then."""
        return True

    def saw(self, event: Event) -> None:
        match event.body:
            case ApprovalRequested(approval_id=question, action=action, choices=choices, summary=summary):
                self._err.line(exact(summary or f"{action.tool} wants to run: {action.show}"), "bold")
                if self.there:
                    self._err.line(typed(f"waits for an answer: neuralclaw approvals answer {question} {'|'.join(choices)}"), "yellow")
            case _:
                pass


class RemoteUser(QuestionNotice):
    """The same as long as standard input stays open: its end means that nobody is there."""

    def __init__(self, lines: LineReader | None, err: Screen) -> None:
        super().__init__(err)
        self._lines = lines
        self._session = ""
        self._begun = anyio.Event()

    @property
    def there(self) -> bool:
        return self._lines is not None and not self._lines.over

    def saw(self, event: Event) -> None:
        super().saw(event)
        self._session = event.session
        self._begun.set()

    async def serve(self, agent: Agent) -> None:
        while self._lines is not None and await self._lines.next() is not None:
            pass
        await self._begun.wait()
        await agent.leave(self._session)


def remote_user(err: Screen) -> StdinUser:
    """Whoever may be there when `ask` is wanted and no terminal is at hand; the question is told on `err`."""
    if sys.stdin is None:
        return RemoteUser(None, err)
    return QuestionNotice(err) if sys.stdin.isatty() else RemoteUser(LineReader(sys.stdin.fileno()), err)


def user_for(err: Screen, flow: NonblockingOutput, approvals: str | None, at_terminal: bool) -> StdinUser:
    """Who may answer: the person at the terminal, somebody elsewhere, or nobody where nothing is asked. `err` writes to `flow`."""
    if approvals != "ask":
        return AbsentUser()
    return TerminalUser(err, flow, LineReader(sys.stdin.fileno())) if at_terminal else remote_user(err)


class TerminalUser:
    """A person who is asked on standard error and types the answer. Standard input is read only while a question is open.

    What is typed and not taken as an answer is dropped, at the latest when all output is written: the shell would run it as a command.
    """

    def __init__(self, err: Screen, flow: NonblockingOutput, lines: LineReader) -> None:
        self._err, self._flow, self._lines = err, flow, lines
        self._questions = QuestionPrompts(err)
        self._asked = anyio.Event()
        self._reading = anyio.CancelScope()
        self._session = ""

    def saw(self, event: Event) -> None:
        self._session = event.session
        match event.body:
            case ApprovalRequested():
                if self._questions.current is None:
                    self._lines.forget()
                self._flow.ended = self._lines.forget
                self._questions.add(event.body)
                self._asked.set()
            case ApprovalResolved():
                if self._questions.resolved(event.body):
                    self._lines.forget()
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
