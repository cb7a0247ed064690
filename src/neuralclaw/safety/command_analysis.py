"""Analyses a simple command without running it: wrappers come off, inner shell code is analysed, what remains is judged."""

import re
from itertools import pairwise, takewhile

import msgspec

from ..types.risk import Power, Risk
from . import blocks, evaluated, scripts
from .analysis_state import AnalysisState, ExpandedCommand, call_of, unresolved
from .bounds import Exceeded
from .commands import judge
from .expansion import CommandOutput
from .interpreters import INTERPRETERS
from .paths import absolute, directory_after
from .printed_text import printed
from .programs import BUILTINS, DECODERS, SHELLS
from .running_options import commands_of, steps_of
from .shell_words import ShellWord
from .text_scan import kept
from .unwrapping import SPECIAL, name_of, wrapper
from .wrappers import WRAPPERS

MAX_DEPTH = 10
SOURCES = frozenset({"source", "."})
TOO_DEEP = f"it runs commands in commands, more than {MAX_DEPTH} levels deep"
QUIET = frozenset({"true", "false", ":", "cd", "test", "[", "export", "set", "unset", "local", "readonly", "declare", "wait"})
KEYWORDS = frozenset({"{", "}", "!", "if", "then", "else", "elif", "while", "until", "do"})
"""Words of the shell's own grammar that, behind `time` or `coproc`, are where a program is expected."""


def run(state: AnalysisState, simple: ExpandedCommand) -> CommandOutput:
    """Judge one simple command and all that it runs; says what it writes to its output."""
    if simple.depth > MAX_DEPTH:
        raise Exceeded(TOO_DEEP)
    state.bounds.step(200 + 50 * len(simple.words) + sum(len(w.text) for w in simple.words))
    if not simple.words:
        return CommandOutput("")
    first = simple.words[0]
    name = name_of(first)
    if first.fetched or first.decoded:
        state.block(blocks.block("block.download_run"))
    if not first.known or first.glob:
        return _guessed(state, simple, name)
    if first.text in state.functions:
        if first.text in simple.scene.functions:
            return state.functions[first.text](simple)
        state.understood = False  # the function, or a program of its name
        state.functions[first.text](simple)
    if first.text in KEYWORDS:
        state.understood = False
        return run(state, msgspec.structs.replace(simple, words=simple.words[1:], depth=simple.depth + 1))
    analyse = SPECIAL.get(name)
    if analyse is not None:
        output = analyse(state, simple, name)
        if output is not None:
            return output
    elif name in WRAPPERS:
        return wrapper(state, simple, name)
    return plain(state, simple, name)


def _guessed(state: AnalysisState, simple: ExpandedCommand, name: str) -> CommandOutput:
    """A program whose name is known in part: it is judged as unknown, and as the program that it is where what is unknown of the name is empty, so that no
    spelling of a name gets more than the name itself."""
    output = unresolved(state, simple, name)
    if name:
        first = ShellWord(simple.words[0].text if not simple.words[0].glob else name)
        run(state, msgspec.structs.replace(simple, words=(first, *simple.words[1:]), depth=simple.depth + 1))
    return output


def plain(state: AnalysisState, simple: ExpandedCommand, name: str) -> CommandOutput:
    """Judge a command that runs no other."""
    call = call_of(state, simple, name)
    for found in blocks.check(call):
        state.block(found)
    judged = judge(call)
    if name in INTERPRETERS or name in SOURCES:
        _interpreter(state, simple, name)
        if simple.fed or simple.via[-1:] == ("xargs",):  # what it runs is, or may be, what standard input says
            state.understood = False
        if simple.fed or (simple.stdin is not None and scripts.takes_stdin(name, call.args)):
            judged.act(Risk.HIGH, "a pipe leads into an interpreter", Power.EXECUTE)
    elif simple.stdin is not None and (simple.stdin.fetched or simple.stdin.decoded) and scripts.runs_stdin(name, call.args):
        state.block(blocks.block("block.download_run", what=name))
    elif simple.stdin is not None and scripts.runs_stdin(name, call.args) and name not in ("at", "batch"):
        state.scanned = True
    elif name in ("at", "batch") and simple.stdin is not None and simple.stdin.output is not None:
        state.parse(simple.stdin.output, msgspec.structs.replace(simple, stdin=None), name)
    elif name == "eval" and any(w.fetched or w.decoded for w in call.args):
        state.block(blocks.block("block.download_run", what=name))
    _run_by_options(state, simple, name)
    _downloaded(state, simple, name)
    state.understood &= judged.understood
    state.scanned |= judged.foreign
    builtin = name in BUILTINS and "/" not in simple.words[0].text
    if builtin:
        evaluated.builtin(state, simple, name)
    state.add(judged.command(simple.via, builtin=builtin, piped=simple.stdin is not None))
    _directory(simple, name)
    return _output(state, simple, name, judged.powers, [w.path for w in judged.wants if w.op == "write"])


def _run_by_options(state: AnalysisState, simple: ExpandedCommand, name: str) -> None:
    """What the program runs by its options falls under the blocks. The program itself is judged as one that runs what is not in its list of options."""
    state.bounds.step(steps_of(name, simple.words[1:]))
    for text in commands_of(name, simple.words[1:]):
        state.aside(text, msgspec.structs.replace(simple, stdin=None, scene=simple.scene.outside()), name)
        kept(state, text, simple)


def _output(state: AnalysisState, simple: ExpandedCommand, name: str, powers: set[Power], written: list[str]) -> CommandOutput:
    """What the command writes to its output, and whether that comes from a download or a decoder."""
    args = simple.words[1:]
    upstream = simple.stdin or CommandOutput()
    fetched = upstream.fetched or Power.NETWORK in powers or any(w.fetched for w in args)
    if state.fetched and not fetched:
        fetched = any(absolute(w.text, simple.scene.cwd or "/") in state.fetched for w in args if w.text and not w.text.startswith("-"))
    if fetched:
        state.fetched.update(written)
        if name in ("wget", "curl", "aria2c"):
            state.fetched.update(_saved_as(simple))
    decoded = upstream.decoded or any(w.decoded for w in args) or (name in DECODERS and name != "echo")
    if name in ("echo", "printf"):
        return CommandOutput(printed(name, args), fetched, decoded)
    if (name == "cat" and not args) or name == "tee":
        return CommandOutput(upstream.output, fetched, decoded)
    return CommandOutput("" if name in QUIET else None, fetched, decoded)


def _saved_as(simple: ExpandedCommand) -> list[str]:
    """The names under which a download may be kept."""
    behind = {after for option, after in pairwise(simple.words[1:]) if re.fullmatch(r"-\w*[oO]|--out\S*", option.text)}
    names = [w.text.partition("?")[0].rstrip("/").rsplit("/", 1)[-1] for w in simple.words[1:] if "/" in w.text or "." in w.text or w in behind]
    joined = [found[1] for word in simple.words[1:] if (found := re.fullmatch(r"(?:-[A-Za-z#]*?[oO]|--out\S*?=)(.+)", word.text))]
    places = [after.text for option, after in pairwise(simple.words[1:]) if option.text in ("-P", "--directory-prefix")]
    names += [*joined, *(f"{place}/{name}" for place in places for name in names)]
    return [absolute(n, simple.scene.cwd or "/") for n in names if n]


def _directory(simple: ExpandedCommand, name: str) -> None:
    """Follow `cd`."""
    if name not in ("cd", "pushd", "popd"):
        return
    words = [w.text for w in simple.words[1:]]
    options = list(takewhile(lambda text: text.startswith("-") and text not in ("-", "--"), words))
    operands = simple.words[1 + len(options) + (words[len(options) : len(options) + 1] == ["--"]) :]
    scene = simple.scene
    if name == "cd" and not operands:
        scene.cwd = scene.home or None
    elif name == "popd" or len(operands) != 1 or not operands[0].known or operands[0].glob or operands[0].text in ("", "-"):
        scene.cwd = None
    elif "CDPATH" in scene.variables or any(set(option) - set("-LPe") for option in options) or (name == "pushd" and operands[0].text[0] in "+-"):
        scene.cwd = None
    else:
        scene.cwd = directory_after(operands[0].text, scene.cwd, physical=any("P" in option for option in options))


def _downloaded(state: AnalysisState, simple: ExpandedCommand, name: str) -> None:
    """A program or script that the same line downloaded or wrote."""
    if not state.fetched and not state.contents:
        return
    words = (simple.words[0], *scripts.program_of(simple.words[1:])) if name in INTERPRETERS or name in SOURCES else simple.words[:1]
    for word in words:
        if word.text and not word.text.startswith("-") and ("/" in word.text or word is not simple.words[0]):
            if absolute(word.text, simple.scene.cwd or "/") in state.fetched:
                state.block(blocks.block("block.download_run", what=word.text))
            written = state.contents.get(absolute(word.text, simple.scene.cwd or "/"))
            if written and name in INTERPRETERS and name not in SHELLS:
                for line in scripts.shell_calls(written):
                    state.parse(line, msgspec.structs.replace(simple, stdin=None), name)
            elif written:
                state.parse(written, msgspec.structs.replace(simple, stdin=None), name)


def _interpreter(state: AnalysisState, simple: ExpandedCommand, name: str) -> None:
    """Code on the line or from standard input."""
    args = simple.words[1:]
    if any(w.fetched or w.decoded for w in scripts.program_of(args)):
        state.block(blocks.block("block.download_run", what=name))
    for word in scripts.code_of(name, args):
        for found in scripts.code_blocks(word.text):
            state.block(found)
        for line in scripts.shell_calls(word.text):
            state.parse(line, simple, name)
    stdin = simple.stdin
    if simple.fed and stdin is not None and stdin.fetched:
        state.block(blocks.block("block.download_run", what=f"xargs {name}"))
    if stdin is None or not scripts.takes_stdin(name, args):
        return
    if stdin.fetched or stdin.decoded:
        state.block(blocks.block("block.download_run", what=name))
    if stdin.output is not None and name in (*SHELLS, *SOURCES):
        state.parse(stdin.output, msgspec.structs.replace(simple, stdin=None), name)
    elif stdin.output is not None:
        for line in scripts.shell_calls(stdin.output):
            state.parse(line, msgspec.structs.replace(simple, stdin=None), name)
