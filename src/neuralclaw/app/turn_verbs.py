"""The verbs that run turns to their end: what `run --output json` and `recover --output stream-json` print."""

from typing import Any, Unpack

from ..errors import no_result
from ..ports import Desk
from ..types.events import Debug, Inbound, TurnFinished
from ..types.ids import new_id
from ..types.options import ApprovalsMode, StartOptions, TurnOptions
from .defaults import start_options, turn_options
from .option_checks import checked_text, new_session
from .option_types import AskOptions
from .pictures import pictures
from .verb_calls import VerbFunction


def turn_verbs(desk: Desk, defaults: TurnOptions, start: StartOptions) -> dict[str, VerbFunction]:
    """The verbs of a client; `defaults` are the options of turns that it begins, `start` those of turns that it goes on with."""
    verbs = TurnVerbs(desk, defaults, start)
    return {"run": verbs.run, "recover": verbs.recover}


class TurnVerbs:
    """See `turn_verbs`."""

    def __init__(self, desk: Desk, defaults: TurnOptions, start: StartOptions) -> None:
        self._desk, self._defaults, self._start = desk, defaults, start

    async def run(self, *, task: str, session: str | None = None, images: Any = (), **options: Unpack[AskOptions]) -> dict[str, Any]:
        """Do one task, with pictures: its `turn.finished` object. `options` are those of a turn."""
        name, given = new_session(session), pictures(images)
        inbound = Inbound(
            text=checked_text(task, given), key=new_id(16), by=self._defaults.origin.who, images=given, options=turn_options(self._defaults, options)
        )
        async with self._desk.turn(name, inbound) as events:
            async for event in events:
                if isinstance(event.body, TurnFinished):
                    return event.to_dict()
        raise no_result()

    async def recover(self, *, approvals: ApprovalsMode | None = None) -> list[dict[str, Any]]:
        """Finish every unfinished turn of the home: all events of it, `debug` left out. `approvals`: in place of the agent's own."""
        wanted = start_options(self._start, {"approvals": approvals})
        events = self._desk.recover(wanted, by=self._defaults.origin.who)
        return [event.to_dict() async for event in events if not isinstance(event.body, Debug)]
