"""A conversation with the agent, line by line. Each line is a turn; a line typed during a turn is seen before the next model call."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio

from ..app import Agent
from ..channels.lines import Lines
from ..channels.terminal import Questions, View
from ..errors import NeuralClawError, TurnSetAside
from ..types.entries import Event
from ..types.events import ApprovalRequested, ApprovalResolved, TurnFinished
from .failure import code_of
from .parsing import UsageError, clean, did_you_mean
from .stopping import leave_at_once

_PROMPT = "> "
_PATIENCE = 3
"""Ctrl-C so many times during one turn leaves the program."""

SlashTable = Mapping[str, tuple[str, Callable[["Chat", str], Awaitable[None]]]]
"""Name of a slash command -> what it does in words, and the function that does it."""


class Chat:
    """The conversation of one person (or a pipe) with the agent, in one session at a time."""

    def __init__(self, lines: Lines, view: View, *, asks: bool, commands: SlashTable) -> None:
        self._lines, self._view, self.asks, self.commands = lines, view, asks, commands
        self.agent: Agent
        self.session: str | None = None
        self.options: dict[str, Any] = {}
        self.queued: list[str] = []
        self.leaving = False
        self._questions = Questions(view.err)
        self._running = False
        self._live = lines.tty
        self._presses = 0

    async def serve(self, agent: Agent, session: str | None, *, resume: bool) -> None:
        """Until the person leaves or input ends. `resume`: first finish what is unfinished in the session."""
        self.agent, self.session = agent, session
        if self._live:
            self._view.err.line("Each line is a message. /help shows the commands, Ctrl-C stops a turn, Ctrl-D leaves.", "dim")
        if resume and session is not None:
            try:
                await self._turn(agent.resume(session))
            except TurnSetAside as error:
                self.told(error)
        while not self.leaving:
            text = self.queued.pop(0) if self.queued else await self._ask()
            if text is None:
                self.leaving = True
            else:
                await self._line(clean(text))

    def farewell(self) -> None:
        """Say how to come back."""
        if self._live and self.session is not None:
            self._view.err.line(f"Go on with: neuralclaw --resume {self.session}", "dim")

    async def interrupted(self) -> None:
        """Ctrl-C: stops the turn, never the chat."""
        self._presses += 1
        self._view.err.fresh()
        if self._running and self.session is not None and self._presses < _PATIENCE:
            await self.agent.cancel(self.session)
        elif self._running or not self._live:
            leave_at_once()
        else:
            self._view.err.line("Nothing runs. Ctrl-D leaves.", "dim")
            self._prompt()

    def _prompt(self) -> None:
        if self._live:
            self._view.err.write(_PROMPT)

    async def _ask(self) -> str | None:
        self._prompt()
        text = await self._lines.next()
        self._view.err.at_start()
        return text

    async def _line(self, line: str) -> None:
        if not line.strip():
            return
        try:
            if line.startswith("/"):
                await self.command(line)
            else:
                await self._turn(self.agent.turn(line, session=self.session, **self.options))
        except NeuralClawError as error:
            self.told(error)

    def told(self, error: NeuralClawError) -> None:
        """Show an error that ended a turn; the chat goes on."""
        self._view.err.trouble("NeuralClawError" if code_of(error) == 2 else error.kind, error.text)
        if error.hint:
            self._view.err.line(f"   {error.hint}", "dim")

    async def _turn(self, turn: Any) -> None:
        self._running, self._presses = True, 0
        try:
            async with turn as events, anyio.create_task_group() as group:
                if self._live:
                    group.start_soon(self._typed)
                async for event in events:
                    self.session = event.session
                    self._view.show(event)
                    self._question(event)
                group.cancel_scope.cancel()
        except BaseExceptionGroup as several:
            ours = several.subgroup(NeuralClawError)
            if ours is None:
                raise
            self.told(_first(ours))
        finally:
            self._running = False
            self._questions.clear()

    def _question(self, event: Event) -> None:
        match event.body:
            case ApprovalRequested() if self.asks:
                if self._questions.current is None:
                    self._lines.forget()
                self._questions.add(event.body)
            case ApprovalResolved(approval_id=answered):
                self._questions.drop(answered)
            case TurnFinished():
                self._questions.clear()
            case _:
                pass

    async def _typed(self) -> None:
        """What the person types while a turn runs: an answer when a question stands there, else a word to the running turn."""
        while (line := await self._lines.next()) is not None:
            self._view.err.at_start()
            try:
                await self._meanwhile(line)
            except NeuralClawError as error:
                self.told(error)
        self.leaving = True
        if self.session is not None:
            await self.agent.leave(self.session)

    async def _meanwhile(self, line: str) -> None:
        question = self._questions.current
        if line.startswith("/"):
            await self.command(line)
        elif question is not None:
            decision = self._questions.read(line)
            if decision is not None:
                await self.answer(decision)
        elif line.strip() and self.session is not None:
            await self.agent.steer(clean(line), session=self.session)

    async def answer(self, decision: str) -> None:
        """Answer the question on the screen."""
        question = self._questions.current
        if question is None:
            raise UsageError("no question waits here", hint="neuralclaw approvals list")
        await self.agent.answer(question.approval_id, decision)
        self._lines.forget()
        self._questions.drop(question.approval_id)

    async def command(self, line: str) -> None:
        """A line that begins with a slash."""
        word, _, rest = line[1:].partition(" ")
        if word not in self.commands:
            raise UsageError(f"there is no /{word}{did_you_mean(word, list(self.commands))}", hint="/help")
        await self.commands[word][1](self, rest.strip())

    def say(self, text: str) -> None:
        """Show what a command found."""
        self._view.err.line(text)

    @property
    def running(self) -> bool:
        return self._running


def _first(group: BaseExceptionGroup[NeuralClawError]) -> NeuralClawError:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, NeuralClawError)
    return error
