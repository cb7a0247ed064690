"""What is blocked for good (row N17): the table `tables/blocks.json`, and the checks that find it.

A check gets one simple command, its wrappers taken off, and yields what it finds. Naming a dangerous thing is not doing it.
"""

import re
from collections.abc import Callable, Iterator

import msgspec

from ..types.datafile import by_name, read_data_file
from ..types.options import Policy
from .command_line import BlockMatch
from .lazy_regex import lazy_pattern
from .nameset import NameSet, NonEmptyNames, NonEmptyText
from .paths import absolute, is_device, is_root_or_home, matches, normal
from .shell_words import ShellWord

FILE = "safety/tables/blocks.json"


class BlockRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row: what it is, what would be allowed instead, and command lines that it must and must not match."""

    id: NonEmptyText
    reason: NonEmptyText
    alternative: NonEmptyText
    yes: NonEmptyNames
    no: NonEmptyNames

    def __post_init__(self) -> None:
        if not self.id.startswith("block."):
            raise ValueError(f"{self.id} does not begin with `block.`")


class BlockedCall(msgspec.Struct, frozen=True, kw_only=True):
    """One simple command as the checks see it. `fed`: more arguments come from standard input; `spread`: it runs for all below its operands."""

    name: str
    words: tuple[ShellWord, ...]
    cwd: str | None
    workspace: str
    policy: Policy
    fed: bool = False
    spread: bool = False

    @property
    def args(self) -> tuple[ShellWord, ...]:
        return self.words[1:]

    def path(self, word: ShellWord) -> str | None:
        """The word as an absolute path by its names alone, or None when it cannot be known."""
        if self.cwd is None and not word.text.startswith("/"):
            return None
        return normal(absolute(word.text, self.cwd or "/"))


class Wiper(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Programs that write a disk where one of `words` stands behind them, or where a device does and none of `unless`."""

    names: NonEmptyNames
    words: tuple[NonEmptyText, ...] = ()
    unless: tuple[NonEmptyText, ...] = ()


class Blocks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    rules: tuple[BlockRule, ...]
    formatters: NameSet
    wipers: tuple[Wiper, ...]
    privilege: NameSet
    power_off: NameSet
    systemd_off: NameSet
    device_writers: NameSet


CONTENT = read_data_file(FILE, Blocks)
TABLE = CONTENT.rules
ROWS = by_name(FILE, TABLE, lambda row: (row.id,))

FORMATTERS, PRIVILEGE, POWER_OFF = (frozenset(part.names) for part in (CONTENT.formatters, CONTENT.privilege, CONTENT.power_off))
SYSTEMD_OFF, DEVICE_WRITERS = frozenset(CONTENT.systemd_off.names), frozenset(CONTENT.device_writers.names)
WIPERS = {name: row for row in CONTENT.wipers for name in row.names}
NAMES = (*CONTENT.privilege.names, *CONTENT.power_off.names, "rm", "dd", "mkfs", "chmod", "init", "telinit", *CONTENT.formatters.names)
"""Programs that a name with wildcards is compared with."""

_OCTAL_777 = lazy_pattern(r"0*[0-7]?777")
_FORK, _ENDLESS = lazy_pattern(r"\bfork\b"), lazy_pattern(r"\bwhile\b|\bfor\s*\(;;\)")


def block(rule: str, *, what: str = "", argv: tuple[str, ...] = (), places: tuple[str, ...] = (), releasable: bool = False) -> BlockMatch:
    row = ROWS[rule]
    return BlockMatch(rule, f"{what}: {row.reason}" if what else row.reason, row.alternative, argv, places, releasable)


def check(call: BlockedCall) -> Iterator[BlockMatch]:
    """All blocks that one simple command falls under."""
    name = call.name
    if name in PRIVILEGE:
        yield block("block.privilege", what=name)
    if name in FORMATTERS or name.startswith("mkfs"):
        yield block("block.format", what=name)
    if (wiper := WIPERS.get(name)) is not None and _wipes(wiper, call):
        yield block("block.format", what=name)
    if name in POWER_OFF:
        yield block("block.shutdown", what=name)
    found = CHECKS.get(name)
    if found is not None:
        yield from found(call)
    if name in DEVICE_WRITERS:
        for word in call.args:
            path = call.path(word)
            if path is not None and is_device(path):
                yield block("block.device", what=f"{name} {path}")
            elif path == "/proc/sysrq-trigger":
                yield block("block.shutdown", what=f"{name} {path}")
    if name in ("dbus-send", "gdbus", "busctl") and any(re.search(r"\b(?:PowerOff|Reboot|Halt|KExec)\b", word.text) for word in call.args):
        yield block("block.shutdown", what=name)
    yield from _everybody(call)


def _wipes(row: Wiper, call: BlockedCall) -> bool:
    texts = {word.text for word in call.args}
    if row.words:
        return not texts.isdisjoint(row.words)
    return texts.isdisjoint(row.unless) and any(path is not None and is_device(path) for path in map(call.path, call.args))


def _rsync(call: BlockedCall) -> Iterator[BlockMatch]:
    """`--delete` takes away at the last place what the others do not have."""
    operands = [word for word in call.args if not word.text.startswith("-")]
    if operands and any(word.text.startswith("--del") for word in call.args):
        path = call.path(operands[-1])
        if path is not None and _is_root(path, call):
            yield block("block.rm_roots", what=f"rsync --delete {operands[-1].shown}")


def _everybody(call: BlockedCall) -> Iterator[BlockMatch]:
    """Modes that give everybody all rights, in `chmod` and in the `-m` of `mkdir` and `install`."""
    texts = [w.text for w in call.args]
    if call.name == "chmod":
        unknown = next((place for place, word in enumerate(call.args) if not word.text.startswith("-") and word.known), len(texts))
        unsure = any(not word.known for word in call.args[:unknown])  # it may be no word at all
        modes = [t for t in texts if t and not t.startswith("-")][: None if unsure else 1] + [
            t for t in texts if re.fullmatch(r"-[rwxXst]+", t) is None and t.startswith("-") and "," in t
        ]
    elif call.name in ("mkdir", "install", "mkfifo"):
        modes = [texts[i + 1] for i, t in enumerate(texts[:-1]) if t in ("-m", "--mode")]
        modes += [t.partition("=")[2] for t in texts if t.startswith("--m")] + [t[2:] for t in texts if re.match(r"-m.", t)]
    elif call.name == "rsync":
        modes = [t.partition("=")[2].lstrip("DF") for t in texts if t.startswith("--chmod=")]
    elif call.name == "setfacl":
        modes = ["777" for t in texts if re.search(r"(?:^|,)(?:d:)?o(?:ther)?:*:(?:rwx|7)(?:,|$)", t)]
    else:
        return
    if any(_is_777(mode) for mode in modes):
        yield block("block.chmod_777", what=f"{call.name} {modes[0]}")


def _is_777(mode: str) -> bool:
    if _OCTAL_777.fullmatch(mode.lstrip("+=")):
        return True
    granted: dict[str, set[str]] = {}
    for clause in mode.split(","):
        match = re.fullmatch(r"([ugoa]*)[+=]([rwxXst]+)", clause)
        if match is None:
            return False
        for who in "ugo" if not match.group(1) or "a" in match.group(1) else match.group(1):
            granted.setdefault(who, set()).update(match.group(2).replace("X", "x"))
    return all(granted.get(who, set()) >= set("rwx") for who in "ugo")


def _rm(call: BlockedCall) -> Iterator[BlockMatch]:
    recursive, force, operands = call.spread, False, []
    rest = False
    for word in call.args:
        text = word.text
        if text == "--" and not rest:
            rest = True
        elif text.startswith("--") and not rest and len(text) > 2:
            recursive |= "--recursive".startswith(text)
            force |= "--force".startswith(text)
        elif text.startswith("-") and len(text) > 1 and not rest:
            recursive |= "r" in text or "R" in text
            force |= "f" in text
        else:
            operands.append(word)
    if not recursive:
        operands = [w for w in operands if w.glob or not w.known]
    argv = tuple(w.shown for w in call.words)
    places: list[str] = []
    for word in operands:
        path = call.path(word)
        if path is not None and (recursive or path == "/*") and _is_root(path, call):
            yield block("block.rm_roots", what=f"rm {word.shown}")
        places.append(path if path is not None and word.known and not steps_through(word.text) else "")
    if recursive and call.fed:
        yield block("block.rm_roots", what="rm of whatever standard input names")
    if recursive and force:
        yield block("block.rm_recursive", argv=argv, places=tuple(places), releasable=all(places))


def steps_through(text: str) -> bool:
    """Whether wildcards stand for directories on the way: any of these may be a link to another place."""
    return any(c in text.rpartition("/")[0] for c in "*?[")


def _is_root(path: str, call: BlockedCall) -> bool:
    """Wildcards count as everything in their directory, and as each root they may name."""
    directory, _, last = path.rpartition("/")
    if last in ("*", ".*", ".", "{,.}*", "?*", ".[!.]*", "**") and directory != call.workspace:
        path = directory or "/"
    if any(c in path for c in "*?["):
        return path.count("/") == 1 or any(matches(path, r) and matches(r, path) for r in ("/home/x", call.workspace, *call.policy.protected_paths))
    return is_root_or_home(path, call.policy, call.workspace)


def _find(call: BlockedCall) -> Iterator[BlockMatch]:
    if not any(w.text == "-delete" for w in call.args):
        return
    for word in find_starts(call.args) or (ShellWord("."),):
        path = call.path(word)
        if path is None or _is_root(path, call):
            yield block("block.rm_roots", what=f"find {word.shown} -delete")


def find_starts(args: tuple[ShellWord, ...]) -> tuple[ShellWord, ...]:
    """The places where a `find` begins."""
    starts: list[ShellWord] = []
    for word in args:
        if word.text in ("-H", "-L", "-P") or word.text.startswith("-O"):
            continue
        if word.text.startswith(("-", "(", "!")):
            break
        starts.append(word)
    return tuple(starts)


def _dd(call: BlockedCall) -> Iterator[BlockMatch]:
    argv = tuple(w.shown for w in call.words)
    outs = [ShellWord(w.text[3:], w.known) for w in call.args if w.text.startswith("of=")]
    places = tuple(call.path(w) or "" for w in outs if w.known)
    if any(is_device(p) for p in places):
        yield block("block.device", what="dd")
    yield block("block.dd", argv=argv, places=places, releasable=len(places) == len(outs) > 0 and all(places))


def _shred(call: BlockedCall) -> Iterator[BlockMatch]:
    for word in call.args:
        path = call.path(word)
        if path is not None and is_device(path):
            yield block("block.device", what=call.name)


def _init(call: BlockedCall) -> Iterator[BlockMatch]:
    if any(w.text in ("0", "6") for w in call.args):
        yield block("block.shutdown", what=call.name)


def _systemctl(call: BlockedCall) -> Iterator[BlockMatch]:
    if any(w.text in SYSTEMD_OFF for w in call.args[:4] if not w.text.startswith("-")) or any(
        w.text.startswith(("poweroff.", "reboot.", "halt.")) for w in call.args
    ):
        yield block("block.shutdown", what=call.name)


CHECKS: dict[str, Callable[[BlockedCall], Iterator[BlockMatch]]] = {
    "rm": _rm,
    "find": _find,
    "dd": _dd,
    "rsync": _rsync,
    "shred": _shred,
    "init": _init,
    "telinit": _init,
    "systemctl": _systemctl,
    "loginctl": _systemctl,
}


CHECKED = frozenset({*NAMES, *CHECKS, *WIPERS, *DEVICE_WRITERS, "mkdir", "mkfifo", "setfacl", "dbus-send", "gdbus", "busctl"})


def is_checked(name: str) -> bool:
    """Whether a program of this name may fall under a block."""
    return name in CHECKED or name.startswith("mkfs")


def forks(code: str) -> bool:
    """Whether program text of some interpreter starts copies of itself in a loop."""
    return _FORK.search(code) is not None and _ENDLESS.search(code) is not None
