"""The keys of the chat."""

from collections.abc import Callable
from typing import Protocol

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition, is_searching
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from .pager import Pager
from .paste_placeholders import PastePlaceholders


class KeyContext(Protocol):
    """What the keys act on."""

    buffer: Buffer
    paste_placeholders: PastePlaceholders
    pager: Pager

    @property
    def running(self) -> bool: ...
    def submit(self) -> None: ...
    def complete(self) -> None: ...
    def leave(self) -> None: ...
    def stop(self) -> None: ...
    def escape(self) -> None: ...
    def unfold(self) -> None: ...
    def fold(self) -> None: ...


def bindings(typing: KeyContext) -> KeyBindings:
    """Enter sends; Alt-Enter and Ctrl-J begin a line; Ctrl-C, Ctrl-D and Ctrl-Z as ever; Esc stops, Ctrl-O shows what is folded; a large paste is short."""
    keys = KeyBindings()
    idle = ~is_searching
    empty = Condition(lambda: not typing.buffer.text)

    @keys.add("enter", filter=idle)
    def send(event: KeyPressEvent) -> None:
        state = typing.buffer.complete_state
        if state is not None and state.current_completion is not None:
            typing.buffer.complete_state = None
        else:
            typing.submit()

    @keys.add("tab", filter=idle)
    def complete(event: KeyPressEvent) -> None:
        typing.complete()

    @keys.add("c-j", filter=idle)
    @keys.add("escape", "enter", filter=idle)
    def newline(event: KeyPressEvent) -> None:
        typing.buffer.insert_text("\n")

    @keys.add("c-c", filter=idle)
    def stop(event: KeyPressEvent) -> None:
        typing.stop()

    @keys.add("escape", filter=idle)
    def escape(event: KeyPressEvent) -> None:
        if typing.buffer.complete_state is not None:
            typing.buffer.cancel_completion()
        else:
            typing.escape()

    @keys.add("c-o", filter=idle)
    def unfold(event: KeyPressEvent) -> None:
        typing.unfold()

    @keys.add("c-d", filter=empty & idle)
    def leave(event: KeyPressEvent) -> None:
        typing.leave()

    @keys.add("c-z")
    def suspend(event: KeyPressEvent) -> None:
        event.app.suspend_to_background()

    @keys.add("<bracketed-paste>")
    def paste(event: KeyPressEvent) -> None:
        typing.buffer.insert_text(typing.paste_placeholders.fold(event.data))

    _scrolling(keys, typing)
    return keys


def _scrolling(keys: KeyBindings, typing: KeyContext) -> None:
    """The keys while a text is on a screen of its own. They go before all others, and any that is not named here does nothing."""
    pager = typing.pager
    paging = Condition(lambda: pager.open)
    moves: dict[Callable[[], None], tuple[str, ...]] = {
        lambda: pager.move(-1): ("up", "k"),
        lambda: pager.move(1): ("down", "j", "enter"),
        lambda: pager.move(pages=-1): ("pageup", "b"),
        lambda: pager.move(pages=1): ("pagedown", " "),
        pager.to_begin: ("home", "g"),
        pager.to_end: ("end", "G"),
        typing.fold: ("c-o", "q", "escape", "c-d"),
        lambda: None: (Keys.Any.value,),
    }
    for move, names in moves.items():
        for name in names:
            keys.add(name, filter=paging, eager=True)(_doing(move))

    @keys.add("c-c", filter=paging, eager=True)
    def stop(event: KeyPressEvent) -> None:
        typing.fold()
        if typing.running:
            typing.stop()

    @keys.add("c-z", filter=paging, eager=True)
    def suspend(event: KeyPressEvent) -> None:
        event.app.suspend_to_background()


def _doing(move: Callable[[], None]) -> Callable[[KeyPressEvent], None]:
    def pressed(event: KeyPressEvent) -> None:
        move()

    return pressed
