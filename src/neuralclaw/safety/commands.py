"""What a simple command does, from the tables of `programs` and the programs that need more than a table."""

from ..types.risk import Power, Risk
from . import git, network, scripts
from .blocks import BlockedCall
from .command_effects import CommandEffects
from .interpreters import INTERPRETERS
from .programs import (
    ACTS,
    BUILTINS,
    FIND_PLAIN,
    FIND_RUN,
    FIND_VALUED,
    IP_CHANGES,
    PRIVILEGED,
    READERS,
    SCRIPTED,
    SUBCOMMANDS,
    SYSTEM_CHANGES,
    SYSTEM_READS,
    UNSAFE_BUILTINS,
    VERSION,
    VERSIONED,
    Act,
    Reader,
)
from .shell_words import ShellWord


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
    elif name in SYSTEM_CHANGES or name in SYSTEM_READS:
        _system(found)
    elif name in INTERPRETERS:
        scripts.interpreter(found)
    elif name in BUILTINS:
        _builtin(found)
    else:
        found.act(Risk.MEDIUM, "what it does is not known", Power.EXECUTE)
    _named(found)
    if name in PRIVILEGED and not found.only_reads:
        found.act(Risk.HIGH, "it acts with other rights", Power.PRIVILEGE)
        found.critical = True
    if (name in SCRIPTED and not found.only_reads) or (name in READERS and not found.only_reads):
        found.subject = ""
    return found


def _named(found: CommandEffects) -> None:
    """Places of keys in the words of a program: it may read them, also where no table says so, and where no sandbox holds the words are all there is."""
    name = found.call.name
    reader = READERS.get(name)
    if reader is not None and (reader.operands == "pattern" or (reader.operands == "text" and not reader.bad and not reader.bad_long)):
        return  # its words are texts, and those that are files were looked at
    known = name in SPECIAL or name in READERS or name in ACTS or name in SUBCOMMANDS or name in SYSTEM_CHANGES or name in SYSTEM_READS or name in BUILTINS
    found.name(links=not known, code=not known or (name in SCRIPTED and not found.only_reads))


def _reader(found: CommandEffects, reader: Reader) -> None:
    call = found.call
    found.powers.add(Power.READ)
    for option in options(call.args, reader.valued):
        if option.startswith("--"):
            name = option[2:].partition("=")[0]
            if any(bad.startswith(name) for bad in reader.bad_long if name):
                found.act(Risk.MEDIUM, f"{option} makes it do more than read", Power.WRITE, Power.EXECUTE)
        elif any(letter in reader.bad for letter in option[1:]):
            found.act(Risk.MEDIUM, f"{option} makes it do more than read", Power.WRITE)
    if call.fed and (reader.bad or reader.bad_long):
        found.act(Risk.MEDIUM, "its options come from standard input", Power.EXECUTE)
    _operands(found, reader)


def _operands(found: CommandEffects, reader: Reader) -> None:
    call = found.call
    if reader.operands == "text":
        if call.name == "export" or call.name == "alias":
            found.understood &= not call.args
        return
    words = list(call.args)
    plain = [w for w in words if not w.text.startswith("-") or w.text == "-"]
    if reader.operands == "pattern":
        pattern_option = any(w.text in ("-e", "-f", "--file", "--from-file", "-F") or w.text.startswith(("--regexp", "-e", "-f")) for w in words)
        pattern = plain[0] if plain and not pattern_option else None
        for word in words:
            if word is not pattern and word.text != "-":
                found.read(word)
        _deep(found, plain[1:] if not pattern_option else plain)
        return
    for word in words:
        if word.text != "-":
            found.read(word)
    if reader.operands == "one" and len(positionals(call.args, reader.valued)) > 1:
        found.act(Risk.MEDIUM, "its second operand is written", Power.WRITE)
        found.change(positionals(call.args, reader.valued)[1], "write")


def _deep(found: CommandEffects, operands: list[ShellWord]) -> None:
    """A search that goes down into directories."""
    name = found.call.name
    flags = [w.text for w in found.call.args if w.text.startswith("-")]
    if name in ("rg", "ag") or any(f in ("--recursive", "--dereference-recursive") or (not f.startswith("--") and ("r" in f or "R" in f)) for f in flags):
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
    call = found.call
    sub = next((w for w in call.args if not w.text.startswith("-")), None)
    if sub is not None:
        found.subject = f"{call.name} {sub.text}" if sub.known else ""
    row = SUBCOMMANDS[call.name].get(sub.text if sub is not None else "")
    powers, risk, why = (row.powers, row.risk, row.why) if row is not None else ((Power.EXECUTE,), Risk.MEDIUM, "it runs code")
    if sub is not None and call.args[0] is not sub and not powers:
        powers, risk, why = (Power.EXECUTE,), Risk.MEDIUM, "its options are not known"
    if any(w.text in ("--outdated", "-o", "--uptodate", "-u") for w in call.args) and not powers:
        powers, risk, why = (Power.NETWORK,), Risk.MEDIUM, "it uses the network"
    if powers:
        found.act(risk, why, *powers)
        found.sends = Power.NETWORK in powers
    else:
        found.powers.add(Power.READ)
    if call.fed:
        found.unclear()


def _system(found: CommandEffects) -> None:
    call = found.call
    texts = [w.text for w in call.args]
    reads = SYSTEM_READS.get(call.name)
    first = next((t for t in texts if call.name == "ip" or not t.startswith("--no-")), "")
    found.subject = f"{call.name} {first}".strip()
    if reads is not None and first in reads and all(w.known for w in call.args) and not call.fed and not (call.name == "ip" and IP_CHANGES & set(texts)):
        found.powers.add(Power.READ)
        return
    found.act(Risk.HIGH, "it changes the system", Power.WRITE, Power.EXECUTE)
    found.critical = True
    if call.name in ("apt", "apt-get", "yum", "dnf", "pacman", "apk", "zypper", "snap", "flatpak", "brew", "docker", "podman"):
        found.powers.add(Power.NETWORK)


def _builtin(found: CommandEffects) -> None:
    if found.call.name in UNSAFE_BUILTINS:
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
        if text in FIND_VALUED:
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
    "sed": scripts.sed,
    "gsed": scripts.sed,
    "awk": scripts.awk,
    "gawk": scripts.awk,
    "mawk": scripts.awk,
    "nawk": scripts.awk,
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
