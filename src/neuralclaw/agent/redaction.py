"""No configured secret gets into an event or an entry: bodies are cleaned as values, the deltas of a reply as one text each."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from ..ports import Redaction, TextStream
from ..types.entries import Entry, Event, event_of
from ..types.events import Passing, ReasoningDelta, TextDelta
from ..types.messages import ReasoningState

T = TypeVar("T")
PLAIN = frozenset({int, float, bool, type(None), bytes})


class NoStream:
    """Everything may be shown."""

    def feed(self, delta: str) -> str:
        return delta

    def settle(self) -> str:
        return ""

    def flush(self) -> str:
        return ""


class NoRedaction:
    """There are no secrets."""

    def redact(self, text: str) -> str:
        return text

    def redact_ends(self, text: str, *, begins: bool, ends: bool) -> str:
        return text

    def stream(self) -> TextStream:
        return NoStream()


NO_REDACTION: Redaction = NoRedaction()


def redacted(value: T, redaction: Redaction) -> T:
    """The value with every text in it redacted; the same object where nothing was found.

    Reasoning that a service signed is of no use any more once it was changed: it is left out then.
    """
    return value if redaction is NO_REDACTION else _clean(value, redaction.redact)


def redacted_output(value: T, redaction: Redaction) -> T:
    """The same of what a program printed, which may have been cut at its beginning and its end: by the limits of its call, or by itself."""
    return value if redaction is NO_REDACTION else _clean(value, lambda text: safe_ends(redaction, redaction.redact(text)))


def safe_ends(redaction: Redaction, text: str) -> str:
    """What a program printed, without what is left of a secret where it begins and ends."""
    return redaction.redact_ends(text, begins=True, ends=True)


def safe_beginning(redaction: Redaction, text: str) -> str:
    """A text whose rest is missing, redacted, without what may be the beginning of a secret at its end."""
    stream = redaction.stream()
    return stream.feed(text) + stream.settle()


def _clean(value: Any, redact: Callable[[str], str]) -> Any:
    kind = type(value)
    if kind is str:
        return redact(value)
    if kind in PLAIN:
        return value
    if kind is dict:
        cleaned = {_clean(name, redact): _clean(one, redact) for name, one in value.items()}
        same = all(a is b and value[a] is cleaned[b] for a, b in zip(value, cleaned, strict=False))
        return value if same and len(cleaned) == len(value) else cleaned
    if kind in (list, tuple):
        items = [_clean(one, redact) for one in value]
        return value if all(a is b for a, b in zip(value, items, strict=True)) else kind(items)
    if isinstance(value, msgspec.Struct):
        changed = {
            name: new
            for name, old in zip(kind.__struct_fields__, msgspec.structs.astuple(value), strict=True)
            if type(old) not in PLAIN and (new := _clean(old, redact)) is not old
        }
        if not changed:
            return value
        return None if kind is ReasoningState else msgspec.structs.replace(value, **changed)
    return value


class Searched:
    """Keeps what nobody may be told out of the entries that are read, and searches none twice: the newest that were found clean are remembered."""

    LIMIT = 50_000
    """Record numbers kept, about 5 MB; a turn reads some two hundred entries."""

    def __init__(self, redaction: Redaction) -> None:
        self.redaction = redaction
        self._clean: dict[int, None] = {}

    def written(self, entries: Sequence[Entry]) -> None:
        """These were redacted before they were written."""
        self._clean.update((entry.header.record, None) for entry in entries)
        while len(self._clean) > self.LIMIT:
            del self._clean[next(iter(self._clean))]

    def entries(self, read: Sequence[Entry]) -> list[Entry]:
        """The entries as they may be told on: others wrote them, or they were written before a secret in them was configured."""
        if self.redaction is NO_REDACTION:
            return list(read)
        found = [entry if entry.header.record in self._clean else self._search(entry) for entry in read]
        self.written([entry for entry, was in zip(found, read, strict=True) if entry is was])
        return found

    def event(self, entry: Entry) -> Event | None:
        """The event that shows the entry as it may be told on; None when its body was erased."""
        return event_of(self.entries([entry])[0])

    def _search(self, entry: Entry) -> Entry:
        body = redacted(entry.body, self.redaction)
        return entry if body is entry.body else msgspec.structs.replace(entry, body=body)


class SafeDeltas:
    """Shows the pieces of one reply as they come, as far as they are no secret and cannot become one."""

    def __init__(self, redaction: Redaction, show: Callable[[Passing], None]) -> None:
        self._redaction, self._show = redaction, show
        self._text, self._reasoning = redaction.stream(), redaction.stream()

    def text(self, piece: str) -> None:
        self._show_reasoning(self._reasoning.settle())
        self._show_text(self._text.feed(piece))

    def reasoning(self, piece: str) -> None:
        self._show_text(self._text.settle())
        self._show_reasoning(self._reasoning.feed(piece))

    def discard(self) -> None:
        """What came so far is void."""
        self._text, self._reasoning = self._redaction.stream(), self._redaction.stream()

    def break_off(self) -> None:
        """The reply was stopped: a little that is held back is shown, more of it may be part of a secret."""
        self._show_reasoning(self._reasoning.settle())
        self._show_text(self._text.settle())

    def end(self) -> None:
        self._show_reasoning(self._reasoning.flush())
        self._show_text(self._text.flush())

    def _show_text(self, piece: str) -> None:
        if piece:
            self._show(TextDelta(text=piece))

    def _show_reasoning(self, piece: str) -> None:
        if piece:
            self._show(ReasoningDelta(text=piece))
