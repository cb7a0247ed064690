"""The event of what was put back, and the capability that brings it."""

import msgspec

from ...capability import Body, Capability, EventKind

SHOWN = 20
"""Places that an event names; of the others it has the number."""


class PlaceTaken(msgspec.Struct, frozen=True, kw_only=True):
    """A place that a command changed. `who` runs what lies there; `found`: SHA-256 of what the command had put there, which is kept for two weeks; `why`: why
    it was not put back, "" where it was."""

    path: str
    who: str
    found: str = ""
    why: str = ""


class PlacesPutBack(Body, frozen=True, kw_only=True, tag="later_run.put_back"):
    """A call changed places that code is later run from, and they were put back. `count`: how many. `interrupted`: the process ended before the call's end was
    seen; it was done when the next one looked."""

    call_id: str
    tool: str
    places: tuple[PlaceTaken, ...]
    count: int
    interrupted: bool = False


def _sentence(body: PlacesPutBack) -> str:
    back = [one for one in body.places if not one.why]
    left = [one for one in body.places if one.why]
    more = body.count - len(body.places)
    said = []
    if back:
        names = ", ".join(f"{one.path} ({one.who} runs it)" for one in back[:3])
        others = len(back) - 3 + more if len(back) > 3 else more
        said.append(f"what {body.tool} changed in {names}{f' and {others} more' if others > 0 else ''} was put back: it is changed only after a yes")
    if left:
        said.append(f"NOT put back: {', '.join(f'{one.path} ({one.why})' for one in left[:3])}{f' and {len(left) - 3} more' if len(left) > 3 else ''}")
    return "; ".join(said) + (", after a run that was interrupted: what else it changed stays, and undo takes it back" if body.interrupted else "")


LATER_RUN = Capability(
    name="later_run",
    summary="places that code is later run from, put back",
    events=(EventKind(body=PlacesPutBack, sentence=_sentence),),
)
