"""Expansion: nodes of the shell grammar become words, with what is known of variables, the directory and substitutions."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from .bounds import AnalysisBounds
from .lazy_regex import lazy_pattern
from .likely_values import likely_value
from .paths import USER_HOME
from .shell_arithmetic import shell_number
from .shell_words import BRACE, EMPTY, ShellWord, WordPiece, ansi_c, bare, finish, in_double_quotes, quoted, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_DEFAULT = lazy_pattern(r"\$\{([A-Za-z_]\w*):?[-=]([^$`{}\\'\"]*)\}")
_NAME = lazy_pattern(r"[A-Za-z_]\w*")
_UNSEEN = lazy_pattern(r"[@!+*?]\(|(?<!\\)\$.|(?<!\\)`|(?<!\\)\s")
"""In a plain word: patterns and expansions that the grammar did not see."""
_ORDINARY = lazy_pattern(r"[A-Za-z0-9_./:,=+@%-]+")
DEFAULTS = frozenset({"-", ":-", "=", ":=", "+", ":+"})
"""Operators of an expansion behind which a word stands that may become its value."""
NUMBERS = frozenset("?#$!")
OWN = frozenset(
    "_ BASHOPTS BASHPID BASH_ALIASES BASH_ARGC BASH_ARGV BASH_ARGV0 BASH_CMDS BASH_COMMAND BASH_LINENO BASH_REMATCH BASH_SOURCE BASH_SUBSHELL COPROC"
    " COPROC_PID DIRSTACK EPOCHREALTIME EPOCHSECONDS EUID FUNCNAME GROUPS HISTCMD LINENO MAPFILE OLDPWD OPTARG OPTIND PIPESTATUS PPID PWD RANDOM"
    " READLINE_LINE REPLY SECONDS SHELLOPTS SHLVL SRANDOM UID".split()
)
"""Variables that the shell sets by itself: what a line assigns to them need not stay."""
LENGTH = lazy_pattern(r"\$\{#\w+\}")


SUBSTITUTED = "/dev/fd/63"
"""The file that `<(…)` becomes."""
MAX_OUTPUT = 100_000
"""Characters of output that are followed; of more it is not known what it says."""


class CommandOutput(msgspec.Struct):
    """What a piece of shell code writes to its standard output: its exact text where that is known, and where it comes from."""

    output: str | None = None
    fetched: bool = False
    decoded: bool = False

    def then(self, other: "CommandOutput") -> "CommandOutput":
        """The output of both, one after the other."""
        output = None if self.output is None or other.output is None or len(self.output) + len(other.output) > MAX_OUTPUT else self.output + other.output
        return CommandOutput(output, self.fetched or other.fetched, self.decoded or other.decoded)


class ShellScope:
    """What is known at a command: the directory (None: unknown) and variables (text, whether it is sure)."""

    __slots__ = ("arguments", "cwd", "functions", "given", "home", "patterns", "variables")

    def __init__(self, cwd: str | None, home: str, variables: dict[str, tuple[str, bool]]) -> None:
        self.cwd, self.home, self.variables = cwd, home, variables
        self.patterns: dict[str, str] = {}
        """Variables whose value is a name of a file that these wildcards match."""
        self.arguments: tuple[ShellWord, ...] | None = None
        """What `"$@"` stands for."""
        self.functions: frozenset[str] = frozenset()
        """Functions that are surely defined here."""
        self.given: dict[str, CommandOutput] = {}
        """Variables that hold what a download or a decoder gave."""

    def copy(self) -> "ShellScope":
        """What a subshell begins with."""
        made = ShellScope(self.cwd, self.home, dict(self.variables))
        made.patterns, made.functions, made.arguments, made.given = dict(self.patterns), self.functions, self.arguments, dict(self.given)
        return made

    def outside(self, *, variables: bool = True) -> "ShellScope":
        """The same for another program, which has none of the shell's functions; without `variables` it is not known which of these it has."""
        made = ShellScope(self.cwd, self.home, {name: (text, sure and variables) for name, (text, sure) in self.variables.items()})
        made.given = dict(self.given)
        return made

    def tilde(self, head: str) -> str | None:
        """The directory that `~`, `~+` or `~name` stands for, or None. Where the home of another user is, `Facts` looks up."""
        if head == "~":
            return self.home or None
        if head == "~+":
            return self.cwd
        name = head[1:]
        return f"{USER_HOME}{name}" if re.fullmatch(r"[a-z_][\w-]*", name) else None

    def value(self, name: str) -> tuple[str, bool]:
        """A variable's text and whether that is sure. One that nobody set counts as empty and unsure."""
        if name in self.variables:
            text, sure = self.variables[name]
            return text, sure and name not in OWN
        if name == "HOME" and self.home:
            return self.home, True
        if name == "PWD" and self.cwd is not None:
            return self.cwd, True
        if name == "IFS":
            return " ", True
        return "", False


class Expander:
    """Resolves words. `run` analyses the code of a substitution and says what it writes; `again` is told of `expansion` and `arithmetic`, which
    evaluate their text once more."""

    def __init__(self, run: Callable[["Node"], CommandOutput], bounds: AnalysisBounds, again: Callable[[str, str], None]) -> None:
        self._run, self._bounds, self._again = run, bounds, again

    def joined(self, nodes: "Sequence[Node]", scene: ShellScope) -> list[ShellWord]:
        """Nodes that are side by side without a blank are one word, also where the grammar takes them for several."""
        ready = self._ordinary(nodes)
        if ready is not None:
            return [ready]
        if scene.arguments is not None and len(nodes) == 1 and text_of(nodes[0]) in ('"$@"', '"${@}"'):
            self._bounds.grow(sum(len(word.text) for word in scene.arguments))
            return list(scene.arguments)
        return finish(self._together(nodes, scene), "".join(text_of(n) for n in nodes).replace(BRACE, "{"), scene.tilde, self._bounds)

    def one(self, nodes: "Sequence[Node]", scene: ShellScope) -> ShellWord:
        """The nodes as a single word, as in an assignment or after a redirection: not split."""
        ready = self._ordinary(nodes)
        if ready is not None:
            return ready
        piece, source = self._together(nodes, scene), "".join(text_of(n) for n in nodes)
        piece.text = re.sub(r"[ \t\n]", lambda m: quoted(m.group()), piece.text)
        words = finish(piece, source, scene.tilde, self._bounds)
        if len(words) == 1:
            return words[0]
        return ShellWord(" ".join(w.text for w in words), not words and piece.known, source, False, piece.fetched, piece.decoded)

    def _ordinary(self, nodes: "Sequence[Node]") -> ShellWord | None:
        """A word that is already what the program gets, as most are."""
        if len(nodes) != 1 or nodes[0].type not in ("word", "command_name"):
            return None
        text = text_of(nodes[0])
        self._bounds.step(20 + len(text))
        return ShellWord(text, True, text) if _ORDINARY.fullmatch(text) else None

    def _piece(self, node: "Node", scene: ShellScope) -> WordPiece:
        self._bounds.enter()
        self._bounds.step(node.end_byte - node.start_byte)
        piece = self._resolved(node, scene)
        self._bounds.leave()
        return piece

    def _resolved(self, node: "Node", scene: ShellScope) -> WordPiece:
        kind = node.type
        if kind in ("word", "number", "variable_name", "regex", "test_operator", "extglob_pattern"):
            return self._bare(node, scene)
        if kind == "raw_string":
            return WordPiece(quoted(text_of(node)[1:-1]))
        if kind == "ansi_c_string":
            return WordPiece(quoted(ansi_c(text_of(node)[2:-1])))
        if kind in ("string", "translated_string"):
            return self._string(node, scene)
        if kind in ("concatenation", "command_name"):
            return self._together(node.children, scene)
        if kind in ("simple_expansion", "expansion"):
            return self._variable(node, scene)
        if kind in ("command_substitution", "process_substitution"):
            return self._substitution(node)
        if kind == "arithmetic_expansion":
            return self._arithmetic(node, scene)
        if kind == "brace_expression":
            return WordPiece(text_of(node))
        self._inner(node, scene)
        return WordPiece("", known=False)

    def _bare(self, node: "Node", scene: ShellScope) -> WordPiece:
        if node.named_child_count:
            self._inner(node, scene)
            return WordPiece("", known=False)
        text = text_of(node).replace(BRACE, "{")
        known = not (node.type == "extglob_pattern" or _UNSEEN.search(text))
        return WordPiece(bare(text), known)

    def _together(self, nodes: "Sequence[Node]", scene: ShellScope) -> WordPiece:
        """Neighbours as one word. A `$` before double quotes means a translated string and says nothing itself; braces right
        behind `$name` would change the name, and a gap between the nodes is something the grammar did not show."""
        whole = WordPiece()
        for place, node in enumerate(nodes):
            before = nodes[place - 1] if place else None
            after = nodes[place + 1] if place + 1 < len(nodes) else None
            if before is not None and node.start_byte > before.end_byte:
                whole.known = False
            if before is not None and before.type != "$" and text_of(before).endswith("$"):
                whole.known = False
            if node.type == "$":
                translated = after is not None and text_of(after).startswith('"')
                whole.known &= translated or len(nodes) == 1
                whole.add(WordPiece(bare(text_of(node)[:-1] if translated else text_of(node))))
                continue
            piece = self._piece(node, scene) if node.is_named else WordPiece(bare(text_of(node)))
            if node.type in ("simple_expansion", "expansion"):
                piece.wild = False  # without quotes it is split: it may be several words
            if before is not None and before.type == "simple_expansion" and piece.text.startswith("{"):
                whole.known = False
            whole.add(piece)
            self._bounds.step(1 + len(whole.text) // 16)
        return whole

    def _string(self, node: "Node", scene: ShellScope) -> WordPiece:
        """Double quotes: what no child covers is literal text."""
        source, start = node.text or b"", node.start_byte
        whole, position = WordPiece(EMPTY), node.start_byte
        children = [c for c in node.children if c.is_named and c.type != "string_content"]
        end = node.end_byte - 1
        position += source.index(b'"') + 1
        for child in children:
            leading = len(text_of(child)) - len(text_of(child).lstrip(" \t\n")) if child.type == "command_substitution" else 0
            literal = source[position - start : child.start_byte + leading - start].decode("utf-8", "replace")
            whole.text += quoted(in_double_quotes(literal)) if literal else ""
            piece = self._piece(child, scene)
            piece.text = quoted(_unmarked(piece.text)) if piece.text else ""
            whole.add(piece)
            self._bounds.step(1 + len(whole.text) // 16)
            position = child.end_byte
        literal = source[position - start : end - start].decode("utf-8", "replace")
        whole.text += quoted(in_double_quotes(literal)) if literal else ""
        return whole

    def _variable(self, node: "Node", scene: ShellScope) -> WordPiece:
        source = text_of(node)
        name = source[1:] if node.type == "simple_expansion" else source[2:-1]
        if name in ("@", "*"):
            return self._value(*scene.value(name))
        if name in NUMBERS or LENGTH.fullmatch(source):
            return WordPiece("0")
        if _NAME.fullmatch(name) or name.isdigit():
            text, known = scene.value(name)
            if scene.variables.get("IFS", ("", True))[0]:  # where it is split is not followed
                text, known = text.translate({ord(c): " " for c in scene.variables["IFS"][0]}), False
            piece = self._value(text, known)
            piece.wild = name in scene.patterns and not piece.known and scene.patterns[name] == piece.text
            if (given := scene.given.get(name)) is not None:
                piece.known, piece.fetched, piece.decoded = False, given.fetched, given.decoded
            return piece
        self._again("expansion", source)
        default = _DEFAULT.fullmatch(source)
        if default is not None:
            text, known = scene.value(default.group(1))
            return self._value(text or default.group(2), known and bool(text))
        self._inner(node, scene)
        piece = self._default(node, scene)
        return piece if piece.text else WordPiece(_protected(likely_value(source, lambda name: scene.value(name)[0])), known=False)

    def _default(self, node: "Node", scene: ShellScope) -> WordPiece:
        """The word of `${NAME:-WORD}`, whose value is not known; of other expansions it is not known at all."""
        kinds = [child.type for child in node.children]
        mark = next((place for place, kind in enumerate(kinds) if kind in DEFAULTS), None)
        if mark is None or "variable_name" not in kinds[:mark]:
            return WordPiece("", known=False)
        piece = self._together([child for child in node.children[mark + 1 :] if child.is_named], scene)
        piece.known = piece.wild = False
        return piece

    def _value(self, text: str, known: bool) -> WordPiece:
        self._bounds.grow(len(text))
        return WordPiece(_protected(text), known)

    def _substitution(self, node: "Node") -> WordPiece:
        result = self._run(node)
        if text_of(node).startswith("$`"):
            result = CommandOutput(None, result.fetched, result.decoded)
        if node.type == "process_substitution":
            return WordPiece(quoted(SUBSTITUTED), True, result.fetched, result.decoded)
        known = result.output is not None
        self._bounds.grow(len(result.output or ""))
        return WordPiece(_protected((result.output or "").rstrip("\n")), known, result.fetched, result.decoded)

    def _arithmetic(self, node: "Node", scene: ShellScope) -> WordPiece:
        """A number, where it can be worked out here."""
        self._again("arithmetic", _sum(node))
        self._inner(node, scene)
        number = shell_number(_sum(node))
        return WordPiece("" if number is None else str(number), known=number is not None)

    def _inner(self, node: "Node", scene: ShellScope) -> None:
        """Analyse substitutions anywhere below a node whose own value stays unknown."""
        self._bounds.enter()
        for child in node.named_children:
            if child.type in ("command_substitution", "process_substitution"):
                self._run(child)
                continue
            if child.type == "expansion":
                self._again("expansion", text_of(child))
            elif child.type == "arithmetic_expansion":
                self._again("arithmetic", _sum(child))
            self._inner(child, scene)
        self._bounds.leave()


def _sum(node: "Node") -> str:
    """What is inside `$((…))` or `$[…]`."""
    text = text_of(node)
    return text[2:-1] if text.startswith("$[") else text[3:-2]


def _protected(text: str) -> str:
    """The value of an expansion: split and matched against files, but its braces, commas and tildes are plain text."""
    return "".join(quoted(c) if c in "{},~" else c for c in text)


def _unmarked(text: str) -> str:
    return "".join(chr(ord(c) - 0xE000) if 0xE000 < ord(c) < 0xE07F else c for c in text if c != EMPTY)
