"""The verbs that run turns to their end: what `run --output json` and `recover --output stream-json` print."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Unpack

from ..errors import AgentError
from ..runtime.desk import Verb
from ..types.entries import Event
from ..types.events import Debug, TurnFinished
from ..types.options import ApprovalsMode
from .option_types import AskOptions

Turn = Callable[..., AbstractAsyncContextManager[AsyncIterator[Event]]]


def turn_verbs(turn: Turn, recover: Turn) -> dict[str, Verb]:
    """The verbs of an agent; `turn` and `recover` are its ways to run turns."""
    verbs = TurnVerbs(turn, recover)
    return {"run": verbs.run, "recover": verbs.recover}


class TurnVerbs:
    """See `turn_verbs`."""

    def __init__(self, turn: Turn, recover: Turn) -> None:
        self._turn, self._recover = turn, recover

    async def run(self, *, task: str, session: str | None = None, images: Any = (), **options: Unpack[AskOptions]) -> dict[str, Any]:
        """Do one task, with pictures: its `turn.finished` object. `options` are those of a turn."""
        async with self._turn(task, session=session, images=images, **options) as events:
            async for event in events:
                if isinstance(event.body, TurnFinished):
                    return event.to_dict()
        raise AgentError("the turn ended without a result; what was recorded is kept")

    async def recover(self, *, approvals: ApprovalsMode | None = None) -> list[dict[str, Any]]:
        """Finish every unfinished turn of the home: all events of it, `debug` left out. `approvals`: in place of the agent's own."""
        async with self._recover(approvals=approvals) as events:
            return [event.to_dict() async for event in events if not isinstance(event.body, Debug)]
