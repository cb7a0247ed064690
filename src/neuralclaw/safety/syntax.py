"""The shell grammar (tree-sitter-bash), and small questions about its trees."""

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from .patterns import late
from .words import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

WALKED = frozenset(
    "program compound_statement do_group else_clause elif_clause if_statement while_statement case_statement case_item c_style_for_statement".split()
)
WORDS = frozenset(
    "word string raw_string ansi_c_string translated_string concatenation simple_expansion expansion command_substitution process_substitution number"
    " arithmetic_expansion brace_expression extglob_pattern regex variable_name".split()
)
NO_WORDS = frozenset("file_redirect heredoc_redirect herestring_redirect comment subshell".split())
FOLLOW = frozenset("command pipeline list redirected_statement subshell compound_statement if_statement while_statement for_statement".split())
HIDDEN_BLANK = late(r"(?:\$\(|`)[^'\"]*\\[ \t\v\f]|\$\\[ \t\v\f]")
"""An escaped blank inside a substitution, which the grammar would take for a mere blank."""
ODD = late("[\x00-\x08\x0b-\x1f\x7f\u0085\u00a0\u1680\u2000-\u200f\u2028-\u202f\u205f\u2060\u3000\ue000-\uf8ff\ufeff]")
"""Characters that a shell and a reader of the text may take for different things."""


@cache
def parser() -> Callable[[bytes], Any]:
    """The grammar, loaded when the first command line is judged."""
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language())).parse


def continued(text: str) -> str:
    """The text with line continuations joined and escaped blanks in quotes, which the grammar would take for mere blanks."""
    if not re.search(r"\\[\n \t\v\f]", text):
        return text
    return _PIECES.sub(_rewritten, text)


_PIECES = late(r"""(?P<skip>\$'(?:\\.|[^'\\])*'|'[^']*'|(?:^|(?<=[\s;&|()]))\#[^\n]*)|(?P<double>"(?:\\.|[^"\\])*")|(?P<escape>\\.)""", re.DOTALL)


def _rewritten(match: re.Match[str]) -> str:
    escape = match.group("escape")
    if escape is not None:
        return "" if escape == "\\\n" else f"'{escape[1]}'" if escape[1] in " \t\v\f" else escape
    double = match.group("double")
    return match.group() if double is None else re.sub(r"(\\[^\n])|\\\n", lambda m: m.group(1) or "", double)


def called(node: "Node") -> set[str]:
    """The names of all commands below a node."""
    found = {text_of(node)} if node.type == "command_name" else set()
    for child in node.named_children:
        found |= called(child)
    return found


def side_by_side(node: "Node") -> bool:
    """Whether something below a node is piped or put into the background."""
    return any(c.type in ("&", "|", "|&") or side_by_side(c) for c in node.children)


def side_by_side_words(nodes: "Sequence[Node]") -> "list[list[Node]]":
    """The nodes in groups: words without a blank between them stand in one group."""
    groups: list[list[Node]] = []
    for node in nodes:
        before = groups[-1][-1] if groups else None
        if before is not None and before.end_byte == node.start_byte and before.type not in NO_WORDS and node.type not in (*NO_WORDS, "variable_assignment"):
            groups[-1].append(node)
        else:
            groups.append([node])
    return groups
