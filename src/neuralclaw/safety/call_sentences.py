"""What a call would do, in one short sentence for a person. The reasons, which say why it asks, are longer and stand beside it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from posixpath import basename, join, relpath
from typing import Any

import msgspec

from ..types.actions import Action
from ..types.facts import FactSheet, PathFact, PathOp
from ..types.risk import Power, Risk
from ..types.urls import parse
from ..types.verdicts import RuleMatch, Verdict
from .analysis import Analysis
from .command_line import SimpleCommand
from .findings import AUTO_RULES
from .interpreters import INTERPRETERS, unversioned
from .paths import is_public, under

LONGEST = 60
"""Characters of a command that is named in the sentence."""
UNRESOLVED = "some part of it cannot be resolved before it runs"
OUTSIDE = "path.outside"
UNSAID = ("shell.syntax", "tier.system-critical")
NAMED = 3
"""Files and network addresses that are named before they are only counted."""
LONGEST_VALUE = 24
"""Characters of one argument of a tool."""
UNCOVERED = frozenset(("tier.execute", "program.unlisted"))
"""Rules by which a command asks that would run unasked if undo covered it."""
COPIERS = frozenset(("cp", "ln", "install"))
"""Programs that make a file of the same name in a directory that stands last."""


def sentence(action: Action, analysis: Analysis, verdict: Verdict, sheet: FactSheet) -> str:
    """What would be done, and what makes it ask beyond risk and tier."""
    line = analysis.line
    if line is not None:
        text = " ".join(line.text.split())
        head = _short(text)
        places = {(fact.path, fact.op): fact for fact in sheet.paths}
        doing = [phrase for command in line.commands for phrase in _command(command, action, places, whole=head == text)]
        if line.broken:
            doing.append("cannot be read as shell code")
        elif not verdict.understood:
            doing.append("could not be understood completely")
    elif analysis.urls:
        head, doing = action.spec.name, [f"fetches from {u.host or u.text}{_at(u.host, sheet)}" for u in analysis.urls]
    elif analysis.paths:
        head, doing = f"{action.spec.name}{_counted(action, sheet.paths)}", list(_files(action, sheet.paths))
    else:
        own = action.spec.source == "own" and action.spec.category == "general"
        head = _short(" ".join((action.spec.name, *(f"{name}={_value(value)}" for name, value in action.arguments.items() if value is not None))))
        doing = ["runs your tool" if own else f"runs the tool {action.spec.name}"]
    doing += [
        r.reason
        for r in verdict.rules
        if r.decision == "ask" and r.id not in AUTO_RULES and r.id not in UNSAID and not (r.id == OUTSIDE and _said(r, analysis, sheet))
    ]
    doing += _not_covered(verdict, sheet)
    if verdict.risk >= Risk.HIGH and not doing:
        doing.append(f"risk {verdict.risk}")
    begun = {longer[: comma.start()] for longer in doing for comma in re.finditer(", ", longer)}
    said = ", ".join(dict.fromkeys(phrase for phrase in doing if phrase not in begun)) or f"asks because it is of tier {verdict.tier}"
    return f"{head}: {said}"


def _said(rule: RuleMatch, analysis: Analysis, sheet: FactSheet) -> bool:
    """Whether the place outside that a rule names is among those that the sentence names anyway; where a command works, and what its wildcards mean, is not."""
    return analysis.line is None or any(f.resolved in rule.reason for f in sheet.paths if f.op in ("read", "write", "delete"))


def _not_covered(verdict: Verdict, sheet: FactSheet) -> Iterator[str]:
    """What undo cannot bring back, where the command would run unasked if undo could."""
    asking = [r for r in verdict.rules if r.decision == "ask"]
    if sheet.undo_lacks and all(r.id in UNCOVERED for r in asking) and any(r.reason.endswith(sheet.undo_lacks) for r in asking):
        yield sheet.undo_lacks


def _at(host: str, sheet: FactSheet) -> str:
    """The network addresses that a name stands for, which are all that is connected to."""
    found = sheet.addresses.get(host, ())
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return f" ({', '.join(found[:NAMED])}{more})" if found else ""


def _command(command: SimpleCommand, action: Action, places: Mapping[tuple[str, PathOp], PathFact], *, whole: bool) -> Iterator[str]:
    """What one command does; nothing for one that only reads in the workspace. `whole`: its words stand before the sentence, none cut off."""
    facts = [places[w.path, w.op] for w in command.wants if (w.path, w.op) in places]
    beyond = [f for f in facts if f.op in ("read", "list") and not (f.inside or is_public(f.resolved))]
    if beyond:
        yield "reads " + _listed(beyond, action)
    if command.only_reads:
        return
    name = basename(command.argv[0]) if command.argv else ""
    why = "" if command.reason == UNRESOLVED else command.reason.removeprefix(f"{name}: ").removeprefix("it ")
    said = [why] if name == "find" else list(_changes(command, facts, action, why, whole=whole))
    if name == "git" and Power.DELETE in command.powers and why not in said:
        said.insert(0, why)
    if Power.NETWORK in command.powers:
        hosts = dict.fromkeys(u.host for word in command.argv if "://" in word for u in [parse(word)] if u.host)
        verb = "sends data to" if command.sends and command.risk >= Risk.HIGH else "connects to"
        said.append(f"{verb} {', '.join(hosts)}" if hosts else why)
    if command.critical:
        said.append(f"changes the system with {name}")
    elif unversioned(name) in INTERPRETERS:
        said.append(_script(command))
    elif command.reason.endswith("what it does is not known"):
        said.append(f"runs {name}, which is not a program NeuralClaw knows")
    yield from filter(None, said or ([] if beyond else [why]))


def _changes(command: SimpleCommand, facts: Sequence[PathFact], action: Action, why: str, *, whole: bool) -> Iterator[str]:
    deleted = [f for f in facts if f.op == "delete"]
    if deleted:
        yield _deletes(deleted, action, wild=command.open, named=not whole)
    elif Power.DELETE in command.powers and Power.WRITE not in command.powers:
        yield "deletes files"
    written = [f for f in facts if f.op == "write"]
    if not written:
        return
    if command.argv[0] == "mv" and len(written) > 1:
        yield f"moves {_listed(written[:-1], action)} to {_listed(written[-1:], action)}"
    elif why.endswith("who may use files"):
        yield f"changes who may use {_listed(written, action)}"
    else:
        yield f"writes {_listed(_made(command, facts) or written, action)}"


def _made(command: SimpleCommand, facts: Sequence[PathFact]) -> list[PathFact]:
    """The files that a copy makes in a directory that is there, by the names of what is copied; empty for any other command."""
    written = [f for f in facts if f.op == "write"]
    elsewhere = any(word.startswith(("--parents", "--directory", "-d")) for word in command.argv[1:])
    if basename(command.argv[0]) not in COPIERS or elsewhere or written[-1].kind != "directory":
        return []
    target = written[-1]
    names = [basename(f.path.rstrip("/")) for f in facts if f is not target and f.op in ("read", "write")]
    return [
        msgspec.structs.replace(target, path=join(target.path, name), resolved=join(target.resolved, name)) for name in names if name not in ("", ".", "..")
    ]


def _deletes(facts: Sequence[PathFact], action: Action, *, wild: bool, named: bool = False) -> str:
    """`named`: the files are named here, as nothing before the sentence names them."""
    where = " (outside the workspace)" if any(not f.inside for f in facts) else ""
    if wild:
        return f"deletes all that {_listed(facts, action)} names"
    directories = [f for f in facts if f.kind == "directory"]
    files = [f for f in facts if f.exists and f.kind != "directory"]
    parts = ([_listed(files, action)] if named else [f"{len(files)} file{'s' if len(files) != 1 else ''}"]) if files else []
    parts += [f"{_listed(directories, action)} and all in {'it' if len(directories) == 1 else 'them'}"] if directories else []
    if not parts:
        return f"deletes {_listed(facts, action)}, which is not there now"
    return f"deletes {' and '.join(parts)}{'' if directories or named else where}"


def _script(command: SimpleCommand) -> str:
    first = command.argv[1] if len(command.argv) > 1 else ""
    if first and not first.startswith("-"):
        return f"runs {first}"
    if first == "-m" and len(command.argv) > 2:
        return f"runs the module {command.argv[2]}"
    return "runs code from the command line" if first not in ("", "-") else "runs code from its input"


def _files(action: Action, facts: Sequence[PathFact]) -> Iterator[str]:
    """What a file tool does."""
    deleted = [f for f in facts if f.op == "delete"]
    if deleted:
        yield _deletes(deleted, action, wild=False)
    for op, verb in (("write", "writes"), ("read", "reads"), ("list", "lists")):
        found = [f for f in facts if f.op == op]
        if found:
            yield f"{verb} {_listed(found, action)}"


def _counted(action: Action, facts: Sequence[PathFact]) -> str:
    """The names of files that the sentence only counts, behind a blank; "" where it names them all."""
    groups = [[f for f in facts if f.op == op] for op in ("delete", "write", "read", "list")]
    deleted = [f for f in groups[0] if f.exists and f.kind != "directory"]
    counted = [*deleted, *(f for group in groups[1:] if len(group) > NAMED for f in group)]
    names = ", ".join(_path(f, action) for f in counted)
    return "" if not counted else f" {names if len(names) <= LONGEST else _short(names) if len(counted) > 1 else '…' + names[1 - LONGEST :]}"


def _listed(facts: Sequence[PathFact], action: Action) -> str:
    """Names of files, seen from the workspace; how many they are when they are many."""
    if len(facts) > NAMED:
        outside = sum(not f.inside for f in facts)
        return f"{len(facts)} files" + (f", {outside} of them outside the workspace" if outside else "")
    return ", ".join(_named(f, action) for f in facts)


def _named(fact: PathFact, action: Action) -> str:
    if fact.resolved == action.workspace:
        return "the workspace"
    return _path(fact, action) if fact.inside or under(fact.resolved, action.workspace) else f"{fact.resolved} (outside the workspace)"


def _path(fact: PathFact, action: Action) -> str:
    return relpath(fact.resolved, action.workspace) if under(fact.resolved, action.workspace) else fact.resolved


def _value(value: Any) -> str:
    """An argument of a tool, as it is where it is one word, else as JSON; shortened."""
    word = isinstance(value, str) and value.isprintable() and value and not any(c in value for c in " \"'")
    text = value if word else msgspec.json.encode(value, enc_hook=str).decode()
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
