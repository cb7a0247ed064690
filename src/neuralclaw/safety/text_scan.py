"""What is not understood is looked at as text: where it holds the words of a block, in whatever place and quotation, it falls under that block."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain

import msgspec

from . import blocks, own_commands
from .analysis_state import MAX_BLOCKS, MAX_COMMANDS, AnalysisState, ExpandedCommand, named_places
from .bounds import MAX_TEXT
from .command_effects import CommandEffects
from .command_line import BlockMatch, SimpleCommand
from .interpreters import INTERPRETERS
from .lazy_regex import lazy_pattern
from .paths import absolute, is_device, normal
from .programs import DECODERS
from .shell_words import ShellWord, ansi_c

MAX_CALLS, MAX_WORDS = 300, 400
"""Places of one text that are looked at as a command, and the words behind each that are."""
ORDINARY = frozenset({"exit", "format", "init", "su"})
"""Names that are also ordinary words: they count where a command begins."""
_ANSI = lazy_pattern(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_QUOTES = lazy_pattern(r"\\\n|[\\'\"]")
_EXPANSION = lazy_pattern(r"\$\{([^{}]*)\}|\$\w+|\$[@*]")
_BLANK = lazy_pattern(r"\$(?:IFS\b|\{IFS[^{}]*\})(?:\$[0-9@*]|\$\{[0-9@*]\})*")
"""What bash splits words at, with the empty arguments that end its name."""
_ENDS = lazy_pattern(r"(?:[;&|\n()`]|\{(?=\s))+")
_GAPS = lazy_pattern(r"[{}\[\],<]")
_DEVICE = lazy_pattern(r">[>|&]?\s*(/[^\s;&|<>()`]+)")
_FORK_BOMB = lazy_pattern(r"(?<![^\s(){};&|])([^\s(){};&|]{1,100}+)\s*+\(\s*+\)\s*+[{(][^})]*?\1\s*+\|\s*+\1\s*+&")
_PROGRAM = "(?<![\\w.-])(?:%s)(?![\\w.-])"
_GIVES = _PROGRAM % "|".join(["aria2c", "curl", "fetch", "http", "lynx", "wget", *sorted(DECODERS - {"tr", "rev"})])
_RUNS = _PROGRAM % "(?:{})(?:-?\\d[\\d.]*)?".format("|".join(sorted(re.escape(name) for name in INTERPRETERS)))
_FETCH = lazy_pattern(_GIVES)
_RUNNER = lazy_pattern(_RUNS)
_EVALUATES = lazy_pattern(rf"{_RUNS}|(?<![\w.-])(?:eval|source)\s|(?:^|[\s&])\.\s")
_FETCHED_INSIDE = lazy_pattern(rf"[`(]\s*+{_GIVES}")
_SAVED_AS = lazy_pattern(r"\s(?:-\w*?[oO]|--output(?:-document)?(?=[\s=]))[\s=]*+([^\s;&|]+)")
_STARTED = lazy_pattern(rf"[;&|\n][ \t]*+(?:(?:{_RUNS}|source|\.)\s++)?(?:\./)?([^\s;&|]+)")
_IN_A_NAME = lazy_pattern(r"[\w.-]")
MAX_SAVED = 20
"""Names of one text under which a download is saved that are looked for among its commands."""


def scan(state: AnalysisState, text: str, simple: ExpandedCommand) -> None:
    """Find the blocks in a text that is not understood, and the places of keys and of the agent's own data that it names."""
    decoded = _ANSI.sub(lambda m: ansi_c(m.group(1)), text[:MAX_TEXT])
    bare = _BLANK.sub(" ", _QUOTES.sub("", decoded))
    for found in dict.fromkeys(chain(_calls(state, bare, simple), _texts(bare, simple))):
        if len(state.blocks) < MAX_BLOCKS and found not in state.blocks:
            state.block(msgspec.structs.replace(found, reason=f"it is not understood, and may run what its text names: {found.reason}"))
    kept(state, bare, simple)


def kept(state: AnalysisState, text: str, simple: ExpandedCommand) -> None:
    """Take the places of keys and of the agent's own data that a text names for ones that are read, and the agent's own command line for what it is."""
    for stretch in _stretches(text):
        if len(state.commands) >= MAX_COMMANDS:
            return
        words, start = tuple(word.text for word in stretch), _last_start(stretch)
        if any(
            own_commands.is_own(words[place : place + MAX_WORDS]) for place, word in enumerate(words) if own_commands.begins_own(word, first=place <= start)
        ):
            state.block(BlockMatch(own_commands.RULE, f"it may run the agent's own command line, {own_commands.REASON}", own_commands.INSTEAD))
        found = CommandEffects(_call(state, "", [ShellWord(word) for word in ("", *dict.fromkeys(words))], simple))
        found.name(links=False, code=True)
        if found.wants:
            state.commands.append(SimpleCommand(argv=words, only_reads=False, wants=tuple(dict.fromkeys(found.wants)), unresolved=True))


def places(state: AnalysisState, text: str, simple: ExpandedCommand) -> None:
    """Take what looks like a path, in a text that cannot be parsed, for a place that is read."""
    for stretch in _stretches(_QUOTES.sub("", text[:MAX_TEXT])):
        if len(state.commands) >= MAX_COMMANDS:
            return
        if wants := named_places(_call(state, "", [ShellWord(""), *stretch], simple)):
            state.commands.append(SimpleCommand(argv=tuple(w.text for w in stretch), only_reads=False, wants=wants, unresolved=True))


def _stretches(text: str) -> Iterator[list[ShellWord]]:
    """The words between operators; what stands inside an expansion is a stretch of its own."""
    inner = [match.group(1) for match in _EXPANSION.finditer(text) if match.group(1)]
    for part in _ENDS.split("\n".join([_EXPANSION.sub("$", text), *inner])):
        if words := [ShellWord(word) for word in _GAPS.sub(" ", part).split()]:
            yield words


def _last_start(words: Sequence[ShellWord]) -> int:
    """The last place at which the command of these words may begin: nothing stands before it but what may be empty."""
    return next((place for place, word in enumerate(words) if not word.text.startswith(("$", "{"))), len(words))


def _name(word: ShellWord) -> str:
    return re.split(r"[/=]", word.text)[-1].lower()


def _call(state: AnalysisState, name: str, words: list[ShellWord], simple: ExpandedCommand) -> blocks.BlockedCall:
    return blocks.BlockedCall(name=name, words=tuple(words), cwd=simple.scene.cwd or state.workspace, workspace=state.workspace, policy=state.policy)


def _calls(state: AnalysisState, text: str, simple: ExpandedCommand) -> Iterator[BlockMatch]:
    """Blocked programs at any word, and where the program is not in plain letters, its words as those of each blocked program that the text names."""
    stretches = list(_stretches(text))
    named: dict[str, None] = {}
    count = 0
    for words in stretches:
        start = _last_start(words)
        for place, word in enumerate(words):
            name = _name(word)
            if not blocks.is_checked(name) or (name in ORDINARY and place > start):
                continue
            named[name] = None
            count += 1
            if count <= MAX_CALLS:
                yield from blocks.check(_call(state, name, words[place : place + MAX_WORDS], simple))
    for words in stretches:
        if words[0].text[0] in "$-*?~":
            for name in named:
                count += 1
                if count <= MAX_CALLS:
                    yield from blocks.check(_call(state, name, [ShellWord(name), *words[words[0].text[0] != "-" :][:MAX_WORDS]], simple))


def _texts(text: str, simple: ExpandedCommand) -> Iterator[BlockMatch]:
    """Blocks that more than one command makes."""
    if _runs_a_download(text):
        yield blocks.block("block.download_run")
    if _FORK_BOMB.search(text) or blocks.forks(text):
        yield blocks.block("block.fork_bomb")
    for match in _DEVICE.finditer(text):
        path = normal(absolute(match.group(1), simple.scene.cwd or "/"))
        if is_device(path):
            yield blocks.block("block.device", what=path)
        elif path == "/proc/sysrq-trigger":
            yield blocks.block("block.shutdown", what=path)


def _runs_a_download(text: str) -> bool:
    """Whether a download is piped into an interpreter, is the code or the file of one, or is saved and then run. Each part of the text is read once."""
    return (
        any(_piped_into_a_runner(part) for part in re.split(r"[\n;]", text))
        or any((runner := _EVALUATES.search(part)) and _FETCHED_INSIDE.search(part, runner.end()) for part in re.split(r"[\n;|]", text))
        or _saved_and_run(text)
    )


def _piped_into_a_runner(part: str) -> bool:
    fetch = _FETCH.search(part)
    pipe = part.find("|", fetch.end()) if fetch else -1
    return pipe >= 0 and _RUNNER.search(part, pipe) is not None


def _saved_and_run(text: str) -> bool:
    saved: dict[str, int] = {}
    for part in re.finditer(r"[^\n;&|]+", text):
        if len(saved) < MAX_SAVED and (fetch := _FETCH.search(part.group())):
            for name in _SAVED_AS.finditer(part.group(), fetch.end()):
                saved.setdefault(name.group(1), part.end())
    return bool(saved) and any(
        command.start() >= end and _IN_A_NAME.match(command.group(1)[len(name) :]) is None
        for command in _STARTED.finditer(text)
        for name, end in saved.items()
        if command.group(1).startswith(name)
    )
