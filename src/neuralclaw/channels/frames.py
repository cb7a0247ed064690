"""What a frame is written through: it reaches the terminal in one write, and only when the terminal has taken those before."""

from collections.abc import Callable
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.keys import Keys
from prompt_toolkit.output.vt100 import Vt100_Output

_ESCAPE = 0.05
"""Seconds after which an Esc that nothing followed is the key itself, and no Alt: the two bytes of an Alt arrive together."""


class FrameOutput(Vt100_Output):
    """Keeps back what is written until the frame is complete."""

    held = False

    def flush(self) -> None:
        if not self.held:
            super().flush()


class PacedApplication(Application[None]):
    """Draws no frame while `room` says that the terminal has not taken those before; waits for a key after Esc only as long as one key takes."""

    def __init__(self, room: Callable[[], bool], **how: Any) -> None:
        self._room = room
        super().__init__(**how)

    @property
    def timeoutlen(self) -> float:
        """Seconds that the next key of a sequence of keys may take."""
        begun = self.key_processor.key_buffer
        return _ESCAPE if begun and begun[-1].key is Keys.Escape else self._between_keys

    @timeoutlen.setter
    def timeoutlen(self, seconds: float) -> None:
        self._between_keys = seconds

    def invalidate(self) -> None:
        if self._room():
            super().invalidate()
