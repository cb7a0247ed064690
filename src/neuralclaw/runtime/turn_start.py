"""How a turn begins, as values: what whoever starts a run wants of it, what a turn's beginning says, and where its answer goes."""

import msgspec

from ..agent.equipment import StartRecord
from ..agent.inbox import Waiting
from ..agent.journal import Journal
from ..types.events import Inbound, TurnStarted
from ..types.options import StartOptions, TurnOptions


class RunStart(msgspec.Struct, frozen=True, kw_only=True):
    """Why a session is driven. `message`: the entry of the message that was sent; None: what is unfinished is gone on with."""

    options: StartOptions = StartOptions()
    message: int | None = None
    bound: bool = False
    """The options came with the message, and hold for its turn alone; else they hold for the turn that runs first."""
    within: bool = False
    """A turn that runs waits for this one, so that it does not wait for that one to make room."""

    def options_of(self, inbound: int) -> StartOptions:
        """What is wanted of the turn that this message began or begins. Of other messages' turns a bound one only shows that its sender is there."""
        return self.options if not self.bound or inbound == self.message else StartOptions(present=self.options.present)


def beginning(message: Waiting, options: TurnOptions, start: StartRecord, journal: Journal) -> TurnStarted:
    """The beginning of the turn that the message is for, in the session of that journal."""
    body = message.body
    return TurnStarted(
        text=body.text,
        images=body.images,
        model=options.model,
        soul=options.soul,
        origin=options.origin.who,
        options=options,
        inbound=message.entry,
        digests=start.digests,
        stored=start.stored,
        history_from=journal.conversation.read_from,
    )


def with_start(options: TurnOptions, start: StartOptions, *, resumed: bool) -> TurnOptions:
    """The recorded options with what this run may change. Nobody is present at a resumed turn unless the start says so."""
    origin, limits, approvals = options.origin, options.limits, start.approvals or options.approvals
    if resumed:
        origin = msgspec.structs.replace(origin, present=bool(start.present))
        if start.approvals is None and approvals == "ask" and not start.present:
            approvals = "none"
    if start.seconds is not None:
        limits = msgspec.structs.replace(limits, seconds=start.seconds)
    if start.iterations is not None:
        limits = msgspec.structs.replace(limits, iterations=start.iterations)
    if start.budget_usd is not None:
        options = msgspec.structs.replace(options, budget_usd=start.budget_usd)
    return msgspec.structs.replace(options, approvals=approvals, origin=origin, limits=limits)


def address_of(message: Inbound) -> tuple[str, str] | None:
    """Channel and address that the message wants its answer at."""
    return (message.channel, message.reply_to) if message.channel and message.reply_to else None
