"""Words of a command line: quoting, escapes, braces, tildes and expansions resolved to the text that the program gets.

While a word is put together, quoted special characters are in a private range (`MARK` plus their code), so that what is
quoted is never split or expanded.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from .bounds import AnalysisBounds, Exceeded
from .lazy_regex import lazy_pattern

if TYPE_CHECKING:
    from tree_sitter import Node

MARK = 0xE000
SPECIAL = frozenset("{},*?[]~. \t\n")
EMPTY = "\ue07f"
BRACE = "\ue0ff"
"""In a text for the grammar: a brace that begins a word."""
MAX_BRACES = 1_000
"""Words that one brace expansion may make."""
TOO_MANY = f"a brace expansion makes more than {MAX_BRACES:,} words"

_DECODE = {MARK + i: i for i in range(1, 127)} | {ord(EMPTY): None}
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?"}
_ESCAPE = lazy_pattern(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|0?[0-7]{1,3}|c.|.)", re.DOTALL)
_BRACE = lazy_pattern(r"\{([^{}]*)\}")
_RANGE = lazy_pattern(r"(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?")


class ShellWord(msgspec.Struct, frozen=True):
    """One argument. `text` is what the program gets; where `known` is false, its unresolved parts are left out of `text`.

    `fetched`: it holds what a download gave, `decoded`: what a decoder gave; `source`: a process substitution.
    """

    text: str
    known: bool = True
    show: str = ""
    glob: bool = False
    fetched: bool = False
    decoded: bool = False
    wild: bool = False
    """It is not known, but it is one word that the wildcards in `text` match: a loop over names of files gave it."""

    @property
    def shown(self) -> str:
        return self.text if self.known else self.show or self.text


class WordPiece(msgspec.Struct):
    """A word in the making, and what is known of it."""

    text: str = ""
    known: bool = True
    fetched: bool = False
    decoded: bool = False
    wild: bool = False
    """What is not known of it is what the wildcards in it match."""

    def add(self, other: "WordPiece") -> None:
        self.text += other.text
        self.wild = (self.known or self.wild) and (other.known or other.wild) and (self.wild or other.wild)
        self.known &= other.known
        self.fetched |= other.fetched
        self.decoded |= other.decoded


def quoted(text: str) -> str:
    """The text with its special characters protected."""
    return "".join(chr(MARK + ord(c)) if c in SPECIAL else c for c in text) or EMPTY


def plain(text: str) -> str:
    """The text as the program gets it."""
    return text.translate(_DECODE)


def ansi_c(body: str) -> str:
    """What is inside `$'…'`, escapes resolved."""

    def one(match: re.Match[str]) -> str:
        code = match.group(1)
        if code[0] in "xuU" and len(code) > 1:
            value = int(code[1:], 16)
            return chr(value) if value < 0x110000 else ""
        if code[0] in "01234567":
            return chr(int(code, 8) & 0xFF)
        if code[0] == "c" and len(code) == 2:
            return chr(ord(code[1]) & 0x1F)
        return _SIMPLE.get(code, "\\" + code)

    return _ESCAPE.sub(one, body).split("\0")[0]


def bare(text: str) -> str:
    """An unquoted word: a backslash protects the next character."""
    out, i = [], 0
    while i < len(text):
        if text[i] == "\\" and i + 1 < len(text):
            out.append("" if text[i + 1] == "\n" else quoted(text[i + 1]))
            i += 2
        else:
            out.append(text[i])
            i += 1
    return "".join(out)


def in_double_quotes(text: str) -> str:
    """Literal text between double quotes."""
    return re.sub(r'\\([$`"\\\n])', lambda m: "" if m.group(1) == "\n" else m.group(1), text)


def braces(text: str, bounds: AnalysisBounds) -> list[str]:
    """Brace expansion of unquoted `{a,b}` and `{1..3}`. Raises `Exceeded` when it grows too large."""
    if "{" not in text:
        return [text]
    done: list[str] = []
    todo = [text]
    while todo:
        if len(todo) + len(done) > MAX_BRACES:
            raise Exceeded(TOO_MANY)
        current = todo.pop()
        bounds.grow(len(current))
        found = next(((m, options) for m in _BRACE.finditer(current) if (options := _options(m.group(1))) is not None), None)
        if found is None:
            done.append(current)
        else:
            match, options = found
            todo += [current[: match.start()] + option + current[match.end() :] for option in reversed(options)]
    return done


def _options(body: str) -> list[str] | None:
    if "," in body:
        if body.count(",") >= MAX_BRACES:
            raise Exceeded(TOO_MANY)
        return body.split(",")
    match = _RANGE.fullmatch(body)
    if match is None:
        return None
    first, last, step = match.groups()
    if first.lstrip("-").isdigit() != last.lstrip("-").isdigit():
        return None
    numeric = first.lstrip("-").isdigit()
    if max(len(first), len(last), len(step or "")) > 18:
        raise Exceeded(TOO_MANY)
    a, b = (int(first), int(last)) if numeric else (ord(first), ord(last))
    jump = abs(int(step or 1)) or 1
    width = max(len(first), len(last)) if numeric and any(n.lstrip("-").startswith("0") and len(n.lstrip("-")) > 1 for n in (first, last)) else 0
    values = range(a, b + 1, jump) if a <= b else range(a, b - 1, -jump)
    if len(values) > MAX_BRACES:
        raise Exceeded(TOO_MANY)
    return [f"{v:0{width}d}" if numeric else chr(v) for v in values]


def finish(piece: WordPiece, raw: str, tilde: Callable[[str], str | None], bounds: AnalysisBounds) -> list[ShellWord]:
    """The words that one written word becomes: braces, splitting at unquoted blanks from expansions, tilde, wildcards."""
    words: list[ShellWord] = []
    bounds.step(len(piece.text))
    for text in braces(piece.text, bounds):
        for part in text.split() if not piece.text.isspace() else []:
            known = piece.known
            if part.startswith("~"):
                head, slash, rest = part.partition("/")
                home = tilde(plain(head))
                part, known = (quoted(home) + slash + rest, known) if home is not None else (part, False)
            glob = piece.wild or any(c in part for c in "*?[")
            bounds.step()
            words.append(ShellWord(plain(part), known, raw, glob, piece.fetched, piece.decoded, piece.wild))
    if not words and not piece.known:
        words.append(ShellWord("", False, raw, False, piece.fetched, piece.decoded))
    return words


def text_of(node: "Node") -> str:
    """The source text of a node."""
    data = node.text
    return "" if data is None else data.decode("utf-8", "replace")
