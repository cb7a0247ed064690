"""Keys that show what they are: the prefixes and shapes that services give their keys, so that those nobody configured are found too.

A shape is a prefix and steps (a class of characters, how many at least and at most). From the steps two patterns are made: one for the
whole key and one for what could still become a key when more text comes.
"""

import re
from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any

from .assigned_values import ASSIGNED, may_assign
from .key_formats import FORMATS as KEYS
from .key_formats import NO_WORD, Format, PatternStep

FORMATS = (*KEYS, *ASSIGNED)
KINDS = frozenset(form.kind for form in FORMATS)
SHORTEST_KEY = min(min(map(len, form.prefixes)) + sum(least for _, least, _ in (*form.lead, *form.steps)) for form in FORMATS)
"""No key is shorter than so many characters."""


class Shape:
    """A format and its patterns, made when first needed. `begins` matches the beginning of a key; `partial`, from a prefix to the end of the text, what may
    become one. `whole` matches a key, its first group what stays where it is kept: up to its first step where what must follow it is said, and its one step
    is then all of `run`. `longest`: characters of a key at most."""

    def __init__(self, form: Format) -> None:
        self.form, self.kind, self.prefixes = form, form.kind, form.prefixes
        self.longest = max(map(len, form.prefixes)) + sum(most for _, _, most in (*form.lead, *form.steps, *form.ending))
        self._head = f"{form.behind}((?:{'|'.join(map(re.escape, form.prefixes))})"

    @cached_property
    def whole(self) -> re.Pattern[str]:
        form = self.form
        atom, least, most = form.steps[0]
        if form.followed:
            return re.compile(f"{self._head}{_whole(form.lead)}){form.guard}(?={atom}{{{least}}})")
        wanted = rf"(?={atom}{{0,{most - 1}}}[0-9])" if form.digit else rf"(?={atom}{{0,{most}}}[A-Za-z0-9+/]{{{form.run}}})" if form.run else ""
        ending = f"(?:{_whole(form.ending)})?" if form.ending else ""
        return re.compile(f"{self._head}{_whole(form.lead)}){form.guard}{wanted}{_whole(form.steps)}{ending}")

    @cached_property
    def run(self) -> re.Pattern[str]:
        """All characters of the one step that follow one another."""
        return re.compile(f"{self.form.steps[0][0]}*")

    @cached_property
    def followed(self) -> re.Pattern[str]:
        return re.compile(self.form.followed)

    @cached_property
    def begins(self) -> re.Pattern[str]:
        return re.compile(f"{self._head})" + beginning(self.form))

    @cached_property
    def partial(self) -> re.Pattern[str]:
        return re.compile(f"{self._head}){_partial([*self.form.lead, *self.form.steps, *self.form.ending])}")


SHAPES = tuple(map(Shape, FORMATS))
KEY_PREFIXES = tuple((prefix, shape) for shape in SHAPES[: len(KEYS)] for prefix in shape.prefixes)
ASSIGNED_PREFIXES = tuple((prefix, shape) for shape in SHAPES[len(KEYS) :] for prefix in shape.prefixes)
PREFIXES = (*KEY_PREFIXES, *ASSIGNED_PREFIXES)
LONG_WORD = 14
"""Every key has so many characters without white space between them."""
HEAD = 3
"""Characters by which the places are found where a short text may have a prefix."""
BY_HEAD: dict[str, list[tuple[str, Shape]]] = {}
for _pair in PREFIXES:
    BY_HEAD.setdefault(_pair[0][:HEAD], []).append(_pair)
_HEAD = rf"[A-Za-z0-9_-]{{{HEAD - 1}}}\S"
_heads = re.compile(f"(?<![A-Za-z0-9_-]){_HEAD}").findall
_heads_behind_escapes = re.compile(rf"(?:\\(?:[nrtbf]|x[0-9A-Fa-f]{{2}}|u[0-9A-Fa-f]{{4}})|%[0-9A-Fa-f]{{2}}|[\[;][0-9]{{0,3}}m)(?=({_HEAD}))").findall
"""The first characters behind `NO_WORD`. One search for them costs less than a look at every character."""
_KEY_BY_HEAD: dict[str, list[tuple[str, Shape]]] = {}
_INSIDE_WORDS: list[tuple[str, Shape]] = []
for _pair in KEY_PREFIXES:
    _at_word = _pair[1].form.behind == NO_WORD and re.match(_HEAD, _pair[0])
    (_KEY_BY_HEAD.setdefault(_pair[0][:HEAD], []) if _at_word else _INSIDE_WORDS).append(_pair)
_SPACED_PARTS = ("-----BEGIN ", "earer ", ": Basic ", "-Lines: ")
"""Parts of the prefixes of keys that hold a space."""
MOST_BEGUN = 16
"""Characters behind a prefix that are looked at at once."""
LARGE = 16_384
"""Characters from which on one search for all prefixes costs less than loading the engine for it."""
BEGUN: dict[str, set[str]] = {}
"""Every beginning of a prefix that is not the whole of it, with what must be before one of them."""
for _prefix, _shape in PREFIXES:
    for _size in range(1, len(_prefix)):
        BEGUN.setdefault(_prefix[:_size], set()).add(_shape.form.behind)
LONGEST_BEGUN = max(map(len, BEGUN))
_BEHINDS = {form.behind: re.compile(form.behind) for form in FORMATS}


def may_begin(text: str, at: int) -> bool:
    """Whether what is from this place to the end of the text may be the beginning of a prefix."""
    return any(_BEHINDS[behind].match(text, at) for behind in BEGUN.get(text[at:], ()))


def present(text: str) -> list[tuple[str, Shape]]:
    """The prefixes in the text, in the order of the table. Nearly every text has none, which is found at once."""
    if len(text) < SHORTEST_KEY:
        return []
    found = [pair for pair in KEY_PREFIXES if pair[0] in text] if _may_have_key(text) else []
    return [*found, *(pair for pair in ASSIGNED_PREFIXES if pair[0] in text)] if may_assign(text) else found


def _may_have_key(text: str) -> bool:
    if len(text) >= LARGE:
        return _any_prefix().search(text.encode("utf-8", "surrogatepass")) is not None
    for mark in _SPACED_PARTS:
        if mark in text:
            return True
    words = [word for word in text.split() if len(word) >= LONG_WORD]
    return bool(words) and _has_beginning(" ".join(words))


def _has_beginning(text: str) -> bool:
    """Whether a prefix of a key, and what comes behind it, stands in one of these words."""
    heads = _heads(text)
    if "\\" in text or "%" in text or "[" in text:
        heads += _heads_behind_escapes(text)
    pairs = [pair for head in _KEY_BY_HEAD.keys() & heads for pair in _KEY_BY_HEAD[head]]
    for prefix, shape in (*pairs, *_INSIDE_WORDS):
        at = text.find(prefix)
        while at >= 0:
            if shape.begins.match(text, at):
                return True
            at = text.find(prefix, at + 1)
    return False


def beginning(form: Format) -> str:
    """A pattern, without lookaround, for what comes behind the prefix of every key of the format."""
    if form.lead:
        return ""
    pattern, size = "", 0
    for atom, least, most in form.steps:
        pattern += f"{atom}{{{min(least, MOST_BEGUN)}}}"
        size += least
        if least != most or size >= MOST_BEGUN:
            break
    return pattern


@cache
def _any_prefix() -> Any:
    """Finds a place where a key may begin, in one pass over bytes."""
    import re2  # type: ignore[import-untyped]  # 5 ms, needed for large texts and many secrets

    heads = [f"(?:{'|'.join(map(re.escape, form.prefixes))}){beginning(form)}" for form in KEYS]
    return re2.compile("|".join(heads).encode())


def kind_of(value: str) -> str:
    """The format that the whole of the value has, `text` where none is known."""
    value = value.strip()
    for prefix, shape in KEY_PREFIXES:
        if value.startswith(prefix) and shape.whole.fullmatch(value):
            return shape.kind
    return "text"


def _whole(steps: Sequence[PatternStep]) -> str:
    return "".join(f"{atom}{{{least},{most}}}" for atom, least, most in steps)


_ESCAPING = "(?:[%&][#A-Za-z0-9]{0,5})?"
"""The beginning of an escape in a URL or in HTML."""


def _partial(steps: Sequence[PatternStep]) -> str:
    """Matches up to the end of the text what the steps match so far."""
    pattern = ""
    for atom, least, most in reversed(steps):
        here = rf"{atom}{{0,{most}}}{_ESCAPING if '%' in atom else ''}\Z"
        pattern = f"(?:{atom}{{{least},{most}}}{pattern}|{here})" if pattern else here
    return pattern
