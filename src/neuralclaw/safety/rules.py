"""The rules: analysis and facts in, findings out. Decisions are ordered allow, ask, forbid; the strictest match wins."""

from ..types.actions import Action
from ..types.facts import FactSheet
from ..types.options import Policy
from ..types.risk import Power, Risk, Sink, Tier, Trust
from . import access_rules, binding, command_rules, flow_rules, host_rules, owner_rules, path_rules, secret_rules
from .analysis import Analysis
from .findings import Findings
from .possible_powers import possible_powers

TOUCHED = (Power.READ, Power.WRITE, Power.DELETE)


def decide(action: Action, policy: Policy, analysis: Analysis, sheet: FactSheet) -> Findings:
    """Apply every rule to one call."""
    spec = action.spec
    findings = Findings(Risk.LOW if analysis.line is not None else spec.risk)
    _declared(findings, action, analysis)
    if analysis.paths:
        path_rules.judge(findings, action, policy, analysis, sheet)
    if analysis.line is not None:
        command_rules.judge(findings, action, policy, analysis, sheet)
        binding.bind(findings, analysis, sheet)
    access_rules.judge(findings, action, policy, analysis.access, sheet)
    for url in analysis.urls:
        host_rules.judge(findings, action, policy, url, sheet)
    secret_rules.judge(findings, action, policy, analysis.secrets, analysis.line, analysis.urls)
    if spec.requires_confirmation:
        findings.ask("tool.confirmation", f"{spec.name} is configured to ask every time")
    flow_rules.judge(findings, action, analysis, sheet)
    _scales(findings, action, policy, sheet.undo_lacks)
    findings.possible = possible_powers(findings, analysis.line, sheet)
    if policy.rules:
        owner_rules.apply(findings, action, policy, analysis, sheet)
    return findings


def _declared(findings: Findings, action: Action, analysis: Analysis) -> None:
    """Powers, sinks and tier that the tool declares; what concrete paths and commands show replaces the declaration."""
    spec = action.spec
    findings.sinks.update(spec.sinks if analysis.line is None else ())
    concrete = bool(analysis.paths) or analysis.line is not None
    for power in spec.powers:
        if analysis.line is not None or (concrete and power in TOUCHED):
            continue
        findings.powers.add(power)
    if Power.PRIVILEGE in findings.powers:
        findings.raise_tier(Tier.SYSTEM_CRITICAL)
    elif Power.EXECUTE in findings.powers:
        findings.raise_tier(Tier.EXECUTE)
    elif findings.powers & {Power.WRITE, Power.DELETE} or findings.sinks & {Sink.NETWORK_SEND, Sink.MESSAGE, Sink.SELF}:
        findings.raise_tier(Tier.WRITE)
    findings.execute = Power.EXECUTE in findings.powers
    findings.network = Power.NETWORK in findings.powers
    if Power.READ in findings.powers:
        findings.read += [action.workspace]


LEVELS = {Trust.MEDIUM: Tier.WRITE, Trust.HIGH: Tier.EXECUTE}


def _scales(findings: Findings, action: Action, policy: Policy, undo_lacks: str) -> None:
    """Ask because of the risk, or because the tier is above what the trust level allows. `undo_lacks`: why a command does not count as a read."""
    risk, tier = findings.risk, findings.tier
    if risk in policy.require_confirmation_for:
        reason = findings.why or f"its risk is {risk}"
        findings.ask(f"risk.{risk.lower()}", reason)
    if tier is Tier.SYSTEM_CRITICAL:
        findings.ask("tier.system-critical", "it changes the system itself, which always asks")
        return
    if tier is Tier.READ:
        return
    allowed = LEVELS.get(action.trust, policy.default_permission_level)
    if tier > max(allowed, policy.default_permission_level):
        lacks = f": {undo_lacks}" if undo_lacks and tier is Tier.EXECUTE and not findings.network else ""
        findings.ask(f"tier.{tier}", f"trust level {action.trust} allows {allowed} without asking, and this is {tier}{lacks}")
