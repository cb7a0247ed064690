"""The shell grammar (tree-sitter-bash), and small questions about its trees."""

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

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
FOLLOW = frozenset("command pipeline list redirected_statement subshell compound_statement if_statement while_statement for_statement".split())
ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f\u0085\u00a0\u1680\u2000-\u200f\u2028-\u202f\u205f\u2060\u3000\ue000-\uf8ff\ufeff]")
"""Characters that a shell and a reader of the text may take for different things."""


@cache
def parser() -> Callable[[bytes], Any]:
    """The grammar, loaded when the first command line is judged."""
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language())).parse


def continued(text: str) -> str:
    """The text with its line continuations joined, as a shell does outside single quotes."""
    if "\\\n" not in text:
        return text
    out: list[str] = []
    single = double = False
    i = 0
    while i < len(text):
        c = text[i]
        if c == "\\" and not single and i + 1 < len(text):
            out.append("" if text[i + 1] == "\n" else text[i : i + 2])
            i += 2
            continue
        if c == "'" and not double:
            single = not single
        elif c == '"' and not single:
            double = not double
        out.append(c)
        i += 1
    return "".join(out)


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
        joins = (*WORDS, "command_name")
        if before is not None and before.end_byte == node.start_byte and before.type in (*joins, "variable_assignment") and node.type in joins:
            groups[-1].append(node)
        else:
            groups.append([node])
    return groups
