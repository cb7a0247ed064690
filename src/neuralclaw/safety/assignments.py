"""Nodes of the shell grammar that set variables or compare values: assignments, declarations, `unset`, `[ … ]`, `[[ … ]]` and `((…))`."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..types.risk import Power
from . import evaluated
from .analysis_state import AnalysisState, ExpandedCommand, environment
from .command_line import SimpleCommand
from .expansion import CommandOutput
from .shell_words import ShellWord, text_of
from .syntax import WORDS

if TYPE_CHECKING:
    from tree_sitter import Node


class Assignments:
    """Follows what a walk's statements set. `words` and `one` resolve nodes to words and to a single word, `inner` walks what is below a node."""

    def __init__(
        self,
        state: AnalysisState,
        words: "Callable[[Sequence[Node], ExpandedCommand], list[ShellWord]]",
        one: "Callable[[Sequence[Node], ExpandedCommand], ShellWord]",
        inner: "Callable[[Node, ExpandedCommand], CommandOutput]",
    ) -> None:
        self._state, self._words, self._one, self._inner = state, words, one, inner

    def assign(self, node: "Node", at: ExpandedCommand) -> str:
        """Carry out one assignment; gives the name of its variable, "" where that is not sure."""
        self._state.bounds.step(400)
        name, source = self._target(node, at), node.child_by_field_name("name")
        value = node.child_by_field_name("value")
        listed = value is not None and value.type == "array"
        word = self._one([value], at) if value is not None and not listed else ShellWord("", known=value is None)
        if value is not None and listed:
            self._array(value, at)
            word = ShellWord(re.sub(r"[\\()'\"]", "", text_of(value)), known=False)
        whole = source is not None and source.type == "variable_name"
        if name:
            evaluated.assign(self._state, name, source="$" if listed else text_of(value) if value is not None else "")
        if not whole:
            word = ShellWord("", known=False)
        variables = at.scene.variables
        old = variables.get(name, ("", False)) if "+=" in text_of(node)[: len(name) + 2] else ("", True)
        self._state.bounds.grow(len(old[0]) + len(word.text))
        at.scene.patterns.pop(name, None)
        variables[name] = (old[0] + word.text, old[1] and word.known)
        if word.fetched or word.decoded:
            variables[name] = ("", False)
            at.scene.given[name] = CommandOutput(None, word.fetched, word.decoded)
        elif "+=" not in text_of(node)[: len(name) + 2]:
            at.scene.given.pop(name, None)
        return name

    def _target(self, node: "Node", at: ExpandedCommand) -> str:
        """The variable; a subscript is arithmetic, and what it substitutes runs."""
        target = node.child_by_field_name("name")
        if target is None:
            return ""
        if target.type != "variable_name":
            self._inner(target, at)
        return evaluated.target(self._state, at, text_of(target))

    def _array(self, node: "Node", at: ExpandedCommand) -> None:
        """The values of a list; what is before `=` in brackets is a subscript."""
        for child in node.named_children:
            text = text_of(child)
            if text.startswith("["):
                index, closed, _ = text[1:].partition("]")
                if not closed or "[" in index:
                    evaluated.again(self._state, at, text)
                else:
                    evaluated.arithmetic(self._state, at, index)
        self._inner(node, at)

    def lasting(self, node: "Node", at: ExpandedCommand) -> None:
        """An assignment without a command."""
        evaluated.lasting(self._state, at, self.assign(node, at))

    def declaration(self, node: "Node", at: ExpandedCommand) -> None:
        """`declare`, `export` and their kin."""
        words: list[ShellWord] = []
        assigned: list[tuple[str, str, bool]] = []
        kind = text_of(node.children[0]) if node.children else ""
        for child in node.named_children:
            if child.type == "variable_assignment":
                name = self.assign(child, at)
                environment(self._state, at, name)
                value = child.child_by_field_name("value")
                assigned.append((name, text_of(value) if value is not None else "", value is not None and value.type == "array"))
            elif child.type in WORDS:
                words += self._words([child], at)
        evaluated.declared(self._state, at, words, assigned)
        for word in words if kind == "export" else ():
            name = word.text.partition("=")[0]
            if name.isidentifier() and not any(w.text.startswith("-n") for w in words):
                environment(self._state, at, name)

    def unset(self, node: "Node", at: ExpandedCommand) -> None:
        words = [w for child in node.named_children for w in self._words([child], at)]
        evaluated.builtin(self._state, at.inside([ShellWord("unset"), *words], "unset"), "unset")

    def test(self, node: "Node", at: ExpandedCommand) -> None:
        """`[ … ]` and `[[ … ]]` read; substitutions in them run, and `[[` evaluates what it compares as numbers."""
        words: list[ShellWord] = []
        double = text_of(node).startswith("[[")
        self._operands(node, at, words, double=double)
        if not double:
            evaluated.compared(self._state, at, words)
        self._state.add(SimpleCommand(argv=(text_of(node),), via=at.via, powers=frozenset({Power.READ}), subject="test"))

    def _operands(self, node: "Node", at: ExpandedCommand, words: list[ShellWord], *, double: bool) -> None:
        self._state.bounds.enter()
        if double:
            self._compared(node, at)
        for child in node.named_children:
            if child.type in WORDS:
                found = self._words([child], at)
                words += found
                if any(not w.known for w in found) and not self._harmless(node, child, at, double=double):
                    self._state.understood = False
            elif child.type == "test_operator":
                words.append(ShellWord(text_of(child)))
            elif child.type.endswith("expression") or child.type == "variable_assignment":
                self._operands(child, at, words, double=double)
            else:
                self._inner(child, at)
        self._state.bounds.leave()

    def _harmless(self, node: "Node", child: "Node", at: ExpandedCommand, *, double: bool) -> bool:
        """Whether it does not matter what an operand is: a single word beside an operator that evaluates nothing, or a variable that must hold a number."""
        operators = [text_of(c) for c in node.children if c.type == "test_operator" or not c.is_named]
        alone = double or (node.parent is not None and node.parent.type == "test_command")
        if alone and len(operators) == 1 and operators[0] in evaluated.COMPARES:
            variable = evaluated.VARIABLE.fullmatch(_unquoted(child))
            return variable is not None and evaluated.arithmetic(self._state, at, variable.group(1) or variable.group(2))
        return alone and len(operators) == 1 and operators[0] in evaluated.ONLY_LOOKS and (double or child.type in ("string", "raw_string"))

    def _compared(self, node: "Node", at: ExpandedCommand) -> None:
        """The operands of one comparison inside `[[ … ]]`, as they are written."""
        children = node.named_children
        operator = next((text_of(c) for c in children if c.type == "test_operator"), "")
        operands = [c for c in children if c.type != "test_operator"]
        if operator in evaluated.COMPARES:
            for operand in operands:
                evaluated.arithmetic(self._state, at, _unquoted(operand))
        elif operator in ("-v", "-R"):
            for operand in operands:
                evaluated.target(self._state, at, _unquoted(operand))

    def arithmetic(self, text: str, node: "Node | None", at: ExpandedCommand) -> CommandOutput:
        """`((…))`: plain arithmetic is followed, of anything else the substitutions are walked."""
        self._state.alters = True
        if not evaluated.arithmetic(self._state, at, text) and node is not None:
            self._inner(node, at)
        return CommandOutput("")

    def head(self, node: "Node", body: "Node", at: ExpandedCommand) -> None:
        """The head of `for ((…; …; …))`."""
        head = (node.text or b"")[: body.start_byte - node.start_byte].decode("utf-8", "replace").strip()
        inside = head.removeprefix("for").strip().removesuffix("do").strip().removesuffix(";").strip()
        plain = inside.startswith("((") and inside.endswith("))")
        if not plain:
            evaluated.again(self._state, at, head)
        for part in inside[2:-2].split(";") if plain else ():
            plain &= evaluated.arithmetic(self._state, at, part)
        for child in node.named_children if not plain else ():
            if child != body:
                self._inner(child, at)


def _unquoted(node: "Node") -> str:
    """The operand's text without the quotes around it."""
    text = text_of(node)
    return text[1:-1] if node.type in ("string", "raw_string") else text
