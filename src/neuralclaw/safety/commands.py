"""What a simple command does, from the tables of `programs` and the programs that need more than a table."""

from ..types.risk import Power, Risk
from . import git, network, scripts
from .blocks import BlockedCall
from .command_effects import CommandEffects
from .interpreters import INTERPRETERS
from .programs import (
    ACTS,
    BUILTINS,
    FIND_FOLLOWS,
    FIND_PLAIN,
    FIND_RUN,
    FIND_VALUED,
    PRIVILEGED,
    SCRIPTED,
    SUBCOMMANDS,
    SYSTEM_CHANGES,
    UNSAFE_BUILTINS,
    VERSION,
    VERSIONED,
    WORKSPACE_PROGRAMS,
    Act,
)
from .reading_calls import refused_words
from .reading_programs import READERS, SCRIPTS, GivenOptions, Reader
from .shell_words import ShellWord

DECLARING = frozenset({"declare", "typeset", "export"})
"""Builtins that set variables, which the walk looks at."""
MANUALS = frozenset({"apropos", "info", "man", "tldr", "whatis"})
"""Programs whose words are names of programs that they tell of."""
TESTS = frozenset({"test", "[", "[[", "expr"})
"""Programs for which a word that is not known may be an operator."""


def judge(call: BlockedCall) -> CommandEffects:
    """What the command does. A program that no table knows executes unknown code."""
    found = CommandEffects(call)
    name = call.name
    found.understood = all(w.known for w in call.args)
    if name in VERSIONED and len(call.args) == 1 and call.args[0].text in VERSION and call.args[0].known:
        found.powers.add(Power.READ)
    elif name in SPECIAL:
        SPECIAL[name](found)
    elif name in READERS:
        _reader(found, READERS[name])
    elif name in ACTS:
        _act(found, ACTS[name])
    elif name in SUBCOMMANDS:
        _subcommand(found)
    elif name in SYSTEM_CHANGES:
        _system(found)
    elif name in INTERPRETERS:
        scripts.interpreter(found)
    elif name in BUILTINS:
        _builtin(found)
    else:
        found.act(Risk.MEDIUM, "what it does is not known", Power.EXECUTE)
        found.foreign = name not in WORKSPACE_PROGRAMS and name not in MANUALS and "/" not in call.words[0].text
    if name not in READERS and found.only_reads and _wild_options(call.args):
        found.act(Risk.MEDIUM, "a name of a file may be an option of it", Power.WRITE, Power.EXECUTE)
    if name == "set" and positionals(call.args, "o"):  # what `$@` and `$1` are from then on
        found.unclear()
    _named(found)
    if name in PRIVILEGED and not found.only_reads:
        found.act(Risk.HIGH, "it acts with other rights", Power.PRIVILEGE)
        found.critical = True
    if (name in SCRIPTED and not found.only_reads) or (name in READERS and not found.only_reads):
        found.subject = ""
    return found


def _wild_options(args: tuple[ShellWord, ...]) -> bool:
    """Whether a wildcard may stand for an option."""
    words = args[: next((i for i, word in enumerate(args) if word.text == "--"), None)]
    return any(word.glob and word.text[:1] in tuple("*?[-") for word in words)


def _named(found: CommandEffects) -> None:
    """Places of keys in the words of a program: it may read them, also where no table says so, and where no sandbox holds the words are all there is."""
    name = found.call.name
    reader = READERS.get(name)
    if reader is not None and (reader.operands == "pattern" or (reader.operands == "text" and reader.prints)):
        return  # its words are texts, and those that are files were looked at
    known = name in SPECIAL or name in READERS or name in ACTS or name in SUBCOMMANDS or name in SYSTEM_CHANGES or name in BUILTINS
    found.name(links=not known, code=not known or (name in SCRIPTED and not found.only_reads))


def _reader(found: CommandEffects, reader: Reader) -> None:
    """A read where each option is on the program's list of reading options. What an unknown word turns out to be matters, unless the program only prints."""
    given = reader.given(found.call.args)
    found.understood = True
    _options(found, reader, given)
    if reader.operands in ("text", "none", "format"):
        _texts(found, reader, given)
    else:
        _files(found, reader, given)


def _options(found: CommandEffects, reader: Reader, given: GivenOptions) -> None:
    """What the options of a reading program say of it."""
    call = found.call
    found.powers.add(Power.READ)
    for option in given.refused[:3]:
        found.act(Risk.MEDIUM, f"{option} is not among the options with which it only reads", Power.WRITE, Power.EXECUTE)
    if call.fed and not reader.prints and not (reader.ends and given.operands):
        found.act(Risk.MEDIUM, "its options come from standard input", Power.WRITE, Power.EXECUTE)
    if reader.opens_unnamed(given, call.args):
        found.why = found.why or f"{call.name}: it reads files that the line does not name"
        found.unclear()
    for word in given.valued(reader.files):
        found.read(word)
    for word in reader.scripts(given):
        if not word.known or word.glob:
            found.unclear()
        if not SCRIPTS[reader.operands](word.text):
            found.act(Risk.MEDIUM, "its script may write files or run commands", Power.WRITE, Power.EXECUTE)


def _shows_environments(args: tuple[ShellWord, ...]) -> bool:
    """Whether `ps` prints the environment of processes: the letter `e` without a dash, or a column of that name."""
    texts = [word.text for word in args]
    return any((text.isalpha() and "e" in text) or "environ" in text or not word.known for text, word in zip(texts, args, strict=True))


def _texts(found: CommandEffects, reader: Reader, given: GivenOptions) -> None:
    """Words that name no files."""
    args = found.call.args
    if reader.operands == "none" and given.operands:
        found.act(Risk.MEDIUM, "it changes how the shell runs commands", Power.EXECUTE)
    elif reader.operands == "format" and not all(word.text.startswith("+") for word in given.operands):
        found.act(Risk.MEDIUM, "it changes the clock", Power.WRITE)
    unknown = any(not word.known for word in args)
    if found.call.name == "ps" and _shows_environments(args):
        found.read(ShellWord("/proc/1/environ"))
    if found.call.name == "printf":
        unknown = bool(args) and (not args[0].known or args[0].glob or "%n" in args[0].text)
    elif found.call.name not in TESTS and reader.prints:
        unknown = False
    found.understood &= not unknown


def _files(found: CommandEffects, reader: Reader, given: GivenOptions) -> None:
    """Words that name files, and files behind options."""
    operands = list(given.operands)
    for word in given.values:
        if reader.operands not in ("sed", "awk") and (word.text.startswith("-") or reader.operands != "pattern"):
            found.read(word, option=True)
    if reader.operands in SCRIPTS:
        operands = operands if given.has(reader.patterns) else operands[1:]
    elif reader.operands == "pattern":
        if operands and not given.has(reader.patterns):
            pattern = operands.pop(0)
            found.understood &= pattern.known or reader.prints
        _deep(found, given, operands)
    elif reader.operands == "one" and any(word.glob for word in operands):
        found.act(Risk.MEDIUM, "a second operand is written", Power.WRITE)
    elif reader.operands == "one" and len(operands) > 1:
        found.act(Risk.MEDIUM, "its second operand is written", Power.WRITE)
        found.change(operands[1], "write")
    if given.has(reader.changes):
        found.act(Risk.MEDIUM, "it changes files in place", Power.WRITE)
        for word in operands:
            found.change(word, "write")
        return
    for word in reader.tried(operands):
        if word.text != "-" or not word.known:
            found.read(word)


def _deep(found: CommandEffects, given: GivenOptions, operands: list[ShellWord]) -> None:
    """A search that goes down into directories."""
    if found.call.name in ("rg", "ag") or given.has(("r", "R", "d", "recursive", "dereference-recursive", "directories")):
        for word in operands or [ShellWord(".")]:
            found.recursive(word)


def options(args: tuple[ShellWord, ...], valued: str = "") -> list[str]:
    """The options before `--`; of short ones only the part before a value."""
    found: list[str] = []
    skip = False
    for word in args:
        text = word.text
        if skip:
            skip = False
        elif text == "--":
            break
        elif text.startswith("--"):
            found.append(text)
        elif text.startswith("-") and len(text) > 1:
            letters = text[1:]
            cut = next((i for i, letter in enumerate(letters) if letter in valued), None)
            found.append(text if cut is None else "-" + letters[: cut + 1])
            skip = cut is not None and cut == len(letters) - 1
    return found


def positionals(args: tuple[ShellWord, ...], valued: str = "") -> list[ShellWord]:
    """What is neither an option nor a short option's value."""
    found: list[ShellWord] = []
    skip = rest = False
    for word in args:
        text = word.text
        if skip:
            skip = False
        elif rest or not text.startswith("-") or text == "-":
            found.append(word)
        elif text == "--":
            rest = True
        elif not text.startswith("--"):
            cut = next((i for i, letter in enumerate(text[1:]) if letter in valued), None)
            skip = cut is not None and cut == len(text) - 2
    return found


def _act(found: CommandEffects, act: Act) -> None:
    call = found.call
    found.act(act.risk, act.why, *act.powers)
    found.sends = Power.NETWORK in act.powers
    operands = positionals(call.args, act.valued)
    if act.op == "mode":
        operands = operands[1:]
    changed = operands[-1:] if act.last else operands
    for word in operands if act.op else ():
        if word in changed:
            found.change(word, act.op)
        else:
            found.read(word)
    for place, word in enumerate(call.args):
        if word.text in ("-t", "--target-directory") and act.last and place + 1 < len(call.args):
            found.change(call.args[place + 1], "write")
        elif word.text.startswith("--target-directory="):
            found.change(ShellWord(word.text.partition("=")[2], word.known), "write")
    if call.name == "rsync" and any(":" in w.text for w in operands):
        found.act(Risk.HIGH, "it copies from or to another machine", Power.NETWORK)
        found.sends = True
    if call.name == "cp" and any("r" in o.lower() or "a" in o for o in options(call.args)):
        for word in operands[:-1]:
            found.recursive(word)


def _subcommand(found: CommandEffects) -> None:
    """A program with subcommands: what `reading_calls` does not know as a read does what its row says, or runs code."""
    call = found.call
    sub = next((w for w in call.args if not w.text.startswith("-")), None)
    if sub is not None:
        found.subject = f"{call.name} {sub.text}" if sub.known else ""
    if call.fed:
        found.unclear()
    refused = refused_words(call.name, call.args)
    if refused == []:
        found.powers.add(Power.READ)
        return
    row = SUBCOMMANDS[call.name].get(sub.text if sub is not None else "")
    powers, risk, why = (row.powers, row.risk, row.why) if row is not None else ((Power.EXECUTE,), Risk.MEDIUM, "it runs code")
    found.act(risk, why, *powers)
    found.sends = Power.NETWORK in powers


def _system(found: CommandEffects) -> None:
    call = found.call
    texts = [w.text for w in call.args]
    first = next((t for t in texts if call.name == "ip" or not t.startswith("--no-")), "")
    found.subject = f"{call.name} {first}".strip()
    refused = refused_words(call.name, call.args)
    if refused == [] and all(w.known for w in call.args) and not call.fed:
        found.powers.add(Power.READ)
        return
    found.act(Risk.HIGH, "it changes the system" if not refused else f"with {refused[0]} it may change the system", Power.WRITE, Power.EXECUTE)
    found.critical = True
    if call.name in ("apt", "apt-get", "yum", "dnf", "pacman", "apk", "zypper", "snap", "flatpak", "brew", "docker", "podman"):
        found.powers.add(Power.NETWORK)


def _builtin(found: CommandEffects) -> None:
    if found.call.name in UNSAFE_BUILTINS or found.call.name not in DECLARING:
        found.act(Risk.MEDIUM, "it changes how the shell runs commands", Power.EXECUTE)


def _find(found: CommandEffects) -> None:
    """Only tests and printing are a read; the commands it runs are judged on their own."""
    args = found.call.args
    found.powers.add(Power.READ)
    place = 0
    while place < len(args):
        word = args[place]
        text = word.text
        if not word.known:
            found.unclear()
        if text in FIND_FOLLOWS:
            found.why = found.why or "find: it goes where links lead"
            found.unclear()
        elif text in FIND_VALUED:
            place += 1
        elif text in FIND_RUN:
            while place < len(args) and args[place].text not in (";", "+"):
                place += 1
        elif text == "-delete":
            found.act(Risk.HIGH, "it deletes what it finds", Power.DELETE)
        elif text.startswith("-") and text not in FIND_PLAIN:
            found.act(Risk.MEDIUM, f"{text} makes it do more than read", Power.WRITE)
        elif not text.startswith("-") and text not in FIND_PLAIN:
            found.read(word)
        place += 1
    if found.call.fed:
        found.act(Risk.MEDIUM, "its options come from standard input", Power.EXECUTE)
    if Power.DELETE in found.powers:
        for want in list(found.wants):
            found.change(ShellWord(want.path), "delete")


SPECIAL = {
    "find": _find,
    "git": git.judge,
    "tar": scripts.tar,
    "unzip": scripts.unzip,
    "source": scripts.source,
    ".": scripts.source,
    "make": scripts.runner,
    "gmake": scripts.runner,
    "npx": network.runner,
    "uvx": network.runner,
    "curl": network.curl,
    "wget": network.wget,
}
