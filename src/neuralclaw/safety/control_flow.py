"""Lists, branches and loops of a command line: what is known behind code that may run, or run again."""

from typing import TYPE_CHECKING

from . import evaluated
from .analysis_state import AnalysisState, ExpandedCommand
from .assignments import Assignments
from .bounds import AnalysisBounds
from .expansion import CommandOutput, ShellScope
from .shell_words import ShellWord, text_of
from .syntax import WALKED
from .walked import WalkedNodes

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_LOOP = 16
"""Words that a loop is walked over one by one."""
ScopeBefore = tuple[str | None, dict[str, tuple[str, bool]], frozenset[str]]
"""The directory, the variables and the functions at one place."""


class ControlFlow:
    """The part of a walk that follows lists, branches and loops; the walk itself brings what is below."""

    bounds: AnalysisBounds
    state: AnalysisState
    plain: bool
    _walked: WalkedNodes
    _assigned: Assignments

    def _walk(self, node: "Node", at: ExpandedCommand) -> CommandOutput:
        raise NotImplementedError

    def _all(self, node: "Node", at: ExpandedCommand) -> CommandOutput:
        raise NotImplementedError

    def _words(self, node: "Node", at: ExpandedCommand) -> list[ShellWord]:
        raise NotImplementedError

    def _on_list(self, node: "Node", at: ExpandedCommand) -> CommandOutput:
        """What is behind `&&` sees all that is before it; what it changes is unsure behind the list, and what is behind `||` at once."""
        self.plain = False
        result, unsure = CommandOutput(""), False
        before: ScopeBefore | None = None
        for operator, part in self._chain(node):
            unsure |= operator == "||"
            result = result.then(self._maybe(part, at) if unsure else self._walk(part, at))
            before = before or self._snapshot(at.scene)
        if before is not None:
            self._unsure(at.scene, before)
        return result

    def _chain(self, node: "Node") -> "list[tuple[str, Node]]":
        """The parts of a list, each with the operator before it."""
        found: list[tuple[str, Node]] = []
        todo, operator = [node], ""
        while todo:
            current = todo.pop()
            self.bounds.step()
            if current.type == "list":
                self._walked.see(current)
                todo += reversed(current.children)
            elif current.is_named:
                found.append((operator, current))
            else:
                operator = current.type
        return found

    def _snapshot(self, scene: ShellScope) -> ScopeBefore:
        self.bounds.step(3 * len(scene.variables))
        return scene.cwd, dict(scene.variables), scene.functions

    def _unsure(self, scene: ShellScope, before: ScopeBefore) -> bool:
        """What differs from before is not known afterwards. Whether that is anything that was known."""
        cwd, variables, functions = before
        changed = scene.cwd != cwd and cwd is not None
        if scene.cwd != cwd:
            scene.cwd = None
        for name, value in scene.variables.items():
            if variables.get(name) != value:
                changed |= variables.get(name, ("", False))[1] or name in scene.patterns
                scene.variables[name] = (value[0], False)
                scene.patterns.pop(name, None)
        scene.functions &= functions
        return changed

    def _maybe(self, node: "Node", at: ExpandedCommand) -> CommandOutput:
        """Code that may or may not run: what it changes is unsure afterwards."""
        before = self._snapshot(at.scene)
        result = self._all(node, at) if node.type in WALKED else self._walk(node, at)
        self._unsure(at.scene, before)
        return CommandOutput(None, result.fetched, result.decoded)

    def _repeated(self, node: "Node", at: ExpandedCommand) -> CommandOutput:
        """Code that runs any number of times: where it changes what was known, it is walked again with that unknown."""
        before, place = self._snapshot(at.scene), len(self.state.commands)
        result = self._all(node, at)
        if self._unsure(at.scene, before):
            result = result.then(self._all(node, at))
            self._unsure(at.scene, before)
            self.state.commands[place:] = dict.fromkeys(self.state.commands[place:])
        return CommandOutput(None, result.fetched, result.decoded)

    def _on_if_statement(self, node: "Node", at: ExpandedCommand) -> CommandOutput:
        self.plain = False
        return self._maybe(node, at)

    _on_case_statement = _on_if_statement

    def _on_while_statement(self, node: "Node", at: ExpandedCommand) -> CommandOutput:
        self.plain = False
        return self._repeated(node, at)

    def _on_for_statement(self, node: "Node", at: ExpandedCommand) -> CommandOutput:
        """A loop over plain words is walked once for each."""
        self.plain = False
        variable = node.child_by_field_name("variable")
        body = node.child_by_field_name("body")
        values = [w for c in node.children_by_field_name("value") for w in self._words(c, at)]
        name = text_of(variable) if variable is not None else ""
        if body is None:
            self.state.understood = False
            return CommandOutput()
        result = CommandOutput("")
        evaluated.lasting(self.state, at, name)
        listed = bool(values) and len(values) <= MAX_LOOP and all(w.known for w in values) and text_of(node).startswith("for")
        for value in values if listed else [ShellWord("", known=False)]:
            sure = listed and not value.glob
            at.scene.patterns.pop(name, None)
            if listed and value.glob:
                at.scene.patterns[name] = value.text
            at.scene.variables[name] = (value.text, sure)
            evaluated.assign(self.state, name, source=value.text if sure and value.text else "$")
            result = result.then(self._all(body, at) if sure else self._repeated(body, at))
        at.scene.variables[name] = ("", False)
        at.scene.patterns.pop(name, None)
        fetched = any(w.fetched for w in values)
        return CommandOutput(result.output, result.fetched or fetched, result.decoded)

    def _on_c_style_for_statement(self, node: "Node", at: ExpandedCommand) -> CommandOutput:
        """Its head is arithmetic, in three parts; the body may run or not."""
        self.plain = False
        body = node.child_by_field_name("body")
        if body is None:
            self.state.understood = False
            return CommandOutput()
        self._assigned.head(node, body, at)
        return self._repeated(body, at)
