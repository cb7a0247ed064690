"""Keys that show what they are: the prefixes and shapes that services give their keys, so that those nobody configured are found too.

A shape is a prefix and steps (a class of characters, how many at least and at most). From the steps two patterns are made: one for the
whole key and one for what could still become a key when more text comes.
"""

import re
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

LONGEST = 512
"""Characters of a token at most: what is longer is cut there."""

PatternStep = tuple[str, int, int]
WORD = "[A-Za-z0-9_-]"
ALNUM = "[A-Za-z0-9]"


class Format(NamedTuple):
    """One shape. `keep`: the prefix stays readable; `digit`: a digit must be in it, so that words joined by dashes are no key."""

    kind: str
    prefixes: tuple[str, ...]
    steps: Sequence[PatternStep]
    keep: bool = False
    digit: bool = False
    ending: Sequence[PatternStep] = ()
    """Steps that belong to the key where they follow, and need not."""


def letters(text: str) -> list[PatternStep]:
    """A fixed text as steps."""
    return [(re.escape(letter), 1, 1) for letter in text]


_BLOCK: list[PatternStep] = [("[A-Z ]", 0, 30), *letters("PRIVATE KEY-----")]

FORMATS = (
    Format("anthropic", ("sk-ant-",), [(WORD, 20, LONGEST)]),
    Format("openai", ("sk-",), [(WORD, 20, LONGEST)], digit=True),
    Format("github", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), [(ALNUM, 36, LONGEST)]),
    Format("github", ("github_pat_",), [("[A-Za-z0-9_]", 22, LONGEST)]),
    Format("gitlab", ("glpat-",), [(WORD, 20, LONGEST)]),
    Format("aws", ("AKIA", "ASIA"), [("[A-Z0-9]", 16, 16)]),
    Format("google", ("AIza",), [(WORD, 35, 35)]),
    Format("slack", ("xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-"), [("[A-Za-z0-9-]", 10, LONGEST)], digit=True),
    Format("groq", ("gsk_",), [(ALNUM, 20, LONGEST)]),
    Format("nvidia", ("nvapi-",), [(WORD, 20, LONGEST)]),
    Format("huggingface", ("hf_",), [(ALNUM, 30, LONGEST)]),
    Format("xai", ("xai-",), [(ALNUM, 40, LONGEST)]),
    Format("stripe", ("sk_live_", "rk_live_", "sk_test_", "rk_test_"), [(ALNUM, 20, LONGEST)]),
    Format("npm", ("npm_",), [(ALNUM, 36, 36)]),
    Format("pypi", ("pypi-AgEIcHlwaS5vcmc",), [(WORD, 50, LONGEST)]),
    Format("jwt", ("eyJ",), [(WORD, 10, 4096), *letters(".eyJ"), (WORD, 10, 8192), *letters("."), (WORD, 10, 2048)]),
    Format("bearer", ("Bearer ", "bearer "), [("[A-Za-z0-9._~+/=-]", 20, 2048)], keep=True, digit=True),
    Format("private-key", ("-----BEGIN ",), [*_BLOCK, (r"[A-Za-z0-9+/=\s\\]", 0, 20_000)], ending=[*letters("-----END "), *_BLOCK]),
)
"""Sources: the services' own pages on their keys; GitHub's, GitLab's, AWS's, Slack's and PyPI's are published as patterns for scanners."""

SHORTEST_KEY = min(min(map(len, form.prefixes)) + sum(least for _, least, _ in form.steps) for form in FORMATS)
"""No key is shorter than so many characters."""

BEFORE = "(?<![A-Za-z0-9_-])"


class Shape:
    """A format and its patterns: `whole` matches a key, `partial` from a prefix to the end of the text what may become one. Made when first needed."""

    def __init__(self, form: Format) -> None:
        self.form, self.kind, self.prefixes = form, form.kind, form.prefixes
        self._head = f"{BEFORE}(?:{'|'.join(map(re.escape, form.prefixes))})"

    @cached_property
    def whole(self) -> re.Pattern[str]:
        form = self.form
        atom, _, most = form.steps[0]
        wanted = rf"(?={atom}{{0,{most - 1}}}[0-9])" if form.digit else ""
        ending = f"(?:{_whole(form.ending)})?" if form.ending else ""
        return re.compile(self._head + wanted + _whole(form.steps) + ending)

    @cached_property
    def partial(self) -> re.Pattern[str]:
        return re.compile(self._head + _partial([*self.form.steps, *self.form.ending]))


SHAPES = tuple(map(Shape, FORMATS))
PREFIXES = tuple((prefix, shape) for shape in SHAPES for prefix in shape.prefixes)
MARKED = tuple((mark, tuple((prefix, shape) for prefix, shape in PREFIXES if mark == next((m for m in "-_" if m in prefix), ""))) for mark in ("-", "_", ""))
"""The same by a character that they contain: most texts lack it."""
BEGUN = frozenset(prefix[:size] for prefix, _ in PREFIXES for size in range(1, len(prefix)))
"""Every beginning of a prefix that is not the whole of it."""
LONGEST_BEGUN = max(map(len, BEGUN))


def _whole(steps: Sequence[PatternStep]) -> str:
    return "".join(f"{atom}{{{least},{most}}}" for atom, least, most in steps)


def _partial(steps: Sequence[PatternStep]) -> str:
    """Matches up to the end of the text what the steps match so far."""
    pattern = ""
    for atom, least, most in reversed(steps):
        here = rf"{atom}{{0,{most}}}\Z"
        pattern = f"(?:{atom}{{{least},{most}}}{pattern}|{here})" if pattern else here
    return pattern
