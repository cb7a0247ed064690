"""Who may answer a question of `run` at standard input: the person at the terminal, or whoever is elsewhere."""

import sys

import anyio

from ..channels.command_hints import answer_command
from ..channels.line_reader import LineReader
from ..channels.nonblocking_output import NonblockingOutput
from ..channels.question_prompts import QuestionPrompts
from ..channels.renderer import Input
from ..channels.screen import Screen, exact
from ..errors import AlreadyAnswered
from ..ports import Desk
from ..types.entries import Event
from ..types.events import ApprovalRequested, ApprovalResolved, TurnFinished


def user_for(err: Screen, flow: NonblockingOutput, approvals: str | None, at_terminal: bool) -> Input | None:
    """Who may answer: the person at the terminal, somebody elsewhere, or nobody where nothing is asked. `err` writes to `flow`."""
    if approvals != "ask":
        return None
    return TerminalUser(err, flow, LineReader(sys.stdin.fileno())) if at_terminal else RemoteUser(err)


class RemoteUser:
    """Somebody who may answer from another terminal, and is told each question on `err`: as long as standard input stays open, whose end means that
    nobody is there. A terminal there stays open."""

    def __init__(self, err: Screen) -> None:
        self._err = err
        self._stays = sys.stdin is not None and sys.stdin.isatty()
        self._lines = LineReader(sys.stdin.fileno()) if sys.stdin is not None and not self._stays else None
        self._session = ""
        self._begun = anyio.Event()

    async def saw(self, event: Event) -> None:
        self._session = event.session
        self._begun.set()
        match event.body:
            case ApprovalRequested(approval_id=question, action=action, choices=choices, summary=summary):
                self._err.line(exact(summary or f"{action.tool} wants to run: {action.show}"), "bold")
                if self._stays or (self._lines is not None and not self._lines.over):
                    self._err.line(answer_command(question, choices), "yellow")
            case _:
                pass

    async def serve(self, desk: Desk) -> None:
        if self._stays:
            return
        while self._lines is not None and await self._lines.next() is not None:
            pass
        await self._begun.wait()
        await desk.leave(self._session)


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

    async def saw(self, event: Event) -> None:
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

    async def serve(self, desk: Desk) -> None:
        while True:
            await self._asked.wait()
            self._asked = anyio.Event()
            while self._questions.current is not None:
                await self._answer(desk)
                if self._lines.ended:
                    await desk.leave(self._session)
                    return

    async def _answer(self, desk: Desk) -> None:
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
            await desk.answer(question.approval_id, reply.decision, by="owner", text=reply.text)
        except AlreadyAnswered as error:
            self._err.line(error.text, "dim")
        self._lines.forget()
        self._questions.drop(question.approval_id)
