"""Shell lines that hide a command: composed at random from the grammar of `fuzz_grammar.py`, the same ones for the same seed."""

import random
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from . import fuzz_grammar as grammar


class FuzzLine(NamedTuple):
    """A line, the kind of place in which its payload hides, and the row of the grammar that it was made of."""

    kind: str
    text: str
    source: str


def lines(seed: int, count: int) -> Iterator[FuzzLine]:
    """So many lines of this seed."""
    choice = random.Random(seed)
    for _ in range(count):
        yield _line(choice)


def _line(choice: random.Random) -> FuzzLine:
    kind = choice.choice(("expansions", "expansions", *grammar.SCRIPTS))
    if kind == "expansions":
        source = choice.choice(grammar.HOLDERS)
        text = source.replace("@E", _nested(choice))
    else:
        text = source = choice.choice(grammar.SCRIPTS[kind])
    payload = choice.choice(grammar.PAYLOADS)
    text = text.replace("@P", payload).replace("@Q", payload.replace("'", "'\\''"))
    if choice.random() < 0.4:
        text = choice.choice(SPELLINGS)(text, choice)
    for _ in range(choice.choice((0, 0, 1, 1, 2))):
        text = choice.choice(grammar.WRAPPINGS).replace("@L", text)
    return FuzzLine(kind, text, source)


def _nested(choice: random.Random) -> str:
    """An expansion, in some cases within another."""
    text = choice.choice(grammar.EXPANSIONS)
    if choice.random() < 0.3:
        text = choice.choice(NESTS).replace("@E", text)
    return text


NESTS = ("${q:-@E}", "${HOME#@E}", "$(echo @E)", '"@E"', "${HOME/x/@E}", "x@E", "${q-${r:+x}@E}", "$(( 1 + ${#HOME} ))@E", "{a,b@E}")


def _first_word(text: str) -> tuple[str, str, str]:
    """What stands before the first plain word, the word, and the rest."""
    found = re.match(r"([^a-z]*)([a-z][a-z0-9]+)(?=[ \n])(.*)", text, re.DOTALL)
    return (found[1], found[2], found[3]) if found else (text, "", "")


def _spelled(change: Callable[[str], str]) -> Callable[[str, random.Random], str]:
    def spell(text: str, _: random.Random) -> str:
        before, word, after = _first_word(text)
        return before + (change(word) if word else "") + after

    return spell


def _tabs(text: str, _: random.Random) -> str:
    return text.replace(" ", "\t", 1)


def _continued(text: str, choice: random.Random) -> str:
    place = choice.randrange(len(text)) if text else 0
    return f"{text[:place]}\\\n{text[place:]}" if "<<" not in text else text


SPELLINGS: tuple[Callable[[str, random.Random], str], ...] = (
    _spelled(lambda word: f"'{word}'"),
    _spelled(lambda word: f'{word[0]}"{word[1:]}"'),
    _spelled(lambda word: f"\\{word}"),
    _spelled(lambda word: f"$'\\x{ord(word[0]):02x}{word[1:]}'"),
    _spelled(lambda word: f"/usr/bin/{word}"),
    _spelled(lambda word: f"{word[0]}${{none}}{word[1:]}"),
    _spelled(lambda word: f"command {word}"),
    _spelled(lambda word: f"env {word}"),
    _spelled(lambda word: f"timeout 5 {word}"),
    _spelled(lambda word: f"w={word}; $w"),
    _tabs,
    _continued,
)
