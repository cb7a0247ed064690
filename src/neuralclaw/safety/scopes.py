"""What a standing answer covers, as values that are compared and as words that the person reads: never more than the words say."""

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from posixpath import basename, dirname, normpath
from shlex import quote

import msgspec

from ..types.actions import Action
from ..types.facts import FactSheet
from ..types.grants import Scope, StandingGrant
from ..types.options import Policy
from ..types.questions import Covers
from ..types.risk import Power
from ..types.verdicts import Verdict
from . import ran_files
from .analysis import Analysis
from .command_line import SimpleCommand
from .command_rules import stray
from .findings import AUTO_RULES
from .interpreters import INTERPRETERS, unversioned
from .paths import in_data_home, is_system, person_home

NOT_ALWAYS = frozenset({Power.DELETE, Power.NETWORK, Power.PRIVILEGE})
PLAIN_VIA = frozenset("timeout gtimeout nice nohup time stdbuf ionice setsid command".split())
"""Wrappers that change nothing about what the command does."""
INERT = frozenset(": true false echo pwd cd exit <".split())
"""Builtins beside which a command is the same one, whatever their arguments."""
LONGEST, SHOWN, DIGEST = 120, 60, 32
"""Characters of an argument or a command that are shown whole, characters of a longer one, and digits of its digest."""
PORTS = {"http": 80, "https": 443}
NAMED = 3
"""Files that are named before they are only counted."""
_SILENT = tuple((word,) for word in INERT)
ANY_TEXT = "…"
IN_SESSION = ", in this session only"
"""How the words end for what a `session` answer covers."""
_COMMIT_FLAG = r"--all|--signoff|--verbose|--quiet|--no-verify|--amend|--allow-empty|-[asvqn]+"
_COMMIT_TEXT = r"-[asvqn]*m|--message"


class PlainOptions(msgspec.Struct, frozen=True):
    """Options of a program for downloads that neither send something nor lead elsewhere; `valued`: those with a value behind them."""

    plain: frozenset[str]
    valued: frozenset[str]


PLAIN_DOWNLOADS = {
    "curl": PlainOptions(
        frozenset("-s -S -f -i -I -L -v -4 -6 -O --silent --show-error --fail --include --head --location --verbose --compressed --remote-name".split()),
        frozenset("-o -m --output --max-time --connect-timeout --retry --retry-delay --max-filesize".split()),
    ),
    "wget": PlainOptions(
        frozenset("-q -v -c -N -S -4 -6 -nv --quiet --no-verbose --continue --timestamping --spider --server-response".split()),
        frozenset("-O -T -t --output-document --timeout --tries".split()),
    ),
}
DOWNLOADS = frozenset(PLAIN_DOWNLOADS)


class ScopePart(msgspec.Struct, frozen=True):
    """One part of a call: what a standing answer would cover of it, in words, and whether for ever."""

    scope: Scope
    words: str
    always: bool


def parts_of(action: Action, policy: Policy, analysis: Analysis, verdict: Verdict, sheet: FactSheet) -> tuple[ScopePart, ...]:
    """What an answer for the session or for ever would cover, or () when this call must be asked about every time."""
    if not verdict.understood or any(r.decision == "ask" and r.id not in AUTO_RULES for r in verdict.rules):
        return ()
    if analysis.line is not None and analysis.line.alters:
        return ()
    if analysis.line is not None:
        return _commands(action, policy, analysis.line.commands, sheet)
    tool, definition = action.spec.name, definition_of(action)
    ever = not NOT_ALWAYS & {*action.spec.powers, *verdict.powers}
    if analysis.urls:
        hosts = dict.fromkeys((u.host, u.port or PORTS[u.text.partition(":")[0].lower()]) for u in analysis.urls)
        plain = Power.EXECUTE not in action.spec.powers and not action.spec.sinks
        return tuple(ScopePart(Scope("host", f"{host}:{port}", tool, definition), f"{tool} from {host}, port {port}", plain) for host, port in hosts)
    if analysis.paths:
        return _directories(action, policy, sheet, ever)
    value = msgspec.json.encode((action.workspace, action.arguments, action.spec.digest), order="deterministic").decode()
    shown = _exactly(action)
    ever = ever and Power.EXECUTE not in action.spec.powers and not action.spec.sinks
    return (ScopePart(Scope("tool", value, tool), f"{tool} with exactly {shown}" if shown else tool, ever),)


def covers(parts: Sequence[ScopePart]) -> Covers:
    """The words for the question; None for an answer that is not offered."""
    if not parts:
        return Covers()
    what = "; ".join(dict.fromkeys(part.words for part in parts))
    ever = f"{what}, in every session of this workspace until you revoke it" if all(part.always for part in parts) else None
    return Covers(session=what + IN_SESSION, always=ever)


def used(parts: Sequence[ScopePart], standing: Sequence[StandingGrant]) -> tuple[StandingGrant, ...]:
    """The standing grants that cover every part of the call together; () where some part is not covered. What may not be covered for ever is covered by an
    answer for the session, or by what was given for a time."""
    found: list[StandingGrant] = []
    for part in parts:
        grant = next((g for g in standing if part.scope in g.scopes and (part.always or g.lasts == "session" or g.given)), None)
        if grant is None:
            return ()
        found.append(grant)
    return tuple(dict.fromkeys(found))


def definition_of(action: Action) -> str:
    """What a scope names the tool by beside its name, as `Scope.definition` says."""
    return "" if action.spec.built_in else action.spec.digest


def _directories(action: Action, policy: Policy, sheet: FactSheet, ever: bool) -> tuple[ScopePart, ...]:
    """The directory of each path: what lies in it, not what lies in directories below."""
    places = dict.fromkeys(fact.resolved if fact.op == "list" else dirname(fact.resolved) for fact in sheet.paths)
    home = person_home(policy)
    if not places or any(p in ("/", home) or is_system(p) or in_data_home(p, policy, action.workspace) for p in places):
        return ()
    tool, definition = action.spec.name, definition_of(action)
    return tuple(ScopePart(Scope("directory", place, tool, definition), f"{tool} directly in {place}", ever) for place in places)


def _commands(action: Action, policy: Policy, commands: Sequence[SimpleCommand], sheet: FactSheet) -> tuple[ScopePart, ...]:
    """Every command that is asked about, as it stands: the same words, in the same directory, meaning the same program and files.

    What uses the network has the line for itself: what a standing answer lends it, nothing that runs beside it may use.
    """
    found: list[ScopePart] = []
    acting = [command for command in commands if command.program or command.argv[:1] not in _SILENT]
    if len(acting) > 1 and any(Power.NETWORK in command.powers for command in commands):
        return ()
    for command in commands:
        foreign = bool(command.program) and (command.program not in policy.programs or stray(command.program, action, policy, sheet))
        if command.only_reads and not foreign:
            if not command.program and command.argv[0] not in INERT:
                return ()
            continue
        part = _command(action, policy, command, sheet)
        if part is None:
            return ()
        found.append(part)
    if len(found) > 1 and any(command.script or _code(command, sheet) for command in commands):
        return ()  # what runs beside a script may change it before it begins
    return tuple(found)


def _command(action: Action, policy: Policy, command: SimpleCommand, sheet: FactSheet) -> ScopePart | None:
    fixed = bool(command.subject and command.program) and "/" not in command.program and set(command.via) <= PLAIN_VIA
    if not fixed or command.critical or command.cwd is None or command.open:
        return None
    place = next((f.resolved for f in sheet.paths if (f.path, f.op) == (command.cwd, "list")), command.cwd if command.cwd == action.workspace else None)
    if place is None:
        return None
    argv = _free_text(command.argv)
    given = action.arguments.get("env_vars") or {}
    wanted = {(w.path, w.op) for w in command.wants}
    targets = sorted((f.op, f.resolved) for f in sheet.paths if (f.path, f.op) in wanted and f.op in ("write", "delete"))
    program = sheet.programs.get(command.program)
    code = _code(command, sheet)
    script = code.get(command.script, "") if command.script else ""
    if stray(command.program, action, policy, sheet) or (unversioned(basename(command.program)) in INTERPRETERS and not script):
        return None  # what it would run may be another program the next time
    if command.program in DOWNLOADS and not plain_download(command):
        return None  # it goes elsewhere than its address says, or sends something
    held_to: list[object] = [] if not code else [script] if list(code.values()) == [script] else [sorted(code.items())]
    hooks = sheet.hooks.get(command.cwd, {}) if basename(command.program) == "git" else {}
    held_to += [sorted(hooks.items())] if hooks else []
    value = msgspec.json.encode((argv, place, command.via, program, targets, given, *held_to), order="deterministic").decode()
    words = " ".join(ANY_TEXT if word == ANY_TEXT else quote(word) for word in (*command.via, *argv))
    if ANY_TEXT in argv:
        words += " (any message)"
    if given:
        words += " with " + ", ".join(f"{name}={quote(str(text))}" for name, text in sorted(given.items()))
    ever = not {*NOT_ALWAYS, Power.EXECUTE} & command.powers
    return ScopePart(Scope("program", value, action.spec.name, definition_of(action)), f"{_short(words)} in {place}{_held(command, code, hooks)}", ever)


def _code(command: SimpleCommand, sheet: FactSheet) -> dict[str, str]:
    """The files that a command runs as code and the digests that a yes to it is held to."""
    found = ran_files.of_command(command)
    known = {**sheet.code, **sheet.scripts}
    digests = {path: known[path] for path in (*found.ran, *found.named) if path in known}
    program = sheet.programs.get(command.program)
    if program is not None and program in known:
        digests[program] = known[program]
    if command.script in known:
        digests = {command.script: known[command.script], **{path: digest for path, digest in digests.items() if normpath(path) != command.script}}
    return digests


def _held(command: SimpleCommand, code: Mapping[str, str], hooks: Mapping[str, str]) -> str:
    """In words: what the yes is held to, what it is not, and which places of the network it reaches."""
    said: list[str] = []
    if code:
        names = list(dict.fromkeys(basename(path) for path in code))
        shown = ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
        said.append(f"{shown} as {'it is' if len(names) == 1 else 'they are'} now")
    if hooks:
        said.append("the repository's settings and hooks as they are now")
    if Power.EXECUTE in command.powers:
        said.append("other files that it loads may change" if code else "whatever the workspace's files hold then")
    if Power.NETWORK in command.powers:
        said.append(f"reaches {', '.join(command.places)} alone" if command.places else "may reach every public place")
    return f" ({'; '.join(said)})" if said else ""


def plain_download(command: SimpleCommand) -> bool:
    """Whether `curl` or `wget` asks one address for something and does no more: no proxy, no upload, no second address, no options from a file."""
    known = PLAIN_DOWNLOADS[command.program]
    if command.places is None or len(command.places) != 1:
        return False
    addresses, words = 0, iter(command.argv[1:])
    for word in words:
        if word in known.valued:
            next(words, None)
        elif word.startswith("--") and word.partition("=")[0] in known.valued:
            continue
        elif word.startswith("-") and len(word) > 1:
            if not (word in known.plain or (not word.startswith("--") and all(f"-{letter}" in known.plain for letter in word[1:]))):
                return False
        else:
            addresses += 1
    return addresses == 1


def _short(words: str) -> str:
    """Words that a person can read: of long ones the beginning, how long they are, and a digest that makes them exact."""
    if len(words) <= LONGEST:
        return words
    return f"{words[:SHOWN]}… ({len(words):,} characters, SHA-256 {sha256(words.encode('utf-8', 'surrogatepass')).hexdigest()[:DIGEST]}…)"


def _exactly(action: Action) -> str:
    """The arguments of a tool of one's own."""
    given = [f"{name}={_short(repr(value))}" for name, value in action.arguments.items()]
    shown = ", ".join(given)
    if len(shown) <= 4 * LONGEST:
        return shown
    return "these arguments: " + _short(", ".join(f"{name}={value!r}" for name, value in action.arguments.items()))


def _free_text(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The words with the message of `git commit` left open, where all its other words are plain flags."""
    if argv[:2] != ("git", "commit"):
        return argv
    found: list[str] = []
    rest = list(argv[2:])
    while rest:
        word = rest.pop(0)
        if word.startswith("--message="):
            found.append("-m")
        elif re.fullmatch(_COMMIT_TEXT, word) and rest:
            rest.pop(0)
            found += [word[:-1]] if len(word) > 2 and not word.startswith("--") else []
            found.append("-m")
        elif re.fullmatch(_COMMIT_FLAG, word):
            found.append(word)
        else:
            return argv
    flags = sorted({f for f in found if f != "-m"})
    return ("git", "commit", *flags, *(("-m", ANY_TEXT) if "-m" in found else ()))
