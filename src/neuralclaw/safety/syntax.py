"""The shell grammar (tree-sitter-bash), and small questions about its trees."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from .bounds import AnalysisBounds, Exceeded
from .lazy_regex import lazy_pattern
from .shell_words import BRACE, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

WALKED = frozenset(
    "program compound_statement do_group else_clause elif_clause if_statement while_statement case_statement case_item c_style_for_statement"
    " negated_command array".split()
)
WORDS = frozenset(
    "word string raw_string ansi_c_string translated_string concatenation simple_expansion expansion command_substitution process_substitution number"
    " arithmetic_expansion brace_expression extglob_pattern regex variable_name".split()
)
NO_WORDS = frozenset("file_redirect heredoc_redirect herestring_redirect comment subshell".split())
FOLLOW = frozenset("command pipeline list redirected_statement subshell compound_statement if_statement while_statement for_statement".split())
_BLANK = lazy_pattern(r"\\[ \t\v\f]")
_OPENS = lazy_pattern(r"\$\(|`")
SHORT, CHUNK = 1_000, 512
"""Bytes that are parsed without asking, and bytes that the parser gets at once: a node copies a whole one for its text."""
PARSING = 1_000
"""Units of work that a hundred steps of the parser cost; it asks as often."""
ODD = lazy_pattern("[\x00-\x08\x0b-\x1f\x7f\u0085\u00a0\u1680\u2000-\u200f\u2028-\u202f\u205f\u2060\u3000\ue000-\uf8ff\ufeff]")
"""Characters that a shell and a reader of the text may take for different things."""


@cache
def _grammar() -> Any:
    """The grammar, loaded when the first command line is judged."""
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())


def parse(text: str, bounds: AnalysisBounds) -> "Node":
    """The text's tree. The parser asks after every few hundred of its steps whether it may continue."""
    from tree_sitter import Parser

    source = text.encode("utf-8", "replace")
    bounds.step(40 + len(source))
    if len(source) <= SHORT:
        short: Node = Parser(_grammar()).parse(source).root_node
        return short
    stopped: list[Exceeded] = []

    def stop(*_: Any) -> bool:
        try:
            bounds.step(PARSING)
        except Exceeded as exceeded:
            stopped.append(exceeded)
        return bool(stopped)

    try:  # a parser of its own: two threads may not share one
        tree = Parser(_grammar()).parse(lambda offset, _: source[offset : offset + CHUNK], encoding="utf8", progress_callback=stop)
    except ValueError:
        if stopped:
            raise stopped[0] from None
        raise
    root: Node = tree.root_node
    return root


def hides_blank(text: str) -> bool:
    """Whether a blank is escaped inside a substitution or right behind a `$`, which the grammar would take for a mere blank."""
    if "\\" not in text:
        return False
    for part in re.split("['\"]", text):
        opens = _OPENS.search(part)
        if opens is not None and _BLANK.search(part, opens.end()) is not None:
            return True
    return any(f"$\\{blank}" in text for blank in " \t\v\f")


def continued(text: str) -> str:
    """The text with line continuations joined and escaped blanks in quotes, which the grammar would take for mere blanks."""
    if not re.search(r"\\[\n \t\v\f]", text):
        return text
    return _PIECES.sub(_rewritten, text)


_PIECES = lazy_pattern(r"""(?P<skip>\$'(?:\\.|[^'\\])*'|'[^']*'|(?:^|(?<=[\s;&|()]))\#[^\n]*)|(?P<double>"(?:\\.|[^"\\])*")|(?P<escape>\\.)""", re.DOTALL)


_BRACE_WORD = lazy_pattern(
    r"""\$'(?:\\.|[^'\\])*'|'[^']*'|"(?:[^"\\]|\\.)*"|\\.|(?P<head>(?:\A|[;&|(\n`!]|\b(?:then|do|else|elif|if|while|until|time)\s)[ \t]*)\{(?=[^\s;&|()<>}])""",
    re.DOTALL,
)


def brace_words(text: str) -> str:
    """The text with `BRACE` for each brace that begins a command's first word, which the grammar takes for the beginning of a group."""
    return _BRACE_WORD.sub(lambda m: m.group() if m.group("head") is None else m.group("head") + BRACE, text)


def _rewritten(match: re.Match[str]) -> str:
    escape = match.group("escape")
    if escape is not None:
        return "" if escape == "\\\n" else f"'{escape[1]}'" if escape[1] in " \t\v\f" else escape
    double = match.group("double")
    return match.group() if double is None else re.sub(r"(\\[^\n])|\\\n", lambda m: m.group(1) or "", double)


def below(node: "Node", bounds: AnalysisBounds) -> "Iterator[Node]":
    """The node and all below it."""
    todo = [node]
    while todo:
        bounds.step()
        current = todo.pop()
        yield current
        todo += current.children


def called(node: "Node", bounds: AnalysisBounds) -> set[str]:
    """The names of all commands below a node."""
    return {text_of(one) for one in below(node, bounds) if one.type == "command_name"}


def side_by_side(node: "Node", bounds: AnalysisBounds) -> bool:
    """Whether something below a node is piped or put into the background."""
    return any(one.type in ("&", "|", "|&") for one in below(node, bounds))


def side_by_side_words(nodes: "Sequence[Node]") -> "list[list[Node]]":
    """The nodes in groups: words without a blank between them are in one group."""
    groups: list[list[Node]] = []
    for node in nodes:
        before = groups[-1][-1] if groups else None
        if before is not None and before.end_byte == node.start_byte and before.type not in NO_WORDS and node.type not in (*NO_WORDS, "variable_assignment"):
            groups[-1].append(node)
        else:
            groups.append([node])
    return groups
