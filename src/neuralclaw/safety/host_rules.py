"""Rules about web addresses: only public places are fetched from, and what the owner opened by a rule for one host."""

import msgspec

from ..types.actions import Action
from ..types.facts import FactSheet
from ..types.grants import Envelope
from ..types.options import OwnerRule, Policy
from ..types.risk import Decision, Power
from ..types.urls import Url, named_host
from ..types.verdicts import Verdict
from .addresses import RELEASABLE, refusal, translation_of, translation_prefixes
from .findings import Findings
from .rule_circumstances import holds

ALTERNATIVE = "a public http or https address"
RELEASED = "url.released"
"""The rule that matches where an address inside is connected to, because the owner said so."""
UNFIT = "url.unfit"
_LONGEST = 200


def judge(findings: Findings, action: Action, policy: Policy, url: Url, sheet: FactSheet) -> None:
    """Whether this address may be fetched; where it may, the envelope names its host, its port and the network addresses that were judged."""
    findings.powers.add(Power.NETWORK)
    findings.network = True
    if url.problem is not None:
        shown = url.text if len(url.text) <= _LONGEST else f"{url.text[:_LONGEST]}…"
        findings.forbid(UNFIT if url.unfit else "url.refused", f"{shown or 'an empty address'} cannot be fetched: {url.problem}", ALTERNATIVE)
        return
    rule = released_by(policy, action, url)
    if url.own and rule is None:
        findings.forbid("url.refused", f"{url.text} cannot be fetched: {url.host} is a name of this machine or its own network", ALTERNATIVE)
        return
    findings.hosts.append(url.place)
    findings.urls[url.text] = url.canonical
    if url.host in sheet.unasked_hosts:
        return
    found = (url.literal,) if url.literal is not None else sheet.addresses[url.host]
    findings.addresses[url.host] = found
    if not found:
        findings.forbid("url.unresolved", f"{url.host} has no address", ALTERNATIVE)
    prefixes = translation_prefixes(sheet.nat64)
    for address in found:
        what = refusal(address, prefixes)
        if what is None or (url.literal is None and translation_of(address, found, prefixes)):
            continue
        if rule is not None and what in RELEASABLE:
            findings.match(RELEASED, Decision.ALLOW, f"{url.host} leads to {address}, {what}: the owner's rule {rule.id} allows it")
        else:
            findings.forbid("url.address", f"{url.host} leads to {address}, {what}", ALTERNATIVE)


def is_released(verdict: Verdict) -> bool:
    """Whether a rule of the owner opened the place inside to which the call leads."""
    return any(rule.id == RELEASED for rule in verdict.rules)


def asked_before(verdict: Verdict, before: Verdict | None) -> bool:
    """Whether a person has said yes to all that this asks: it asks by the same rules as the verdict before, which was answered."""
    asks, answered = ({rule.id for rule in one.rules if rule.decision is Decision.ASK} if one else set[str]() for one in (verdict, before))
    return verdict.decision is Decision.ASK and asks <= answered


def as_asked(envelope: Envelope) -> Envelope:
    """The envelope as an answer is bound to it. A public host may have other public addresses by the time of the answer, in another order; a place
    inside may not change."""
    if not envelope.addresses:
        return envelope
    inside = {host: tuple(sorted(found)) for host, found in envelope.addresses.items() if any(refusal(address) for address in found)}
    return msgspec.structs.replace(envelope, addresses=inside)


def released_by(policy: Policy, action: Action, url: Url) -> OwnerRule | None:
    """The owner's rule that opens this very host, which may lie inside: it allows, names the host whole, and says that it lies inside where the name
    does not. A rule that answers questions about a public host must not open what that host's name server leads to."""
    for rule in policy.rules:
        host = named_host(rule.host).host if rule.host else ""
        named = rule.decision is Decision.ALLOW and host == url.host != "" and rule.path is None and rule.command is None
        plain = rule.inside or url.own or url.literal is not None
        if named and plain and rule.tool in (None, action.spec.name, *action.spec.aliases) and rule.power is None and holds(rule, action):
            return rule
    return None
