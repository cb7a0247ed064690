"""The owner's own rules: they may ask, forbid, allow what would ask, and release a few blocks for a named directory."""

from ..types.actions import Action
from ..types.facts import FactSheet
from ..types.options import OwnerRule, Policy
from ..types.risk import Decision
from ..types.urls import named_host, place_of
from .analysis import Analysis
from .blocks import steps_through
from .command_line import BlockMatch, SimpleCommand
from .findings import Findings
from .paths import absolute, normal, person_home, under
from .rule_circumstances import holds
from .rule_reach import reaches
from .rule_words import is_prefix, names


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
        root = None if rule.path is None else _root(rule.path, policy, action.workspace)
        if not holds(rule, action) or not _has_power(rule, findings) or not _matches(rule, root, action, analysis, sheet):
            continue
        findings.match(f"owner.{rule.id}", rule.decision, rule.reason or f"the owner's rule {rule.id} says {rule.decision}", rule.alternative)
        if rule.decision is Decision.ALLOW and findings.understood:
            findings.answered = True


def _root(path: str, policy: Policy, workspace: str) -> str:
    """A rule's path as an absolute one: what is relative lies in the workspace, `~` is the person's home."""
    home = person_home(policy)
    return normal(absolute(home + path[1:] if home and (path == "~" or path.startswith("~/")) else path, workspace))


def _matches(rule: OwnerRule, root: str | None, action: Action, analysis: Analysis, sheet: FactSheet) -> bool:
    """Whether all conditions of the rule hold: for some part of the call, or where it allows for all of it. `root` is its path, absolute."""
    everything = rule.decision is Decision.ALLOW
    if rule.tool is not None and rule.tool not in (action.spec.name, *action.spec.aliases):
        return False
    test = all if everything else any
    if rule.command is not None and not _runs(rule, rule.command, analysis):
        return False
    if root is not None and not (_all_below(root, analysis, sheet) if everything else reaches(root, action, analysis, sheet)):
        return False
    if rule.host is not None:
        named, hosts = named_host(rule.host).host, _hosts(analysis, everything=everything)
        if not hosts or not test(h == named or h.endswith("." + named) for h in hosts):
            return False
    return True


def _hosts(analysis: Analysis, *, everything: bool) -> list[str]:
    """The hosts that the call names. A rule that allows does not count those of a command: what else a command reaches is not known."""
    named = [] if everything else [place_of(place).host for command in _commands(analysis) for place in command.places or ()]
    return [*(url.host for url in analysis.urls), *named]


def _commands(analysis: Analysis) -> tuple[SimpleCommand, ...]:
    return analysis.line.commands if analysis.line is not None else ()


def _weighty(analysis: Analysis) -> tuple[SimpleCommand, ...]:
    """The commands an `allow` must cover: all that do more than read, or simply all when all only read."""
    commands = _commands(analysis)
    return tuple(c for c in commands if not c.only_reads) or commands


def _runs(rule: OwnerRule, command: str, analysis: Analysis) -> bool:
    """Whether a command of the line is the one that the rule names, also under a wrapper; or all that matter are, where it allows."""
    if rule.decision is Decision.ALLOW:
        commands = _weighty(analysis)
        return bool(commands) and all(is_prefix(command, c.argv, exact=rule.exact) for c in commands)
    return any(names(command, c.argv) or any(names(command, (wrapper,)) for wrapper in c.via) for c in _commands(analysis))


def _has_power(rule: OwnerRule, findings: Findings) -> bool:
    """Whether the call has the power that the rule names; no other one, where it allows."""
    if rule.power is None:
        return True
    return findings.powers == {rule.power} if rule.decision is Decision.ALLOW else rule.power in findings.powers


def _all_below(root: str, analysis: Analysis, sheet: FactSheet) -> bool:
    """Whether all places of the call lie in `root`, links followed; of a command line those that it changes."""
    if analysis.line is None:
        places = [f.resolved for f in sheet.paths]
    else:
        places = ["" if steps_through(f.path) else f.resolved for f in sheet.paths if f.op in ("write", "delete")]
    return bool(places) and all(under(place, root) for place in places)
