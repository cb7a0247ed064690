"""Places that a running command wants to reach: judged by the rules for web addresses, each once, within what its grant names."""

from collections.abc import Awaitable, Callable, Sequence

from ..errors import PermissionDeniedError
from ..types.actions import Action
from ..types.facts import FactSheet, Wants
from ..types.grants import asking_for
from ..types.options import Policy
from ..types.risk import Decision, Risk
from ..types.urls import Url, place_of
from . import host_rules, owner_rules
from .addresses import RELEASABLE, refusal
from .analysis import Analysis
from .command_line import CommandLine
from .findings import AUTO_RULES, Findings

MOST = 1_000
"""Places of one command that are judged."""

OPEN_PLACE = "a public place, or one that a rule of the owner opens"
NOT_NAMED = "it is not among the places of this permission"
"""Begins the reason why a place is refused that a call may ask for."""


def why_never(policy: Policy, action: Action, url: Url) -> str:
    """Why no command reaches a place, whatever a person answers; "" where one may. Nothing is looked up."""
    if url.problem is not None:
        return url.problem
    released = host_rules.released_by(policy, action, url) is not None
    if url.own and not released:
        return f"{url.host} is a name of this machine or its own network"
    inside = refusal(url.literal) if url.literal is not None else None
    return f"{url.host} is {inside}" if inside is not None and not (released and inside in RELEASABLE) else ""


class OutboundPlaces:
    """Judges the places of one call. `look` looks up facts of the action; `hosts`: what its grant names. To be asked for one place at a time, so that none
    is looked up twice."""

    def __init__(
        self, look: Callable[[Action, Wants], Awaitable[FactSheet]], action: Action, policy: Policy, hosts: Sequence[str], line: CommandLine | None
    ) -> None:
        self._look, self._action, self._policy, self._hosts, self._line = look, action, policy, hosts, line
        self._sheets: dict[str, FactSheet] = {}
        self._known: dict[tuple[str, int], tuple[str, ...] | str] = {}

    async def judge(self, host: str, port: int) -> tuple[str, ...]:
        """The network addresses of this place. Raises `PermissionDeniedError` where it may not be reached."""
        if (host, port) not in self._known:
            if len(self._known) >= MOST:
                raise PermissionDeniedError(f"this command has tried {MOST:,} places already")
            self._known[host, port] = await self._judged(host, port)
        found = self._known[host, port]
        if isinstance(found, str):
            shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            raise PermissionDeniedError(found, hint=asking_for([f"connect {shown}"]) if found.startswith(NOT_NAMED) else "")
        return found

    async def _judged(self, host: str, port: int) -> tuple[str, ...] | str:
        """The addresses, or why there are none."""
        url = place_of(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
        if never := why_never(self._policy, self._action, url):
            return never  # no permission is asked for what is never given
        if self._hosts and url.place not in self._hosts:
            return f"{NOT_NAMED} ({', '.join(self._hosts)})"
        sheet = FactSheet()
        if url.literal is None:
            sheet = self._sheets.get(url.host) or await self._look(self._action, Wants(hosts=(url.host,)))
            self._sheets[url.host] = sheet
        findings = Findings(Risk.LOW)
        host_rules.judge(findings, self._action, self._policy, url, sheet)
        owner_rules.apply(findings, self._action, self._policy, Analysis(urls=(url,), line=self._line), sheet, of_hosts=True)
        strict = [match for match in findings.verdict().rules if match.decision is Decision.FORBID]
        if not self._hosts:  # what the person read named no place, so a rule that asks about this one was not answered
            strict += [match for match in findings.verdict().rules if match.decision is Decision.ASK and match.id not in AUTO_RULES]
        return strict[0].reason if strict else findings.addresses[url.host]
