"""Code in colours, line by line: what a lexer has to remember from one line to the next is kept, so no line is read twice."""

from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from typing import Any

from .styled_text import StyledSpan

_COLOURS = {
    "Comment": "2",
    "Comment.Preproc": "35",
    "Keyword": "35",
    "Keyword.Constant": "36",
    "Keyword.Type": "36",
    "Literal.String": "32",
    "Literal.Number": "36",
    "Operator.Word": "35",
    "Name.Builtin": "36",
    "Name.Function": "34",
    "Name.Class": "34",
    "Name.Decorator": "33",
    "Name.Exception": "36",
    "Name.Tag": "34",
    "Name.Attribute": "36",
    "Name.Variable": "33",
    "Generic.Deleted": "31",
    "Generic.Inserted": "32",
    "Generic.Heading": "1",
    "Generic.Subheading": "36",
    "Generic.Prompt": "2",
}
"""Kind of token -> SGR parameters, in the terminal's own sixteen colours, which suit its background; parts of a kind take its colour."""
_COMMENTS = (("/*", "*/"), ("<!--", "-->"))
_STEPS = 20_000
"""Tokens of one line; what is left then stays plain."""
_DEPTH = 1_000
"""Of the states that are remembered; so a block that opens brackets and closes none costs no more from line to line."""


@lru_cache(maxsize=64)
def _lexer(language: str) -> Any:
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]

    try:
        return get_lexer_by_name(language)
    except ClassNotFound:
        return None


@lru_cache(maxsize=512)
def _colour(kind: Any) -> str:
    while kind is not None:
        name = str(kind).removeprefix("Token.")
        if name in _COLOURS:
            return _COLOURS[name]
        kind = kind.parent
    return ""


class Highlighter:
    """The lines of one piece of code in a language named as people name it; an unknown name means plain text."""

    def __init__(self, language: str) -> None:
        self._lexer: Any = _lexer(language.lower()) if 0 < len(language) <= 40 else None
        self._stack = ["root"]
        self._comment = ""

    def copy(self) -> "Highlighter":
        other = Highlighter("")
        other._lexer, other._stack, other._comment = self._lexer, list(self._stack), self._comment
        return other

    def line(self, text: str) -> list[StyledSpan]:
        """One line, without its newline, as spans that hold exactly its text."""
        if self._lexer is None or not text:
            return [(text, "")]
        spans: list[StyledSpan] = []
        if self._comment:
            end = text.find(self._comment)
            if end < 0:
                return [(text, "2")]
            end += len(self._comment)
            self._comment = ""
            spans, text = [(text[:end], "2")], text[end:]
        tokens = self._tokens(text + "\n")
        if "".join(value for _, value in tokens).rstrip("\n") != text.rstrip("\n"):
            return [*spans, (text, "")]
        return spans + self._coloured(tokens, text)

    def _coloured(self, tokens: list[tuple[Any, str]], text: str) -> list[StyledSpan]:
        spans: list[StyledSpan] = []
        at = 0
        for kind, value in tokens:
            colour = _colour(kind)
            for opening, closing in _COMMENTS if not colour or colour == "35" else ():
                if text.startswith(opening, at) and closing not in text[at:]:
                    # A comment over several lines, which lexers mostly know only as a whole.
                    self._comment, self._stack = closing, ["root"]
                    return [*spans, (text[at:], "2")]
            shown = value.rstrip("\n") if at + len(value) > len(text) else value
            if shown:
                spans.append((shown, colour))
            at += len(value)
        return spans

    def _tokens(self, text: str) -> list[tuple[Any, str]]:
        from pygments.lexer import ExtendedRegexLexer, LexerContext, RegexLexer  # type: ignore[import-untyped]

        lexer = self._lexer
        if type(lexer).get_tokens_unprocessed in (RegexLexer.get_tokens_unprocessed, ExtendedRegexLexer.get_tokens_unprocessed):
            # The one method of Pygments that begins with a stack of states and hands it back; what it reads is the same for both kinds of lexer.
            context = LexerContext(text, 0, list(self._stack))
            try:
                tokens = _first(ExtendedRegexLexer.get_tokens_unprocessed(lexer, context=context), text)
            except TypeError:  # a lexer with actions that take no context: a few rare languages
                self._stack = ["root"]
            else:
                self._stack = context.stack[-_DEPTH:] if len(tokens) <= _STEPS else ["root"]
                return tokens
        return _first(lexer.get_tokens_unprocessed(text), text)


def _first(found: Iterable[tuple[int, Any, str]], text: str) -> list[tuple[Any, str]]:
    """The tokens of a text, the rest of which stays plain after so many."""
    from pygments.token import Error  # type: ignore[import-untyped]

    tokens = [(kind, value) for _, kind, value in islice(found, _STEPS)]
    return tokens if len(tokens) < _STEPS else [*tokens, (Error, text[sum(len(value) for _, value in tokens) :])]
