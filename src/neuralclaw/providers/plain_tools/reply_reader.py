"""A reply with tool calls in its text, read while it arrives: what may begin a call is held back, everything else continues at once.

Every decision is made by the first characters that allow it, so that any cutting of the text gives the same reply.
"""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from ...types.messages import TextPart, ToolCall
from ..reply_assembly import TextRuns
from .call_parser import CUT, INSIDE, NAMES, ToolNames, calls_in, meant, numbered

OPENERS = ("<tool_call>", "<tool_calls>", "<function_call>", "<|tool_call|>", "<tools>", "[TOOL_CALLS]", "<|python_tag|>")
CLOSERS = ("</tool_call>", "</tool_calls>", "</function_call>", "<|/tool_call|>", "</tools>", "[/TOOL_CALLS]", "```")
QUOTES = {'"': '"', "'": "'", "“": "”“", "”": "”", "‘": "’‘"}
FENCE = re.compile(r"```[ \t]*(?:json[c5]?|tool_calls?|tool_code|tool)?[ \t]*\r?\n?\s*")
MAYBE, NO = -1, -2
_SPACE = " \t\r\n"
_PIECE = re.compile(r'[^"\\]+|\\u[0-9a-fA-F]{4}|\\[^u]')
MOST_BRACKETS = 64
MOST_KEY = 2000
MOST_TRIES = 100
"""How far and how often text is looked at for a call; a reply beyond that is made to cost time."""


class CallReader:
    """Text as it arrives becomes text to show and calls.

    `feed` and `close` give the text that may be shown; all of it together is the reply's text: what was written without the calls
    and the space around them.
    """

    def __init__(self, names: ToolNames) -> None:
        self._names = names
        self._keys = tuple({*NAMES, *INSIDE, *(name.lower() for name in names.all), "arguments", "parameters", "type", "id"})
        self._held = ""
        self._gap = ""  # space and openers since the last text, shown when text follows and dropped when a call does
        self._gap_text = ""  # that part of the gap that is no space: lost only before a call
        self._after_call = False
        self._shown = False
        self._walker: JsonEndFinder | None = None
        self._tries = 0
        self._calls: list[tuple[str, dict[str, Any], str | None]] = []

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return numbered(self._calls)

    def feed(self, text: str) -> str:
        """The text that can be shown now."""
        self._held += text
        out: list[str] = []
        while self._held and self._step(out, ended=False):
            pass
        return "".join(out)

    def close(self, *, whole: bool = True) -> str:
        """The rest of the text at the end of the reply. `whole` false: it was cut off, and a call that is not complete is never guessed at."""
        out: list[str] = []
        while self._held:
            if not self._step(out, ended=True):
                self._unfinished(out, whole=whole)
        if not self._calls or self._gap_text:
            self._show(out, "")
        return "".join(out)

    def _step(self, out: list[str], *, ended: bool) -> bool:
        """Take one piece from the front of what is held; False when more must come first."""
        held = self._held
        first = held[0]
        if first in _SPACE:
            self._take(len(held) - len(held.lstrip(_SPACE)), gap=True)
            return True
        if self._after_call and first in ",;}]":
            self._take(1)
            return True
        if self._after_call and (taken := _literal(held, CLOSERS)) != NO and not (taken == MAYBE and ended):
            if taken == MAYBE:
                return False
            self._take(taken)
            return True
        if first in "<[`" and (taken := self._opener(held, ended=ended)) != NO:
            if taken == MAYBE:
                return False
            self._gap_text += held[:taken]
            self._take(taken, gap=True)
            return True
        if first in "{[" and (end := self._value(held)) != NO:
            if end == MAYBE:
                return False
            self._decide(out, held[:end])
            return True
        run = 1
        while run < len(held) and held[run] not in " \t\r\n{[<`":
            run += 1
        self._show(out, held[:run])
        self._take(run)
        return True

    def _take(self, count: int, *, gap: bool = False) -> None:
        if gap:
            self._gap += self._held[:count]
        self._held = self._held[count:]
        self._walker = None

    def _show(self, out: list[str], text: str) -> None:
        """Text continues; the gap before it too, except at the very beginning after a call."""
        gap = self._gap if self._shown or not self._after_call else self._gap.lstrip()
        out.append(gap + text)
        self._gap = self._gap_text = ""
        self._after_call = False if text else self._after_call
        self._shown = self._shown or bool((gap + text).strip())

    def _decide(self, out: list[str], value: str) -> None:
        """A whole value: calls, or text."""
        found = self._found(value)
        if found is None:
            self._show(out, value)
            self._take(len(value))
            return
        self._called(found, len(value))

    def _called(self, found: list[tuple[str, dict[str, Any], str | None]], length: int) -> None:
        self._calls += found
        self._take(length)
        self._gap = self._gap_text = ""
        self._after_call = True

    def _unfinished(self, out: list[str], *, whole: bool) -> None:
        """What is held at the end of the reply: a call without its last braces, or text."""
        held = self._held
        if held[0] in "{[" and self._value(held) == MAYBE:
            name = meant(held, self._names)
            cut = self._walker is not None and self._walker.in_string
            found = self._found(held, cut=cut) if whole else ([(name, {}, CUT)] if name else None)
            if found is not None:
                self._called(found, len(held))
                return
        self._show(out, held[0])
        self._take(1)

    def _opener(self, held: str, *, ended: bool) -> int:
        """Length of the opener that the text begins with, MAYBE, or NO. It must be before something that may be a call."""
        taken = _literal(held, OPENERS)
        if taken == NO and held[0] == "`":
            taken = _fence(held)
        if taken == MAYBE:
            return NO if ended else MAYBE
        if taken == NO:
            return NO
        start = taken + len(held[taken:]) - len(held[taken:].lstrip(_SPACE))
        if start == len(held):
            return NO if ended else MAYBE
        if held[start] not in "{[":
            return NO
        value = self._value(held, start)
        if value == NO or (value >= 0 and self._found(held[start:value]) is None):
            return NO
        return taken if value >= 0 or ended else MAYBE

    def _value(self, held: str, base: int = 0) -> int:
        """Where the object or list that begins at `base` ends; MAYBE while it may become a call, NO when it cannot."""
        place = base
        while place < len(held) and (held[place] == "[" or held[place] in _SPACE):
            place += 1
        if place - base > MOST_BRACKETS or self._tries >= MOST_TRIES:
            return NO
        if place == len(held):
            return MAYBE
        if held[place] != "{" or not self._key(held[place + 1 : place + 1 + MOST_KEY]):
            return NO
        if self._walker is None or self._walker.base != base:
            self._walker = JsonEndFinder(base)
        return self._walker.read(held)

    def _found(self, value: str, *, cut: bool = False) -> list[tuple[str, dict[str, Any], str | None]] | None:
        """The calls that a value stands for; after many values that were none no more are looked for."""
        found = calls_in(value, self._names, cut=cut)
        self._tries += found is None
        return found

    def _key(self, text: str) -> bool:
        """Whether the first key of an object, behind its brace, may be one of a call."""
        rest = text.lstrip(_SPACE)
        while rest.startswith(("//", "/*")):
            _, _, rest = rest.partition("\n" if rest[1] == "/" else "*/")
            rest = rest.lstrip(_SPACE)
        if rest in ("", "/"):
            return True
        word = rest[1:] if rest[0] in QUOTES else rest
        match = re.match(r"[\w.:\-]*", word)
        key = match[0].rstrip(":") if match else ""
        if len(key) == len(word.rstrip(":")):
            return any(known.startswith(key.lower()) for known in self._keys)
        behind = word[len(key) :].lstrip("\"'“”‘’" + _SPACE)
        return key.lower() in self._keys and (not behind or behind[0] in ":/")


def _literal(held: str, words: tuple[str, ...]) -> int:
    """Length of the one of `words` that the text begins with, MAYBE while it may become one, NO."""
    for word in words:
        if held.startswith(word):
            return len(word)
    return MAYBE if any(word.startswith(held) for word in words) else NO


def _fence(held: str) -> int:
    """Length of an opening fence for JSON, MAYBE, or NO."""
    if not held.startswith("```"):
        return MAYBE if "```".startswith(held) else NO
    match = FENCE.match(held)
    if match is None:
        return NO
    if match.end() < len(held):
        return match.end() if held[match.end()] in "{[<" else (MAYBE if re.fullmatch(r"```[ \t]*[a-z_0-9]{0,10}", held) else NO)
    return MAYBE


class JsonEndFinder:
    """Finds the end of a JSON value that may be broken, letter by letter: braces counted outside of strings and comments.

    A quote ends a string only where a value may end, since models forget to escape.
    """

    def __init__(self, base: int) -> None:
        self.base = base
        """Where the value begins in what is held."""
        self.place = base
        self.end = MAYBE
        self._mode: Callable[[str], None] = self._bare
        self._depth = 0
        self._before = ""
        self._closing = ""
        self._comment = ""

    @property
    def in_string(self) -> bool:
        """Whether the text so far ends inside a string."""
        return self._mode in (self._string, self._escaped)

    def read(self, text: str) -> int:
        """Go on to the end of `text`, which is longer than the last time; where the value ends, or MAYBE."""
        while self.end == MAYBE and self.place < len(text):
            letter = text[self.place]
            self.place += 1
            self._mode(letter)
        return self.end

    def _bare(self, letter: str) -> None:
        if letter in QUOTES and self._before in ("", "{", "[", ",", ":"):
            self._closing, self._mode = QUOTES[letter], self._string
        elif letter in "{[":
            self._depth += 1
        elif letter in "}]":
            self._depth -= 1
            if self._depth == 0:
                self.end = self.place
        elif letter in "/*" and self._before == "/":
            self._comment, self._mode = letter, self._commented
        if letter not in _SPACE:
            self._before = letter

    def _commented(self, letter: str) -> None:
        if (self._comment == "/" and letter == "\n") or (self._comment == "*" and letter == "/" and self._before == "*"):
            self._mode, self._before = self._bare, ","
            return
        self._before = letter

    def _string(self, letter: str) -> None:
        if letter == "\\":
            self._mode = self._escaped
        elif letter in self._closing:
            self._mode = self._quoted

    def _escaped(self, _: str) -> None:
        self._mode = self._string

    def _quoted(self, letter: str) -> None:
        """Behind a quote that ends the string, or one that belongs to it."""
        if letter in _SPACE:
            return
        self._mode = self._bare if letter in ",:}]/" else self._string
        self._before = '"'
        self._mode(letter)


class AnswerReader:
    """The reply of a model that is held to a schema: `{"answer": "…"}`, whose text is shown as it arrives, or a call.

    A model that was not held after all, and wrote something else, is read like any other.
    """

    def __init__(self, names: ToolNames) -> None:
        self._names = names
        self._raw = ""
        self._done = 0
        self._text: TextRuns | None = None
        self._ended = False
        self._plain: CallReader | None = None
        self._calls: tuple[ToolCall, ...] = ()

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return self._plain.calls if self._plain else self._calls

    def feed(self, text: str) -> str:
        if self._plain is not None:
            return self._plain.feed(text)
        self._raw += text
        if self._text is None:
            match = re.match(r'\s*\{\s*"answer"\s*:\s*"', self._raw)
            if match is None:
                return "" if _may_answer(self._raw) else self._switch()
            self._done, self._text = match.end(), TextRuns()
        return self._answer()

    def close(self, *, whole: bool = True) -> str:
        if self._plain is None and self._text is None:
            shown = self._object() if whole else None
            if shown is not None:
                return shown
            return self._switch() + (self._plain.close(whole=whole) if self._plain else "")
        if self._plain is not None:
            return self._plain.close(whole=whole)
        rest = self._raw[self._done + 1 :].strip().removeprefix("}").strip() if self._ended else ""
        return f"\n{rest}" if rest else ""

    def _object(self) -> str | None:
        """A whole reply whose answer is no string: the JSON of the answer."""
        try:
            value = msgspec.json.decode(self._raw)
        except (msgspec.DecodeError, RecursionError):
            return None
        if isinstance(value, dict) and set(value) == {"answer"}:
            return msgspec.json.encode(value["answer"]).decode()
        return None

    def _switch(self) -> str:
        self._plain = CallReader(self._names)
        return self._plain.feed(self._raw)

    def _answer(self) -> str:
        """The letters of the answer that have come; an escape is waited for until it is whole."""
        assert self._text is not None
        while not self._ended and self._done < len(self._raw):
            match = _PIECE.match(self._raw, self._done)
            if match is None and self._raw[self._done] == '"':
                self._ended = True
                break
            if match is None and len(self._raw) - self._done < 6:
                break  # half of an escape
            piece = match[0] if match else "\\"
            self._done += len(piece)
            self._text.say(_unescaped(piece) if len(piece) > 1 and piece[0] == "\\" else piece)
        return "".join(part.text for part in self._text.take() if isinstance(part, TextPart))


def _unescaped(escape: str) -> str:
    if escape[1] == "u":
        return chr(int(escape[2:], 16))
    return {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}.get(escape[1], escape[1])


def _may_answer(raw: str) -> bool:
    """Whether the text may still become an object with an answer."""
    bare = re.sub(r"\s+", "", raw[:200])
    return '{"answer":'.startswith(bare) or (bare.startswith('{"answer":') and bare[10:11] != '"')
