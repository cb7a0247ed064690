"""Programs that carry a program of their own in their arguments: sed, awk, tar, interpreters."""

import re
import shlex
from itertools import pairwise

from ..types.risk import Power, Risk
from .blocks import block, forks
from .command_effects import CommandEffects
from .command_line import BlockMatch
from .lazy_regex import lazy_pattern
from .programs import SHELLS
from .reading_programs import LISTINGS
from .shell_words import ShellWord


def tar(found: CommandEffects) -> None:
    """Listing is a read; everything else writes, and several options run programs."""
    call = found.call
    row = LISTINGS["tar"]
    given = row.given(call.args)
    if any(not w.known for w in call.args) or call.fed:
        found.unclear()
    if any(":" in word.text.partition("/")[0] for word in given.valued(row.files)):
        found.act(Risk.HIGH, "a name with a colon is an archive on another machine", Power.NETWORK, Power.EXECUTE)
        found.sends = True
    if row.reads(call.args):
        found.powers.add(Power.READ)
        for word in given.valued(row.files):
            found.read(word)
        return
    _packs(found)


def _packs(found: CommandEffects) -> None:
    """`tar` that packs or unpacks."""
    args = [w.text for w in found.call.args]
    first = args[0] if args else ""
    powers = [Power.WRITE]
    if any(
        a.startswith(("--checkpoint-action", "--to-command", "--use-compress-program", "-I", "--rsh-command", "--info-script", "--new-volume-script"))
        for a in args
    ):
        powers.append(Power.EXECUTE)
    found.act(Risk.MEDIUM, "it packs or unpacks files", *powers)
    extracts = "x" in first.lstrip("-")[:8] or "--extract" in args
    target = next((found.call.args[i + 1] for i, a in enumerate(args[:-1]) if a in ("-C", "--directory")), None)
    if target is not None and extracts:
        found.change(target, "write")
    elif not extracts:
        if target is not None:
            found.read(target)
        for word in found.call.args[2:]:
            found.read(word)
            found.recursive(word)
        if len(args) > 1:
            found.change(found.call.args[1], "write")


def unzip(found: CommandEffects) -> None:
    """Listing, testing and printing are reads. Of the archive `a` it also tries `a.zip`, and it has wildcards of its own."""
    row = LISTINGS["unzip"]
    archives = row.given(found.call.args).operands[:1]
    if not row.reads(found.call.args) or found.call.fed:
        found.act(Risk.MEDIUM, "it unpacks files", Power.WRITE)
    if any(not w.known for w in found.call.args) or any(c in word.text for word in archives for c in "*?["):
        found.unclear()
    for word in row.tried(archives) if found.only_reads else ():
        found.read(word)


def runner(found: CommandEffects) -> None:
    """Runs what a file of the directory says."""
    found.act(Risk.MEDIUM, "it runs what the project's files say", Power.EXECUTE)
    plain = all(re.fullmatch(r"[\w.-]+", w.text) and not w.text.startswith("-") for w in found.call.args)
    found.subject = " ".join([found.call.name, *(w.text for w in found.call.args)]) if plain else ""
    for option, word in pairwise(found.call.args):
        if option.text in ("-C", "--directory", "-f", "--file", "--makefile"):
            found.read(word)
    if any(not w.known for w in found.call.args):
        found.unclear()


def source(found: CommandEffects) -> None:
    found.act(Risk.MEDIUM, "it runs a file as shell code", Power.EXECUTE)
    for word in found.call.args[:1]:
        found.read(word)


def interpreter(found: CommandEffects) -> None:
    """Code in a file, on the line, or from standard input; the last is a greater risk and judged with the pipe."""
    found.act(Risk.MEDIUM, "it runs code", Power.EXECUTE)
    first = found.call.args[0] if found.call.args else ShellWord("-")
    found.subject = "" if first.text.startswith("-") else f"{found.call.name} {first.text}"
    if first.text and first.known and not first.text.startswith("-"):
        found.run(first)
    if any(not w.known for w in found.call.args):
        found.unclear()


PLAIN_FLAGS = frozenset({"-u", "-B", "-s", "-q", "-x"})
"""Options of interpreters that take no value, whatever the interpreter is."""
CODE_FLAGS = frozenset({"-c", "-e", "-E", "--eval", "-p", "--print", "-r", "-m", "-ne", "-pe", "-ane", "-lane", "-nle", "-le", "-we"})
_CALLS = lazy_pattern(
    r"(?:system|popen|run|call|Popen|check_output|check_call|exec\w{0,20}|spawn\w{0,20}|getoutput|passthru)\s*(?:\(\s*)?(?:\[\s*)?([\"'])(.*?)\1", re.DOTALL
)
_LISTS = lazy_pattern(r"\[((?:\s*(?:\"[^\"\]]*\"|'[^'\]]*')\s*,?){2,40})\]")
_QUOTED_WORDS = lazy_pattern(r"\bqw\s*+[(\[{/<]([^)\]}/>]{1,200})")
_STRINGS = lazy_pattern(r"[\"']([^\"']*)[\"']")
_CHMOD = lazy_pattern(r"chmod(?:Sync)?\b[^\n;]{0,200}?\b(?:0o?777|511)\b")
_BACKTICKS = lazy_pattern(r"`([^`]+)`")
_TREES = lazy_pattern(r"(?:rmtree|rmSync|rm_rf|remove_tree|removedirs|rmdirSync)\s*(?:\(\s*)?([\"'])(.*?)\1")


_STDIN = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
_PYTHON = lazy_pattern(r"(?:python|pypy)[\d.]*")
_SCRIPTING = {"perl": r"-\w*[eE]", "ruby": r"-\w*e", "php": "-r", "bash": r"-[A-Za-z]*c[A-Za-z]*", "python": r"-[A-Za-z]*c"}
"""Options of some interpreters behind which code stands; those of the rest are `_CODE`."""
_CODE = "-e|-c|--eval|-p|--print|-pe"
_VALUED = frozenset("-I -O -o -r -C --import --init-file --loader --rcfile --require".split())
"""Options with a value behind them, which is not the script; of shells also those with a plus, of Python two others."""
READ_CODE = frozenset({"code", "pdb", "asyncio", "IPython", "bpython", "ptpython"})
"""Modules of Python that run what standard input says."""


def takes_stdin(name: str, args: tuple[ShellWord, ...]) -> bool:
    """Whether an interpreter called like this may read its program from standard input: its words name no other one."""
    family = "bash" if name in SHELLS else "python" if _PYTHON.fullmatch(name) else name
    valued = {"-W", "-X"} if family == "python" else {*_VALUED, "+o", "+O"}
    skip = False
    for place, word in enumerate(args):
        text = word.text
        if skip:
            skip = False
        elif family in ("deno", "bun") and not place and text in ("run", "repl"):
            continue
        elif text in _STDIN or (family == "bash" and re.fullmatch(r"-[a-z]*s[a-z]*", text)):
            return True
        elif family == "python" and text == "-m":
            return args[place + 1 : place + 2] == () or args[place + 1].text.partition(".")[0] in READ_CODE
        elif re.fullmatch(_SCRIPTING.get(family, _CODE), text):
            return False
        elif (family == "python" and re.fullmatch(r"-[A-Za-z]*i[A-Za-z]*", text)) or (
            family not in ("bash", "python", "perl", "ruby") and text in ("-i", "-a")
        ):
            return True  # it goes on with standard input when the script has ended
        elif text in valued:
            skip = True
        elif text and not text.startswith(("-", "+")):
            return False
    return True


FROM_STDIN: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk", "sed", "gsed"), ("-f", "--file")),
    **dict.fromkeys(("make", "gmake"), ("-f", "--file", "--makefile")),
    **dict.fromkeys(("gdb", "lldb"), ("-x", "-s", "--command", "--source")),
    **dict.fromkeys(("vi", "vim", "nvim", "ex"), ("-s", "-S")),
    **dict.fromkeys(("at", "batch", "ed", "bc", "xonsh"), ()),
}
"""Programs that are no interpreters by trade and run what a file says that one of these options names; with none, what standard input says."""


def runs_stdin(name: str, args: tuple[ShellWord, ...]) -> bool:
    """Whether a program that is no interpreter by trade runs what standard input says."""
    options = FROM_STDIN.get(name)
    if not options:
        return options is not None
    texts = [word.text for word in args]
    behind = {after for option, after in pairwise(texts) if option in options}
    joined = {text.removeprefix(option).removeprefix("=") for text in texts for option in options if text.startswith(option) and text != option}
    return bool(_STDIN & (behind | joined))


def code_of(name: str, args: tuple[ShellWord, ...]) -> list[ShellWord]:
    """Program text that is on an interpreter's command line."""
    return [args[i + 1] for i, w in enumerate(args[:-1]) if w.text in CODE_FLAGS - {"-m"} or (name in ("perl", "ruby") and re.fullmatch(r"-\w*[eE]", w.text))]


def program_of(args: tuple[ShellWord, ...]) -> tuple[ShellWord, ...]:
    """The words that are, or may name, what an interpreter runs: up to its script. What follows a script is data; code on the line may run any of them."""
    for place, word in enumerate(args):
        if word.text in PLAIN_FLAGS:
            continue
        if word.text == "-m" and [w.text for w in args[place + 1 : place + 2]] == ["json.tool"]:
            return args[: place + 2]
        return args if not word.known or not word.text or word.text.startswith(("-", "+")) else args[: place + 1]
    return args


def shell_calls(code: str) -> list[str]:
    """Command lines that program text hands to a shell, as far as they are in it as plain strings."""
    found = [m.group(2) for m in _CALLS.finditer(code)] + [m.group(1) for m in _BACKTICKS.finditer(code)]
    found += [m.group(1) for m in _QUOTED_WORDS.finditer(code)]
    found += [shlex.join(_STRINGS.findall(m.group(1))) for m in _LISTS.finditer(code)]
    return found + [f"rm -r '{m.group(2)}'" for m in _TREES.finditer(code)]


def code_blocks(code: str) -> list[BlockMatch]:
    found = [block("block.fork_bomb")] if forks(code) else []
    return [*found, block("block.chmod_777")] if _CHMOD.search(code) else found
