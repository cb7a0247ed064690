"""Programs of awk, cut into tokens: what can only compute and print. What is not a token with certainty, and each name that may run, write or open
something, makes a program not understood."""

import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import msgspec

from ..types.datafile import damaged, read_data_file
from ..types.risk import Risk
from .delimited import CONTROL, after_expression
from .lazy_regex import lazy_pattern
from .nameset import Examples, NonEmptyNames

FILE = "safety/tables/awk.json"
_TOKEN = lazy_pattern(
    r"""(?P<blank>[ \t]+|\#[^\n]*)|(?P<line>\n)|(?P<text>"(?:\\[^\n]|[^"\\\n])*")|(?P<name>[A-Za-z_]\w*)"""
    r"""|(?P<number>0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"""
    r"""|(?P<sign>\+\+|--|&&|\|\||\*\*=?|!~|>>|[-+*%^=!<>]=|[-+*%^!<>=~?:;,$(){}\[\]/])""",
    re.ASCII,
)
_OPENS = frozenset("( , { } ; ! && || ~ !~ ? : = == != < <= > >= + - * % ^ ** += -= *= %= ^= **= $ [".split())
"""Behind these a slash begins a regular expression."""


class AwkTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file. `statements`: words of the language; behind those of `before_expression` a slash begins a regular expression, and behind
    the parentheses of `conditions` it may. `functions`: those built in
    that only compute. `refused`: names that run, write or open something, or stand for what is read, in any awk. `examples`:
    command lines whose second word is a program."""

    statements: NonEmptyNames
    before_expression: NonEmptyNames
    conditions: NonEmptyNames
    functions: NonEmptyNames
    refused: NonEmptyNames
    examples: Examples


class _AwkToken(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


def awk_only_reads(program: str) -> bool:
    """Whether a program of awk surely neither runs commands, nor writes files, nor opens any but those named behind it."""
    if "\\\n" in program or CONTROL.search(program) is not None:
        return False
    tokens = list(_tokens(program))
    return bool(tokens) and tokens[-1].kind != "unclear" and _known_names(tokens) and not _redirects(tokens)


def _tokens(program: str) -> Iterator[_AwkToken]:
    """The tokens without blanks, comments and lines. The last is of the kind `unclear` where the rest cannot be cut for sure."""
    place, before, new_line = 0, _AwkToken("sign", ";", 0, 0), False
    conditions: list[bool] = []
    while place < len(program):
        found = _TOKEN.match(program, place)
        kind = "unclear" if found is None else str(found.lastgroup)
        token = _AwkToken(kind, "" if found is None else found.group(), place, place if found is None else found.end())
        if token.text == "/":
            token = _slash(program, token, before, new_line)
        elif token.text == "(":
            conditions.append(before.text in TABLE.conditions)
        elif token.text == ")" and conditions and not conditions.pop():
            token = token._replace(kind="value")
        if kind not in ("blank", "line"):
            yield token
        if token.kind == "unclear":
            return
        place = token.end
        new_line = kind == "line" or (new_line and kind == "blank")
        before = before if kind in ("blank", "line") else token


def _slash(program: str, token: _AwkToken, before: _AwkToken, new_line: bool) -> _AwkToken:
    """A division or a regular expression. Where it may be both, it is a division if no other slash in the line could end the expression."""
    if (before.kind == "sign" and before.text in _OPENS) or (before.kind == "name" and before.text in TABLE.before_expression):
        end = after_expression(program, token.end)
        return token._replace(kind="unclear") if end is None else token._replace(kind="regex", end=end)
    value = before.kind in ("number", "value") or before.text == "]" or (before.kind == "name" and before.text not in TABLE.statements + TABLE.functions)
    alone = "/" not in program[token.end :].partition("\n")[0]
    if new_line or not (value or alone):
        return token._replace(kind="unclear")
    return token._replace(end=token.end + program.startswith("=", token.end))


def _known_names(tokens: list[_AwkToken]) -> bool:
    """No name that may do more than compute; and what is called is a function that only computes, or the program's own."""
    own = {second.text for first, second in pairwise(tokens) if first.text in ("function", "func")}
    callable_names = own.union(TABLE.functions, TABLE.statements)
    names = [token for token in tokens if token.kind == "name"]
    calls = (first for first, second in pairwise(tokens) if first.kind == "name" and second.text == "(")
    return not any(token.text in TABLE.refused for token in names) and all(call.text in callable_names for call in calls)


def _redirects(tokens: list[_AwkToken]) -> bool:
    """Whether a `>` may be that of an output: outside of parentheses, in braces, and behind a `print` whose statement has not surely ended."""
    round_depth = depth = 0
    printing = False
    for token in tokens:
        if token.kind == "name" and token.text in ("print", "printf"):
            printing = True
        elif token.kind in ("sign", "value"):
            round_depth += (token.text == "(") - (token.text == ")")
            depth += (token.text == "{") - (token.text == "}")
            if token.text in ("{", "}", ";") and not round_depth:
                printing = False
            if token.text == ">>" or (token.text == ">" and printing and not round_depth):
                return True
            if round_depth < 0 or depth < 0:
                return True
    return bool(round_depth or depth)


TABLE = read_data_file(FILE, AwkTable)
for _text, _risk in TABLE.examples.items():
    if awk_only_reads(shlex.split(_text)[1]) is not (_risk is Risk.LOW):
        raise damaged(FILE, f"examples ({_text})", f"it is not {_risk.name} by the names of the table")
