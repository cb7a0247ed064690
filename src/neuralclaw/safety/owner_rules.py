"""The owner's own rules: they may ask, forbid, allow what would ask, and release a few blocks for a named directory."""

from collections.abc import Sequence

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


def releases(policy: Policy, block: BlockMatch, workspace: str) -> bool:
    """Whether an `allow` rule names the command and a directory that holds every place the block is about."""
    if not block.releasable or not block.places:
        return False
    for rule in policy.rules:
        if rule.decision is Decision.ALLOW and rule.path and rule.command and rule.host is None and rule.tool in (None, "terminal"):
            root = _root(rule.path, policy, workspace)
            if _is_prefix(rule.command, block.argv) and all(under(place, root) for place in block.places):
                return True
    return False


def apply(findings: Findings, action: Action, policy: Policy, analysis: Analysis, sheet: FactSheet, *, of_hosts: bool = False) -> None:
    """Add the owner's rules that match; with `of_hosts` only those that name a host. An `allow` answers asks of risk, tier and list, when it covers the whole
    call."""
    for rule in policy.rules:
        if not (rule.host if of_hosts else rule.tool or rule.command or rule.path or rule.host):
            continue
        root = None if rule.path is None else _root(rule.path, policy, action.workspace)
        if not _matches(rule, root, action, analysis, sheet):
            continue
        findings.match(f"owner.{rule.id}", rule.decision, rule.reason or f"the owner's rule {rule.id} says {rule.decision}")
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
    if rule.command is not None:
        commands = _weighty(analysis) if everything else _commands(analysis)
        if not commands or not test(_is_prefix(rule.command, c.argv) for c in commands):
            return False
    if root is not None:
        paths = _places(analysis, sheet, everything=everything)
        if not paths or not test(under(p, root) for p in paths):
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


def _places(analysis: Analysis, sheet: FactSheet, *, everything: bool) -> list[str]:
    """Where the call goes. A rule that allows counts where links lead, and of a command line what it changes; any other also the links themselves."""
    if everything:
        if analysis.line is None:
            return [f.resolved for f in sheet.paths]
        return ["" if steps_through(f.path) else f.resolved for f in sheet.paths if f.op in ("write", "delete")]
    return [place for f in sheet.paths for place in (f.resolved, f.path)]


def _is_prefix(command: str, argv: Sequence[str]) -> bool:
    words = command.split()
    if not words or not argv:
        return False
    first = argv[0].rsplit("/", 1)[-1] if "/" not in words[0] else argv[0]
    return [first, *argv[1 : len(words)]] == words
