"""Whether all of a command line was walked: what the analysis did not look at is not understood."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .bounds import AnalysisBounds
from .lazy_regex import lazy_pattern
from .shell_words import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

CODE = frozenset(
    "command command_substitution process_substitution file_redirect heredoc_redirect herestring_redirect declaration_command unset_command test_command"
    " subshell for_statement c_style_for_statement function_definition pipeline list redirected_statement negated_command case_item".split()
)
"""Nodes that run, write or set something."""
_RUNS = lazy_pattern(r"(?<!\\)(?:\\\\)*(?:`|\$[({\[])")
_RUNS_UNQUOTED = lazy_pattern(r"(?<!\\)(?:\\\\)*(?:`|\$[({\[]|[<>]\()")
_LITERAL = frozenset({"comment", "heredoc_start", "heredoc_end"})
_QUOTES = frozenset({"raw_string", "ansi_c_string"})
_TEXTS = frozenset({"string", "translated_string", "string_content", "heredoc_body", "heredoc_content"})
_EVALUATED = frozenset({"expansion", "arithmetic_expansion", "subscript"})


class WalkedNodes:
    """The nodes that one analysis has walked, in all the texts that it parsed."""

    __slots__ = ("_bounds", "_roots", "_seen", "_whole")

    def __init__(self, bounds: AnalysisBounds) -> None:
        self._bounds = bounds
        self._roots: list[Node] = []
        self._seen: set[tuple[int, int, int, str]] = set()
        self._whole: set[tuple[int, int, int, str]] = set()

    def begin(self, root: "Node") -> None:
        """A text whose nodes must all be walked. Its tree is kept: a node is known by where it is in memory."""
        self._roots.append(root)

    def see(self, node: "Node", *, whole: bool = False) -> None:
        """The node was walked; `whole`: with all below it, as text of its own."""
        (self._whole if whole else self._seen).add(_key(node))

    def left(self) -> tuple[str, ...]:
        """The first node of each text that does something and was not walked, or the text beside nodes that bash evaluates."""
        return tuple(text for root in self._roots for text in (self._unseen(root),) if text)

    def _unseen(self, root: "Node") -> str:
        todo = [(root, False, False)]
        while todo:
            node, evaluated, plain = todo.pop()
            self._bounds.step()
            kind, key = node.type, _key(node)
            if not node.is_named or kind in _LITERAL or key in self._whole:
                continue
            if kind in CODE and key not in self._seen:
                return text_of(node)
            if kind in _QUOTES:
                if evaluated and _RUNS_UNQUOTED.search(text_of(node)):
                    return text_of(node)[1:-1]  # (in double quotes single ones protect nothing)
                continue
            if kind == "heredoc_redirect":
                plain = any(c.type == "heredoc_start" and set(text_of(c)) & set("'\"\\") for c in node.children)
            if kind == "heredoc_body" and plain:
                continue
            for part in _between(node):
                if _left(part, kind):
                    return part
            below = evaluated or kind in _EVALUATED
            todo += [(child, below, plain) for child in node.children]
        return ""


def _key(node: "Node") -> tuple[int, int, int, str]:
    return node.id, node.start_byte, node.end_byte, node.type


def _between(node: "Node") -> Iterator[str]:
    """What no child of the node covers."""
    source = node.text or b""
    at = begin = node.start_byte
    for child in node.children:
        if child.start_byte > at:
            yield source[at - begin : child.start_byte - begin].decode("utf-8", "replace")
        at = max(at, child.end_byte)
    if at < node.end_byte:
        yield source[at - begin :].decode("utf-8", "replace")


def _left(text: str, kind: str) -> bool:
    """Whether text that no node shows may run something."""
    if text.isspace() or (len(text) < 3 and text.isalnum()):
        return False
    return (_RUNS if kind in _TEXTS else _RUNS_UNQUOTED).search(text) is not None
