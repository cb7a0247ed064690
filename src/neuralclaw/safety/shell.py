"""Command lines, parsed with a real shell grammar (tree-sitter-bash) and walked as a shell would: pipes, lists, loops, functions."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from ..types.actions import PathWant
from ..types.judging import Power, Risk
from ..types.options import Policy
from . import blocks
from .expand import Expander, Flow, Scene
from .line import Command, Line
from .paths import HARMLESS_DEVICES, absolute, is_device, person_home
from .programs import variable_risk
from .running import MAX_DEPTH, Simple, State, environment, run
from .words import Word, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_TEXT = 60_000
"""Characters of a command line; a longer one is not judged."""
MAX_LOOP = 16
WALKED = frozenset(
    "program compound_statement do_group else_clause elif_clause if_statement while_statement case_statement case_item c_style_for_statement".split()
)
WORDS = frozenset(
    "word string raw_string ansi_c_string translated_string concatenation simple_expansion expansion command_substitution process_substitution number"
    " arithmetic_expansion brace_expression extglob_pattern regex variable_name".split()
)
WRITING = frozenset({">", ">>", ">|", "&>", "&>>", ">&", "<>"})
_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f\u0085\u00a0\u1680\u2000-\u200f\u2028-\u202f\u205f\u2060\u3000\ue000-\uf8ff\ufeff]")


@cache
def _parser() -> Callable[[bytes], Any]:
    """The grammar, loaded when the first command line is judged."""
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language())).parse


def analyse(text: str, *, cwd: str, workspace: str, policy: Policy, env: Mapping[str, str]) -> Line:
    """What a command line does. Raises `ValueError` for one that is too long or too deeply nested to judge."""
    if len(text) > MAX_TEXT:
        raise ValueError("the command line is too long to judge")
    walk = _Walk(policy, workspace)
    scene = Scene(cwd, person_home(policy), {k: (v, True) for k, v in env.items()})
    simple = Simple(words=(), scene=scene)
    for variable in env:
        environment(walk.state, simple, variable)
    walk.text(text, simple, "")
    walk.finish()
    state = walk.state
    return Line(
        text=text,
        commands=tuple(state.commands),
        blocks=tuple(state.blocks),
        understood=state.understood,
        broken=state.broken,
        simple=walk.plain and len(state.commands) <= 1,
    )


def _continued(text: str) -> str:
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


class _Walk:
    """One walk over a command line. `plain` stays true while it is one program without operators."""

    def __init__(self, policy: Policy, workspace: str) -> None:
        self.state = State(policy, workspace, self.text)
        self.plain = True
        self._current = Simple(words=(), scene=Scene(None, "", {}))
        self._expander = Expander(self._substitution)
        self._defined: dict[str, tuple[set[str], bool]] = {}

    def text(self, text: str, simple: Simple, via: str) -> Flow:
        """Analyse shell code that runs under `via`."""
        if simple.depth >= MAX_DEPTH:
            raise ValueError("commands are nested too deeply to judge")
        self.plain &= not via
        if _ODD.search(text):
            self.state.understood = False
        joined = _continued(text)
        root: Node = _parser()(joined.encode("utf-8", "replace")).root_node
        if root.has_error:
            self.state.broken = True
            self._crude(joined, simple)
        inside = msgspec.structs.replace(simple, words=(), via=(*simple.via, via) if via else simple.via, depth=simple.depth + 1)
        return self._walk(root, inside)

    def finish(self) -> None:
        """Functions that call themselves: a fork bomb when copies run side by side, else code whose end is unknown."""
        for name in self._defined:
            reached, parallel, todo = set[str](), False, [name]
            while todo:
                calls, many = self._defined.get(todo.pop(), (set(), False))
                parallel |= many
                todo += [c for c in calls if c not in reached]
                reached |= calls
            if name in reached and parallel:
                self.state.block(blocks.block("block.fork_bomb", what=name))
            elif name in reached:
                self.state.understood = False

    def _crude(self, text: str, simple: Simple) -> None:
        """Where the grammar fails, the blocks still look at every stretch between operators."""
        for part in re.split(r"[;&|\n(){}`]+", text)[:200]:
            words = [Word(re.sub(r"[\\'\"]", "", w)) for w in part.split()]
            for i in range(min(len(words), 8)):
                name = words[i].text.rsplit("/", 1)[-1]
                if i == 0 or name in blocks.NAMES:
                    call = blocks.Call(name=name, words=tuple(words[i:]), cwd=simple.scene.cwd, workspace=self.state.workspace, policy=self.state.policy)
                    for found in blocks.check(call):
                        self.state.block(found)
                    break

    # -- statements

    def _walk(self, node: "Node", at: Simple) -> Flow:
        kind = node.type
        method = getattr(self, "_on_" + kind, None)
        if method is not None:
            flow: Flow = method(node, at)
            return flow
        if kind in WORDS:
            self._words(node, at)
            return Flow("")
        if kind in ("comment", "heredoc_start", "heredoc_end", "file_descriptor", "test_operator"):
            return Flow("")
        if kind not in WALKED:
            self.state.understood = False
        return self._all(node, at)

    def _all(self, node: "Node", at: Simple) -> Flow:
        flow = Flow("")
        for child in node.children:
            if child.is_named:
                flow = flow.then(self._walk(child, at))
            else:
                self.plain = False
        return flow

    def _words(self, node: "Node", at: Simple) -> list[Word]:
        before, self._current = self._current, at
        words = self._expander.words(node, at.scene)
        self._current = before
        return words

    def _one(self, node: "Node", at: Simple) -> Word:
        before, self._current = self._current, at
        word = self._expander.one(node, at.scene)
        self._current = before
        return word

    def _substitution(self, node: "Node") -> Flow:
        """Code inside `$(…)`, backquotes or `<(…)`, run in a scene of its own."""
        self.plain = False
        at = self._current
        inside = msgspec.structs.replace(at, scene=at.scene.copy(), stdin=None, fed=False, spread=False, depth=at.depth + 1)
        if text_of(node).lstrip().startswith("`") and "\\" in text_of(node):
            return self.text(re.sub(r"\\([`\\$])", r"\1", text_of(node).strip()[1:-1]), inside, "`")
        return self._all(node, inside)

    def _on_list(self, node: "Node", at: Simple) -> Flow:
        self.plain = False
        flow = Flow("")
        unsure = False
        for child in node.children:
            if child.type == "||":
                unsure = True
            elif child.is_named:
                flow = flow.then(self._maybe(child, at) if unsure else self._walk(child, at))
        return flow

    def _maybe(self, node: "Node", at: Simple) -> Flow:
        """Code that may or may not run: what it changes is unsure afterwards."""
        scene = at.scene
        cwd, before = scene.cwd, dict(scene.variables)
        flow = self._all(node, at) if node.type in WALKED else self._walk(node, at)
        if scene.cwd != cwd:
            scene.cwd = None
        for name, value in scene.variables.items():
            if before.get(name) != value:
                scene.variables[name] = (value[0], False)
        return Flow(None, flow.fetched, flow.decoded)

    def _on_if_statement(self, node: "Node", at: Simple) -> Flow:
        self.plain = False
        return self._maybe(node, at)

    _on_while_statement = _on_case_statement = _on_c_style_for_statement = _on_if_statement

    def _on_subshell(self, node: "Node", at: Simple) -> Flow:
        self.plain = False
        return self._all(node, msgspec.structs.replace(at, scene=at.scene.copy()))

    def _on_negated_command(self, node: "Node", at: Simple) -> Flow:
        return self._all(node, at)

    def _on_pipeline(self, node: "Node", at: Simple) -> Flow:
        """Each stage reads what the one before it writes."""
        self.plain = False
        flow = at.stdin
        for child in node.named_children:
            if child.type != "comment":
                stage = msgspec.structs.replace(at, stdin=flow, scene=at.scene.copy())
                flow = self._walk(child, stage)
        return flow or Flow()

    def _on_for_statement(self, node: "Node", at: Simple) -> Flow:
        """A loop over plain words is walked once for each."""
        self.plain = False
        variable = node.child_by_field_name("variable")
        body = node.child_by_field_name("body")
        values = [w for c in node.children_by_field_name("value") for w in self._words(c, at)]
        name = text_of(variable) if variable is not None else ""
        if body is None:
            self.state.understood = False
            return Flow()
        flow = Flow("")
        sure = bool(values) and len(values) <= MAX_LOOP and all(w.known and not w.glob for w in values)
        for value in values if sure else [Word("", known=False)]:
            at.scene.variables[name] = (value.text, sure)
            flow = flow.then(self._maybe(body, at) if not sure else self._all(body, at))
        at.scene.variables[name] = ("", False)
        fetched = any(w.fetched for w in values)
        return Flow(flow.output, flow.fetched or fetched, flow.decoded)

    def _on_function_definition(self, node: "Node", at: Simple) -> Flow:
        self.plain = False
        name = text_of(node.child_by_field_name("name") or node)
        body = node.child_by_field_name("body")
        if body is None:
            self.state.understood = False
            return Flow("")
        self._defined[name] = (_called(body), _side_by_side(body))
        self.state.functions.add(name)
        self._maybe(body, msgspec.structs.replace(at, scene=at.scene.copy()))
        return Flow("")

    # -- assignments and tests

    def _on_variable_assignment(self, node: "Node", at: Simple) -> Flow:
        self._assign(node, at)
        return Flow("")

    def _assign(self, node: "Node", at: Simple) -> str:
        self.plain = False
        target, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        name = text_of(target) if target is not None else ""
        word = self._one(value, at) if value is not None and value.type != "array" else Word("", known=value is None)
        if value is not None and value.type == "array":
            self._all(value, at)
        old = at.scene.variables.get(name, ("", False)) if "+=" in text_of(node)[: len(name) + 2] else ("", True)
        at.scene.variables[name] = (old[0] + word.text, old[1] and word.known)
        if word.fetched or word.decoded:
            at.scene.variables[name] = ("", False)
        return name

    def _on_variable_assignments(self, node: "Node", at: Simple) -> Flow:
        for child in node.named_children:
            self._lasting(self._assign(child, at), at)
        return Flow("")

    def _lasting(self, name: str, at: Simple) -> None:
        """A variable that the shell's own children inherit or that the shell itself obeys."""
        if variable_risk(name) is Risk.HIGH:
            environment(self.state, at, name)

    def _on_array(self, node: "Node", at: Simple) -> Flow:
        return self._all(node, at)

    def _on_declaration_command(self, node: "Node", at: Simple) -> Flow:
        self.plain = False
        for child in node.named_children:
            if child.type == "variable_assignment":
                environment(self.state, at, self._assign(child, at))
            elif child.type in WORDS:
                self._words(child, at)
        return Flow("")

    def _on_unset_command(self, node: "Node", at: Simple) -> Flow:
        self.plain = False
        for child in node.named_children:
            at.scene.variables[text_of(child)] = ("", False)
        return Flow("")

    def _on_test_command(self, node: "Node", at: Simple) -> Flow:
        """`[ … ]` and `[[ … ]]` read; substitutions in them run."""
        self.plain = False
        self._operands(node, at)
        self.state.add(Command(argv=(text_of(node),), via=at.via, powers=frozenset({Power.READ}), subject="test"))
        return Flow("")

    def _operands(self, node: "Node", at: Simple) -> None:
        for child in node.named_children:
            if child.type in WORDS:
                if any(not w.known for w in self._words(child, at)):
                    self.state.understood = False
            elif child.type.endswith("expression") or child.type in ("test_operator", "variable_assignment"):
                self._operands(child, at)
            else:
                self._walk(child, at)

    # -- commands and redirections

    def _on_command(self, node: "Node", at: Simple) -> Flow:
        return self._command(node, at, [])

    def _command(self, node: "Node", at: Simple, more: list[Word]) -> Flow:
        words: list[Word] = []
        assigned: list[str] = []
        given = at
        for child in node.named_children:
            if child.type == "variable_assignment":
                scene = at.scene.copy()
                assigned.append(self._assign(child, msgspec.structs.replace(at, scene=scene)))
            elif child.type in ("file_redirect", "heredoc_redirect", "herestring_redirect"):
                given, extra = self._redirect(child, given)
                words += extra
            elif child.type != "comment":
                words += self._words(child, at)
        words += more
        for name in assigned:
            environment(self.state, at, name)
        if not words:
            return Flow("")
        return run(self.state, msgspec.structs.replace(given, words=tuple(words)))

    def _on_redirected_statement(self, node: "Node", at: Simple) -> Flow:
        """Redirections are judged first, then the statement reads what they feed it; a here-document's line may go on behind its mark."""
        self.plain = False
        body = node.child_by_field_name("body")
        given, more, rests = at, [], []
        for child in node.children_by_field_name("redirect"):
            given, extra = self._redirect(child, given)
            more += extra
            rests += [c for c in child.named_children if child.type == "heredoc_redirect" and c.type in FOLLOW]
        if body is None:
            flow = run(self.state, msgspec.structs.replace(given, words=tuple(more))) if more else Flow("")
        elif body.type == "command":
            flow = self._command(body, given, more)
        else:
            self.state.understood &= not more
            flow = self._walk(body, given)
        for rest in rests:
            self._walk(rest, msgspec.structs.replace(at, stdin=flow))
        for child in node.children_by_field_name("redirect"):
            self._catch(child, at, flow)
        return flow

    def _catch(self, node: "Node", at: Simple, flow: Flow) -> None:
        """What a download writes into a file is remembered."""
        if node.type == "file_redirect" and flow.fetched:
            for target in node.children_by_field_name("destination")[:1]:
                word = self._one(target, at)
                self.state.fetched.add(absolute(word.text, at.scene.cwd or "/"))

    def _redirect(self, node: "Node", at: Simple) -> tuple[Simple, list[Word]]:
        """The command's surroundings after a redirection, and words of the command that the grammar took for targets."""
        self.plain = False
        if node.type == "herestring_redirect":
            words = [w for c in node.named_children if c.type in WORDS for w in [self._one(c, at)]]
            word = words[0] if words else Word("", known=False)
            return msgspec.structs.replace(at, stdin=Flow(word.text if word.known else None, word.fetched, word.decoded)), []
        if node.type == "heredoc_redirect":
            return self._heredoc(node, at)
        operator = next((c.type for c in node.children if not c.is_named), "")
        targets = node.children_by_field_name("destination")
        extra = [w for t in targets[1:] for w in self._words(t, at)]
        if not targets:
            self.state.understood &= operator in (">&-", "<&-")
            return at, extra
        word = self._one(targets[0], at)
        return self._target(operator, word, at), extra

    def _target(self, operator: str, word: Word, at: Simple) -> Simple:
        if operator in ("<&", ">&") and (word.text.isdigit() or word.text in ("-", "")):
            self.state.understood &= word.known
            return at
        if not word.known:
            self.state.understood = False
            self._touch(at, Risk.MEDIUM, "where it writes cannot be resolved", Power.WRITE, None, word, operator in WRITING)
            return at
        path = absolute(word.text, at.scene.cwd or "/")
        if at.scene.cwd is None and not word.text.startswith("/"):
            self.state.understood = False
        if path.startswith(("/dev/tcp/", "/dev/udp/")):
            self._touch(at, Risk.HIGH, "it opens a raw network connection", Power.NETWORK, None, word, True)
            return msgspec.structs.replace(at, stdin=Flow(None, True)) if operator in ("<", "<>", "<&") else at
        if operator in WRITING:
            if path == "/proc/sysrq-trigger":
                self.state.block(blocks.block("block.shutdown", what=path))
            if is_device(path):
                self.state.block(blocks.block("block.device", what=path))
            if path not in HARMLESS_DEVICES and not path.startswith("/dev/fd/"):
                self._touch(at, Risk.MEDIUM, "it writes files", Power.WRITE, PathWant(path, "write"), word, True)
            return at
        self._touch(at, Risk.LOW, "", Power.READ, PathWant(path, "read"), word, False)
        return msgspec.structs.replace(at, stdin=Flow(None, word.fetched or path in self.state.fetched, word.decoded))

    def _touch(self, at: Simple, risk: Risk, why: str, power: Power, want: PathWant | None, word: Word, writes: bool) -> None:
        """A redirection stands in the list of commands as what it is."""
        sign = ">" if writes else "<"
        command = Command(
            argv=(sign, word.shown),
            via=at.via,
            powers=frozenset({power}),
            risk=risk,
            only_reads=not writes,
            reason=why,
            wants=(want,) if want is not None and not word.glob else (),
        )
        self.state.understood &= not word.glob
        if writes or want is not None:
            self.state.add(command)

    def _heredoc(self, node: "Node", at: Simple) -> tuple[Simple, list[Word]]:
        body = next((c for c in node.named_children if c.type == "heredoc_body"), None)
        extra: list[Word] = []
        for child in node.named_children:
            if child.type == "file_redirect":
                at, more = self._redirect(child, at)
                extra += more
            elif child.type in WORDS:
                extra += self._words(child, at)
        if body is None:
            return msgspec.structs.replace(at, stdin=Flow("")), extra
        flow = Flow(text_of(body))
        for child in body.named_children:
            if child.type != "heredoc_content":
                words = self._words(child, at)
                flow = Flow(None, flow.fetched or any(w.fetched for w in words), flow.decoded or any(w.decoded for w in words))
        return msgspec.structs.replace(at, stdin=flow), extra


FOLLOW = frozenset("command pipeline list redirected_statement subshell compound_statement if_statement while_statement for_statement".split())


def _called(node: "Node") -> set[str]:
    """The names of all commands below a node."""
    found = {text_of(node)} if node.type == "command_name" else set()
    for child in node.named_children:
        found |= _called(child)
    return found


def _side_by_side(node: "Node") -> bool:
    """Whether something below a node is piped or put into the background."""
    return any(c.type in ("&", "|", "|&") or _side_by_side(c) for c in node.children)
