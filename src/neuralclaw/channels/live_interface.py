"""A conversation on a console: answers grow in place, calls are cards, a question is above the input until it is answered."""

import io
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from typing import TextIO, cast

import msgspec

from ..types.entries import Event
from ..types.events import (
    ApprovalRequested,
    Compaction,
    Debug,
    ErrorEvent,
    Inbound,
    LimitHit,
    Message,
    ReasoningDelta,
    RetryEvent,
    StatusEvent,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from .cards import folds, question_card, status_line, tool_card
from .console import Console, LiveRegion, TerminalKind, said
from .input_completion import InputCompleter
from .input_history import InputHistory
from .live_excerpts import OutputExcerpt, ThinkingExcerpt
from .markdown.stream import StreamedMarkdown
from .markdown.styled_text import LineWrapper, StyledLine, paint
from .nonblocking_output import NonblockingOutput
from .question_prompts import QuestionPrompts, choices
from .screen import Screen
from .session_status import SessionStatus
from .terminal_view import TerminalView

_FOLDED = 200
"""Calls and stretches of thinking of the last turn that can be shown whole."""
_HELLO = "Enter sends, Alt-Enter begins a line, @ names a file. /help shows the commands, Esc stops a turn, Ctrl-D leaves."


class _Above(io.TextIOBase):
    """A stream whose lines end up above the prompt."""

    encoding = "utf-8"

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._write(text)
        return len(text)


class LiveQuestions(QuestionPrompts):
    """Questions that are above the input; an answered one stays in the scrollback."""

    def __init__(self, screen: Screen, changed: Callable[[ApprovalRequested | None], None]) -> None:
        super().__init__(screen)
        self._changed = changed

    def drop(self, approval_id: str) -> bool:
        was = super().drop(approval_id)
        if self.current is None:
            self._changed(None)
        return was

    def clear(self) -> None:
        super().clear()
        self._changed(None)

    def _ask(self, question: ApprovalRequested) -> None:
        self._changed(question)

    def _again(self, lines: list[str], prompt: str) -> None:
        for line in lines:
            self._err.line(line, "yellow")


class LiveInterface(TerminalView, LiveRegion):
    """The renderer of a chat at a terminal that can do it: finished lines go above, what still grows is drawn."""

    person = keys = True

    def __init__(self, stdin: TextIO, flow: NonblockingOutput, *, kind: TerminalKind, verbose: bool, words: InputCompleter, history: InputHistory) -> None:
        self.screen = Screen(cast(TextIO, _Above(self._above)), colour=kind.colour, term=kind.term, width=self._columns)
        super().__init__(self.screen, self.screen, tools=False, verbose=verbose)
        self.words, self.history, self.room = words, history, flow.room
        self._growing: StreamedMarkdown | None = None
        self._arrived: list[str] = []  # text of the answer since the last frame
        self._calls: dict[str, tuple[ToolStarted, float, OutputExcerpt]] = {}
        self._thinking: ThinkingExcerpt | None = None
        self._folded: deque[ThinkingExcerpt | tuple[ToolStarted, ToolFinished]] = deque(maxlen=_FOLDED)
        self.questions = LiveQuestions(self.screen, self._asked)
        self.session_status = SessionStatus()
        self.console = Console(self, words, history, streams=(stdin, flow), kind=kind)
        self.history.whole = self.console.paste_placeholders.whole
        self.warned = True  # the first line of the chat says it
        self.screen.line(_HELLO, "dim")

    def _above(self, text: str) -> None:
        self.console.above(text)

    def _columns(self) -> int:
        return self.console.size[0]

    def settle(self) -> None:
        if self._arrived and self._growing is not None:
            text = "".join(self._arrived)
            self._arrived.clear()
            self._streamed += text
            self._above(self._growing.feed(text))

    def live(self, width: int, rows: int) -> str:
        question = self.questions.current
        parts = [self._growing.tail(rows)] if self._growing is not None else []
        now = time.monotonic()
        if self._thinking is not None:
            parts.append(_drawn(self._thinking.last(width)))
        for started, since, printed in self._calls.values():
            parts.append(tool_card(started, None, width=width, elapsed_ms=int((now - since) * 1000)))
            parts.append(_drawn([("  ", ""), *line] for line in printed.lines(max(width - 2, 1))))
        if question is not None:
            parts.append(_drawn(_answers(question, width)))
        return "\n".join(part.rstrip("\n") for part in parts if part)

    def status(self, width: int) -> str:
        session_status = self.session_status
        if not session_status.model:
            return "opening…"
        waiting = session_status.waiting(self.questions.count)
        return status_line(
            model=session_status.model,
            context_used=session_status.context,
            context_window=session_status.window,
            usd=session_status.usd,
            waiting=waiting,
            width=width,
        ).rstrip("\n")

    @property
    def busy(self) -> bool:
        return self.session_status.since is not None

    @property
    def running(self) -> bool:
        return self.session_status.since is not None

    @property
    def question_open(self) -> bool:
        return self.questions.current is not None

    def markdown(self) -> StreamedMarkdown:
        """An answer for this screen."""
        return StreamedMarkdown(self._columns, marks=not self.err.colour)

    def folded(self) -> Callable[[int], list[str]] | None:
        """Thinking and output of the last turn, as they are now, and what the model is thinking."""
        found = [*self._folded, *([self._thinking] if self._thinking is not None else [])]
        if not found:
            self.err.line("Nothing of the last turn is folded.", "dim")
            return None
        return lambda width: "\n\n".join(self._whole(one, width).rstrip("\n") for one in found).split("\n")

    def _whole(self, one: ThinkingExcerpt | tuple[ToolStarted, ToolFinished], width: int) -> str:
        return _drawn(one.whole(width)) if isinstance(one, ThinkingExcerpt) else tool_card(*one, width=width, whole=True)

    def _think(self, text: str) -> None:
        if self._thinking is None:
            self._thinking = ThinkingExcerpt()
        self._thinking.feed(text)

    def _thought(self) -> None:
        """The model has begun something else."""
        thinking, self._thinking = self._thinking, None
        if thinking is None:
            return
        thinking.end()
        self._folded.append(thinking)
        self._above("\n" + _ended(_drawn(thinking.folded(self._columns()))))

    def show(self, event: Event) -> None:
        began = self._growing is None
        match event.body:
            case ReasoningDelta(text=text):
                self._think(text)
            case ToolOutput(call_id=call, text=text):
                if call in self._calls:
                    self._calls[call][2].feed(text)
            case _:
                self._end_thinking(event)
                self._show(event)
        self.console.paint(now=began and self._growing is not None)

    def _end_thinking(self, event: Event) -> None:
        """Thinking is over when something else is told."""
        match event.body:
            case RetryEvent(discard=True):
                self._thinking = None
            case TurnStarted():
                self._folded.clear()
            case Inbound() | StatusEvent() | Debug():
                pass
            case _:
                self._thought()

    def _show(self, event: Event) -> None:
        match event.body:
            case RetryEvent(discard=True):
                self.settle()
                self._growing = None
            case Message() | ToolStarted() | ToolFinished() | RetryEvent() | LimitHit() | Compaction() | ErrorEvent() | TurnFinished():
                self._finish()
            case _:
                pass
        super().show(event)

    def _delta(self, text: str) -> None:
        if self._growing is None:
            self._growing = self.markdown()
            self._above("\n")
        self._arrived.append(text)

    def _finish(self) -> None:
        """The text that was growing is complete."""
        self.settle()
        growing, self._growing = self._growing, None
        if growing is not None:
            self._above(growing.close())

    def _tool(self, body: ToolStarted | ToolFinished) -> None:
        super()._tool(body)
        if isinstance(body, ToolStarted):
            self._calls[body.call_id] = (msgspec.structs.replace(body, arguments=self._written(body)), time.monotonic(), OutputExcerpt())
        elif body.call_id in self._calls:
            started = self._calls.pop(body.call_id)[0]
            width = self._columns()
            self._above(_ended(tool_card(started, body, width=width)))
            if folds(body, width):
                self._folded.append((started, body))

    def end(self, session: str, body: TurnFinished) -> None:
        self._calls.clear()
        if body.text and body.status not in ("failed", "cancelled", "limit", "timed_out") and self._streamed.strip() != body.text.strip():
            answer = self.markdown()
            self._above("\n" + answer.feed(body.text) + answer.close())
            self._streamed = body.text
        super().end(session, body)

    def _asked(self, question: ApprovalRequested | None) -> None:
        """What is asked is in the scrollback, whole, however long it is; what may be answered right above the input."""
        if question is None:
            self.console.restore()
        else:
            self.console.fold()
            self._above("\n" + _ended(question_card(msgspec.structs.replace(question, choices=()), width=self._columns())))

    async def next(self) -> str | None:
        return await self.console.next()

    def ready(self) -> None:
        self.console.paint()

    def taken(self) -> None:
        self.console.paint()

    def forget(self) -> None:
        self.console.forget()

    def recall(self, asked: str, answer: str) -> None:
        self._above(said(asked))
        if answer:
            text = self.markdown()
            self._above("\n" + text.feed(answer) + text.close())

    def say(self, text: str, style: str = "") -> None:
        self.screen.line(text, style)

    def aside(self) -> AbstractAsyncContextManager[None]:
        return self.console.aside()

    def clear(self) -> bool:
        self.console.clear()
        return True

    def fresh(self) -> None:
        """Every line is complete here."""

    def let_go(self) -> None:
        self.console.let_go()


def _answers(question: ApprovalRequested, width: int) -> list[StyledLine]:
    """What may be typed at a question, on as many lines as that takes."""
    wrap = LineWrapper()
    wrap.add([(choices(question), "1"), (", then Enter; any other text is a no with these words", "")], width)
    wrap.end(width)
    return wrap.lines


def _drawn(lines: Iterable[StyledLine]) -> str:
    return "\n".join(paint(line, colour=True) for line in lines)


def _ended(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"
