"""The chat where nothing but lines can be shown: over a pipe, with `TERM=dumb`."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from ..channels.command_hints import typed
from ..channels.line_reader import LineReader
from ..channels.question_prompts import QuestionPrompts
from ..channels.session_status import SessionStatus
from ..channels.terminal_view import TerminalView
from ..types.entries import Event

_PROMPT = "> "
_CALL = "  > "
"""Begins the line of a call: unlike the prompt."""


class LineInterface:
    """Each line is a message; no escape sequence is ever written where the screen is plain."""

    keys = False

    def __init__(self, lines: LineReader, view: TerminalView) -> None:
        self._lines, self._view, self.screen = lines, view, view.err
        self.live = lines.tty
        self.questions = QuestionPrompts(view.err)
        self.standing = SessionStatus()
        view.warned = self.live  # the first line of the chat says it
        self._echoed = True
        if self.live:
            view.mark = _CALL
            view.err.line("Each line is a message. /help shows the commands, Ctrl-C stops a turn, Ctrl-D leaves.", "dim")

    async def next(self) -> str | None:
        line = await self._lines.next()
        self._echoed = line is not None and self._echoed
        return line

    def ready(self) -> None:
        if self.live:
            self._echoed = not self._lines.ahead
            self._view.err.write(_PROMPT)

    def taken(self) -> None:
        """The person's Enter began a new line, unless they typed ahead of the prompt or have left."""
        if self._echoed or not self.live:
            self._view.err.at_start()
        else:
            self._view.err.fresh()
        self._echoed = True

    def forget(self) -> None:
        self._lines.forget()

    def recall(self, asked: str, answer: str) -> None:
        self._view.err.line(f"{_PROMPT}{asked}", "dim")
        if answer:
            self._view.err.line(answer)

    def show(self, event: Event) -> None:
        self._view.show(event)

    def say(self, text: str, style: str = "") -> None:
        self._view.err.line(text, style)

    def trouble(self, kind: str, text: str, hint: str) -> None:
        self._view.err.trouble(kind, text)
        if hint:
            self._view.err.line(f"   {typed(hint)}", "dim")

    @asynccontextmanager
    async def aside(self) -> AsyncGenerator[None]:
        yield

    def clear(self) -> bool:
        return False

    def let_go(self) -> None:
        """The terminal was never changed."""

    def fresh(self) -> None:
        self._view.err.fresh()
