"""A conversation on a console: answers grow in place, calls are cards, a question stands above the input until it is answered."""

import io
import time
from collections.abc import Callable
from typing import TextIO, cast

import msgspec

from ..types.entries import Event
from ..types.events import ApprovalRequested, ErrorEvent, LimitHit, Message, RetryEvent, ToolFinished, ToolStarted, TurnFinished
from .cards import question_card, status_line, tool_card
from .completion import Words
from .console import Console, Drawing, said
from .history import Remembered
from .markdown import StreamedMarkdown
from .outflow import Outflow
from .questions import Questions, choices
from .screen import Screen
from .standing import Standing
from .terminal import View

_HELLO = "Enter sends, Alt-Enter begins a line, @ names a file. /help shows the commands, Ctrl-C stops a turn, Ctrl-D leaves."


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


class LiveQuestions(Questions):
    """Questions that stand above the input; an answered one stays in the scrollback."""

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

    def _again(self, told: list[str], prompt: str) -> None:
        for line in told:
            self._err.line(line, "yellow")


class LiveView(View, Drawing):
    """Shows turns: finished lines go above, what still grows is drawn."""

    def __init__(self, screen: Screen, above: Callable[[str], None], width: Callable[[], int], *, verbose: bool) -> None:
        super().__init__(screen, screen, tools=False, verbose=verbose)
        self._above, self._columns = above, width
        self._growing: StreamedMarkdown | None = None
        self._arrived: list[str] = []  # text of the answer since the last frame
        self._calls: dict[str, tuple[ToolStarted, float]] = {}
        self.questions = LiveQuestions(screen, self._asked)
        self.standing = Standing()
        self.settled: Callable[[], None] = self._nobody

    def _nobody(self) -> None:
        """Nobody wants to know that no question stands any more."""

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
        for started, since in self._calls.values():
            parts.append(tool_card(started, None, width=width, elapsed_ms=int((now - since) * 1000)))
        if question is not None:
            parts.append(f"\x1b[1m{choices(question)}\x1b[0m, then Enter; any other text is a no with these words")
        return "\n".join(part.rstrip("\n") for part in parts if part)

    def status(self, width: int) -> str:
        standing = self.standing
        if not standing.model:
            return "opening…"
        waiting = standing.waiting(self.questions.count)
        return status_line(
            model=standing.model, context_used=standing.context, context_window=standing.window, usd=standing.usd, waiting=waiting, width=width
        ).rstrip("\n")

    @property
    def busy(self) -> bool:
        return self.standing.since is not None

    @property
    def growing(self) -> bool:
        """An answer is arriving."""
        return self._growing is not None

    @property
    def running(self) -> bool:
        return self.standing.since is not None

    def show(self, event: Event) -> None:
        match event.body:
            case RetryEvent(discard=True):
                self.settle()
                self._growing = None
            case Message() | ToolStarted() | ToolFinished() | RetryEvent() | LimitHit() | ErrorEvent() | TurnFinished():
                self._finish()
            case _:
                pass
        super().show(event)

    def _delta(self, text: str) -> None:
        if self._growing is None:
            self._growing = StreamedMarkdown(self._columns)
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
            self._calls[body.call_id] = (msgspec.structs.replace(body, arguments=self._written(body)), time.monotonic())
        elif body.call_id in self._calls:
            started, _ = self._calls.pop(body.call_id)
            self._above(_ended(tool_card(started, body, width=self._columns())))

    def end(self, session: str, body: TurnFinished) -> None:
        self._calls.clear()
        if body.text and body.status not in ("failed", "cancelled", "limit", "timed_out") and self._streamed.strip() != body.text.strip():
            answer = StreamedMarkdown(self._columns)
            self._above("\n" + answer.feed(body.text) + answer.close())
            self._streamed = body.text
        super().end(session, body)

    def _asked(self, question: ApprovalRequested | None) -> None:
        """What is asked stands in the scrollback, whole, however long it is; what may be answered right above the input."""
        if question is None:
            self.settled()
        else:
            self._above("\n" + _ended(question_card(msgspec.structs.replace(question, choices=()), width=self._columns())))


class LiveFace:
    """The conversation's face at a terminal that can do it."""

    live = True

    def __init__(self, stdin: TextIO, flow: Outflow, *, term: str, verbose: bool, words: Words, history: Remembered) -> None:
        self.words, self.history = words, history
        self.screen = Screen(cast(TextIO, _Above(self._put)), term=term)
        self._view = LiveView(self.screen, self._put, lambda: self.console.size[0], verbose=verbose)
        self.console = Console(self._view, words, history, streams=(stdin, flow), term=term)
        self.history.whole = self.console.pasted.whole
        self._view.settled = self.console.restore
        self.questions, self.standing = self._view.questions, self._view.standing
        self.screen.line(_HELLO, "dim")

    def _put(self, text: str) -> None:
        self.console.above(text)

    async def next(self) -> str | None:
        return await self.console.next()

    def ready(self) -> None:
        self.console.paint()

    def taken(self) -> None:
        self.console.paint()

    def forget(self) -> None:
        self.console.forget()

    def recall(self, asked: str, answer: str) -> None:
        self._put(said(asked))
        if answer:
            text = StreamedMarkdown(lambda: self.console.size[0])
            self._put("\n" + text.feed(answer) + text.close())

    def show(self, event: Event) -> None:
        began = not self._view.growing
        self._view.show(event)
        self.console.paint(now=began and self._view.growing)

    def say(self, text: str, style: str = "") -> None:
        self.screen.line(text, style)

    def trouble(self, kind: str, text: str, hint: str) -> None:
        self.screen.trouble(kind, text)
        if hint:
            self.screen.line(f"   {hint}", "dim")

    def fresh(self) -> None:
        """Every line is complete here."""

    def let_go(self) -> None:
        self.console.let_go()


def _ended(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"
