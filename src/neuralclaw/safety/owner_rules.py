"""The owner's own rules: they may ask, forbid, allow what would ask, and release a few blocks for a named directory."""

from ..types.actions import Action
from ..types.facts import FactSheet
from ..types.options import OwnerRule, Policy
from ..types.risk import Decision, Power
from ..types.urls import named_host
from .analysis import Analysis
from .blocks import steps_through
from .command_line import BlockMatch, SimpleCommand
from .findings import Findings
from .paths import absolute, is_public, normal, person_home, under
from .possible_powers import runs_unknown
from .rule_circumstances import holds
from .rule_commands import runs
from .rule_hosts import may_reach
from .rule_reach import reaches
from .rule_words import is_prefix

POWER_WORDS = {
    Power.READ: "read",
    Power.WRITE: "write",
    Power.DELETE: "delete",
    Power.NETWORK: "use the network",
    Power.EXECUTE: "run programs",
    Power.PRIVILEGE: "gain an administrator's rights",
}


def releases(policy: Policy, block: BlockMatch, action: Action) -> bool:
    """Whether an `allow` rule names the command and a directory that holds every place the block is about."""
    if not block.releasable or not block.places:
        return False
    for rule in policy.rules:
        plain = rule.host is None and rule.power is None and rule.tool in (None, "terminal", *action.spec.aliases)
        if rule.decision is Decision.ALLOW and rule.path and rule.command and plain and holds(rule, action):
            root = _root(rule.path, policy, action.workspace)
            if is_prefix(rule.command, block.argv, exact=rule.exact) and all(under(place, root) for place in block.places):
                return True
    return False


def apply(findings: Findings, action: Action, policy: Policy, analysis: Analysis, sheet: FactSheet, *, of_hosts: bool = False) -> None:
    """Add the owner's rules that match; with `of_hosts` only those that name a host. An `allow` answers asks of risk, tier and list, when it covers the whole
    call."""
    for rule in policy.rules:
        if of_hosts and not rule.host:
            continue
        if not holds(rule, action) or not _has_power(rule, findings) or not _matches(rule, action, analysis, sheet, connecting=of_hosts):
            continue
        decision = rule.decision if rule.command is None else _runs(rule, rule.command, analysis)
        if decision is None:
            continue
        how = "" if rule.path is None else _reach(findings, rule, action, policy, analysis, sheet)
        if how is None:
            continue
        if decision is not rule.decision:
            how = f": what it runs is not known, and may be `{rule.command}`"
        findings.match(f"owner.{rule.id}", decision, (rule.reason or described(rule)) + how, rule.alternative)
        if rule.decision is Decision.ALLOW and findings.understood:
            findings.answered = True


def _reach(findings: Findings, rule: OwnerRule, action: Action, policy: Policy, analysis: Analysis, sheet: FactSheet) -> str | None:
    """How the call reaches the path of the rule, as the end of a sentence, or may reach it; None where it does not. Where only what it runs might, and the rule
    forbids, a sandbox keeps the path from it instead."""
    root = _root(rule.path or "", policy, action.workspace)
    if rule.decision is Decision.ALLOW:
        return "" if _all_below(root, analysis, sheet) else None
    unknown = runs_unknown(findings, analysis.line)
    changes = unknown or (analysis.line is not None and not analysis.line.only_reads)
    if reaches(root, action, analysis, sheet) or (changes and under(action.workspace, root)):
        return ""
    if unknown and sheet.unconfined:
        return ": what it runs may reach it, and no sandbox keeps it from there"
    if unknown and rule.decision is Decision.ASK and _in_sight(root, findings, (action.workspace, *policy.allowed_paths)):
        return ": what it runs may reach it"
    if changes and rule.decision is Decision.FORBID:
        (findings.unchanged if rule.power in (Power.WRITE, Power.DELETE) else findings.unseen).append(root)
    return None


def _in_sight(root: str, findings: Findings, roots: tuple[str, ...]) -> bool:
    """Whether a sandbox shows the place, or something in it, to what the call runs."""
    return is_public(root) or any(under(root, place) or under(place, root) for place in (*roots, *findings.read, *findings.write))


def described(rule: OwnerRule) -> str:
    """What a rule without a reason says, with its conditions."""
    does = {Decision.ALLOW: "allows", Decision.ASK: "asks about", Decision.FORBID: "forbids"}[rule.decision]
    tool = f"the tool {rule.tool}" if rule.tool else ""
    about = [part for part in (rule.command, tool, rule.path, rule.host, f"the power to {POWER_WORDS[rule.power]}" if rule.power else "") if part]
    what = " with ".join(about) or "calls of this kind"
    return f"your rule {rule.id} {does} {what}"


def _root(path: str, policy: Policy, workspace: str) -> str:
    """A rule's path as an absolute one: what is relative lies in the workspace, `~` is the person's home."""
    home = person_home(policy)
    return normal(absolute(home + path[1:] if home and (path == "~" or path.startswith("~/")) else path, workspace))


def _matches(rule: OwnerRule, action: Action, analysis: Analysis, sheet: FactSheet, *, connecting: bool) -> bool:
    """Whether tool and host of the rule are those of the call: of some part of it, or where it allows of all. `connecting`: only its address counts."""
    if rule.tool is not None and rule.tool not in (action.spec.name, *action.spec.aliases):
        return False
    if rule.host is None:
        return True
    named = named_host(rule.host).host
    of_urls = [url.host == named or url.host.endswith("." + named) for url in analysis.urls]
    if rule.decision is Decision.ALLOW:  # what else a command reaches is not known
        return bool(of_urls) and all(of_urls)
    if any(of_urls) or connecting or analysis.line is None:
        return any(of_urls)
    return may_reach(analysis.line, named, unconfined=sheet.unconfined)


def _commands(analysis: Analysis) -> tuple[SimpleCommand, ...]:
    return analysis.line.commands if analysis.line is not None else ()


def _weighty(analysis: Analysis) -> tuple[SimpleCommand, ...]:
    """The commands an `allow` must cover: all that do more than read, or simply all when all only read."""
    commands = _commands(analysis)
    return tuple(c for c in commands if not c.only_reads) or commands


def _runs(rule: OwnerRule, command: str, analysis: Analysis) -> Decision | None:
    """What the rule decides where a command of the line is the one that it names, also under a wrapper, or where all that matter are if it allows; that it asks
    where it would forbid and a command may be any; None where none is."""
    if rule.decision is Decision.ALLOW:
        commands = _weighty(analysis)
        return rule.decision if commands and all(is_prefix(command, c.argv, exact=rule.exact) for c in commands) else None
    if analysis.line is None:
        return None
    found = runs(command, analysis.line)
    return rule.decision if found == "yes" else Decision.ASK if found == "maybe" else None


def _has_power(rule: OwnerRule, findings: Findings) -> bool:
    """Whether the call has, or may have, the power that the rule names; that one and no other, where it allows."""
    if rule.power is None:
        return True
    return findings.powers == {rule.power} if rule.decision is Decision.ALLOW else rule.power in findings.powers | findings.possible


def _all_below(root: str, analysis: Analysis, sheet: FactSheet) -> bool:
    """Whether all places of the call lie in `root`, links followed; of a command line those that it changes."""
    if analysis.line is None:
        places = [f.resolved for f in sheet.paths]
    else:
        places = ["" if steps_through(f.path) else f.resolved for f in sheet.paths if f.op in ("write", "delete")]
    return bool(places) and all(under(place, root) for place in places)
