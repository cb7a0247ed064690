"""The anchor as a message: a sentence with a mark of the record, sent to the owner through a channel, and compared when the owner brings it back."""

import logging
import re

from ...capability import Draft, Inbound, NewSession, OutboxItem, Store
from ...errors import StoreError, UsageError
from ...runtime.sessions import lease_name
from ...store.anchor import AnchorFile, AnchorMark
from ...types.events import Body, TurnFinished, TurnStarted
from ...types.labels import AGENT
from ...types.options import TurnOptions
from ...types.records import AnchorReport
from ..capability_context import BuiltInContext
from .anchor_events import MarkSent
from .anchor_settings import MessageAnchor
from .anchoring import MESSAGES, home_anchor

log = logging.getLogger(__name__)

LOOK = 60.0
"""Seconds until it is looked again whether there is something to send."""
_MARK = re.compile(r"record (\d{1,18})\D.*?\b([0-9a-f]{64})\b", re.DOTALL)


def message_of(mark: AnchorMark) -> str:
    """What the owner reads, and pastes to compare it."""
    return (
        f"NeuralClaw: record {mark.record} of your home has the hash {mark.hash}. Keep this message. "
        "To see whether the record is still as it was: neuralclaw audit anchor --check 'this message'"
    )


async def send_marks(context: BuiltInContext) -> None:
    """Put a mark into the outbox whenever one is due. Until it is cancelled."""
    settings: MessageAnchor = context.settings.anchor.message
    file = home_anchor(context.loaded)
    if file is None:
        log.warning("no mark is sent: without a state directory the record is not anchored")
        return
    while True:
        try:
            wait = await send_due(context, settings, file)
        except (StoreError, OSError, ValueError) as error:
            log.warning("a mark of the record cannot be sent now: %s", error)
            wait = LOOK
        await context.clock.sleep(wait)


async def send_due(context: BuiltInContext, settings: MessageAnchor, file: AnchorFile) -> float:
    """Send a mark where one is due; in how many seconds to look again. Raises `StoreError`, and `OSError` and `ValueError` where the anchor cannot be read."""
    entries = await context.store.read(MESSAGES, kinds=("audit.sent",))
    since = context.clock.now() - entries[-1].header.time / 1_000_000 if entries else float("inf")
    left = settings.every_hours * 3600 - since
    if 0 < left <= settings.every_hours * 3600:
        return min(left, 3600.0)
    mark = file.read()
    lease = await context.store.acquire(lease_name(MESSAGES)) if mark is not None else None
    if mark is None or lease is None:
        return LOOK
    try:
        rows = await context.store.sessions(session=MESSAGES)
        turn, entry = (rows[0].last_turn + 1, rows[0].entries + 1) if rows else (1, 1)
        text = message_of(mark)
        bodies: tuple[Body, ...] = (
            Inbound(text="Send a mark of the record.", key=f"anchor:{mark.record}:{mark.hash}", by="program"),
            TurnStarted(text="Send a mark of the record.", model="", soul="", origin="program", options=TurnOptions(model="", workspace=""), inbound=entry),
            MarkSent(record=mark.record, head=mark.hash, channel=settings.channel, address=settings.address),
            TurnFinished(status="done", text=text),
        )
        new = NewSession(origin="program", workspace="", title="Marks of the record")
        item = OutboxItem(settings.address, text, settings.channel)
        context.notify(await context.store.append(MESSAGES, [Draft(turn, body, AGENT) for body in bodies], lease=lease, rows=[new, item]))
    finally:
        await context.store.release(lease)
    return LOOK


async def check_text(store: Store, text: str) -> AnchorReport:
    """Whether the record is as the mark in this text says. Raises `UsageError` for a text without one, and `StoreError` for a record that is not whole."""
    found = _MARK.search(text)
    if found is None:
        raise UsageError("the text names no record with its hash (64 hexadecimal digits)", hint="paste the whole message")
    record, head = int(found[1]), found[2]
    report = await store.verify()
    if not report.ok:
        raise StoreError("the record is not whole, so it was not compared with the text", hint="neuralclaw audit verify")
    if record > report.records:
        return AnchorReport(place="the text", record=record, ok=False, why="cut")
    names = ["home", *(row.session for row in await store.sessions() if row.session != "home")]
    for name in names:
        for one in await store.read(name):
            if one.header.record == record:
                return AnchorReport(place="the text", record=record, ok=one.header.hash == head, why="" if one.header.hash == head else "changed")
    return AnchorReport(place="the text", record=record, ok=False, why="changed")
