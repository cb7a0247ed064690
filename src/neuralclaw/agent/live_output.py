"""What a call prints while it runs, for those who watch: without secrets, and at most so much at a time, however fast it comes."""

import asyncio
import threading
from collections.abc import Callable

from ..ports import Redaction, TextStream

EVERY = 0.1
"""Seconds between two pieces at least; the first is shown at once."""
PIECE = 8_000
"""Characters of one piece at most: of what is longer the end is shown, and how much is missing."""
_HELD = 24_576
"""Characters of one stream that are kept for the next piece."""
_UNSAFE = 16_384
"""Characters behind a gap that are not shown: they may be the rest of a secret whose beginning is gone. The longest ones are far shorter."""


class LiveOutput:
    """Shows the output of one call. `take` may be called from any thread; whoever calls it never waits."""

    def __init__(self, redaction: Redaction, show: Callable[[str], None]) -> None:
        self._redaction, self._show = redaction, show
        self._streams: dict[str, _Stream] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._ended = False

    def take(self, text: str, stream: str = "") -> None:
        """The call printed this on that stream."""
        if threading.get_ident() == self._thread:
            self._take(text, stream)
        elif not self._ended and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._take, text, stream)

    def end(self) -> None:
        """The call has ended: what is left is shown now, and nothing after it."""
        if not self._ended:
            self._ended = True
            if self._timer is not None:
                self._timer.cancel()
            self._put("".join(stream.rest() for stream in self._streams.values()))

    def _take(self, text: str, name: str) -> None:
        if self._ended:
            return
        stream = self._streams.get(name)
        if stream is None:
            stream = self._streams[name] = _Stream(self._redaction)
        stream.hold(text)
        if self._timer is None:
            self._flush()

    def _flush(self) -> None:
        self._timer = None
        text = "".join(stream.safe() for stream in self._streams.values())
        if text:
            self._timer = self._loop.call_later(EVERY, self._flush)
            self._put(text)

    def _put(self, text: str) -> None:
        if len(text) > PIECE:
            text = f"[… {len(text) - PIECE:,} characters …]\n{text[-PIECE:]}"
        if text:
            self._show(text)


class _Stream:
    """One stream of a call. What comes too fast to be searched for secrets is left out, together with what follows the gap."""

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction
        self._safe: TextStream = redaction.stream()
        self._begun = False
        self._held: list[str] = []
        self._size = self._left_out = 0

    def hold(self, text: str) -> None:
        self._held.append(text)
        self._size += len(text)
        if self._size > 2 * _HELD:
            kept = "".join(self._held)[-_HELD:]
            self._left_out += self._size - len(kept)
            self._held, self._size = [kept], len(kept)

    def safe(self) -> str:
        """What may be shown by now."""
        return self._searched(final=False) if self._held else ""

    def rest(self) -> str:
        """What may be shown at the end."""
        return self._searched(final=True)

    def _searched(self, *, final: bool) -> str:
        text, gone = "".join(self._held), self._left_out
        self._held, self._size, self._left_out = [], 0, 0
        if gone:
            self._safe = self._redaction.stream()  # what the old one held back may be the beginning of a secret: nobody will know
        found = self._safe.feed(text) + (self._safe.settle() if final else "")  # what may be the beginning of a secret is in the result, where it is none
        if found.strip() and not self._begun:
            self._begun = True
            found = self._redaction.redact_ends(found, begins=True, ends=False)
        if not gone:
            return found
        return f"\n[… {gone + min(len(found), _UNSAFE):,} characters …]\n{found[_UNSAFE:]}"
