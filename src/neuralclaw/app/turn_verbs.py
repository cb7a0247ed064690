"""The verbs that run turns to their end: what `run --output json` and `recover --output stream-json` print."""

from typing import Any, Unpack

from ..errors import no_result
from ..ports import Desk
from ..types.events import Debug, TurnFinished
from ..types.options import ApprovalsMode
from .defaults import ClientDefaults
from .option_checks import new_session
from .option_types import AskOptions
from .verb_calls import VerbFunction


def turn_verbs(desk: Desk, defaults: ClientDefaults) -> dict[str, VerbFunction]:
    """The verbs of a client, under its defaults."""
    verbs = TurnVerbs(desk, defaults)
    return {"run": verbs.run, "recover": verbs.recover}


class TurnVerbs:
    """See `turn_verbs`."""

    def __init__(self, desk: Desk, defaults: ClientDefaults) -> None:
        self._desk, self._defaults = desk, defaults

    async def run(self, *, task: str, session: str | None = None, images: Any = (), **options: Unpack[AskOptions]) -> dict[str, Any]:
        """Do one task, with pictures: its `turn.finished` object. `options` are those of a turn."""
        async with self._desk.turn(new_session(session), self._defaults.message(task, images=images, **options)) as events:
            async for event in events:
                if isinstance(event.body, TurnFinished):
                    return event.to_dict()
        raise no_result()

    async def recover(self, *, approvals: ApprovalsMode | None = None) -> list[dict[str, Any]]:
        """Finish every unfinished turn of the home: all events of it, `debug` left out. `approvals`: in place of the agent's own."""
        events = self._desk.recover(self._defaults.starting(approvals=approvals), by=self._defaults.who)
        return [event.to_dict() async for event in events if not isinstance(event.body, Debug)]
