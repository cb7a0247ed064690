"""What `git` does, by subcommand: the table `tables/git.json`."""

from collections.abc import Sequence

import msgspec

from ..types.datafile import by_name, read_data_file
from ..types.risk import Power, Risk
from .command_effects import CommandEffects
from .nameset import Examples, NameSet, NonEmptyNames
from .network import named_places
from .paths import directory_in
from .reading_calls import CALLS, refused_words
from .shell_words import ShellWord

FILE = "safety/tables/git.json"


class GitSending(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Subcommands that use the network, with their risk."""

    names: NonEmptyNames
    risk: Risk
    examples: Examples


class GitTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    writes: NameSet
    deletes: NameSet
    network: tuple[GitSending, ...]
    global_flags: NameSet


TABLE = read_data_file(FILE, GitTable)

WRITES, DELETES = frozenset(TABLE.writes.names), frozenset(TABLE.deletes.names)
NETWORK = {name: row.risk for name, row in by_name(FILE, TABLE.network, lambda row: row.names).items()}
GLOBAL_FLAGS = frozenset(TABLE.global_flags.names)
OTHER_REPOSITORY = "{} names a repository whose settings can make git run other programs"


def judge(found: CommandEffects) -> None:
    """Global options first, then the subcommand."""
    args = list(found.call.args)
    if any(not w.known for w in args) or found.call.fed:
        found.unclear()
    start = found.call.cwd
    place = _globals(found)
    if found.call.cwd is None or (found.call.spread and found.call.cwd != start):  # which repository it opens is not known
        found.unclear()
    if place is None or place >= len(args):
        found.powers.add(Power.READ)
        return
    sub, rest = args[place].text, [w.text for w in args[place + 1 :]]
    found.subject = f"git {sub}" if found.only_reads else ""
    refused = refused_words("git", args[place:])
    if not args[place].known:
        found.act(Risk.HIGH, "its subcommand cannot be resolved", Power.EXECUTE)
    elif refused == []:
        _read(found, sub, args[place + 1 :])
    elif f"git {sub}" in CALLS and sub not in WRITES and sub not in DELETES:
        found.powers.add(Power.READ)
        for word in (refused or [])[:3]:
            found.act(Risk.MEDIUM, f"{word} is not among the options with which git {sub} only reads", Power.WRITE, Power.EXECUTE)
    else:
        _change(found, sub, rest)


def _globals(found: CommandEffects) -> int | None:
    """The place of the subcommand. Options that set configuration can make any subcommand run programs."""
    args, place = found.call.args, 0
    while place < len(args):
        text = args[place].text
        if text in ("--version", "--help", "-h", "-v"):
            return None
        if text in ("-C", "--git-dir", "--work-tree", "--namespace"):
            if place + 1 < len(args):
                found.read(args[place + 1])
                if text != "-C":
                    found.act(Risk.MEDIUM, OTHER_REPOSITORY.format(text), Power.EXECUTE)
                else:
                    found.call = msgspec.structs.replace(found.call, cwd=_directory(args[place + 1], found.call.cwd))
            place += 2
        elif text.startswith(("--git-dir=", "--work-tree=", "--namespace=")):
            found.act(Risk.MEDIUM, OTHER_REPOSITORY.format(text), Power.EXECUTE)
            place += 1
        elif text in GLOBAL_FLAGS:
            place += 1
        elif text.startswith("-"):
            found.act(Risk.HIGH, f"{text} can make git run other programs", Power.EXECUTE)
            place += 2 if text in ("-c", "--config-env", "--exec-path") else 1
        else:
            return place
    return place


def _directory(word: ShellWord, cwd: str | None) -> str | None:
    """Where git works that was told to go there; an empty word leaves it where it is."""
    return None if not word.known or word.glob else directory_in(word.text, cwd) if word.text else cwd


def _read(found: CommandEffects, sub: str, words: Sequence[ShellWord]) -> None:
    """A subcommand that reads. Git takes a path outside of the repository for a file of its own accord, and some options name one."""
    found.powers.add(Power.READ)
    bare = sub in ("diff", "grep") and any(word.text == "--no-index" for word in words)
    for word in words:
        text = word.text.partition("=")[2] if word.text.startswith("--") else word.text[2:] if word.text.startswith("-") else word.text
        if bare or text.startswith(("/", "~")) or ".." in text.split("/"):
            found.read(word)


def _change(found: CommandEffects, sub: str, rest: list[str]) -> None:
    if sub in NETWORK:
        found.act(NETWORK[sub], "it sends to another machine" if NETWORK[sub] is Risk.HIGH else "it uses the network", Power.NETWORK)
        found.sends = True
        found.places = named_places(found.call.args)
    elif (sub == "remote" and rest[:1] and rest[0] in ("show", "update", "prune")) or (sub == "archive" and any(t.startswith("--r") for t in rest)):
        found.act(Risk.MEDIUM, "it uses the network", Power.NETWORK)
        found.sends = True
    elif sub == "rm" and not _forces(rest):
        found.act(Risk.MEDIUM, "it deletes files that git keeps", Power.DELETE, Power.WRITE)
        _paths(found, sub, rest)
    elif sub in DELETES or _discards(sub, rest):
        found.act(Risk.HIGH, "it deletes work that git does not keep", Power.DELETE, Power.WRITE)
        _paths(found, sub, rest)
    elif sub in WRITES or sub == "reset":
        found.act(Risk.MEDIUM, "it changes the repository", Power.WRITE)
        if sub in ("archive", "format-patch"):
            _output(found)
    else:
        found.act(Risk.MEDIUM, f"git {sub} is not known, it may be an alias for anything", Power.EXECUTE)
    if sub in ("rebase", "bisect", "submodule", "config") or any(t.startswith("--exec") for t in rest):
        found.powers.add(Power.EXECUTE)


def _paths(found: CommandEffects, sub: str, rest: list[str]) -> None:
    """The files that it names: all behind `--`, and of `restore` and `rm` its other words. A pattern names none (`:(top)x`)."""
    words = found.call.args[-len(rest) :]
    behind = rest.index("--") + 1 if "--" in rest else 0 if sub in ("restore", "rm") else len(rest)
    for word in words[behind:]:
        if not word.text.startswith(("-", ":")):
            found.change(word, "write")


def _output(found: CommandEffects) -> None:
    """The file or directory that `-o` names is written."""
    args = found.call.args
    for word, after in zip(args, (*args[1:], None), strict=True):
        if word.text in ("-o", "--output", "--output-directory") and after is not None:
            found.change(after, "write")
        elif word.text.startswith(("--output=", "--output-directory=")):
            found.change(msgspec.structs.replace(word, text=word.text.partition("=")[2]), "write")
        elif word.text.startswith("-o") and len(word.text) > 2:
            found.change(msgspec.structs.replace(word, text=word.text[2:]), "write")


def _forces(rest: list[str]) -> bool:
    """Whether an option overrides what git refuses by itself: `rm` of a changed file, `branch -d` of work that is not merged."""
    options = [t for t in rest[: rest.index("--") if "--" in rest else None] if t.startswith("-")]
    return any("--force".startswith(t) and len(t) > 2 if t.startswith("--") else "f" in t for t in options)


def _discards(sub: str, rest: list[str]) -> bool:
    if sub == "reset":
        return any(t in ("--hard", "--merge") for t in rest)
    if sub == "checkout":
        return any(t in ("-f", "--force", "--", ".") for t in rest)
    if sub == "restore":
        return "--staged" not in rest and "-S" not in rest
    if sub == "branch":  # `-d` alone refuses a branch that is not merged
        letters = {letter for t in rest if t.startswith("-") and not t.startswith("--") for letter in t}
        return "D" in letters or (("d" in letters or any(len(t) > 3 and "--delete".startswith(t) for t in rest)) and _forces(rest))
    if sub == "tag":
        return any(t in ("-d", "--delete") for t in rest)
    return (sub == "stash" and rest[:1] in (["drop"], ["clear"])) or (sub == "worktree" and rest[:1] == ["remove"]) or sub == "prune"
