"""Rules for command lines: blocks, the allowlist, the places a command touches, and whether all of it only reads."""

from collections.abc import Mapping
from posixpath import dirname

import msgspec

from ..types.actions import Action
from ..types.facts import FactSheet, PathFact, PathOp
from ..types.options import Policy
from ..types.risk import Power, Risk, Sink, Tier
from . import owner_rules
from .analysis import Analysis
from .command_line import CommandLine, SimpleCommand
from .findings import Findings
from .path_rules import guard, instructions, roots
from .paths import HARMLESS_DEVICES, SCRATCH, in_data_home, instructs, is_device, is_startup, is_system, under


def judge(findings: Findings, action: Action, policy: Policy, analysis: Analysis, sheet: FactSheet) -> None:
    """Everything a command line is judged by, apart from the scales of risk and tier."""
    line = analysis.line
    assert line is not None
    findings.execute = True
    findings.commands = tuple(c.view() for c in line.commands)
    findings.understood = line.understood and not line.broken
    _blocks(findings, action, policy, line)
    strays = {c.program for c in line.commands if c.program and stray(c.program, action, policy, sheet)}
    only_reads = line.only_reads and not strays
    _form(findings, policy, line)
    facts = {(fact.path, fact.op): fact for fact in sheet.paths}
    for command in line.commands:
        _command(findings, action, policy, command, facts)
    if not only_reads:
        _unlisted(findings, policy, line, strays)
        findings.raise_tier(Tier.SYSTEM_CRITICAL if any(c.critical for c in line.commands) else Tier.EXECUTE)
        findings.raise_risk(Risk.MEDIUM)
        findings.powers.add(Power.EXECUTE)
        findings.sinks.add(Sink.EXECUTE)
        findings.write += _writable(findings, action, policy)
    findings.read += roots(action, policy)
    findings.programs.update({name: path for name, path in sheet.programs.items() if path is not None})


def _blocks(findings: Findings, action: Action, policy: Policy, line: CommandLine) -> None:
    for block in line.blocks:
        if owner_rules.releases(policy, block, action.workspace):
            continue
        findings.raise_risk(Risk.CRITICAL)
        findings.raise_tier(Tier.SYSTEM_CRITICAL)
        findings.forbid(block.rule, block.reason, block.alternative)


def _form(findings: Findings, policy: Policy, line: CommandLine) -> None:
    if policy.shell == "strict" and not line.simple:
        findings.forbid(
            "shell.strict", "the shell is set to strict: one program, no operators, redirections or substitutions", "one program with its arguments"
        )
    if line.exceeded:
        findings.raise_risk(Risk.HIGH)
        too_much = findings.forbid if line.unread else findings.ask
        too_much("shell.bounds", f"what the command does cannot be worked out: {line.exceeded}", "a shorter, plainer command, or a script in a file")
    if line.broken:
        findings.raise_risk(Risk.HIGH)
        findings.ask("shell.syntax", "the command cannot be read as shell code, so what it does is unknown", "the same command in plain, complete shell syntax")
    elif not line.understood:
        findings.raise_risk(Risk.MEDIUM)


def stray(program: str, action: Action, policy: Policy, sheet: FactSheet) -> bool:
    """A program that is not what its name says: it lies where anybody, or the agent itself, may have put it."""
    resolved = sheet.programs.get(program)
    if "/" in program and not program.startswith("/"):
        return True
    if resolved is None:
        return "/" in program
    return any(under(resolved, place) for place in (*roots(action, policy), *SCRATCH) if place != "/")


def _unlisted(findings: Findings, policy: Policy, line: CommandLine, strays: set[str]) -> None:
    for command in line.commands:
        name = command.program
        if not name or (name in policy.programs and name not in strays):
            continue
        listed = "/" in name and name not in strays and name.rsplit("/", 1)[-1] in policy.programs
        if listed:
            continue
        reason = f"{name} is not on the list of programs"
        if policy.unlisted_commands == "forbid":
            findings.forbid("program.unlisted", reason, "a program on the list (safety.terminal_whitelist_extra adds to it)")
        else:
            findings.ask("program.unlisted", reason)


def _command(findings: Findings, action: Action, policy: Policy, command: SimpleCommand, facts: Mapping[tuple[str, PathOp], PathFact]) -> None:
    findings.powers.update(command.powers)
    if command.risk > findings.risk or not findings.why:
        findings.why = command.reason or findings.why
    findings.raise_risk(command.risk)
    if Power.NETWORK in command.powers:
        findings.network = True
    if command.sends:
        findings.sinks.add(Sink.NETWORK_SEND)
    into = [w for w in command.wants if w.op == "write" and facts[w.path, w.op].kind in ("directory", "missing")]
    for want in command.wants:
        fact = facts[want.path, want.op]
        if want.op == "read" and into and instructs(want.path):  # a copy into a directory keeps its name
            instructions(findings, msgspec.structs.replace(fact, op="write"), action.workspace)
        _place(findings, fact, action, policy)
        if fact.op in ("write", "delete"):
            _change(findings, fact, policy, action.workspace)


def _place(findings: Findings, fact: PathFact, action: Action, policy: Policy) -> None:
    if in_data_home(fact.resolved, policy, action.workspace):
        findings.raise_risk(Risk.HIGH)
        findings.forbid("path.protected", f"{fact.resolved} belongs to the agent's own data, which no tool call may touch", f"a path in {action.workspace}")
    guard(findings, fact.resolved, inside=fact.inside)
    if fact.path != fact.resolved:
        guard(findings, fact.path, inside=fact.inside)


def _change(findings: Findings, fact: PathFact, policy: Policy, workspace: str) -> None:
    path = fact.resolved
    instructions(findings, fact, workspace)
    if path in HARMLESS_DEVICES or fact.path in HARMLESS_DEVICES:
        return
    if is_device(path):
        findings.raise_risk(Risk.CRITICAL)
        findings.forbid("block.device", f"it writes to the device {path}", "a regular file, or /dev/null")
    elif not fact.inside:
        findings.sinks.add(Sink.WRITE)
        if is_system(path) or is_startup(path):
            findings.raise_risk(Risk.HIGH)
            findings.raise_tier(Tier.SYSTEM_CRITICAL if is_system(path) else Tier.EXECUTE)
            findings.why = f"it writes to {path}, which belongs to the system" if is_system(path) else f"it changes {path}, which runs at the next log-in"
        findings.ask("path.outside", f"it changes {path}, which is outside the workspace", "a path in the workspace")
        if path not in policy.protected_paths:
            findings.write.append(path if fact.kind == "directory" else dirname(path))


def _writable(findings: Findings, action: Action, policy: Policy) -> list[str]:
    """The workspace and the allowed paths, apart from those too great to be written unasked: those need the person's word."""
    found = []
    for root in roots(action, policy):
        if root in policy.protected_paths:
            findings.ask("path.readonly", f"{root} is too much to be a writable workspace unasked", "a workspace of its own: --workspace DIR")
        found.append(root)
    return found
