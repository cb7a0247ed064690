"""Replaces secrets in text by `[REDACTED:kind]`, in whole texts and in a stream of pieces, with the same outcome however it is cut.

What is looked for: the spellings of each configured value, line breaks within them passed over, and the shapes of `formats`. Of several
at one place the longest is taken, else the one that begins first. `kind` is the name the value was configured under
(`OPENAI_API_KEY`, `llm.providers.mine.api_key`), or the format's.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from .formats import BEGUN, LONGEST_BEGUN, MARKED, PREFIXES, SHORTEST_KEY, Shape
from .spellings import spellings, unfit

BREAK = re.compile(r"[\r\n][\r\n \t]*")
"""A line break and the indentation after it: where tools and people break long values."""
WORD = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
LONG = 256
"""Characters held back from which on they are looked at again only after an eighth more: a long key in small pieces costs no square of its length."""
HEAD = 3
"""Characters by which most places are told apart from the beginning of a secret at once."""


class SecretSpan(NamedTuple):
    """What is replaced: from `start` to before `end`."""

    start: int
    end: int
    shown: str


Search = Callable[[int], SecretSpan | None]
"""The first span that begins at this place or later."""


class Redactor:
    """Knows the secrets. `secrets`: (kind, value); of two kinds with one value the first is named. Values that would shred text are left out."""

    def __init__(self, secrets: Iterable[tuple[str, str]] = ()) -> None:
        self._kinds: dict[str, str] = {}
        self.left_out: list[tuple[str, str]] = []
        """(kind, why) of values that are not looked for."""
        for kind, value in secrets:
            self._add(kind, value.strip())
        self._sorted = sorted(self._kinds)
        self._heads = {literal[:HEAD] for literal in self._sorted}
        self._shortest = min(map(len, self._sorted), default=0)
        self._least = min(self._shortest, SHORTEST_KEY) if self._sorted else SHORTEST_KEY
        self._longest = max(map(len, self._sorted), default=0)

    def _add(self, kind: str, value: str) -> None:
        why = unfit(value)
        if why:
            if value:
                self.left_out.append((kind, why))
            return
        for spelling in spellings(value):
            literal = BREAK.sub("", spelling).strip()
            if literal and literal not in f"[REDACTED:{kind}]":
                self._kinds.setdefault(literal, kind)

    def redact(self, text: str) -> str:
        """The text with every secret replaced; the same object when there is none."""
        if len(text) < self._least:
            return text
        pieces: list[str] = []
        done = 0
        for span in self.spans(text, 0):
            pieces += (text[done : span.start], span.shown)
            done = span.end
        if not pieces:
            return text
        pieces.append(text[done:])
        return "".join(pieces)

    def stream(self) -> "DeltaRedactor":
        """For one text that comes in pieces."""
        return DeltaRedactor(self)

    def spans(self, text: str, start: int) -> Iterator[SecretSpan]:
        """What is to be replaced from `start` on, in order, none over another."""
        searches = [*self._literal_searches(text), *_format_searches(text)]
        found: list[SecretSpan | None] = [search(start) for search in searches]
        while spans := [span for span in found if span is not None]:
            best = min(spans, key=lambda span: (span.start, -span.end))
            yield best
            found = [search(best.end) if span is not None and span.start < best.end else span for search, span in zip(searches, found, strict=True)]

    def _literal_searches(self, text: str) -> list[Search]:
        if not self._sorted or len(text) < self._shortest:
            return []
        joined = BREAK.sub("", text) if "\n" in text or "\r" in text else text
        there = [literal for literal in self._sorted if literal in joined]
        if not there:
            return []
        positions = None if joined is text else _places(text)
        return [_literal_search(literal, f"[REDACTED:{self._kinds[literal]}]", joined, positions) for literal in there]

    def undecided(self, text: str, start: int) -> int:
        """The first place from `start` on where what is up to the end may be the beginning of a secret; the text's length when there is none."""
        return min(self._undecided_literal(text, start), _undecided_format(text, start))

    def _undecided_literal(self, text: str, start: int) -> int:
        if not self._sorted:
            return len(text)
        rest = text[start:]
        broken = "\n" in rest or "\r" in rest
        joined = BREAK.sub("", rest) if broken else rest
        size = len(joined)
        for position in range(max(0, size - self._longest + 1), size):
            if (size - position >= HEAD and joined[position : position + HEAD] not in self._heads) or not self._begins(joined[position:]):
                continue
            return start + (_places(rest)[position] if broken else position)
        return len(text)

    def _begins(self, tail: str) -> bool:
        """Whether a literal begins with this text and continues after it."""
        at = bisect_left(self._sorted, tail)
        if at < len(self._sorted) and self._sorted[at] == tail:
            at += 1
        return at < len(self._sorted) and self._sorted[at].startswith(tail)


class DeltaRedactor:
    """One text that comes in pieces. All that `feed` and `flush` give, put together, is what `Redactor.redact` makes of the whole."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._text = ""  # one character that is out already, then what is held back
        self._start = 0
        self._shown = 0
        self._again = 0  # the length from which on it is worth looking again

    def feed(self, delta: str) -> str:
        """The text that is safe to show now; what could be the beginning of a secret is held back."""
        self._text += delta
        return self._take(final=False) if len(self._text) >= self._again else ""

    def flush(self) -> str:
        """The rest, at the end of the text. Another text may follow."""
        rest = self._take(final=True)
        self._text, self._start, self._shown, self._again = "", 0, 0, 0
        return rest

    def settle(self) -> str:
        """Everything that is held back, although the text may continue: for when another kind of text comes between.

        If a secret comes of it after all, only its beginning has been shown.
        """
        rest = self._text[max(self._start, self._shown) :]
        self._shown = len(self._text)
        return rest

    def _take(self, *, final: bool) -> str:
        text, done = self._text, self._start
        until = len(text) if final else self._redactor.undecided(text, done)
        pieces: list[str] = []
        for span in self._redactor.spans(text, done):
            if span.start >= until and not final:
                break
            pieces += (text[max(done, self._shown) : span.start], span.shown)
            done = span.end
            if done > until:
                until = self._redactor.undecided(text, done)
        pieces.append(text[max(done, self._shown) : until])
        kept = max(0, until - 1)
        self._text, self._start, self._shown = text[kept:], until - kept, max(0, self._shown - kept)
        held = len(text) - until
        self._again = len(self._text) + held // 8 if held > LONG else 0
        return "".join(pieces)


def _places(text: str) -> list[int]:
    """Where each character of the text without its line breaks is in the text."""
    positions: list[int] = []
    done = 0
    for gap in BREAK.finditer(text):
        positions.extend(range(done, gap.start()))
        done = gap.end()
    positions.extend(range(done, len(text)))
    return positions


def _literal_search(literal: str, shown: str, joined: str, positions: list[int] | None) -> Search:
    size = len(literal)

    def search(start: int) -> SecretSpan | None:
        at = joined.find(literal, start if positions is None else bisect_left(positions, start))
        if at < 0:
            return None
        if positions is None:
            return SecretSpan(at, at + size, shown)
        return SecretSpan(positions[at], positions[at + size - 1] + 1, shown)

    return search


def _format_searches(text: str) -> list[Search]:
    if len(text) < SHORTEST_KEY:
        return []
    return [_format_search(shape, prefix, text) for mark, marked in MARKED if mark in text for prefix, shape in marked if prefix in text]


def _format_search(shape: Shape, prefix: str, text: str) -> Search:
    def search(start: int) -> SecretSpan | None:
        at = text.find(prefix, start)
        while at >= 0:
            match = shape.whole.match(text, at)
            if match:
                return SecretSpan(at, match.end(), f"{prefix if shape.form.keep else ''}[REDACTED:{shape.kind}]")
            at = text.find(prefix, at + 1)
        return None

    return search


def _undecided_format(text: str, start: int) -> int:
    size = len(text)
    first = size
    for begun in range(min(LONGEST_BEGUN, size - start), 0, -1):
        if text[-begun:] in BEGUN and (begun == size or text[-begun - 1] not in WORD):
            first = size - begun
            break
    for prefix, shape in PREFIXES:
        at = text.find(prefix, start)
        while 0 <= at < first:
            if shape.partial.match(text, at):
                first = at
            at = text.find(prefix, at + 1)
    return first
