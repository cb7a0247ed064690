"""A terminal in two parts: what is finished scrolls up and away; below is what still grows, the input and one status line.

Everything reaches the terminal in one write per frame, so nothing flickers: the lower part is erased, finished lines are written
where it was, and it is drawn again below them.
"""

import math
import os
import termios
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, TextIO

import anyio
from prompt_toolkit.application import Application, in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.data_structures import Size
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples
from prompt_toolkit.history import History
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.layout import BufferControl, ConditionalContainer, Dimension, FormattedTextControl, HSplit, Layout, Window
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import Style
from prompt_toolkit.widgets import SearchToolbar

from .control_characters import colourless, visible
from .frames import FrameOutput, PacedApplication
from .keys import bindings
from .nonblocking_output import NonblockingOutput
from .pager import Pager
from .paste_placeholders import PastePlaceholders

_FRAME = 1 / 30
"""Seconds between two frames at least while text streams; the first is drawn at once."""
_SHARE = 0.03
"""What a frame takes, as a share of the time until the next one at most: what costs much is drawn less often."""
_SLOWEST = 0.15
"""Seconds between two frames at most, however much one costs."""
_TICK = 0.25
_SEQUENCE = 0.1
"""Seconds that the bytes of one key, an arrow for instance, may take on their way."""
_STYLE = Style.from_dict({"prompt": "bold ansicyan", "status": "ansibrightblack", "bottom-toolbar": "noreverse"})


class TerminalKind(NamedTuple):
    """What the terminal is: the value of `TERM`, and whether colours are wanted."""

    term: str
    colour: bool = True


class LiveRegion:
    """What the lower part shows. `live` gives at most so many lines of so many cells; `status` one line; `busy`: it changes with time."""

    def settle(self) -> None:
        """A frame begins: what has come since the last one is taken in, and what is finished of it put above."""

    def live(self, width: int, rows: int) -> str:
        return ""

    def status(self, width: int) -> str:
        return ""

    def folded(self) -> Callable[[int], list[str]] | None:
        """What was folded, whole, as rows of so many cells; None where nothing was, which is said."""
        return None

    @property
    def busy(self) -> bool:
        return False

    @property
    def running(self) -> bool:
        """A turn runs."""
        return False

    @property
    def question_open(self) -> bool:
        """A question is open: what is typed is its answer."""
        return False


class Console:
    """The terminal of one conversation. `run` shows it until `close`; what is typed comes out of `next`."""

    def __init__(self, drawing: LiveRegion, completer: Completer, history: History, *, streams: tuple[TextIO, NonblockingOutput], kind: TerminalKind) -> None:
        self._drawing, self._colour = drawing, kind.colour
        self._input, self._flow = streams
        stdout = self._flow.out
        self._typed, self._messages = anyio.create_memory_object_stream[str](math.inf)
        self._above: list[str] = []
        self._painted = 0.0
        self._began = 0.0
        self._pause = _FRAME
        self._wanted = anyio.Event()
        self._draft: str | None = None
        self._wants = False
        self.interrupt: Callable[[], None] = _nothing
        """What Ctrl-C does where it does not clear the input."""
        self.halt: Callable[[], None] = _nothing
        """What Esc does while a turn runs."""
        self.paste_placeholders, self.pager = PastePlaceholders(), Pager()
        self.open = True
        self.modes: list[Any] = []
        """The terminal's modes before the chat, for `let_go`."""
        self.early = ""
        """Lines that were typed before the prompt was there."""
        self.buffer = Buffer(completer=completer, history=history, complete_while_typing=True, multiline=True, enable_history_search=False)
        self.buffer.on_completions_changed += self._offered
        self.buffer.on_text_changed += self._edited
        self._measured = _size(stdout)
        self._out = FrameOutput(stdout, lambda: _size(stdout), term=kind.term or None, enable_cpr=False, enable_bell=False)
        self._app = PacedApplication(
            self._room_or_later,
            layout=self._layout(),
            key_bindings=bindings(self),
            style=_STYLE,
            color_depth=None if kind.colour else ColorDepth.DEPTH_1_BIT,
            input=Vt100Input(self._input),
            output=self._out,
            erase_when_done=True,
            max_render_postpone_time=None,
            before_render=self._before,
            after_render=self._after,
        )
        self._app.ttimeoutlen = _SEQUENCE

    def _layout(self) -> Layout:
        search = SearchToolbar()
        control = BufferControl(self.buffer, search_buffer_control=search.control, preview_search=True)
        typing = Window(
            control, height=self._input_height, wrap_lines=True, dont_extend_height=True, get_line_prefix=lambda line, wrapped: _prefix(line, wrapped)
        )
        live = Window(FormattedTextControl(self._live), dont_extend_height=True, always_hide_cursor=True, height=lambda: Dimension(min=0))
        status = Window(FormattedTextControl(self._status), height=1, style="class:status", dont_extend_height=True)
        roomy = Condition(lambda: self.size[1] >= 4)
        menu = ConditionalContainer(CompletionsMenu(max_height=6), Condition(lambda: self.size[1] >= 10))
        below = HSplit([live, typing, search, menu, ConditionalContainer(status, roomy)])
        whole = Window(FormattedTextControl(lambda: ANSI(self.pager.drawn(*self.size))), always_hide_cursor=True)
        paging = Condition(lambda: self.pager.open)
        return Layout(HSplit([ConditionalContainer(whole, paging), ConditionalContainer(below, ~paging)]), focused_element=typing)

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows of the terminal, as the last frame found them."""
        return self._measured.columns, self._measured.rows

    def _input_height(self) -> Dimension:
        return Dimension(min=1, max=max(1, self.size[1] // 2))

    def _live(self) -> StyleAndTextTuples | ANSI:
        columns, rows = self.size
        room = max(0, rows - 3 - min(self.buffer.document.line_count, rows // 2))
        text = self._drawing.live(columns, room) if room and self.open else ""
        lines = text.split("\n") if text else []
        return ANSI("\n".join(lines[-room:])) if lines else []

    def _status(self) -> ANSI:
        return ANSI(self._drawing.status(self.size[0]))

    async def run(self) -> None:
        """Show it until it is closed. Ctrl-D, or a terminal that is gone, ends what `next` gives."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._later)
            group.start_soon(self._tick)
            try:
                await self._app.run_async(pre_run=self._start, handle_sigint=False, set_exception_handler=False)
            except EOFError:
                pass
            finally:
                self.open = False
                self.leave()
            group.cancel_scope.cancel()

    def clear(self) -> None:
        """An empty screen with the lower part at its top."""
        self._above.clear()
        self._app.renderer.clear()
        self._app.invalidate()

    @asynccontextmanager
    async def aside(self) -> AsyncGenerator[None]:
        """Inside, the terminal is as it was before, for another program."""
        async with in_terminal():
            await self._flow.idle()
            yield

    def close(self) -> None:
        """Give the terminal back."""
        if self._app.is_running:
            self._app.exit()

    def let_go(self) -> None:
        """The process ends now: leave the terminal as it was."""
        self._app.renderer.erase()
        if self.modes:
            termios.tcsetattr(self._input.fileno(), termios.TCSANOW, self.modes)

    def leave(self) -> None:
        """There will be no more messages."""
        self._typed.close()

    async def next(self) -> str | None:
        """The next message, or None at their end."""
        try:
            return await self._messages.receive()
        except anyio.EndOfStream:
            return None

    def _start(self) -> None:
        *lines, rest = self.early.split("\n")
        for line in lines:
            self.buffer.insert_text(line)
            self.submit()
        if rest:
            self.buffer.insert_text(rest)

    def complete(self) -> None:
        """Tab: the next completion; where they are still being looked for, the first one as soon as there is one."""
        state = self.buffer.complete_state
        if state is not None and state.completions:
            self.buffer.complete_next()
        else:
            self._wants = True
            self.buffer.start_completion()

    def _offered(self, buffer: Buffer) -> None:
        if self._wants and buffer.complete_state is not None and buffer.complete_state.completions:
            self._wants = False
            buffer.complete_next()

    def _edited(self, buffer: Buffer) -> None:
        self._wants = False

    def submit(self) -> None:
        """Enter: what was typed becomes a message."""
        text = self.buffer.text
        if text.strip() and self.open:
            if text.startswith("/") or not (self._drawing.question_open or text.strip().lower() in ("y", "yes", "n", "no")):
                self.buffer.append_to_history()
            self.above(said(text))
            self._typed.send_nowait(self.paste_placeholders.whole(text))
        self.buffer.reset()

    @property
    def running(self) -> bool:
        """A turn runs."""
        return self._drawing.running

    def stop(self) -> None:
        """Ctrl-C: stops the turn; where none runs, it clears the input."""
        if self.buffer.text and not self._drawing.running:
            self.buffer.reset()
        else:
            self.interrupt()

    def escape(self) -> None:
        """Esc: stops the turn. What is being typed stays."""
        if self._drawing.running:
            self.halt()

    def unfold(self) -> None:
        """Ctrl-O: what was folded, on a screen of its own, until `fold`."""
        made = self._drawing.folded()
        if made is not None:
            self._page(lambda: self.pager.show(made))

    def fold(self) -> None:
        """Back from the screen of its own to the conversation."""
        if self.pager.open:
            self._page(self.pager.close)

    def _page(self, turn: Callable[[], None]) -> None:
        renderer = self._app.renderer
        renderer.erase()  # gives the screen of its own back, where it is shown
        turn()
        renderer.full_screen = self.pager.open
        self._app.invalidate()

    def forget(self) -> None:
        """A question is open now: what was typed before is no answer to it. A draft comes back when `restore` is called."""
        try:
            termios.tcflush(self._input.fileno(), termios.TCIFLUSH)
        except termios.error:  # the terminal is gone
            return
        if self.buffer.text and self._draft is None:
            self._draft = self.buffer.text
            self.buffer.reset()

    def restore(self) -> None:
        """The draft that a question put aside, if the input is empty."""
        draft, self._draft = self._draft, None
        if draft and not self.buffer.text:
            self.buffer.insert_text(draft)

    def above(self, text: str) -> None:
        """Put finished lines, as a terminal reads them, above the lower part; each ends in a newline."""
        if text:
            self._above.append(text if self._colour else colourless(text))
            if not self._out.held:
                self.paint()

    def paint(self, *, now: bool = False) -> None:
        """Something changed: it is drawn at once if nothing was for a while or with `now`, else with the next frame."""
        if now or time.monotonic() - self._painted >= self._pause:
            self._app.invalidate()
        else:
            self._wanted.set()

    def _room_or_later(self) -> bool:
        if self._flow.full:
            self._wanted.set()
        return not self._flow.full

    async def _later(self) -> None:
        while True:
            await self._wanted.wait()
            await anyio.sleep(max(0.0, self._painted + self._pause - time.monotonic()))
            await self._flow.room()
            self._wanted = anyio.Event()
            self._app.invalidate()

    async def _tick(self) -> None:
        while True:
            await anyio.sleep(_TICK)
            if self._drawing.busy:
                self._app.invalidate()

    def _before(self, app: Application[Any]) -> None:
        self._began = time.monotonic()
        self._measured = self._out.get_size()
        self._out.held = True
        self._drawing.settle()
        if not self.pager.open and (self._above or self._shrunk(app)):
            app.renderer.erase(leave_alternate_screen=False)
            finished, self._above = "".join(self._above), []
            self._out.write_raw(finished.replace("\n", "\r\n"))

    def _shrunk(self, app: Application[Any]) -> bool:
        """The lower part needs fewer lines than it has: drawn anew, it leaves no empty ones below."""
        last = app.renderer.last_rendered_screen
        return last is not None and last.height > app.layout.container.preferred_height(*self.size).preferred

    def _after(self, app: Application[Any]) -> None:
        self._out.held = False
        self._out.flush()
        self._painted = time.monotonic()
        self._pause = min(max(_FRAME, (self._painted - self._began) / _SHARE), _SLOWEST)

    def rest(self) -> str:
        """Finished lines that came after the last frame."""
        rest, self._above = "".join(self._above), []
        return rest


def _nothing() -> None:
    """Nobody listens yet."""


def said(text: str) -> str:
    """A message of the person as it is in the scrollback."""
    lines = visible(text).split("\n")
    return "\n" + "".join(f"\x1b[1;36m{' ' if i else '>'}\x1b[0m \x1b[1m{line}\x1b[0m\n" for i, line in enumerate(lines))


def _prefix(line: int, wrapped: int) -> StyleAndTextTuples:
    return [("class:prompt", "> " if line == 0 and wrapped == 0 else "  ")]


def _size(stream: TextIO) -> Size:
    try:
        columns, rows = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):  # the terminal is gone
        columns, rows = 0, 0
    return Size(rows=rows or 24, columns=columns or 80)
