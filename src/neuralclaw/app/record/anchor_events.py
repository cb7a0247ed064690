"""What is recorded of anchors: that the owner accepted the record, and that a mark was sent."""

from ...capability import Body, EventKind


class AnchorAccepted(Body, frozen=True, kw_only=True, tag="audit.accepted"):
    """The record is accepted as it is, of which `records` and `head` were the number and the hash of the last one. `by`: whose word it is.

    `contradicted`: the places whose anchors said something else.
    """

    by: str
    records: int
    head: str
    contradicted: tuple[str, ...] = ()


class MarkSent(Body, frozen=True, kw_only=True, tag="audit.sent"):
    """A mark of the record was put into the outbox, for the owner: at `record` the hash of the chain was `head` (hex)."""

    record: int
    head: str
    channel: str
    address: str


def _accepted(body: AnchorAccepted) -> str:
    against = f", against {', '.join(body.contradicted)}" if body.contradicted else ""
    return f"{body.by} accepts the record as it is, with {body.records} records{against}"


def _sent(body: MarkSent) -> str:
    return f"a mark of record {body.record} goes to {body.address} through {body.channel}"


KINDS = (EventKind(body=AnchorAccepted, sentence=_accepted), EventKind(body=MarkSent, sentence=_sent))
