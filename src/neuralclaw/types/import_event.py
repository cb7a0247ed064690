"""The event with which a session begins that was read from a file."""

from .event_body import Body


class SessionImported(Body, frozen=True, kw_only=True, tag="session.imported"):
    """The session was read from `file`, an export of the session `source`. The entries behind this one, up to the end of turn `turn`, are copies of those
    that requests are made of.

    `digest`: SHA-256 of the file. `entries`: how many were copied, of the `exported` that it has. `began`, `ended`: the times of the first and the last of
    them, as the file says (RFC 3339).
    """

    file: str
    digest: str
    source: str
    turn: int
    entries: int
    exported: int
    began: str
    ended: str
    by: str
