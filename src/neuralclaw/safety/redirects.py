"""Redirections: what they write and read, and what they feed a command."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from ..types.facts import PathWant
from ..types.risk import Power, Risk
from . import blocks
from .analysis_state import AnalysisState, ExpandedCommand
from .command_line import SimpleCommand
from .expansion import CommandOutput
from .paths import HARMLESS_DEVICES, is_device, named_by_command, normal
from .shell_words import ShellWord, text_of
from .syntax import WORDS, side_by_side_words

if TYPE_CHECKING:
    from tree_sitter import Node

WRITING = frozenset({">", ">>", ">|", "&>", "&>>", ">&", "<>"})
APPENDING = frozenset({">>", "&>>", "<>"})
"""Of these, those that keep what is there."""


class Redirects:
    """Judges the redirections of one walk. `words` and `one` resolve a node to words and to a single word."""

    def __init__(
        self,
        state: AnalysisState,
        words: "Callable[[Sequence[Node], ExpandedCommand], list[ShellWord]]",
        one: "Callable[[Sequence[Node], ExpandedCommand], ShellWord]",
    ) -> None:
        self._state, self._words, self._one = state, words, one

    def redirect(self, node: "Node", at: ExpandedCommand) -> tuple[ExpandedCommand, list[ShellWord]]:
        """The command's surroundings after a redirection, and words of the command that the grammar took for targets."""
        if node.type == "herestring_redirect":
            words = [w for c in node.named_children if c.type in WORDS for w in [self._one([c], at)]]
            word = words[0] if words else ShellWord("", known=False)
            return msgspec.structs.replace(at, stdin=CommandOutput(word.text if word.known else None, word.fetched, word.decoded)), []
        if node.type == "heredoc_redirect":
            return self._heredoc(node, at)
        operator = next((c.type for c in node.children if not c.is_named), "")
        targets = node.children_by_field_name("destination")
        groups = side_by_side_words(targets)
        extra = [w for group in groups[1:] for w in self._words(group, at)]
        if not targets:
            self._state.understood &= operator in (">&-", "<&-")
            return at, extra
        word = self._one(groups[0], at)
        return self._target(operator, word, at), extra

    def _target(self, operator: str, word: ShellWord, at: ExpandedCommand) -> ExpandedCommand:
        if operator in ("<&", ">&") and (word.text.isdigit() or word.text in ("-", "")):
            self._state.understood &= word.known
            return at
        if not word.known:  # where it leads cannot be resolved; it is judged for what is known of it, too
            self._state.understood = False
            sign = ">" if operator in WRITING else "<"
            self._touch(at, (sign, word.shown), Risk.MEDIUM, "where it writes cannot be resolved", Power.WRITE, None)
            if not word.text:
                return at
        path = named_by_command(word.text, at.scene.cwd or "/")
        self._state.understood &= not word.glob
        if at.scene.cwd is None and not word.text.startswith("/"):
            self._state.understood = False
        if path.startswith(("/dev/tcp/", "/dev/udp/")):
            self._touch(at, (">", word.shown), Risk.HIGH, "it opens a raw network connection", Power.NETWORK, None)
            return msgspec.structs.replace(at, stdin=CommandOutput(None, True)) if operator in ("<", "<>", "<&") else at
        if operator in WRITING:
            if normal(path) == "/proc/sysrq-trigger":
                self._state.block(blocks.block("block.shutdown", what=path))
            if is_device(normal(path)):
                self._state.block(blocks.block("block.device", what=path))
            if path not in HARMLESS_DEVICES and not path.startswith("/dev/fd/"):
                self._touch(at, (operator if operator in APPENDING else ">", word.shown), Risk.MEDIUM, "it writes files", Power.WRITE, PathWant(path, "write"))
            return at
        self._touch(at, ("<", word.shown), Risk.LOW, "", Power.READ, PathWant(path, "read"))
        return msgspec.structs.replace(at, stdin=CommandOutput(None, word.fetched or path in self._state.fetched, word.decoded))

    def _touch(self, at: ExpandedCommand, argv: tuple[str, str], risk: Risk, why: str, power: Power, want: PathWant | None) -> None:
        """A redirection appears in the list of commands as what it is."""
        wants = (want,) if want is not None else ()
        self._state.add(SimpleCommand(argv=argv, via=at.via, powers=frozenset({power}), risk=risk, only_reads=risk is Risk.LOW, reason=why, wants=wants))

    def _heredoc(self, node: "Node", at: ExpandedCommand) -> tuple[ExpandedCommand, list[ShellWord]]:
        body = next((c for c in node.named_children if c.type == "heredoc_body"), None)
        extra: list[ShellWord] = []
        for child in node.named_children:
            if child.type == "file_redirect":
                at, more = self.redirect(child, at)
                extra += more
            elif child.type in WORDS:
                extra += self._words([child], at)
        if body is None:
            return msgspec.structs.replace(at, stdin=CommandOutput("")), extra
        output = CommandOutput(text_of(body))
        for child in body.named_children:
            if child.type != "heredoc_content":
                words = self._words([child], at)
                output = CommandOutput(None, output.fetched or any(w.fetched for w in words), output.decoded or any(w.decoded for w in words))
        return msgspec.structs.replace(at, stdin=output), extra
