"""Carrying out a simple command in thought: wrappers come off, inner shell code is analysed, what remains is judged."""

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

import msgspec

from ..types.judging import Power, Risk
from ..types.options import Policy
from . import blocks, scripts
from .blocks import Call
from .commands import judge
from .expand import Flow, Scene
from .line import Block, Command
from .paths import absolute
from .programs import BUILTINS, DECODERS, INTERPRETERS, READERS, SHELLS, variable_risk
from .words import Word, ansi_c
from .wrappers import WRAPPERS, inner

MAX_DEPTH = 10
MAX_COMMANDS = 300
REMOTE = frozenset({"ssh"})
QUIET = frozenset({"true", "false", ":", "cd", "test", "[", "export", "set", "unset", "local", "readonly", "declare", "wait"})


class Simple(msgspec.Struct, frozen=True, kw_only=True):
    """A simple command with its surroundings. `stdin` None: nothing is piped in."""

    words: tuple[Word, ...]
    scene: Scene
    via: tuple[str, ...] = ()
    stdin: Flow | None = None
    fed: bool = False
    spread: bool = False
    depth: int = 0

    def inside(self, words: Sequence[Word], via: str, **changes: object) -> "Simple":
        """The command that a wrapper runs."""
        return msgspec.structs.replace(self, words=tuple(words), via=(*self.via, via), depth=self.depth + 1, **changes)


class State:
    """What the analysis of one command line has found so far."""

    __slots__ = ("blocks", "broken", "calls", "commands", "fetched", "functions", "parse", "policy", "understood", "workspace")

    def __init__(self, policy: Policy, workspace: str, parse: Callable[[str, Simple, str], Flow]) -> None:
        self.policy, self.workspace, self.parse = policy, workspace, parse
        self.commands: list[Command] = []
        self.blocks: list[Block] = []
        self.understood, self.broken = True, False
        self.functions: set[str] = set()
        self.fetched: set[str] = set()

    def block(self, found: Block) -> None:
        if found not in self.blocks:
            self.blocks.append(found)

    def add(self, command: Command) -> None:
        if len(self.commands) >= MAX_COMMANDS:
            raise ValueError("the command line has too many commands to judge")
        self.commands.append(command)


def run(state: State, simple: Simple) -> Flow:
    """Judge one simple command and all that it runs; says what it writes to its output."""
    if simple.depth > MAX_DEPTH:
        raise ValueError("commands are nested too deeply to judge")
    if not simple.words:
        return Flow("")
    first = simple.words[0]
    name = _name(first)
    if first.fetched or first.decoded:
        state.block(blocks.block("block.download_run"))
    if not first.known or first.glob:
        return _unresolved(state, simple, name)
    if name in state.functions and "/" not in first.text:
        return Flow()
    special = SPECIAL.get(name)
    if special is not None:
        flow = special(state, simple, name)
        if flow is not None:
            return flow
    elif name in WRAPPERS:
        return _wrapper(state, simple, name)
    return _plain(state, simple, name)


def _name(word: Word) -> str:
    """The program's name without its directory; a name with wildcards is taken for the most dangerous one that it fits."""
    name = word.text.rsplit("/", 1)[-1]
    if word.glob:
        return next((bad for bad in blocks.NAMES if fnmatchcase(bad, name)), name)
    return name


def _unresolved(state: State, simple: Simple, name: str) -> Flow:
    """Which program runs is not known until it runs. What it may be is checked against the blocks all the same."""
    state.understood = False
    for found in blocks.check(_call(state, simple, name)):
        state.block(found)
    argv = tuple(w.shown for w in simple.words)
    why = "which program it runs cannot be resolved before it runs"
    state.add(Command(argv=argv, via=simple.via, powers=frozenset({Power.EXECUTE}), risk=Risk.HIGH, only_reads=False, reason=why, program=""))
    return Flow(None, any(w.fetched for w in simple.words), True)


def _call(state: State, simple: Simple, name: str) -> Call:
    return Call(name=name, words=simple.words, cwd=simple.scene.cwd, workspace=state.workspace, policy=state.policy, fed=simple.fed, spread=simple.spread)


def _plain(state: State, simple: Simple, name: str) -> Flow:
    call = _call(state, simple, name)
    for found in blocks.check(call):
        state.block(found)
    judged = judge(call)
    if name in INTERPRETERS:
        _interpreter(state, simple, name)
        if simple.stdin is not None or simple.fed:
            judged.act(Risk.HIGH, "a pipe leads into an interpreter", Power.EXECUTE)
    elif (name in ("source", ".") or name == "eval") and any(w.fetched or w.decoded for w in call.args):
        state.block(blocks.block("block.download_run", what=name))
    _downloaded(state, simple, name)
    state.understood &= judged.understood
    builtin = name in BUILTINS and "/" not in simple.words[0].text
    state.add(judged.command(simple.via, builtin=builtin))
    _directory(simple, name)
    return _output(state, simple, name, judged.powers, [w.path for w in judged.wants if w.op == "write"])


def _output(state: State, simple: Simple, name: str, powers: set[Power], written: list[str]) -> Flow:
    """What the command writes to its output, and whether that comes from a download or a decoder."""
    args = simple.words[1:]
    upstream = simple.stdin or Flow()
    fetched = upstream.fetched or Power.NETWORK in powers or any(w.fetched for w in args)
    read = {absolute(w.text, simple.scene.cwd or "/") for w in args if w.text and not w.text.startswith("-")}
    fetched |= bool(read & state.fetched)
    if fetched:
        state.fetched.update(written)
        if name in ("wget", "curl", "aria2c"):
            state.fetched.update(_saved_as(simple))
    decoded = upstream.decoded or any(w.decoded for w in args) or (name in DECODERS and name != "echo")
    if name in ("echo", "printf"):
        return Flow(_printed(name, args), fetched, decoded)
    if name == "cat" and not args:
        return Flow(upstream.output, fetched, decoded)
    return Flow("" if name in QUIET else None, fetched, decoded)


def _saved_as(simple: Simple) -> list[str]:
    """The names under which a download without `-o` is kept."""
    names = [w.text.partition("?")[0].rstrip("/").rsplit("/", 1)[-1] for w in simple.words[1:] if "/" in w.text or "." in w.text]
    return [absolute(n, simple.scene.cwd or "/") for n in names if n]


def _printed(name: str, args: Sequence[Word]) -> str | None:
    """The text that `echo` or a plain `printf` prints, or None."""
    if not all(w.known and not w.glob for w in args):
        return None
    texts = [w.text for w in args]
    if name == "printf":
        if texts and texts[0] in ("%s", "%s\\n", "%b") and len(texts) > 1:
            return "".join(ansi_c(t) if texts[0] == "%b" else t for t in texts[1:]) + ("\n" if texts[0] == "%s\\n" else "")
        return ansi_c(texts[0]) if len(texts) == 1 and "%" not in texts[0] else None
    escapes = False
    while texts and texts[0] in ("-n", "-e", "-E", "-ne", "-en", "-nE"):
        escapes |= "e" in texts.pop(0)
    text = " ".join(texts)
    return (ansi_c(text) if escapes else text) + "\n"


def _directory(simple: Simple, name: str) -> None:
    """Follow `cd`."""
    if name not in ("cd", "pushd", "popd"):
        return
    operands = [w for w in simple.words[1:] if not w.text.startswith("-") or w.text == "-"]
    scene = simple.scene
    if name == "cd" and not operands:
        scene.cwd = scene.home or None
    elif name == "popd" or not operands or not operands[0].known or operands[0].text == "-" or operands[0].glob:
        scene.cwd = None
    elif scene.cwd is not None or operands[0].text.startswith("/"):
        scene.cwd = absolute(operands[0].text, scene.cwd or "/")


def _downloaded(state: State, simple: Simple, name: str) -> None:
    """A program or script that the same line downloaded."""
    words = simple.words if name in INTERPRETERS or name in ("source", ".") else simple.words[:1]
    for word in words:
        if word.text and not word.text.startswith("-") and ("/" in word.text or word is not simple.words[0]):
            if absolute(word.text, simple.scene.cwd or "/") in state.fetched:
                state.block(blocks.block("block.download_run", what=word.text))


def _interpreter(state: State, simple: Simple, name: str) -> None:
    """Code on the line or from standard input."""
    args = simple.words[1:]
    if any(w.fetched or w.decoded for w in args):
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
    if stdin.output is not None and name in SHELLS:
        state.parse(stdin.output, msgspec.structs.replace(simple, stdin=None), name)
    elif stdin.output is not None:
        for line in scripts.shell_calls(stdin.output):
            state.parse(line, msgspec.structs.replace(simple, stdin=None), name)


def _wrapper(state: State, simple: Simple, name: str) -> Flow:
    """Take one wrapper off and judge what it runs."""
    wrapper = WRAPPERS[name]
    found = inner(simple.words, wrapper, assignments=name in ("env", "sudo", "doas"))
    for blocked in blocks.check(_call(state, simple, name)):
        state.block(blocked)
    if not found.sure:
        state.understood = False
        _suffixes(state, simple)
    for option in found.options:
        variable, equals, _ = option.text.partition("=")
        if equals and variable.isidentifier():
            environment(state, simple, variable)
    rest = simple.words[found.start :]
    if not rest or name in REMOTE or name in blocks.PRIVILEGE:
        _plain(state, simple, name)
        if not rest:
            return Flow()
    if wrapper.joined:
        return state.parse(" ".join(w.text for w in rest), simple, name)
    return run(state, simple.inside(rest, name))


def _suffixes(state: State, simple: Simple) -> None:
    """Where the inner command begins is not sure: the blocks look at every place where it may."""
    for i in range(1, len(simple.words)):
        words = simple.words[i:]
        for found in blocks.check(_call(state, msgspec.structs.replace(simple, words=words), _name(words[0]))):
            state.block(found)


def environment(state: State, simple: Simple, variable: str) -> None:
    """A variable given to a program: one that decides which code runs is a great risk."""
    risk = variable_risk(variable)
    if risk is Risk.LOW:
        return
    why = f"{variable} decides which code runs" if risk is Risk.HIGH else f"{variable} may change what the program does"
    state.add(Command(argv=(f"{variable}=…",), via=simple.via, powers=frozenset({Power.EXECUTE}), risk=risk, only_reads=False, reason=why))


def _shell(state: State, simple: Simple, name: str) -> Flow | None:
    """`bash -c TEXT` runs its text; other uses of a shell run code from a file or from standard input."""
    args = simple.words[1:]
    place = 0
    inline = False
    while place < len(args):
        text = args[place].text
        if text in ("-o", "+o", "-O", "+O", "--rcfile", "--init-file"):
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
    if script.fetched or script.decoded or (simple.fed and simple.stdin is not None and simple.stdin.fetched):
        state.block(blocks.block("block.download_run", what=name))
    if not script.known or simple.fed:
        _unresolved(state, simple, name)
    scene = Scene(simple.scene.cwd, simple.scene.home, dict(simple.scene.variables))
    for number, word in enumerate(args[place + 1 :]):
        scene.variables[str(number)] = (word.text, word.known)
    scene.variables["@"] = scene.variables["*"] = (" ".join(w.text for w in args[place + 2 :]), all(w.known for w in args[place + 2 :]))
    return state.parse(script.text, msgspec.structs.replace(simple, scene=scene), f"{name} -c")


def _eval(state: State, simple: Simple, name: str) -> Flow | None:
    args = simple.words[1:]
    if any(w.fetched or w.decoded for w in args):
        state.block(blocks.block("block.download_run", what=name))
    if not all(w.known for w in args):
        _unresolved(state, simple, name)
    words = args[:1] if name == "trap" else args
    return state.parse(" ".join(w.text for w in words), simple, name)


def _xargs(state: State, simple: Simple, name: str) -> Flow | None:
    """The inner command gets further arguments from standard input: known ones when a plain `echo` feeds it."""
    found = inner(simple.words, WRAPPERS["xargs"])
    if not found.sure:
        state.understood = False
        _suffixes(state, simple)
    rest = list(simple.words[found.start :]) or [Word("echo")]
    text = simple.stdin.output if simple.stdin is not None else None
    if text is not None and not found.options:
        return run(state, simple.inside([*rest, *(Word(t) for t in text.split())], name, stdin=None))
    if text is not None:
        run(state, simple.inside([*rest, *(Word(t) for t in text.split())], name, stdin=None))
    return run(state, simple.inside(rest, name, fed=True))


def _find(state: State, simple: Simple, name: str) -> Flow | None:
    """Commands behind `-exec` are judged with the places where the search begins in place of `{}`."""
    args = simple.words[1:]
    starts = blocks.find_starts(args) or (Word("."),)
    place = 0
    while place < len(args):
        if args[place].text in ("-exec", "-execdir", "-ok", "-okdir"):
            end = next((i for i in range(place + 1, len(args)) if args[i].text in (";", "+")), len(args))
            words: list[Word] = []
            for word in args[place + 1 : end]:
                words += starts if word.text == "{}" else [word]
            spread = any(w.text == "{}" for w in args[place + 1 : end])
            fed = not words or words[0].text.rsplit("/", 1)[-1] not in READERS
            run(state, simple.inside(words or [Word("", known=False)], f"find {args[place].text}", spread=spread, stdin=None, fed=fed and False))
            place = end
        place += 1
    return None


def _env(state: State, simple: Simple, name: str) -> Flow | None:
    """`env -S` splits a text; without a command it prints the environment."""
    for place, word in enumerate(simple.words[1:], 1):
        text = word.text
        if text in ("-S", "--split-string", "-vS") and place + 1 < len(simple.words):
            return state.parse(" ".join(w.text for w in simple.words[place + 1 :]), simple, "env -S")
        if text.startswith(("-S", "--split-string=")):
            start = text.partition("=")[2] if text.startswith("--") else text[2:]
            return state.parse(" ".join([start, *(w.text for w in simple.words[place + 1 :])]), simple, "env -S")
    if inner(simple.words, WRAPPERS["env"], assignments=True).start >= len(simple.words):
        state.add(
            Command(argv=tuple(w.shown for w in simple.words), via=simple.via, program=simple.words[0].text, subject="env", powers=frozenset({Power.READ}))
        )
        return Flow()
    return _wrapper(state, simple, name)


def _su(state: State, simple: Simple, name: str) -> Flow | None:
    words = simple.words
    for place, word in enumerate(words[:-1]):
        if word.text in ("-c", "--command"):
            state.parse(words[place + 1].text, simple, name)
        elif word.text.startswith("--command="):
            state.parse(word.text.partition("=")[2], simple, name)
    return None


def _command(state: State, simple: Simple, name: str) -> Flow | None:
    """`command -v NAME` only looks a program up."""
    if len(simple.words) > 1 and simple.words[1].text in ("-v", "-V"):
        state.add(Command(argv=tuple(w.shown for w in simple.words), via=simple.via, powers=frozenset({Power.READ}), subject="command"))
        return Flow()
    return _wrapper(state, simple, name)


def _flock(state: State, simple: Simple, name: str) -> Flow | None:
    for place, word in enumerate(simple.words[:-1]):
        if word.text in ("-c", "--command"):
            _plain(state, msgspec.structs.replace(simple, words=simple.words[:place]), name)
            return state.parse(simple.words[place + 1].text, simple, name)
    return _wrapper(state, simple, name) if name != "script" else None


def _parallel(state: State, simple: Simple, name: str) -> Flow | None:
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
        _plain(state, simple, name)
        return Flow()
    text = " ".join(w.text for w in rest[:cut])
    return state.parse(" ".join([text, *(w.text for w in arguments)]), msgspec.structs.replace(simple, fed=not arguments), name)


SPECIAL: dict[str, Callable[[State, Simple, str], Flow | None]] = {
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
