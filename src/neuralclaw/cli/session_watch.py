"""What of its session a chat has shown, and what happens there meanwhile that it did not begin."""

from collections.abc import Iterable, Mapping
from typing import Any

import anyio

from ..errors import NeuralClawError
from ..ports import Desk
from ..types.entries import Event
from ..types.events import ApprovalRequested, TurnFinished, TurnStarted
from .chat_interface import ChatInterface

ELSEWHERE = "It runs in another process; its end is told here, and neuralclaw sessions cancel {} stops it."
"""What is said of a turn of a session that is not shown here."""


class SessionWatch:
    """Knows of each session up to which entry it was shown."""

    def __init__(self) -> None:
        self._shown: dict[str, int] = {}

    def saw(self, event: Event) -> None:
        """The event was shown."""
        self._shown[event.session] = max(event.entry or 0, self._shown.get(event.session, 0))

    def looked(self, session: str, events: Iterable[Mapping[str, Any]]) -> None:
        """Of the recorded events of a session the person was shown what there is to show."""
        self._shown[session] = max((event["entry"] for event in events), default=0)

    def repeats(self, event: Event) -> bool:
        """Whether it was shown before: the events of a message that came too late for its turn begin in that turn. An open question is asked again."""
        return event.entry is not None and event.entry <= self._shown.get(event.session, 0) and not isinstance(event.body, ApprovalRequested)

    async def next(self, desk: Desk, session: str | None, interface: ChatInterface) -> str | Event | NeuralClawError | None:
        """The next message that is typed, or None when there will be none.

        Before that, where a person sits there: the beginning or the end of a turn that was not shown, and what kept the session from being read, after
        which it is watched no more until something of it is shown.
        """
        text: str | None = None
        found: list[Event | NeuralClawError] = []
        async with anyio.create_task_group() as group:
            if interface.person and session is not None and session in self._shown:
                group.start_soon(self._look, desk, session, found, group.cancel_scope)
            text = await interface.next()
            found.clear()  # what was typed comes first
            group.cancel_scope.cancel()
        return found[0] if found else text

    def tells_beginning(self, found: Event | NeuralClawError, interface: ChatInterface) -> bool:
        """Show what was found; true where it is the beginning of a turn. Raises an error that was found."""
        if isinstance(found, NeuralClawError):
            raise found
        self.saw(found)
        if isinstance(found.body, TurnStarted):
            interface.say(f"A message from elsewhere began turn {found.turn} of this session: {found.body.text}", "dim")
            return True
        interface.show(found)
        return False

    async def _look(self, desk: Desk, session: str, found: list[Event | NeuralClawError], asking: anyio.CancelScope) -> None:
        """Give up `asking` for what is found."""
        try:
            async with desk.events(session, after=self._shown[session]) as events:
                async for event in events:
                    if isinstance(event.body, TurnStarted | TurnFinished):
                        found.append(event)
                        break
                    self.saw(event)
        except NeuralClawError as error:
            del self._shown[session]
            found.append(error)
        asking.cancel()


def turns_of(events: Iterable[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """What each turn was asked, and its answer, "" where it has none yet; from recorded events as objects."""
    turns: dict[int, tuple[str, str]] = {}
    for event in events:
        if event["type"] == "turn.started":
            turns[event["turn"]] = event["text"], ""
        elif event["type"] == "turn.finished" and not event["waiting"]:
            turns[event["turn"]] = turns[event["turn"]][0], event["text"]
    return list(turns.values())
