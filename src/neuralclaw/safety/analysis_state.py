"""What the walk over a command line carries along: the command at hand, and all that was found so far."""

import re
from collections.abc import Callable, Sequence

import msgspec

from ..types.facts import PathWant
from ..types.options import Policy
from ..types.risk import Power, Risk
from . import blocks
from .blocks import BlockedCall
from .bounds import AnalysisBounds, Exceeded
from .command_effects import CommandEffects
from .command_line import BlockMatch, SimpleCommand
from .expansion import CommandOutput, ShellScope
from .programs import variable_risk
from .shell_words import ShellWord

MAX_COMMANDS = 3_000
MAX_BLOCKS = 200
SEARCHED = frozenset({"PYTHONPATH", "RUBYLIB", "PERL5LIB", "NODE_PATH"})
"""Variables that name directories of code: those of the workspace hold what its programs run anyway."""


class ExpandedCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A simple command with its surroundings. `stdin` None: nothing is piped in."""

    words: tuple[ShellWord, ...]
    scene: ShellScope
    via: tuple[str, ...] = ()
    stdin: CommandOutput | None = None
    fed: bool = False
    spread: bool = False
    depth: int = 0

    def inside(self, words: Sequence[ShellWord], via: str, **changes: object) -> "ExpandedCommand":
        """The command that a wrapper runs."""
        return msgspec.structs.replace(self, words=tuple(words), via=(*self.via, via), depth=self.depth + 1, **changes)


class AnalysisState:
    """What the analysis of one command line has found so far."""

    __slots__ = (
        *("alters", "aside", "assigned", "blocks", "bounds", "broken", "commands", "contents", "copied", "fetched", "functions", "judge", "parse", "policy"),
        *("relied", "run", "scanned", "texts", "understood", "workspace"),
    )

    def __init__(
        self,
        policy: Policy,
        workspace: str,
        bounds: AnalysisBounds,
        *,
        parse: Callable[[str, ExpandedCommand, str], CommandOutput],
        run: "Callable[[AnalysisState, ExpandedCommand], CommandOutput]",
        judge: "Callable[[AnalysisState, ExpandedCommand, str], CommandOutput]",
    ) -> None:
        """`parse` analyses shell code under a wrapper, `run` carries out a simple command, `judge` judges one that is no wrapper."""
        self.policy, self.workspace, self.bounds = policy, workspace, bounds
        self.parse, self.run, self.judge = parse, run, judge
        self.aside = parse
        """As `parse`, but only for the blocks."""
        self.commands: list[SimpleCommand] = []
        self.blocks: list[BlockMatch] = []
        self.understood, self.broken = True, False
        self.scanned = False
        """Its text is looked at for blocks although it is understood: it sets what shells and programs evaluate."""
        self.functions: dict[str, Callable[[ExpandedCommand], CommandOutput]] = {}
        self.fetched: set[str] = set()
        self.contents: dict[str, str] = {}
        self.alters = False
        """The line sets variables or changes the shell, so that what is in it need not mean what it means elsewhere."""
        self.assigned: set[str] = set()
        self.texts: set[str] = set()
        """Variables that somewhere in the line are set to what need not be a number; `copied` are set from another one."""
        self.copied: dict[str, set[str]] = {}
        self.relied: dict[str, ExpandedCommand] = {}
        """Variables whose numbers arithmetic uses."""

    def block(self, found: BlockMatch) -> None:
        if found in self.blocks:
            return
        if len(self.blocks) >= MAX_BLOCKS:
            raise Exceeded(f"more than {MAX_BLOCKS} parts of it are forbidden")
        self.blocks.append(found)

    def add(self, command: SimpleCommand) -> None:
        if len(self.commands) >= MAX_COMMANDS:
            raise Exceeded(f"it runs more than {MAX_COMMANDS:,} commands")
        self.bounds.step(200)
        self.commands.append(command)


def call_of(state: AnalysisState, simple: ExpandedCommand, name: str) -> BlockedCall:
    return BlockedCall(
        name=name, words=simple.words, cwd=simple.scene.cwd, workspace=state.workspace, policy=state.policy, fed=simple.fed, spread=simple.spread
    )


def unresolved(state: AnalysisState, simple: ExpandedCommand, name: str) -> CommandOutput:
    """Which program runs is not known until it runs. What it may be is checked against the blocks all the same."""
    state.understood = False
    for found in blocks.check(call_of(state, simple, name)):
        state.block(found)
    why = "which program it runs cannot be resolved before it runs"
    state.add(
        SimpleCommand(
            argv=tuple(w.shown for w in simple.words),
            via=simple.via,
            powers=frozenset({Power.EXECUTE}),
            risk=Risk.HIGH,
            only_reads=False,
            reason=why,
            program="",
            unresolved=True,
            wants=named_places(call_of(state, simple, name)),
        )
    )
    return CommandOutput(None, any(w.fetched for w in simple.words), True)


def named_places(call: BlockedCall) -> tuple[PathWant, ...]:
    """The places that the words of a program name which nobody knows: it may at least read them."""
    found = CommandEffects(call)
    for word in call.args:
        if "/" in word.text and not word.text.startswith("-") and not re.search(r"\s", word.text):
            found.read(word)
    found.name(links=True, code=True)
    return tuple(dict.fromkeys(found.wants))


def environment(state: AnalysisState, simple: ExpandedCommand, variable: str, value: str | None = None) -> None:
    """A variable given to a program: one that decides which code runs is a great risk."""
    risk = variable_risk(variable)
    if risk is Risk.LOW:
        return
    if variable in SEARCHED and value and not any(part[:1] in ("", "/", "~") or ".." in part for part in value.split(":")):
        risk = Risk.MEDIUM
    state.scanned |= risk is Risk.HIGH
    why = f"{variable} decides which code runs" if risk is Risk.HIGH else f"{variable} may change what the program does"
    state.add(SimpleCommand(argv=(f"{variable}=…",), via=simple.via, powers=frozenset({Power.EXECUTE}), risk=risk, only_reads=False, reason=why))


def positional(scene: ShellScope, words: Sequence[ShellWord]) -> None:
    """Set `$0`, `$1`, … and `$@` from a call's words."""
    scene.variables.update({name: ("", False) for name in scene.variables if name.isdigit()})
    for number, word in enumerate(words):
        scene.variables[str(number)] = (word.text, word.known)
    scene.arguments = tuple(words[1:])
    every = (" ".join(w.text for w in words[1:]), all(w.known for w in words[1:]))
    scene.variables["@"] = scene.variables["*"] = every
