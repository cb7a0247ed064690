"""What a conversation needs of the place where it is shown and typed."""

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from ..channels.question_prompts import QuestionPrompts
from ..channels.renderer import Renderer
from ..channels.screen import Screen
from ..channels.session_status import SessionStatus


class ChatInterface(Renderer, Protocol):
    """A renderer with a prompt: a terminal, a terminal that can do nothing, or a pipe."""

    person: bool
    """A person sits there."""
    keys: bool
    """Single keys do something here."""
    screen: Screen
    session_status: SessionStatus

    @property
    def questions(self) -> QuestionPrompts:
        """Those that wait for the person."""
        ...

    async def next(self) -> str | None:
        """The next message that was typed, or None when there will be none. Nothing is lost when the wait is given up."""
        ...

    def ready(self) -> None:
        """The conversation waits for a message."""

    def taken(self) -> None:
        """What was typed is taken up."""

    def forget(self) -> None:
        """What was typed before a question stood there is no answer to it."""

    def recall(self, asked: str, answer: str) -> None:
        """An earlier turn of the session: what was asked, and the answer, "" where there is none yet."""

    def say(self, text: str, style: str = "") -> None:
        """Show the program's own word."""

    def fresh(self) -> None:
        """Begin a new line."""

    def let_go(self) -> None:
        """The process ends now, without anything else being done."""

    def aside(self) -> AbstractAsyncContextManager[None]:
        """Inside, another program has the terminal."""
        ...

    def clear(self) -> bool:
        """Clear the screen; false where that cannot be done."""
        ...
