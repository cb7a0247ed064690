"""The chat where nothing but lines can be shown: over a pipe, with `TERM=dumb`."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from ..channels.line_reader import LineReader
from ..channels.nonblocking_output import NonblockingOutput
from ..channels.question_prompts import QuestionPrompts
from ..channels.session_status import SessionStatus
from .event_output import TextRenderer

_PROMPT = "> "
_CALL = "  > "
"""Begins the line of a call: unlike the prompt."""


class LineInterface(TextRenderer):
    """Each line is a message; no escape sequence is ever written where the screen is plain."""

    keys = False

    def __init__(self, lines: LineReader, flow: NonblockingOutput, *, verbose: bool) -> None:
        super().__init__(flow, verbose=verbose)
        self._lines, self.screen, self._tools = lines, self.err, self.err.tty
        self.person = self.warned = lines.tty  # the first line of the chat says it
        self.questions = QuestionPrompts(self.err)
        self.session_status = SessionStatus()
        self._echoed = True
        if self.person:
            self.mark = _CALL
            self.err.line("Each line is a message. /help shows the commands, Ctrl-C stops a turn, Ctrl-D leaves.", "dim")

    async def next(self) -> str | None:
        line = await self._lines.next()
        self._echoed = line is not None and self._echoed
        return line

    def ready(self) -> None:
        if self.person:
            self._echoed = not self._lines.ahead
            self.err.write(_PROMPT)

    def taken(self) -> None:
        """The person's Enter began a new line, unless they typed ahead of the prompt or have left."""
        if self._echoed or not self.person:
            self.err.at_start()
        else:
            self.err.fresh()
        self._echoed = True

    def forget(self) -> None:
        self._lines.forget()

    def recall(self, asked: str, answer: str) -> None:
        self.err.line(f"{_PROMPT}{asked}", "dim")
        if answer:
            self.err.line(answer)

    def say(self, text: str, style: str = "") -> None:
        self.err.line(text, style)

    @asynccontextmanager
    async def aside(self) -> AsyncGenerator[None]:
        yield

    def clear(self) -> bool:
        return False

    def let_go(self) -> None:
        """The terminal was never changed."""

    def fresh(self) -> None:
        self.err.fresh()
