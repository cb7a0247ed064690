"""Rules for command lines: blocks, the allowlist, the places a command touches, and whether all of it only reads."""

from collections.abc import Iterator, Mapping
from posixpath import basename, dirname, join
from typing import Literal

import msgspec

from ..types.actions import Action
from ..types.facts import FactSheet, PathFact, PathOp
from ..types.options import Policy
from ..types.risk import Decision, Power, Risk, Sink, Tier
from ..types.urls import place_of
from . import git_repositories, own_commands, owner_rules
from .analysis import Analysis
from .command_line import CommandLine, SimpleCommand
from .findings import Findings
from .outbound_places import OPEN_PLACE, why_never
from .path_rules import changes_outside, instructions, kept, later_run, reads_outside, roots, too_much
from .paths import HARMLESS_DEVICES, SCRATCH, holds_data_home, in_data_home, instructs, is_device, is_public, is_root_or_home, normal, person_home, under
from .reading_programs import READERS
from .run_later import runs_later

COVERED = "undo.covers"
"""The rule by which a command counts as reading: what it writes stays in the workspace and can be undone, and it has no network."""
UNCONFINED = "shell.unconfined"
"""The rule by which lines for a shell, and programs that do more than read, ask where no sandbox holds them."""
UNCLEAR = "shell.unclear"
"""The rule by which what is not understood asks where no sandbox holds it; no mode, grant or rule of the owner answers it."""
REFUSED_PLACE = "network.refused"
"""The rule by which a command is refused that needs a place to which the outbound proxy never leads."""
EXACT = frozenset("chgrp chmod chown cp ln mkdir mv rm rmdir sed shred tee touch truncate unlink".split())
"""Programs that change what their words name and run nothing else; what `sed` would run counts as a power of its command."""
REPLACING = frozenset({"ln", "mv", "sed"})
"""Of these, those that put another file in the place of one that is there."""
Company = Literal["none", "exact", "others"]
"""What runs in the line of a command besides it: nothing, programs of `EXACT` as it is one itself, or others."""
INTO = frozenset({"cp", "ln", "mv"})
"""Those that make something in a directory that is named last."""


def judge(findings: Findings, action: Action, policy: Policy, analysis: Analysis, sheet: FactSheet) -> None:
    """Everything a command line is judged by, apart from the scales of risk and tier."""
    line = analysis.line
    assert line is not None
    findings.execute = True
    findings.commands = tuple(c.view() for c in line.commands)
    findings.understood = line.understood and not line.broken
    _blocks(findings, action, policy, line)
    strays = {c.program for c in line.commands if c.program and stray(c.program, action, policy, sheet)}
    facts = {(fact.path, fact.op): fact for fact in sheet.paths}
    unsure = _unsure_places(line, sheet)
    if unsure:
        findings.understood = False
        findings.raise_risk(Risk.MEDIUM)
    only_reads = line.only_reads and not strays and not unsure and git_repositories.judge(findings, action, policy, line, sheet)
    held = sheet.undo_covers and not any(c.critical or Power.NETWORK in c.powers for c in line.commands)
    _form(findings, policy, line, held=held)
    if sheet.unconfined and not (line.by_argv and only_reads):
        findings.ask(UNCONFINED, "no sandbox holds commands here, so only one program that reads, without a shell, runs without a question")
        if line.broken or not line.understood:
            findings.ask(
                UNCLEAR,
                "no sandbox holds commands here, and what this one does cannot be worked out, so only a person's yes to it runs it",
                "the same in plain commands, or a sandbox: neuralclaw doctor says what it needs",
            )
    own_commands.judge(findings, line, sheet)
    _programs_outside(findings, action, policy, sheet)
    if in_data_home(action.workspace, policy, action.workspace):
        findings.forbid("path.protected", f"the workspace {action.workspace} belongs to the agent's own data", "another workspace: --workspace DIR")
    company: Company = (
        "exact" if exact_changes(line) and not strays else "none" if len(line.commands) == 1 and Power.EXECUTE not in line.commands[0].powers else "others"
    )
    for command in line.commands:
        if command.unresolved and held:  # what it may be, the sandbox and undo make harmless
            command = msgspec.structs.replace(command, risk=min(command.risk, Risk.MEDIUM))
        _command(findings, action, policy, command, facts, company)
    if not only_reads:
        covered = sheet.undo_covers and not findings.network and not findings.write and not any(c.critical for c in line.commands)
        _unlisted(findings, action, policy, line, sheet, covered=covered)
        if any(c.critical for c in line.commands):
            findings.raise_tier(Tier.SYSTEM_CRITICAL)
        elif covered:
            findings.match(COVERED, Decision.ALLOW, "it stays in the workspace, without network, and undo brings back what it changes")
        else:
            findings.raise_tier(Tier.EXECUTE)
        findings.raise_risk(Risk.MEDIUM)
        findings.powers.add(Power.EXECUTE)
        findings.sinks.add(Sink.EXECUTE)
        findings.write += _writable(findings, action, policy)
        findings.repositories = _repositories(line, action.workspace, facts)
        findings.write += findings.repositories
        # What is deleted may go although a sandbox keeps a part of it read-only.
        findings.write += [fact.resolved for fact in sheet.paths if fact.inside and fact.op == "delete" and fact.exists and not is_device(fact.resolved)]
        findings.write += _asked_places(line, action, policy, facts)
    if findings.network:
        findings.hosts += _reached(line)
        _refused_places(findings, action, policy, line)
    findings.read += roots(action, policy)
    findings.programs.update({name: path for name, path in sheet.programs.items() if path is not None})


def _blocks(findings: Findings, action: Action, policy: Policy, line: CommandLine) -> None:
    for block in line.blocks:
        if owner_rules.releases(policy, block, action):
            continue
        findings.raise_risk(Risk.CRITICAL)
        findings.raise_tier(Tier.SYSTEM_CRITICAL)
        findings.forbid(block.rule, block.reason, block.alternative)


def _form(findings: Findings, policy: Policy, line: CommandLine, *, held: bool) -> None:
    """What the line is as a whole. `held`: what is not understood of it stays in the sandbox, without network and under undo."""
    if policy.shell == "strict" and not line.simple:
        findings.forbid(
            "shell.strict", "the shell is set to strict: one program, no operators, redirections or substitutions", "one program with its arguments"
        )
    if line.exceeded:
        findings.raise_risk(Risk.HIGH)
        too_much = findings.forbid if line.unread else findings.ask
        too_much("shell.bounds", f"what the command does cannot be worked out: {line.exceeded}", "a shorter, plainer command, or a script in a file")
    if line.broken and not held:
        findings.raise_risk(Risk.HIGH)
        findings.ask("shell.syntax", "the command cannot be read as shell code, so what it does is unknown", "the same command in plain, complete shell syntax")
    elif line.broken or not line.understood:
        findings.raise_risk(Risk.MEDIUM)


def stray(program: str, action: Action, policy: Policy, sheet: FactSheet) -> bool:
    """A program that is not what its name says: it lies where anybody, or the agent itself, may have put it."""
    resolved = sheet.programs.get(program)
    if "/" in program and not program.startswith("/"):
        return True
    if resolved is None:
        return "/" in program
    return any(under(resolved, place) for place in (*roots(action, policy), *SCRATCH) if place != "/")


def _programs_outside(findings: Findings, action: Action, policy: Policy, sheet: FactSheet) -> None:
    """A program that its path names is run on like any file is read: outside the workspace and the system's public places only after a yes."""
    for name, real in sheet.programs.items():
        if "/" not in name or real is None or is_public(real) or any(under(real, root) for root in roots(action, policy)):
            continue
        if in_data_home(real, policy, action.workspace):
            findings.forbid("path.protected", f"{real} belongs to the agent's own data, which no tool call may touch", f"a path in {action.workspace}")
        else:
            findings.ask("path.outside", f"it runs {real}, which is outside the workspace", "a path in the workspace")
            findings.read.append(real)


def _unlisted(findings: Findings, action: Action, policy: Policy, line: CommandLine, sheet: FactSheet, *, covered: bool) -> None:
    """Programs off the list ask, but where the sandbox holds what they may do and undo covers it: there they can do what `make` can."""
    for command in line.commands:
        name = command.program
        strange = stray(name, action, policy, sheet)
        if not name or (name in policy.programs and not strange):
            continue
        listed = "/" in name and not strange and name.rsplit("/", 1)[-1] in policy.programs
        held = covered and policy.unlisted_commands == "ask" and (not strange or _in_workspace(name, action, policy, sheet))
        if listed or held:
            continue
        reason = f"{name} is not on the list of programs"
        if policy.unlisted_commands == "forbid":
            findings.forbid("program.unlisted", reason, "a program on the list (safety.terminal_whitelist_extra adds to it)")
        else:
            findings.ask("program.unlisted", reason)


def _in_workspace(program: str, action: Action, policy: Policy, sheet: FactSheet) -> bool:
    """Whether the program lies in the workspace, or would, and is not there yet."""
    resolved = sheet.programs.get(program)
    if resolved is None:
        return not program.startswith("/") and ".." not in program.split("/")
    return any(under(resolved, place) for place in roots(action, policy) if place != "/")


def exact_changes(line: CommandLine) -> bool:
    """Whether all that the line changes are the paths that its words name: other programs that run with it could change whatever is open to them, and so could
    an option that the name of a file becomes by a wildcard (`sed … *` with a file `-fscript`)."""
    return (
        line.understood
        and not line.broken
        and not line.alters
        and all(
            not c.via
            and not c.wild_options
            and not c.powers & {Power.EXECUTE, Power.NETWORK}
            and (c.program in EXACT or (not c.program or (c.only_reads and c.program in READERS)))
            for c in line.commands
        )
    )


def _command(
    findings: Findings, action: Action, policy: Policy, command: SimpleCommand, facts: Mapping[tuple[str, PathOp], PathFact], company: Company
) -> None:
    findings.powers.update(command.powers)
    if command.risk > findings.risk or not findings.why:
        findings.why = command.reason or findings.why
    findings.raise_risk(command.risk)
    if Power.NETWORK in command.powers:
        findings.network = True
    if command.sends:
        findings.sinks.add(Sink.NETWORK_SEND)
    for want in command.wants:
        fact = facts[want.path, want.op]
        for one in (fact, *fact.expanded):
            kept(findings, one, action, policy)
            if one.op in ("write", "delete"):
                _change(findings, one, action, policy, _opening(command, one, company, last=want is command.wants[-1]), exact=company == "exact")
            elif one.op != "list":
                _open(findings, one, action, policy)
    place = facts.get((command.cwd or "", "list"))
    if place is not None and command.program and not (command.wants and holds_data_home(place.resolved, policy, action.workspace)):
        kept(findings, place, action, policy)
        _open(findings, place, action, policy)
    for fact in _changed(command, facts):
        instructions(findings, fact, action.workspace)
        later_run(findings, fact, roots(action, policy), action.workspace, person_home(policy))


def _changed(command: SimpleCommand, facts: Mapping[tuple[str, PathOp], PathFact]) -> Iterator[PathFact]:
    """What its words name to be changed; a copy into a directory keeps its name."""
    named = [one for want in command.wants for fact in (facts[want.path, want.op],) for one in (fact, *fact.expanded)]
    changed = [fact for fact in named if fact.op in ("write", "delete")]
    yield from changed
    plain = [fact for fact in named if not (fact.expanded and basename(fact.path) == "*")]
    read = [fact for fact in plain if fact.op == "read"]
    for target in changed:
        if target.op == "write" and target.kind in ("directory", "missing"):
            copied = (fact for fact in (plain if target.kind == "directory" else read) if fact is not target)
            for name in sorted({basename(fact.path.rstrip("/")) for fact in copied} - {"", ".", ".."}):
                yield msgspec.structs.replace(target, path=join(target.path, name), resolved=join(target.resolved, name))


def _asked_places(line: CommandLine, action: Action, policy: Policy, facts: Mapping[tuple[str, PathOp], PathFact]) -> list[str]:
    """Places that code is later run from which the words name to be changed, so that they were asked about: a sandbox lets the command change them."""
    allowed = roots(action, policy)
    named = {path: fact for command in line.commands for fact in _changed(command, facts) for path in (fact.resolved, normal(fact.path))}
    return [path for path, fact in named.items() if instructs(path) or runs_later(path, allowed, fact)]


def _unsure_places(line: CommandLine, sheet: FactSheet) -> bool:
    """Whether it is not known where all of the line works: its wildcards mean too much, or it goes to a directory that is not there and steps up from it, so
    that it may step up from where it was before."""
    missing = {fact.path for fact in sheet.paths if fact.op == "list" and fact.kind != "directory"}
    astray = any(c.cwd in missing and any("/.." in want.path for want in c.wants) for c in line.commands)
    return astray or any(fact.many for fact in sheet.paths)


def _repositories(line: CommandLine, workspace: str, facts: Mapping[tuple[str, PathOp], PathFact]) -> list[str]:
    """The repositories whose settings a line of `git` alone may write: it keeps remotes and branches there, and a sandbox keeps them from other programs."""
    acting = [c for c in line.commands if not c.only_reads]
    if not line.understood or line.alters or any(c.program != "git" or c.via for c in acting):
        return []
    places = dict.fromkeys(facts[c.cwd, "list"].resolved if (c.cwd, "list") in facts else normal(c.cwd) for c in acting if c.cwd)
    for place in tuple(places):
        while place != workspace and under(place, workspace):  # a repository may begin above
            place = dirname(place)
            places[place] = None
    return [f"{place.rstrip('/')}/.git" for place in places]


def _reached(line: CommandLine) -> list[str]:
    """The places that the line needs; none where one of its commands does not name them: then it may reach every public place."""
    places = [c.places for c in line.commands if Power.NETWORK in c.powers]
    return [] if None in places or not line.understood else list(dict.fromkeys(place for one in places for place in one or ()))


def _refused_places(findings: Findings, action: Action, policy: Policy, line: CommandLine) -> None:
    """A command of whose places the outbound proxy leads to none is refused, since a yes to it would give nothing. What goes around the proxy, to a server
    that the same line starts, does not need it."""
    for command in line.commands:
        if not command.places or "proxy" in line.text.lower() or "-x" in command.argv:
            continue
        reasons = [why_never(policy, action, place_of(place)) for place in command.places]
        if all(reasons):
            findings.forbid(REFUSED_PLACE, f"{command.program} cannot reach {command.places[0]}: {reasons[0]}", OPEN_PLACE)


def _open(findings: Findings, fact: PathFact, action: Action, policy: Policy) -> None:
    """What a command's words name outside the workspace is asked about, and then shown to it where a sandbox hides it."""
    if fact.inside:
        return
    if is_device(fact.resolved):
        findings.ask("path.outside", f"it reads the device {fact.resolved}", "a file in the workspace")
        return
    place = fact.resolved
    if any(char in place for char in "*?["):
        place = dirname(place[: min(at for char in "*?[" if (at := place.find(char)) >= 0)] + "x")
    reads_outside(findings, fact, place, action, policy)


def _opening(command: SimpleCommand, fact: PathFact, company: Company, *, last: bool) -> str:
    """The directory that must be open for what a command does to a path, "" where the path itself is enough, or the command runs alone."""
    if fact.op == "write" and fact.kind == "directory" and ((last and command.program in INTO) or company == "others"):
        return fact.resolved
    return dirname(fact.resolved) if fact.op == "delete" or not fact.exists or command.program in REPLACING else ""


def _change(findings: Findings, fact: PathFact, action: Action, policy: Policy, opening: str, *, exact: bool) -> None:
    path = fact.resolved
    if path in HARMLESS_DEVICES or fact.path in HARMLESS_DEVICES:
        return
    if is_device(path):
        findings.raise_risk(Risk.CRITICAL)
        findings.forbid("block.device", f"it writes to the device {path}", "a regular file, or /dev/null")
        return
    if fact.op == "delete" and fact.kind == "directory" and is_root_or_home(path, policy, action.workspace):
        findings.raise_risk(Risk.CRITICAL)
        findings.forbid("block.rm_roots", f"{path}: it holds the system, a home or the workspace", "a directory in the workspace, by its name")
    if not fact.inside:
        changes_outside(findings, fact)
        if opening and not exact:
            reason = f"it makes, replaces or removes something in {opening}, all of which must be open for it, and the line may do more than its words name"
            other = "cp, mv, mkdir or rm in a line of its own, with ./* in place of *; what another program makes is made in the workspace first"
            findings.forbid("path.outside", reason, other)
        elif opening:
            findings.making.append(opening)
        if path != opening and path not in policy.protected_paths:
            findings.write.append(path)  # (what is run later is what was named alone)


def _writable(findings: Findings, action: Action, policy: Policy) -> list[str]:
    """The workspace and the allowed paths, apart from those too great to be written unasked: those need the person's word."""
    found = []
    for root in roots(action, policy):
        if root in policy.protected_paths:
            too_much(findings, root, action.workspace)
        found.append(root)
    return found
