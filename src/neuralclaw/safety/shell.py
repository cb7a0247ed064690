"""Command lines, parsed with a real shell grammar (tree-sitter-bash) and walked as a shell would: pipes, lists, loops, functions."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from ..types.options import Policy
from . import blocks, evaluated
from .analysis_state import AnalysisState, ExpandedCommand, environment, positional
from .assignments import Assignments
from .bounds import MAX_TEXT, AnalysisBounds, Exceeded
from .command_analysis import MAX_DEPTH, TOO_DEEP, plain, run
from .command_line import CommandLine, SimpleCommand
from .control_flow import ControlFlow
from .expansion import SUBSTITUTED, CommandOutput, Expander, ShellScope
from .lazy_regex import lazy_pattern
from .paths import HARMLESS_DEVICES, absolute, person_home
from .redirects import Redirects
from .shell_words import ShellWord, text_of
from .syntax import FOLLOW, ODD, WALKED, WORDS, brace_words, called, continued, hides_blank, parse, side_by_side, side_by_side_words
from .text_scan import places, scan
from .walked import WalkedNodes

if TYPE_CHECKING:
    from tree_sitter import Node

PLAIN = lazy_pattern(r"""(?:[^|&;<>()$`\\*?\[\]{}!#~'"\x00-\x08\x0a-\x1f]|'[^']*'|"[^"$`\\!]*")*""")
"""A line in which a shell would do nothing but split words and take off quotes."""
WITHOUT_SHELL = frozenset({("echo",), ("printf",), ("pwd",), ("test",), ("true",), ("false",)})
"""Builtins that are run as programs where they stand alone."""


def analyse(text: str, *, cwd: str, workspace: str, policy: Policy, env: Mapping[str, str | None], bounds: AnalysisBounds | None = None) -> CommandLine:
    """What a command line does; a variable of `env` is None whose value nobody knows before it runs.

    Where `bounds` (else the usual ones) end the analysis, the line says so and is not understood."""
    bounds = bounds or AnalysisBounds()
    if len(text) > MAX_TEXT:
        return CommandLine(text=text, understood=False, simple=False, exceeded=f"it is longer than {MAX_TEXT:,} characters", unread=True)
    walk = _CommandLineWalk(policy, workspace, bounds)
    state, exceeded = walk.state, ""
    scene = ShellScope(cwd, person_home(policy), {k: (v or "", v is not None) for k, v in env.items()})
    simple = ExpandedCommand(words=(), scene=scene)
    try:
        bounds.grow(sum(len(v or "") for v in env.values()))
        for variable in env:
            environment(state, simple, variable)
        walk.text(text, simple, "")
        walk.finish(simple)
    except (Exceeded, RecursionError) as stop:
        exceeded = stop.reason if isinstance(stop, Exceeded) else "it is nested too deeply"
        state.understood = False
        places(state, text, simple)
    if state.broken or state.scanned or not state.understood:
        scan(state, text, simple)
    return CommandLine(
        text=text,
        commands=tuple(state.commands),
        blocks=tuple(state.blocks),
        understood=state.understood,
        broken=state.broken,
        alters=state.alters,
        simple=walk.plain and len(state.commands) <= 1 and not exceeded,
        by_argv=walk.plain and len(state.commands) == 1 and not exceeded and _has_an_argv(state.commands[0], text),
        exceeded=exceeded,
    )


def _has_an_argv(command: SimpleCommand, text: str) -> bool:
    """Whether the program is started with its words as they stand, without a shell."""
    return bool((command.program or command.argv[:1] in WITHOUT_SHELL) and not command.via and PLAIN.fullmatch(text))


class _CommandLineWalk(ControlFlow):
    """One walk over a command line. `plain` stays true while it is one program without operators."""

    def __init__(self, policy: Policy, workspace: str, bounds: AnalysisBounds) -> None:
        self.bounds = bounds
        self.state = AnalysisState(policy, workspace, bounds, parse=self.text, run=run, judge=plain)
        self.state.aside = self.aside
        self._redirects = Redirects(self.state, self._joined, self._one)
        self._active: set[str] = set()
        self._called: set[str] = set()
        self.plain = True
        self._current = ExpandedCommand(words=(), scene=ShellScope(None, "", {}))
        self._assigned = Assignments(self.state, self._joined, self._one, self._all)
        self._expander = Expander(self._substitution, bounds, self._evaluated)
        self._defined: dict[str, tuple[set[str], bool]] = {}
        self._walked = WalkedNodes(bounds)

    def text(self, text: str, simple: ExpandedCommand, via: str) -> CommandOutput:
        """Analyse shell code that runs under `via`."""
        if simple.depth >= MAX_DEPTH:
            raise Exceeded(TOO_DEEP)
        self.bounds.step(4 * len(text))
        self.plain &= not via
        if ODD.search(text):
            self.state.understood = False
        joined = continued(text)
        if hides_blank(joined) or hides_blank(text):
            self.state.understood = False
        root = parse(joined, self.bounds)
        if root.has_error and "{" in joined:
            root = parse(brace_words(joined), self.bounds)
        if root.has_error:
            self.state.broken = True
            places(self.state, joined, simple)
        self._walked.begin(root)
        inside = msgspec.structs.replace(simple, words=(), via=(*simple.via, via) if via else simple.via, depth=simple.depth + 1)
        return self._walk(root, inside)

    def aside(self, text: str, simple: ExpandedCommand, via: str) -> CommandOutput:
        """Shell code that a program may run by its options: it is looked at for what is blocked, the rest of the line stays as it was found."""
        state, walked, plain = self.state, self._walked, self.plain
        kept = (len(state.commands), state.understood, state.broken, state.alters, dict(state.functions), dict(state.contents))
        self._walked = WalkedNodes(self.bounds)
        result = self.text(text, simple, via)
        self._walked, self.plain = walked, plain
        count, state.understood, state.broken, state.alters, state.functions, state.contents = kept
        del state.commands[count:]
        return result

    def finish(self, simple: ExpandedCommand) -> None:
        """Functions that call themselves: a fork bomb when copies run side by side, else code whose end is unknown."""
        for name, call in list(self.state.functions.items()):
            if name not in self._called:
                call(ExpandedCommand(words=(ShellWord(name),), scene=ShellScope(None, "", {})))
        for name in self._defined:
            reached, parallel, todo = set[str](), False, [name]
            while todo:
                self.bounds.step()
                calls, many = self._defined.get(todo.pop(), (set(), False))
                parallel |= many
                self.bounds.step(len(calls))
                todo += [c for c in calls if c not in reached]
                reached |= calls
            if name in reached and parallel:
                self.state.block(blocks.block("block.fork_bomb", what=name))
            elif name in reached:
                self.state.understood = False
        evaluated.finish(self.state)
        for text in () if self.state.broken else self._walked.left():
            self.state.understood = False
            self.text(f": {text}", simple, "")

    # -- statements

    def _walk(self, node: "Node", at: ExpandedCommand) -> CommandOutput:
        self.bounds.enter()
        self._walked.see(node)
        result = self._statement(node, at)
        self.bounds.leave()
        return result

    def _statement(self, node: "Node", at: ExpandedCommand) -> CommandOutput:
        kind = node.type
        method = getattr(self, "_on_" + kind, None)
        if method is not None:
            result: CommandOutput = method(node, at)
            return result
        if kind in WORDS:
            self._words(node, at)
            return CommandOutput("")
        if kind in ("comment", "heredoc_start", "heredoc_end", "file_descriptor", "test_operator"):
            return CommandOutput("")
        if kind not in WALKED:
            self.state.understood = False
        return self._all(node, at)

    def _all(self, node: "Node", at: ExpandedCommand) -> CommandOutput:
        result = CommandOutput("")
        for child in node.children:
            if child.is_named:
                after = child.next_sibling
                apart = after is not None and after.type == "&"  # it runs in a subshell
                result = result.then(self._walk(child, msgspec.structs.replace(at, scene=self._copy(at.scene)) if apart else at))
            else:
                self.plain = False
        return result

    def _words(self, node: "Node", at: ExpandedCommand) -> list[ShellWord]:
        return self._joined([node], at)

    def _joined(self, nodes: "Sequence[Node]", at: ExpandedCommand) -> list[ShellWord]:
        before, self._current = self._current, at
        words = self._expander.joined(nodes, at.scene)
        self._current = before
        return words

    def _one(self, nodes: "Sequence[Node]", at: ExpandedCommand) -> ShellWord:
        before, self._current = self._current, at
        word = self._expander.one(nodes, at.scene)
        self._current = before
        return word

    def _substitution(self, node: "Node") -> CommandOutput:
        """Code inside `$(…)`, backquotes or `<(…)`, run in a scene of its own."""
        self.plain = False
        self._walked.see(node)
        at = self._current
        result = self._substituted(node, at)
        if node.type == "process_substitution" and result.output:
            self.bounds.grow(len(result.output))
            self.state.contents[SUBSTITUTED] = self.state.contents.get(SUBSTITUTED, "") + result.output + "\n"
        return result

    def _substituted(self, node: "Node", at: ExpandedCommand) -> CommandOutput:
        inside = msgspec.structs.replace(at, scene=self._copy(at.scene), stdin=None, fed=False, spread=False, depth=at.depth + 1)
        source = text_of(node).strip()
        if source.startswith("$(("):
            self._evaluated("arithmetic", source[3:-2])
        if source.startswith("`") and ("\\" in source or "`" in source[1:-1]):
            self._walked.see(node, whole=True)
            parts = re.split(r"(?<!\\)`", source[1:-1])
            self.state.understood &= len(parts) == 1
            flows = [self.text(re.sub(r"\\([`\\$])", r"\1", part), inside, "") for part in parts]
            return flows[0] if len(parts) == 1 else CommandOutput(None, any(f.fetched for f in flows), any(f.decoded for f in flows))
        return self._all(node, inside)

    def _copy(self, scene: ShellScope) -> ShellScope:
        self.bounds.step(len(scene.variables))
        return scene.copy()

    def _on_subshell(self, node: "Node", at: ExpandedCommand) -> CommandOutput:
        self.plain = False
        text = text_of(node)
        if text.startswith("((") and text.endswith("))"):  # arithmetic, where the grammar did not see it
            evaluated.arithmetic(self.state, at, text[2:-2])
        return self._all(node, msgspec.structs.replace(at, scene=self._copy(at.scene)))

    def _on_pipeline(self, node: "Node", at: ExpandedCommand) -> CommandOutput:
        """Each stage reads what the one before it writes."""
        self.plain = False
        result = at.stdin
        for child in node.named_children:
            if child.type != "comment":
                stage = msgspec.structs.replace(at, stdin=result, scene=self._copy(at.scene))
                result = self._walk(child, stage)
        return result or CommandOutput()

    def _on_function_definition(self, node: "Node", at: ExpandedCommand) -> CommandOutput:
        self.plain = False
        name = text_of(node.child_by_field_name("name") or node)
        body = node.child_by_field_name("body")
        if body is None:
            self.state.understood = False
            return CommandOutput("")
        self.state.alters = True
        if self._active or name in self.state.functions:  # which of them a later call means is not known
            self.state.understood = False
        self._defined[name] = (called(body, self.bounds), side_by_side(body, self.bounds))

        def call(simple: ExpandedCommand) -> CommandOutput:
            return self._call(name, body, simple)

        self.state.functions[name] = call
        at.scene.functions |= {name}
        return CommandOutput("")

    def _call(self, name: str, body: "Node", simple: ExpandedCommand) -> CommandOutput:
        """A function's body, walked with the arguments and the input of this call."""
        self._called.add(name)
        if name in self._active:
            return CommandOutput()
        self._active.add(name)
        self.bounds.grow(sum(len(w.text) for w in simple.words))
        positional(simple.scene, simple.words)
        result = self._walk(body, msgspec.structs.replace(simple, words=(), via=(*simple.via, name), depth=simple.depth + 1))
        self._active.discard(name)
        return CommandOutput(None, result.fetched, result.decoded)

    # -- assignments and tests

    def _on_variable_assignment(self, node: "Node", at: ExpandedCommand) -> CommandOutput:
        self.plain = False
        self._assigned.lasting(node, at)
        return CommandOutput("")

    def _on_variable_assignments(self, node: "Node", at: ExpandedCommand) -> CommandOutput:
        self.plain = False
        for child in node.named_children:
            self._assigned.lasting(child, at)
        return CommandOutput("")

    def _on_declaration_command(self, node: "Node", at: ExpandedCommand) -> CommandOutput:
        self.plain = False
        self._assigned.declaration(node, at)
        return CommandOutput("")

    def _on_unset_command(self, node: "Node", at: ExpandedCommand) -> CommandOutput:
        self.plain = False
        self._assigned.unset(node, at)
        return CommandOutput("")

    def _on_test_command(self, node: "Node", at: ExpandedCommand) -> CommandOutput:
        self.plain = False
        text = text_of(node)
        if "<(" in text or ">(" in text:  # the grammar takes one that a word touches for a comparison
            self.state.understood = False
            places(self.state, text, at)
        self._assigned.test(node, at)
        return CommandOutput("")

    def _on_compound_statement(self, node: "Node", at: ExpandedCommand) -> CommandOutput:
        text = text_of(node)
        if text.startswith("((") and text.endswith("))"):
            self.plain = False
            return self._assigned.arithmetic(text[2:-2], node, at)
        return self._all(node, at)

    def _evaluated(self, kind: str, text: str) -> None:
        """An expansion that evaluates text once more."""
        check = evaluated.expansion if kind == "expansion" else evaluated.arithmetic
        check(self.state, self._current, text)

    # -- commands and redirections

    def _on_command(self, node: "Node", at: ExpandedCommand) -> CommandOutput:
        return self._command(node, at, [])

    def _command(self, node: "Node", at: ExpandedCommand, more: list[ShellWord]) -> CommandOutput:
        self._walked.see(node)
        words: list[ShellWord] = []
        assigned: list[tuple[str, str, bool]] = []
        redirected = at
        for group in side_by_side_words(node.children):
            child = group[0]
            if child.type == "variable_assignment":
                self.state.understood &= len(group) == 1
                scene = self._copy(at.scene)
                name = self._assigned.assign(child, msgspec.structs.replace(at, scene=scene))
                assigned.append((name, *scene.variables.get(name, ("", False))))
                self.plain = False
            elif child.type in ("file_redirect", "heredoc_redirect", "herestring_redirect"):
                redirected, extra = self._redirect(child, redirected)
                words += extra
            elif child.type != "comment":
                words += self._joined(group, at)
        words += more
        for name, value, sure in assigned:
            environment(self.state, at, name, value if sure else None)
            if name in at.scene.variables:  # a function, or text that is evaluated, sees the new value
                at.scene.variables[name] = ("", False)
        if not words:
            return CommandOutput("")
        return run(self.state, msgspec.structs.replace(redirected, words=tuple(words)))

    def _redirect(self, node: "Node", at: ExpandedCommand) -> tuple[ExpandedCommand, list[ShellWord]]:
        self._walked.see(node)
        for child in node.named_children if node.type == "heredoc_redirect" else ():
            if child.type == "file_redirect":
                self._walked.see(child)
        return self._redirects.redirect(node, at)

    def _on_redirected_statement(self, node: "Node", at: ExpandedCommand) -> CommandOutput:
        """Redirections are judged first, then the statement reads what they feed it; a here-document's line may continue behind its mark."""
        self.plain = False
        body = node.child_by_field_name("body")
        redirects = node.children_by_field_name("redirect")
        redirected, more = at, []
        for child in redirects:
            redirected, extra = self._redirect(child, redirected)
            more += extra
        if body is None:
            result = run(self.state, msgspec.structs.replace(redirected, words=tuple(more)))
        elif body.type == "command":
            result = self._command(body, redirected, more)
        else:
            self.state.understood &= not more
            result = self._walk(body, redirected)
        for child in redirects:
            self._catch(child, at, result)
            for rest in child.named_children if child.type == "heredoc_redirect" else ():
                if rest.type in FOLLOW:
                    piped = rest.type == "pipeline"
                    self._walk(rest, msgspec.structs.replace(at, stdin=result if piped else at.stdin))
        return result

    def _on_file_redirect(self, node: "Node", at: ExpandedCommand) -> CommandOutput:
        """A redirection that stands alone, as in `$(<FILE)`, which reads the file."""
        self.plain = False
        _, more = self._redirect(node, at)
        self.state.understood &= not more
        return CommandOutput(None)

    def _catch(self, node: "Node", at: ExpandedCommand, output: CommandOutput) -> None:
        """What a download or a plain `echo` writes into a file is remembered."""
        if node.type == "file_redirect" and (output.fetched or output.output):
            for target in node.children_by_field_name("destination")[:1]:
                word = self._one([target], at)
                path = absolute(word.text, at.scene.cwd or "/")
                if path in HARMLESS_DEVICES:
                    return
                if output.fetched:
                    self.state.fetched.add(path)
                self.bounds.grow(len(output.output or ""))
                self.bounds.step(len(self.state.contents.get(path, "")) // 16)
                self.state.contents[path] = self.state.contents.get(path, "") + (output.output or "")
