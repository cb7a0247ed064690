"""What the gate thinks of an action: the rules that matched, the commands that it found and the decision."""

import msgspec

from .risk import Decision, Power, Risk, Sink, Tier, in_order


class RuleMatch(msgspec.Struct, frozen=True):
    """A rule that matched, why, and what would be allowed instead."""

    id: str
    decision: Decision
    reason: str
    alternative: str | None = None


class CommandView(msgspec.Struct, frozen=True):
    """One simple command of a command line. `via` are the wrappers it runs under (`timeout`, `bash -c`), outermost first."""

    argv: tuple[str, ...]
    via: tuple[str, ...] = ()
    powers: tuple[Power, ...] = ()
    risk: Risk = Risk.LOW


UNFIT_RULES = frozenset({"access.unfit", "argument.unfit", "url.unfit", "secret.unfit", "secret.unknown", "url.unresolved"})
"""Rules about arguments that do not fit and names that are not there: the model can mend them, and nothing was refused to it."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the gate thinks of an action; the object that `policy explain` prints. `rules`: every match, strictest first."""

    decision: Decision
    risk: Risk
    tier: Tier
    powers: tuple[Power, ...] = ()
    sinks: tuple[Sink, ...] = ()
    rules: tuple[RuleMatch, ...] = ()
    understood: bool = True
    commands: tuple[CommandView, ...] = ()
    addresses: tuple[str, ...] = ()
    resolved: str | None = None
    inside: bool | None = None
    policy: str = ""
    """SHA-256 (hex) of the policy that it was judged under; "" where nothing was judged."""
    auto: bool = False
    """It asks for nothing but risk up to HIGH, tier up to execute, or a program off the list: what `--approvals auto` says yes to."""
    possible: tuple[Power, ...] | msgspec.UnsetType = msgspec.UNSET
    """Powers that it may have besides, since it is not known what it runs, or since a program of it may delete. Unset: none."""

    @property
    def may(self) -> tuple[Power, ...]:
        """The powers that it has or may have: what a rule or a hook by power is about."""
        return in_order({*self.powers, *(self.possible or ())})

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is not simply allowed: the reasons of the rules that share the decision."""
        return tuple(r.reason for r in self.rules if r.decision is self.decision)

    @property
    def rule_ids(self) -> tuple[str, ...]:
        """The ids of all rules that matched."""
        return tuple(r.id for r in self.rules)
