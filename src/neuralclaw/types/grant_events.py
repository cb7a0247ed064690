"""The events of standing grants: given, used, taken back."""

from .event_body import Body


class GrantGiven(Body, frozen=True, kw_only=True, tag="grant.given"):
    """A grant that was given before any question, in words (`covers`) and as `scopes`: for calls in `workspace`, of `session` alone where it names one.

    `until`: when it ends (RFC 3339, UTC); `uses`: how many calls it lets run at most. None: until it is taken back, and any number.
    `parent`: the grant that it was narrowed from.
    """

    grant_id: str
    by: str
    covers: str
    scopes: tuple[dict[str, str], ...]
    workspace: str
    session: str = ""
    until: str | None = None
    uses: int | None = None
    parent: str = ""


class GrantUsed(Body, frozen=True, kw_only=True, tag="grant.used"):
    """One use of a counted grant, written before the call begins: what is not known to have run is used as well. `attempt` is that of its `tool.started`."""

    grant_id: str
    session: str
    turn: int
    call_id: str
    attempt: int = 1
    process: str = ""

    @property
    def use(self) -> str:
        """What makes two uses the same one."""
        return f"{self.session}/{self.turn}/{self.call_id}/{self.attempt}"


class GrantRevoked(Body, frozen=True, kw_only=True, tag="grant.revoked"):
    """A `session` or `always` answer is taken back, from the next decision on. `grant_id` is the id of the question it answered."""

    grant_id: str
    by: str
