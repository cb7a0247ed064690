"""Replaces secrets in text by `[REDACTED:kind]`, in whole texts and in a stream of pieces, with the same outcome however it is cut.

What is looked for: the spellings of each configured value, line breaks within them passed over, and the shapes of `formats`. Of several
at one place the longest is taken, else the one that begins first. `kind` is the name the value was configured under (`OPENAI_API_KEY`,
`llm.providers.mine.api_key`), or the format's.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from .cut_values import LEAST, CutValues
from .formats import BY_HEAD, LONGEST_BEGUN, PREFIXES, SHORTEST_KEY, Shape, may_begin, present
from .formats import HEAD as PREFIX_HEAD
from .key_formats import BEHIND, is_name
from .spellings import ASIDE, lines_of, loose_spellings, spellings, squeeze, unfit
from .unseen_marks import without_marks

BREAK = re.compile(r"[\r\n][\r\n \t]*")
"""A line break and the indentation after it: where tools and people break long values."""
ASIDES = re.compile("(?<![\0-/:-@\\[-`{-\x7f])[\0-/:-@\\[-`{-\x7f]{1,40}(?![\0-/:-@\\[-`{-\x7f])")
"""At most 40 ASCII characters in a row that are no letters and digits: what may stand between those of a secret that was taken apart."""
MOST_ASIDE = 40
LONG = 256
"""Characters held back from which on they are looked at again only after an eighth more: a long key in small pieces costs no square of its length."""
HEAD = 3
"""Characters by which most places are told apart from the beginning of a secret at once."""
MOST_TELLING = 48
"""Letters and digits of a secret by which a text is told to have none: more of a long one would cost the square of its length."""
SHORT = 2_000
"""Characters in which prefixes are looked for by their first ones."""


class SecretSpan(NamedTuple):
    """What is replaced: from `start` to before `end`."""

    start: int
    end: int
    shown: str


REMEMBERED, MOST_REMEMBERED = 600, 1_024
"""Characters of a text, and how many texts, that are remembered as clean: one turn redacts each of its names and texts some twenty times."""
Search = Callable[[int], SecretSpan | None]
"""The first span that begins at this place or later."""


class LiteralView:
    """Texts that are looked for in a text without its gaps. `kinds`: each of them with its kind; `join` takes the gaps out."""

    def __init__(self, gaps: re.Pattern[str], join: Callable[[str], str], kinds: dict[str, str]) -> None:
        self._gaps, self._join, self._kinds = gaps, join, kinds
        self._sorted = sorted(kinds)
        self._heads = {literal[:size] for literal in self._sorted for size in range(1, HEAD + 1)}
        self._shortest = min(map(len, self._sorted), default=0)
        self._longest = max(map(len, self._sorted), default=0)

    def searches(self, text: str) -> list[Search]:
        """One for each of them that is in the text."""
        if not self._sorted or len(text) < self._shortest:
            return []
        joined = self._join(text)
        there = [literal for literal in self._sorted if literal in joined]
        if not there:
            return []
        positions = None if len(joined) == len(text) else _places(self._gaps, text)
        return [_literal_search(literal, f"[REDACTED:{self._kinds[literal]}]", joined, positions) for literal in there]

    def undecided(self, text: str, start: int) -> int:
        """The first place from `start` on from which to its end the text may be the beginning of one; its length when there is none."""
        if not self._sorted:
            return len(text)
        rest = text[start:]
        joined, heads = self._join(rest), self._heads
        size = len(joined)
        for position in range(max(0, size - self._longest + 1), size):
            if joined[position : position + HEAD] in heads and (size - position < HEAD or self._begins(joined[position:])):
                return start + (position if size == len(rest) else self._place(rest, position))
        return len(text)

    def _place(self, text: str, position: int) -> int:
        """Where the character at this position of the text without its gaps is in the text."""
        if self._gaps is not ASIDES or len(text) > MOST_ASIDE:
            return _places(self._gaps, text)[position]
        kept = -1
        for at, letter in enumerate(text):
            if letter.isalnum() or letter > "\x7f":
                kept += 1
                if kept == position:
                    return at
        raise IndexError(position)

    def _begins(self, tail: str) -> bool:
        """Whether a literal begins with this text and continues after it."""
        at = bisect_left(self._sorted, tail)
        if at < len(self._sorted) and self._sorted[at] == tail:
            at += 1
        return at < len(self._sorted) and self._sorted[at].startswith(tail)


class Redactor:
    """Knows the secrets. `secrets`: (kind, value); of two kinds with one value the first is named. Values that would shred text are left out."""

    def __init__(self, secrets: Iterable[tuple[str, str]] = ()) -> None:
        self._strict: dict[str, str] = {}
        self._loose: dict[str, str] = {}
        self._bare: set[str] = set()
        self._clean: set[str] = set()
        self.left_out: list[tuple[str, str]] = []
        """(kind, why) of values that are not looked for."""
        for kind, value in secrets:
            self._add(kind, value.strip())
        self._views = [LiteralView(BREAK, _unbroken, self._strict), LiteralView(ASIDES, _bare, self._loose)] if self._strict else []
        self._cut = CutValues(self._strict)
        shortest = min(map(len, (*self._strict, *self._loose)), default=SHORTEST_KEY)
        self._least = min(shortest, SHORTEST_KEY)
        self._always = any(len(each) < HEAD for each in self._bare)
        """There is a secret with hardly a letter or digit: no quick look can tell that it is not there."""
        self._needles = [each.encode("utf-8", "surrogatepass") for each in self._bare]

    def _add(self, kind: str, value: str) -> None:
        why = unfit(value)
        if why:
            if value:
                self.left_out.append((kind, why))
            return
        shown = f"[REDACTED:{kind}]"
        bare = squeeze(shown)
        for text in (value, *lines_of(value)):
            spelled = spellings(text)
            strict = [literal for literal in (BREAK.sub("", spelling).strip() for spelling in spelled) if literal and literal not in shown]
            loose = [literal for literal in loose_spellings(text, spelled) if literal not in bare]
            for literal in strict:
                self._strict.setdefault(literal, kind)
            for literal in loose:
                self._loose.setdefault(literal, kind)
            self._bare.update(_without_longer({*map(squeeze, strict), *loose}))

    def redact(self, text: str) -> str:
        """The text with every secret replaced; the same object when there is none."""
        if len(text) < self._least or text in self._clean:
            return text
        pieces: list[str] = []
        done = 0
        for span in self.spans(text, 0):
            pieces += (text[done : span.start], span.shown)
            done = span.end
        if not pieces:
            if len(text) <= REMEMBERED:
                if len(self._clean) >= MOST_REMEMBERED:
                    self._clean.clear()
                self._clean.add(text)
            return text
        pieces.append(text[done:])
        return "".join(pieces)

    def redact_ends(self, text: str, *, begins: bool, ends: bool) -> str:
        """The text without what is left of a secret where it begins and ends, white space apart."""
        return self._cut.redact_ends(text, begins=begins, ends=ends)

    def stream(self) -> "DeltaRedactor":
        """For one text that comes in pieces."""
        return DeltaRedactor(self)

    def spans(self, text: str, start: int) -> Iterator[SecretSpan]:
        """What is to be replaced from `start` on, in order, none over another."""
        searches = self._searches(text)
        if (seen := without_marks(text)) is not None:
            searches += [_behind_marks(search, seen[1]) for search in self._searches(seen[0])]
        found: list[SecretSpan | None] = [search(start) for search in searches]
        while spans := [span for span in found if span is not None]:
            best = min(spans, key=lambda span: (span.start, -span.end))
            yield best
            found = [search(best.end) if span is not None and span.start < best.end else span for search, span in zip(searches, found, strict=True)]

    def _searches(self, text: str) -> list[Search]:
        """One for each secret and each format that may be in the text as it is."""
        searches = [_format_search(shape, prefix, text) for prefix, shape in present(text)]
        if self._views and self._may_hold(text):
            return [*(search for view in self._views for search in view.searches(text)), *searches]
        return searches

    def _may_hold(self, text: str) -> bool:
        """Whether the letters and digits of a secret are in the text: a quick look, which almost always says no."""
        if len(text) < self._least:
            return False
        if self._always:
            return True
        data = text.encode("utf-8", "surrogatepass").translate(None, ASIDE)
        size, step, pieces = self._pieces
        return not pieces.isdisjoint([data[at : at + size] for at in range(0, len(data) - size + 1, step)])

    @cached_property
    def _pieces(self) -> tuple[int, int, set[bytes]]:
        """Pieces of the needles' beginnings, their size, and the step: of each needle in a text one piece lies at a multiple of the step."""
        least = min(MOST_TELLING, *map(len, self._needles))
        step = least // 3 + 1
        size = least - step + 1
        return size, step, {needle[at : at + size] for needle in self._needles for at in range(step)}

    def undecided(self, text: str, start: int) -> int:
        """The first place from `start` on where what is up to the end may be the beginning of a secret; the text's length when there is none."""
        first = self.begins_at(text, start)
        end = len(text) - (not text.endswith("\n"))  # the last letter may be struck over by what follows
        if start < end < len(text):
            at = self.begins_at(text[:end], start)
            first = min(first, at if at < end else len(text))
        return first

    def begins_at(self, text: str, start: int) -> int:
        """As `undecided`, for a text of which nothing is struck over by what follows."""
        first = self._undecided(text, start)
        if (seen := without_marks(text)) is not None:
            at = self._undecided(seen[0], bisect_left(seen[1], start))
            first = min(first, seen[1][at] if at < len(seen[1]) else len(text))
        return first

    def _undecided(self, text: str, start: int) -> int:
        return min([_undecided_format(text, start), *(view.undecided(text, start) for view in self._views)])


class DeltaRedactor:
    """One text that comes in pieces. All that `feed` and `flush` give, put together, is what `Redactor.redact` makes of the whole.

    Except for what `settle` shows, and for the first letters of a secret, fewer than `LEAST`, of which the next piece strikes the last one over.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._text = ""  # some characters that are out already, then what is held back
        self._start = 0
        self._shown = 0
        self._again = 0  # the length from which on it is worth looking again

    def feed(self, delta: str) -> str:
        """The text that is safe to show now; what could be the beginning of a secret is held back."""
        self._text += delta
        if len(self._text) < self._again:
            return ""
        shown = self._take(final=False)
        # What is held only because its last letter may yet be struck over is shown like what `settle` shows, so that a pause takes no word away.
        may_begin = self._start < len(self._text) and self._redactor.begins_at(self._text, self._start) < len(self._text)
        return shown if may_begin else shown + self.settle()

    def flush(self) -> str:
        """The rest, at the end of the text. Another text may follow."""
        rest = self._take(final=True)
        self._text, self._start, self._shown, self._again = "", 0, 0, 0
        return rest

    def settle(self) -> str:
        """A little that is held back, although the text may continue: for when another kind of text comes between.

        If a secret comes of it after all, fewer than `LEAST` of its characters have been shown. More stays held back.
        """
        if len(self._text) - self._start >= LEAST:
            return ""
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
        kept = max(0, until - BEHIND)
        if (seen := without_marks(text[max(0, until - LONG) : until])) is not None:  # as many that are seen, and the marks between them whole
            kept = max(0, until - LONG) + (seen[1][-BEHIND] if len(seen[1]) >= BEHIND else 0)
        self._text, self._start, self._shown = text[kept:], until - kept, max(0, self._shown - kept)
        held = len(text) - until
        self._again = len(self._text) + held // 8 if held > LONG else 0
        return "".join(pieces)


def _without_longer(texts: Iterable[str]) -> list[str]:
    """The texts that contain none of the others: where one of them is not, no longer one is either."""
    kept: list[str] = []
    for text in sorted(texts, key=len):
        if not any(each in text for each in kept):
            kept.append(text)
    return kept


def _unbroken(text: str) -> str:
    """The text without its line breaks."""
    return BREAK.sub("", text) if "\n" in text or "\r" in text else text


def _bare(text: str) -> str:
    """The text without what `ASIDES` matches."""
    if text.isalnum():
        return text
    return squeeze(text) if len(text) <= MOST_ASIDE else ASIDES.sub("", text)


def _places(gaps: re.Pattern[str], text: str) -> list[int]:
    """Where each character of the text without its gaps is in the text."""
    positions: list[int] = []
    done = 0
    for gap in gaps.finditer(text):
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


def _behind_marks(search: Search, places: list[int]) -> Search:
    """The search of a text that is seen, in the text with its marks: what is replaced are the marks between the first and the last character too."""

    def found(start: int) -> SecretSpan | None:
        span = search(bisect_left(places, start))
        return None if span is None else SecretSpan(places[span.start], places[span.end - 1] + 1, span.shown)

    return found


def _format_search(shape: Shape, prefix: str, text: str) -> Search:
    begun = ended = -1  # of the run that was looked at last: a long one may hold very many prefixes, and is not gone through for each

    def end_of(match: re.Match[str]) -> int:
        """Where the key ends whose first step begins behind this match; -1 where it is none."""
        nonlocal begun, ended
        at = match.end()
        if not shape.form.followed:
            return at
        if not begun <= at <= ended:
            begun, ended = at, shape.run.match(text, at).end()  # type: ignore[union-attr]  # it matches an empty text
        return ended if ended - at <= shape.form.steps[0][2] and shape.followed.match(text, ended) else -1

    def search(start: int) -> SecretSpan | None:
        at = text.find(prefix, start)
        while at >= 0:
            match = shape.whole.match(text, at)
            if match and (end := end_of(match)) >= 0 and not (shape.form.spares_names and is_name(text[match.end(1) : end])):
                return SecretSpan(match.end(1) if shape.form.keep else at, end, f"[REDACTED:{shape.kind}]")
            at = text.find(prefix, at + 1)
        return None

    return search


def _undecided_format(text: str, start: int) -> int:
    size = len(text)
    first = size
    for begun in range(min(LONGEST_BEGUN, size - start), 0, -1):
        if may_begin(text, size - begun):
            first = size - begun
            break
    pairs: Iterable[tuple[str, Shape]] = PREFIXES
    if size - start < SHORT:
        heads = BY_HEAD.keys() & {text[at : at + PREFIX_HEAD] for at in range(start, size)}
        pairs = [pair for head in heads for pair in BY_HEAD[head]]
    for prefix, shape in pairs:
        at = text.find(prefix, max(start, size - shape.longest))
        while 0 <= at < first:
            if shape.partial.match(text, at):
                first = at
            at = text.find(prefix, at + 1)
    return first
