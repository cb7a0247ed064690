"""Programs that run other programs: how each is taken off, and what it then runs."""

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

import msgspec

from ..types.risk import Power
from . import blocks
from .analysis_state import AnalysisState, ExpandedCommand, call_of, environment, positional, unresolved
from .command_line import SimpleCommand
from .expansion import CommandOutput, ShellScope
from .interpreters import unversioned
from .paths import directory_in
from .programs import ACTS, BUILTINS, PRIVILEGED, SHELLS
from .shell_words import ShellWord
from .wrappers import WRAPPERS, InnerCommand, inner

REMOTE = frozenset({"ssh"})
BUILTIN = frozenset({"builtin", "command"})
"""What runs a builtin in the shell itself, so that `cd` behind it moves the shell; what other builtins set is not followed."""
HARMLESS = frozenset({":", "[", "cd", "echo", "false", "pwd", "test", "true", "type"})


def wrapper(state: AnalysisState, simple: ExpandedCommand, name: str) -> CommandOutput:
    """Take one wrapper off and judge what it runs."""
    found = inner(simple.words, WRAPPERS[name], assignments=name in ("sudo", "doas"))
    if found.directory is not None:
        simple = msgspec.structs.replace(simple, scene=_elsewhere(simple.scene, found.directory))
    return _wrapped(state, simple, name, found)


def _wrapped(state: AnalysisState, simple: ExpandedCommand, name: str, found: InnerCommand) -> CommandOutput:
    shell = simple.scene
    simple = simple if name in ("time", "coproc") else msgspec.structs.replace(simple, scene=simple.scene.outside())
    state.understood &= WRAPPERS[name].plain or name in PRIVILEGED  # these are never LOW, and are told as what they are
    for blocked in blocks.check(call_of(state, simple, name)):
        state.block(blocked)
    if not found.sure:
        state.understood = False
        _suffixes(state, simple)
    for option in found.options:
        variable, equals, _ = option.text.partition("=")
        if equals and not variable.startswith("-"):
            environment(state, simple, variable)
    rest = simple.words[found.start :]
    if not rest or name in REMOTE or name in PRIVILEGED or name in ACTS:
        state.judge(state, simple, name)
        if not rest:
            return CommandOutput()
    if WRAPPERS[name].joined:
        return state.parse(" ".join(w.text for w in rest), simple, name)
    output = state.run(state, simple.inside(rest, name))
    if name in BUILTIN:
        shell.cwd = simple.scene.cwd
        state.understood &= name_of(rest[0]) not in BUILTINS or name_of(rest[0]) in HARMLESS
    return output


def _elsewhere(scene: ShellScope, directory: ShellWord) -> ShellScope:
    """The scene in another directory, which is not known where the word is not."""
    there = scene.outside()
    there.cwd = directory_in(directory.text, scene.cwd) if directory.known and not directory.glob else None
    return there


def _suffixes(state: AnalysisState, simple: ExpandedCommand) -> None:
    """Where the inner command begins is not sure: the blocks look at every place where it may."""
    for i in range(1, len(simple.words)):
        words = simple.words[i:]
        state.bounds.step(200 + 8 * len(words))
        for found in blocks.check(call_of(state, msgspec.structs.replace(simple, words=words), name_of(words[0]))):
            state.block(found)


def name_of(word: ShellWord) -> str:
    """The program's name without its directory, of an interpreter without its version; one with wildcards is taken for the most dangerous that it fits."""
    name = word.text.rsplit("/", 1)[-1]
    if word.glob:
        return next((bad for bad in blocks.NAMES if fnmatchcase(bad, name)), name)
    return unversioned(name)


def _shell(state: AnalysisState, simple: ExpandedCommand, name: str) -> CommandOutput | None:
    """`bash -c TEXT` runs its text; other uses of a shell run code from a file or from standard input."""
    args = simple.words[1:]
    place = 0
    inline = False
    while place < len(args):
        text = args[place].text
        if text in ("-o", "+o", "-O", "+O", "--rcfile", "--init-file"):
            if text.startswith("--"):  # it runs that file first
                state.understood = False
            place += 2
            continue
        if not text.startswith(("-", "+")) or text in ("-", "--"):
            break
        inline |= not text.startswith("--") and "c" in text
        place += 1
    if place < len(args) and args[place].text == "--":
        place += 1
    if not inline or place >= len(args):
        return None
    script = args[place]
    if script.fetched or script.decoded or ((simple.fed or not script.known) and simple.stdin is not None and simple.stdin.fetched):
        state.block(blocks.block("block.download_run", what=name))
    if not script.known or simple.fed:
        unresolved(state, simple, name)
    if simple.via[-1:] == ("xargs",):  # how the input is split is not followed
        state.understood = False
        state.parse(" ".join(word.text for word in args[place:]), simple, name)
    scene = simple.scene.outside(variables=False)
    positional(scene, args[place + 1 :])
    return state.parse(script.text, msgspec.structs.replace(simple, scene=scene), f"{name} -c")


def _eval(state: AnalysisState, simple: ExpandedCommand, name: str) -> CommandOutput | None:
    args = simple.words[1:]
    if any(w.fetched or w.decoded for w in args):
        state.block(blocks.block("block.download_run", what=name))
    if not all(w.known for w in args):
        if simple.stdin is not None and (simple.stdin.fetched or simple.stdin.decoded):
            state.block(blocks.block("block.download_run", what=name))
        unresolved(state, simple, name)
    words = args[[w.text for w in args[:1]] == ["--"] :][:1] if name == "trap" else args
    return state.parse(" ".join(w.text for w in words), simple, name)


def _xargs(state: AnalysisState, simple: ExpandedCommand, name: str) -> CommandOutput | None:
    """The inner command gets further arguments from standard input: known ones when a plain `echo` feeds it and they are surely split as here. Otherwise
    what runs is not understood, and each way to split the text is looked at for what is blocked."""
    found = inner(simple.words, WRAPPERS["xargs"])
    simple = msgspec.structs.replace(simple, scene=simple.scene.outside())
    if not found.sure:
        state.understood = False
        _suffixes(state, simple)
    rest = list(simple.words[found.start :]) or [ShellWord("echo")]
    text = simple.stdin.output if simple.stdin is not None else None
    mark = _replaced(found.options)
    if any(re.match("-[0prtxo]*a|--a", word.text) for word in found.options):
        state.understood = False
    if text is not None and not _surely_split(found.options, mark, text):
        state.understood = False
        state.run(state, simple.inside(rest, "xargs", fed=True))
        for part in dict.fromkeys((text, text.rstrip("\0\n"))):
            state.run(state, simple.inside([*rest, ShellWord(part)], "xargs", stdin=None))
        text = text.replace("\0", "\n")
    if mark:
        return _each(state, simple, rest, mark, text)
    if text is not None:
        return state.run(state, simple.inside([*rest, *(ShellWord(t) for t in text.split())], "xargs", stdin=None))
    return state.run(state, simple.inside(rest, "xargs", fed=True))


def _surely_split(options: Sequence[ShellWord], mark: str, text: str) -> bool:
    """Whether `xargs` with these options splits the text at its blanks (with `-I`, at its lines) and nowhere else, into the arguments of one command."""
    texts = [word.text for word in options if word.text not in ("-r", "--no-run-if-empty", "-t", "--verbose", "--")]
    plain = not any(c in "'\"\\" or (c not in " \t\n" and (c.isspace() or not c.isprintable())) for c in text)
    if mark:
        lines = text.splitlines()
        return plain and texts in (["-I", mark], [f"-I{mark}"]) and all(line and line == line.strip() for line in lines)
    return plain and not texts


def _replaced(options: Sequence[ShellWord]) -> str:
    """The mark that `xargs -I MARK` replaces, or ""."""
    for place, word in enumerate(options):
        if word.text == "-I" and place + 1 < len(options):
            return options[place + 1].text
        if word.text.startswith(("-I", "-i")):
            return word.text[2:] or "{}"
        if word.text.startswith("--r") and word.text.partition("=")[0] in ("--rep", "--repl", "--repla", "--replac", "--replace"):
            return word.text.partition("=")[2] or "{}"
    return ""


def _each(state: AnalysisState, simple: ExpandedCommand, words: list[ShellWord], mark: str, text: str | None) -> CommandOutput:
    """The inner command once for each line, its mark replaced; a program that standard input names cannot be resolved."""
    if text is None:
        if mark in words[0].text:
            unresolved(state, simple, "xargs")
        return state.run(state, simple.inside(words, "xargs", fed=True))
    output = CommandOutput("")
    for line in text.splitlines():
        state.bounds.grow(len(line) * len(words))
        given = [msgspec.structs.replace(w, text=w.text.replace(mark, line.strip())) for w in words]
        output = output.then(state.run(state, simple.inside(given, "xargs", stdin=None)))
    return output


def _find(state: AnalysisState, simple: ExpandedCommand, name: str) -> CommandOutput | None:
    """Commands behind `-exec` are judged with the places where the search begins in place of `{}`."""
    args = simple.words[1:]
    starts = blocks.find_starts(args) or (ShellWord("."),)
    place = 0
    while place < len(args):
        if args[place].text in ("-exec", "-execdir", "-ok", "-okdir"):
            end = next((i for i in range(place + 1, len(args)) if args[i].text in (";", "+")), len(args))
            words: list[ShellWord] = []
            passed_on = place + 1 < end and (name_of(args[place + 1]) in SPECIAL or name_of(args[place + 1]) in WRAPPERS)
            for word in args[place + 1 : end]:  # in the name of a program, in code, and in what is handed on, the name that is found may be anything
                given = starts if word.text == "{}" and words else [word]
                whole = word.text == "{}" and words and not passed_on
                words += given if whole or "{}" not in word.text else [msgspec.structs.replace(one, known=False) for one in given]
            simple = msgspec.structs.replace(simple, scene=simple.scene.outside())
            if args[place].text.endswith("dir"):  # it runs where the file lies
                simple.scene.cwd = None
            spread = any(w.text == "{}" for w in args[place + 1 : end])
            state.run(state, simple.inside(words or [ShellWord("", known=False)], f"find {args[place].text}", spread=spread, stdin=None))
            place = end
        place += 1
    return None


def _env(state: AnalysisState, simple: ExpandedCommand, name: str) -> CommandOutput | None:
    """`env -S` splits a text; without a command it prints the environment."""
    found = inner(simple.words, WRAPPERS["env"], assignments=True)
    if found.directory is not None:
        simple = msgspec.structs.replace(simple, scene=_elsewhere(simple.scene, found.directory))
    for place, word in enumerate(simple.words[1 : found.start], 1):
        text = word.text
        if text == "--split-string" and place + 1 < len(simple.words):
            return state.parse(" ".join(w.text for w in simple.words[place + 1 :]), simple, "env -S")
        if text.startswith("--split-string=") or re.match("-[0iv]*S", text):
            start = text.partition("=" if text.startswith("--") else "S")[2]
            return state.parse(" ".join([start, *(w.text for w in simple.words[place + 1 :])]), simple, "env -S")
    if found.start >= len(simple.words):
        state.add(
            SimpleCommand(
                argv=tuple(w.shown for w in simple.words), via=simple.via, program=simple.words[0].text, subject="env", powers=frozenset({Power.READ})
            )
        )
        return CommandOutput()
    return _wrapped(state, simple, name, found)


def _su(state: AnalysisState, simple: ExpandedCommand, name: str) -> CommandOutput | None:
    words = simple.words
    for place, word in enumerate(words[:-1]):
        if word.text in ("-c", "--command"):
            state.parse(words[place + 1].text, simple, name)
        elif word.text.startswith("--command="):
            state.parse(word.text.partition("=")[2], simple, name)
    return None


def _command(state: AnalysisState, simple: ExpandedCommand, name: str) -> CommandOutput | None:
    """`command -v NAME` only looks a program up."""
    if len(simple.words) > 1 and simple.words[1].text in ("-v", "-V"):
        state.add(SimpleCommand(argv=tuple(w.shown for w in simple.words), via=simple.via, powers=frozenset({Power.READ}), subject="command"))
        return CommandOutput()
    return wrapper(state, simple, name)


def _flock(state: AnalysisState, simple: ExpandedCommand, name: str) -> CommandOutput | None:
    for place, word in enumerate(simple.words[:-1]):
        if word.text in ("-c", "--command"):
            state.understood = False
            state.judge(state, msgspec.structs.replace(simple, words=simple.words[:place]), name)
            return state.parse(simple.words[place + 1].text, simple, name)
    return wrapper(state, simple, name) if name != "script" else None


def _parallel(state: AnalysisState, simple: ExpandedCommand, name: str) -> CommandOutput | None:
    """Its command is shell text; what follows `:::` are arguments. Without a command every line of its input is one."""
    found = inner(simple.words, WRAPPERS["parallel"])
    rest = simple.words[found.start :]
    cut = next((i for i, w in enumerate(rest) if w.text.startswith(":::")), len(rest))
    arguments = rest[cut + 1 :]
    state.understood = False
    if cut == 0:
        if simple.stdin is not None and (simple.stdin.fetched or simple.stdin.decoded):
            state.block(blocks.block("block.download_run", what=name))
        for word in arguments:
            state.parse(word.text, simple, name)
        state.judge(state, simple, name)
        return CommandOutput()
    text = " ".join(w.text for w in rest[:cut])
    return state.parse(" ".join([text, *(w.text for w in arguments)]), msgspec.structs.replace(simple, fed=not arguments), name)


SPECIAL: dict[str, Callable[[AnalysisState, ExpandedCommand, str], CommandOutput | None]] = {
    **dict.fromkeys(SHELLS, _shell),
    "eval": _eval,
    "trap": _eval,
    "xargs": _xargs,
    "find": _find,
    "env": _env,
    "su": _su,
    "command": _command,
    "flock": _flock,
    "script": _flock,
    "parallel": _parallel,
}
