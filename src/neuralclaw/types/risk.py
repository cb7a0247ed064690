"""The scales on which actions are judged: decision, risk, tier, power, effect and sink. Each scale is ordered as written."""

from collections.abc import Collection
from enum import Enum
from functools import cache


class Scale(str, Enum):
    """A word that compares by its place in its class: `Risk.LOW < Risk.HIGH`, `max(decisions)` is the strictest."""

    @property
    def rank(self) -> int:
        return ranks(type(self))[self]

    def __lt__(self, other: str) -> bool:
        return self.rank < type(self)(other).rank

    def __le__(self, other: str) -> bool:
        return self.rank <= type(self)(other).rank

    def __gt__(self, other: str) -> bool:
        return self.rank > type(self)(other).rank

    def __ge__(self, other: str) -> bool:
        return self.rank >= type(self)(other).rank

    __hash__ = str.__hash__

    def __str__(self) -> str:
        return str(self.value)


@cache
def ranks(scale: type[Scale]) -> dict[Scale, int]:
    """The words of a scale in their order, each with its place."""
    return {word: place for place, word in enumerate(scale)}


class Decision(Scale):
    ALLOW = "allow"
    ASK = "ask"
    FORBID = "forbid"


class Risk(Scale):
    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"
    CRITICAL = "CRITICAL"


class Tier(Scale):
    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    SYSTEM_CRITICAL = "system-critical"


class Trust(Scale):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Power(Scale):
    """What a concrete call can do."""

    READ = "read"
    WRITE = "write"
    DELETE = "delete"
    NETWORK = "network"
    EXECUTE = "execute"
    PRIVILEGE = "privilege"


def in_order(powers: Collection[Power]) -> tuple[Power, ...]:
    """Each of the powers once, in the order of the scale."""
    return tuple(sorted(set(powers), key=ranks(Power).__getitem__)) if powers else ()


class Effect(Scale):
    """What recovery may do with a call that began and did not finish; the greater is the stricter."""

    PURE = "pure"  # run it again freely
    IDEMPOTENT = "idempotent"  # run it again with the same key
    RECONCILABLE = "reconcilable"  # the tool's probe can tell whether it happened
    ONCE = "once"  # never run again without asking


class Sink(str, Enum):
    """Where data can leave to: the flow policy watches these."""

    EXECUTE = "execute"
    NETWORK_SEND = "network.send"
    MESSAGE = "message"
    WRITE = "write"  # outside the workspace
    SELF = "self"  # the agent's own configuration

    def __str__(self) -> str:
        return str(self.value)
