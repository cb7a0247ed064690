"""The verdict while it is being found: rules only ever make it stricter."""

import msgspec

from ..types.grants import Binding, Envelope
from ..types.risk import Decision, Power, Risk, Sink, Tier, in_order
from ..types.verdicts import CommandView, RuleMatch, Verdict
from .paths import under

AUTO_RULES = frozenset({"risk.low", "risk.medium", "risk.high", "tier.read", "tier.write", "tier.execute", "program.unlisted", "shell.unconfined"})
"""What `--approvals auto` says yes to, and what an owner's `allow` answers."""
ANSWERED = frozenset({"flow.external", "flow.value"})
"""What an owner's `allow` answers besides."""


class Findings:
    """Collects matches, risk, tier, powers and the parts of the envelope."""

    __slots__ = (
        "addresses",
        "answered",
        "binding",
        "commands",
        "digests",
        "execute",
        "hosts",
        "inside",
        "making",
        "matches",
        "network",
        "possible",
        "powers",
        "programs",
        "read",
        "repositories",
        "resolved",
        "risk",
        "secrets",
        "sinks",
        "tier",
        "unchanged",
        "understood",
        "unseen",
        "urls",
        "why",
        "write",
    )

    def __init__(self, risk: Risk) -> None:
        self.risk, self.tier = risk, Tier.READ
        self.powers: set[Power] = set()
        self.possible: frozenset[Power] = frozenset()
        self.sinks: set[Sink] = set()
        self.matches: dict[RuleMatch, None] = {}
        self.commands: tuple[CommandView, ...] = ()
        self.addresses: dict[str, tuple[str, ...]] = {}
        self.resolved: str | None = None
        self.inside: bool | None = None
        self.understood = True
        self.answered = False
        self.why = ""
        self.read: list[str] = []
        self.write: list[str] = []
        self.making: list[str] = []
        self.repositories: list[str] = []
        self.hosts: list[str] = []
        self.urls: dict[str, str] = {}
        self.digests: dict[str, str | None] = {}
        self.programs: dict[str, str] = {}
        self.secrets: list[str] = []
        self.unseen: list[str] = []
        self.unchanged: list[str] = []
        self.binding: Binding | msgspec.UnsetType = msgspec.UNSET
        self.execute = self.network = False

    def match(self, rule: str, decision: Decision, reason: str, alternative: str | None = None) -> None:
        """Record a rule that matched; the same rule with the same reason counts once."""
        self.matches.setdefault(RuleMatch(rule, decision, reason, alternative))

    def forbid(self, rule: str, reason: str, alternative: str | None = None) -> None:
        self.match(rule, Decision.FORBID, reason, alternative)

    def ask(self, rule: str, reason: str, alternative: str | None = None) -> None:
        self.match(rule, Decision.ASK, reason, alternative)

    def raise_risk(self, risk: Risk) -> None:
        self.risk = max(self.risk, risk)

    def raise_tier(self, tier: Tier) -> None:
        self.tier = max(self.tier, tier)

    def verdict(self) -> Verdict:
        """All matches, strictest first (stable), and what they come to."""
        order = {Decision.FORBID: 0, Decision.ASK: 1, Decision.ALLOW: 2}
        matches = [m for m in self.matches if not (self.answered and m.decision is Decision.ASK and (m.id in AUTO_RULES or m.id in ANSWERED))]
        matches.sort(key=lambda m: order[m.decision])
        decision = matches[0].decision if matches else Decision.ALLOW
        asks = [m.id for m in matches if m.decision is Decision.ASK]
        return Verdict(
            decision=decision,
            risk=self.risk,
            tier=self.tier,
            powers=in_order(self.powers),
            sinks=tuple(s for s in Sink if s in self.sinks),
            rules=tuple(matches),
            understood=self.understood,
            commands=self.commands,
            addresses=tuple(a for found in self.addresses.values() for a in found),
            resolved=self.resolved,
            inside=self.inside,
            auto=decision is Decision.ASK and self.risk is not Risk.CRITICAL and all(rule in AUTO_RULES for rule in asks),
            possible=in_order(self.possible - self.powers) or msgspec.UNSET,
        )

    def envelope(self) -> Envelope:
        return Envelope(
            read=tuple(dict.fromkeys(self.read)),
            write=tuple(dict.fromkeys([*self.making, *self.write])),
            making=tuple(root for root in dict.fromkeys(self.making) if not any(under(root, whole) for whole in self.write)),
            repositories=tuple(self.repositories),
            hosts=tuple(self.hosts),
            addresses=self.addresses,
            urls=self.urls,
            execute=self.execute,
            network=self.network,
            secrets=tuple(self.secrets),
            digests=self.digests,
            programs=self.programs,
            binding=self.binding,
            unseen=tuple(dict.fromkeys(self.unseen)) or msgspec.UNSET,
            unchanged=tuple(dict.fromkeys(self.unchanged)) or msgspec.UNSET,
        )
