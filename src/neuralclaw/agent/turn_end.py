"""The one end of a turn: its status, and what is delivered with it. Nothing here needs the turn's equipment."""

from collections.abc import Sequence
from typing import Any

import msgspec

from ..types.claims import AnswerClaim
from ..types.events import Durable, ErrorInfo, LimitHit, TurnFinished, TurnStatus
from ..types.labels import Labels
from ..types.records import OutboxItem
from ..types.risk import Decision
from . import circuit_breakers
from .toolcalls import stop_calls
from .turn import TurnRecord

STATUS_ORDER: tuple[TurnStatus, ...] = ("cancelled", "timed_out", "limit", "needs_approval", "denied", "failed", "done")
"""When several happened, the first of these is the turn's status (INTERFACE.md, exit codes)."""


async def end_cancelled(turn: TurnRecord) -> None:
    """Close what is open and end the turn as cancelled."""
    await stop_calls(turn, "cancelled")
    await finish(turn, "cancelled", f"Cancelled. So far: {turn.state.done_so_far()}.")


async def end_late(turn: TurnRecord) -> None:
    """The same for a turn whose time is up."""
    await stop_late_calls(turn)
    limit = time_limit(turn)
    await record_end(turn, ending(turn, "timed_out", limit.text), limit)


async def stop_late_calls(turn: TurnRecord) -> None:
    """End every open call of a turn whose time is up."""
    await stop_calls(turn, "the turn's time was up")


def time_limit(turn: TurnRecord) -> LimitHit:
    """What says that the turn's time is up."""
    return circuit_breakers.out_of_time(turn.state, turn.options.limits)


async def answer(turn: TurnRecord, text: str, *, unbacked: tuple[AnswerClaim, ...]) -> None:
    """End the turn with the model's answer. `unbacked`: what it claims and no call backs."""
    await record_end(turn, msgspec.structs.replace(ending(turn, "done", text), unbacked=unbacked))


async def answer_value(turn: TurnRecord, value: Any) -> None:
    """End the turn with the value that its answer is."""
    text = msgspec.json.encode(value).decode()
    await record_end(turn, msgspec.structs.replace(ending(turn, "done", text), data=value))


async def finish(turn: TurnRecord, status: TurnStatus, text: str, *, waiting: tuple[str, ...] = (), error: ErrorInfo | None = None) -> None:
    """End this run of the turn."""
    await record_end(turn, ending(turn, status, text, waiting=waiting, error=error))


def ending(turn: TurnRecord, status: TurnStatus, text: str, *, waiting: tuple[str, ...] = (), error: ErrorInfo | None = None) -> TurnFinished:
    """The end of this run of the turn. A refusal on the way decides the status before a plain end does, where it counts."""
    refused = turn.state.refused
    counted = refused if turn.options.refusals == "count" else ()
    happened: set[TurnStatus] = {status}
    if any(r.decision is Decision.ASK for r in counted):
        happened.add("needs_approval")
    if any(r.decision is Decision.FORBID for r in counted):
        happened.add("denied")
    return TurnFinished(
        status=next(s for s in STATUS_ORDER if s in happened),
        text=text,
        model=turn.state.model or turn.options.model,
        models=turn.state.models,
        usage=turn.state.usage,
        duration_ms=turn.time.ms,
        refused=refused,
        waiting=waiting,
        error=error,
    )


async def record_end(turn: TurnRecord, end: TurnFinished, *before: Durable, labels: Labels | None = None) -> None:
    """Write the end behind what stands before it, and what is delivered, in one transaction. `labels`: as in `Journal.append`."""
    await turn.journal.append(*before, end, labels=labels, rows=deliveries(turn, end))


def deliveries(turn: TurnRecord, end: TurnFinished) -> Sequence[OutboxItem]:
    """What is delivered when the turn ends, where its message named an address for the answer: its text, or the error in place of one.

    An empty text is delivered too: who wrote learns that the turn ended. A turn that waits for a person has not ended.
    """
    if turn.outbox is None or end.waiting:
        return []
    channel, address = turn.outbox
    return [OutboxItem(address, end.text or (end.error.text if end.error is not None else ""), channel)]
