"""Programs that carry a program of their own in their arguments: sed, awk, tar, interpreters."""

import re
from itertools import pairwise

from ..types.risk import Power, Risk
from .awk_script import awk_only_reads
from .blocks import block, forks
from .command_effects import CommandEffects
from .command_line import BlockMatch
from .lazy_regex import lazy_pattern
from .programs import SHELLS
from .sed_script import sed_only_reads
from .shell_words import ShellWord


def sed(found: CommandEffects) -> None:
    """A read when neither an option nor the script writes or runs anything."""
    found.powers.add(Power.READ)
    args = list(found.call.args)
    scripts: list[ShellWord] = []
    files: list[ShellWord] = []
    place = 0
    while place < len(args):
        word, text = args[place], args[place].text
        if text in ("-e", "--expression") and place + 1 < len(args):
            place += 1
            scripts.append(args[place])
        elif text.startswith("--expression="):
            scripts.append(ShellWord(text.partition("=")[2], word.known))
        elif text.startswith(("-i", "--in-place")) or re.fullmatch(r"-[nErsuz]*i.*", text):
            found.act(Risk.MEDIUM, "it changes files in place", Power.WRITE)
        elif re.fullmatch(r"-[nErsuzl]*e", text) and place + 1 < len(args):
            place += 1
            scripts.append(args[place])
        elif text.startswith("-") and len(text) > 1:
            if not (re.fullmatch(r"-[nErsuz]+", text) or text in ("--quiet", "--silent", "--regexp-extended", "--separate", "--null-data", "--sandbox", "--")):
                found.act(Risk.MEDIUM, f"{text} is not understood", Power.EXECUTE)
        else:
            files.append(word)
        place += 1
    if not scripts and files:
        scripts.append(files.pop(0))
    _script(found, scripts, "sed")
    if found.call.fed:
        found.act(Risk.MEDIUM, "its options come from standard input", Power.EXECUTE)
    for word in files:
        (found.read if Power.WRITE not in found.powers else lambda w: found.change(w, "write"))(word)


def _script(found: CommandEffects, scripts: list[ShellWord], kind: str) -> None:
    for word in scripts:
        if not word.known or word.glob:
            found.unclear()
        ok = sed_only_reads(word.text) if kind == "sed" else awk_only_reads(word.text)
        if not ok:
            found.act(Risk.MEDIUM, "its script may write files or run commands", Power.WRITE, Power.EXECUTE)


def awk(found: CommandEffects) -> None:
    """A read when its program is given on the line and neither writes nor runs anything."""
    found.powers.add(Power.READ)
    args = list(found.call.args)
    place = 0
    while place < len(args):
        text = args[place].text
        if text in ("-F", "-v"):
            place += 2
        elif text.startswith(("-F", "-v")):
            place += 1
        elif text == "--":
            place += 1
            break
        elif text.startswith("-") and len(text) > 1:
            found.act(Risk.MEDIUM, f"{text} may load a program that is not on the line", Power.EXECUTE, Power.WRITE)
            place += 2 if text in ("-f", "-i", "-l", "-e", "-E") else 1
        else:
            break
    if any(not w.known for w in args):
        found.unclear()
    if place < len(args) and found.only_reads:
        _script(found, [args[place]], "awk")
    for word in args[place + 1 :]:
        if word.text.startswith("-") and word.text != "-":
            found.act(Risk.MEDIUM, f"{word.shown} may be an option", Power.EXECUTE, Power.WRITE)
        found.read(word)


def tar(found: CommandEffects) -> None:
    """Listing is a read; everything else writes, and several options run programs."""
    args = [w.text for w in found.call.args]
    first = args[0] if args else ""
    listing = re.fullmatch(r"-?[vzjJa]*t[vzjJaf]*", first) is not None or first == "--list"
    plain = all(not a.startswith("-") or a in ("--list", "--verbose") for a in args[1:])
    if any(not w.known for w in found.call.args) or found.call.fed:
        found.unclear()
    if listing and plain:
        for word in found.call.args[1:]:
            found.read(word)
        return
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
    if found.call.args and found.call.args[0].text in ("-l", "-Z", "-v", "-t") and all(w.known for w in found.call.args):
        for word in found.call.args[1:]:
            found.read(word)
        return
    found.act(Risk.MEDIUM, "it unpacks files", Power.WRITE)


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
_BACKTICKS = lazy_pattern(r"`([^`]+)`")
_TREES = lazy_pattern(r"(?:rmtree|rmSync|rm_rf|remove_tree|removedirs|rmdirSync)\s*(?:\(\s*)?([\"'])(.*?)\1")


def takes_stdin(name: str, args: tuple[ShellWord, ...]) -> bool:
    """Whether an interpreter called like this reads its program from standard input."""
    shell = name in SHELLS
    skip = False
    for word in args:
        text = word.text
        if skip:
            skip = False
        elif text in ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0") or (shell and re.fullmatch(r"-[a-z]*s[a-z]*", text)):
            return True
        elif (shell and text in ("-o", "-O", "+o", "+O", "--rcfile", "--init-file")) or (not shell and text in ("-W", "-X", "-I")):
            skip = True
        elif text in CODE_FLAGS or (shell and re.fullmatch(r"-[a-z]*c[a-z]*", text)) or (not text.startswith("-") and text):
            return False
    return True


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
    return found + [f"rm -r '{m.group(2)}'" for m in _TREES.finditer(code)]


def code_blocks(code: str) -> list[BlockMatch]:
    return [block("block.fork_bomb")] if forks(code) else []
