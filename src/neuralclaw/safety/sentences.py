"""What a call would do, in one short sentence for a person. The reasons, which say why it asks, are longer and stand beside it."""

from collections.abc import Iterator, Sequence
from posixpath import basename, relpath

from ..types.actions import Action, FactSheet, PathFact, Verdict
from ..types.judging import Power, Risk
from .addresses import parse
from .analysis import Analysis
from .findings import AUTO_RULES
from .line import Command
from .paths import under
from .programs import INTERPRETERS

LONGEST = 60
"""Characters of a command that is named in the sentence."""
UNRESOLVED = "some part of it cannot be resolved before it runs"
NAMED = 3
"""Files that are named before they are only counted."""


def sentence(action: Action, analysis: Analysis, verdict: Verdict, sheet: FactSheet) -> str:
    """What would be done, and what makes it ask beyond risk and tier."""
    line = analysis.line
    if line is not None:
        doing = [phrase for command in line.commands for phrase in _command(command, action, sheet)]
        head = _short(" ".join(line.text.split()))
        if line.broken:
            doing.append("cannot be read as shell code")
        elif not verdict.understood:
            doing.append("could not be understood completely")
    elif analysis.urls:
        head, doing = action.spec.name, [f"fetches from {u.host or u.text}" for u in analysis.urls]
    elif analysis.paths:
        head, doing = action.spec.name, list(_files(action, sheet.paths))
    else:
        head, doing = action.spec.name, [f"runs the tool {action.spec.name}"]
    doing += [
        r.reason
        for r in verdict.rules
        if r.decision == "ask" and r.id not in AUTO_RULES and r.id not in ("shell.syntax", "path.outside", "tier.system-critical")
    ]
    if verdict.risk >= Risk.HIGH and not doing:
        doing.append(f"risk {verdict.risk}")
    doing = [phrase for phrase in doing if not any(longer.startswith(f"{phrase}, ") for longer in doing)]
    said = ", ".join(dict.fromkeys(doing)) or f"asks because it is of tier {verdict.tier}"
    return f"{head}: {said}"


def _command(command: Command, action: Action, sheet: FactSheet) -> Iterator[str]:
    """What one command does; nothing for one that only reads in the workspace."""
    facts = [f for w in command.wants for f in sheet.paths if (f.path, f.op) == (w.path, w.op)]
    if command.only_reads:
        beyond = [f for f in facts if not f.inside and f.op in ("read", "list")]
        if beyond:
            yield "reads " + _listed(beyond, action)
        return
    name = basename(command.argv[0]) if command.argv else ""
    why = "" if command.reason == UNRESOLVED else command.reason.removeprefix(f"{name}: ").removeprefix("it ")
    said = [why] if name == "find" else list(_changes(command, facts, action, why))
    if Power.NETWORK in command.powers:
        hosts = dict.fromkeys(u.host for word in command.argv if "://" in word for u in [parse(word)] if u.host)
        verb = "sends data to" if command.sends and command.risk >= Risk.HIGH else "connects to"
        said.append(f"{verb} {', '.join(hosts)}" if hosts else why)
    if command.critical:
        said.append(f"changes the system with {name}")
    elif name in INTERPRETERS:
        said.append(_script(command))
    elif command.reason.endswith("what it does is not known"):
        said.append(f"runs {name}, which is not a program NeuralClaw knows")
    yield from filter(None, said or [why])


def _changes(command: Command, facts: Sequence[PathFact], action: Action, why: str) -> Iterator[str]:
    deleted = [f for f in facts if f.op == "delete"]
    if deleted:
        yield _deletes(deleted, action, wild=command.open)
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
        yield f"writes {_listed(written, action)}"


def _deletes(facts: Sequence[PathFact], action: Action, *, wild: bool) -> str:
    where = " (outside the workspace)" if any(not f.inside for f in facts) else ""
    if wild:
        return f"deletes all that {_listed(facts, action)} names"
    directories = [f for f in facts if f.kind == "directory"]
    files = len([f for f in facts if f.exists]) - len(directories)
    parts = [f"{files} file{'s' if files != 1 else ''}"] if files else []
    parts += [f"{_listed(directories, action)} and all in {'it' if len(directories) == 1 else 'them'}"] if directories else []
    if not parts:
        return f"deletes {_listed(facts, action)}, which is not there now"
    return f"deletes {' and '.join(parts)}{'' if directories else where}"


def _script(command: Command) -> str:
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


def _listed(facts: Sequence[PathFact], action: Action) -> str:
    """Names of files, seen from the workspace; how many they are when they are many."""
    if len(facts) > NAMED:
        outside = sum(not f.inside for f in facts)
        return f"{len(facts)} files" + (f", {outside} of them outside the workspace" if outside else "")
    return ", ".join(_named(f, action) for f in facts)


def _named(fact: PathFact, action: Action) -> str:
    if fact.resolved == action.workspace:
        return "the workspace"
    if under(fact.resolved, action.workspace):
        return relpath(fact.resolved, action.workspace)
    return fact.resolved if fact.inside else f"{fact.resolved} (outside the workspace)"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
