"""What a person said in a chat that waits for a turn, and what has become of it."""

import msgspec

from ..ports import Desk


class WaitingMessage(msgspec.Struct, frozen=True):
    """Something that was typed: a message or a slash command. `key`, `entry`: of its record, "" and 0 where it is none yet. `steers`: it was said to a
    running turn, and begins one of its own where it came too late."""

    text: str
    key: str = ""
    entry: int = 0
    steers: bool = False


def insert(waiting: list[WaitingMessage], message: WaitingMessage) -> None:
    """Put the message where its turn comes: those on record begin turns in the order of their entries, and before what is not on record yet."""
    at = next((at for at, other in enumerate(waiting) if message.entry and (not other.entry or other.entry > message.entry)), len(waiting))
    waiting.insert(at, message)


async def taken_up(desk: Desk, session: str, entry: int) -> bool:
    """Whether the turn that the message of this entry was said to has seen it."""
    shown = await desk.do("sessions.show", session=session, after=entry - 1)
    said, *later = shown["events"]
    return any(event["type"] == "message" and event["turn"] == said["turn"] and event["seen"] >= entry for event in later)
