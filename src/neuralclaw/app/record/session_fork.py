"""`sessions fork`: another session that goes on from the end of a turn. What its requests are made of is copied; nothing of the first one changes."""

import re
from collections.abc import Sequence

import msgspec

from ... import lookups
from ...agent.compaction import history_start
from ...agent.redaction import redacted
from ...errors import AgentError, UsageError
from ...types.entries import Draft, Entry
from ...types.events import Body, SessionForked, ToolFinished, TurnFinished, TurnStarted
from ...types.labels import OWNER
from ...types.records import NewSession, SessionRow, StoredResult
from ..capability_context import BuiltInContext
from ..option_checks import checked_name, continued, new_session
from .copied_entries import COPIED, CopiedEntries, those_of_turns
from .held_session import held_session


class ForkedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session that was made: `session` goes on from the end of turn `turn` of `source`. `entries`: how many were copied."""

    session: str
    source: str
    turn: int
    entries: int


async def fork_session(context: BuiltInContext, place: str, *, to: str | None) -> ForkedSession:
    """Make the session `to`, or one with a new name. `place`: `ID` for the last turn that ended, or `ID@TURN`.

    Raises `SessionNotFound`, and `UsageError` for a turn that is not there or has not ended, and a name that is taken.
    """
    name, turn = placed(place)
    source = await lookups.find_session(context.store, checked_name(name))
    continued(source.session)
    session = new_session(to)
    end = await _end(context, source, turn)
    async with held_session(context.store, session, "nothing was made", "name another session") as lease:
        if await lookups.session(context.store, session) is not None or await lookups.deletion(context.store, session) is not None:
            raise UsageError(f"there is a session {session} already; nothing was made", hint="name another one, or leave the name out")
        entries = await _history(context, source.session, end)
        forked = SessionForked(source=source.session, turn=end.turn, entry=end.entry, by=context.who)
        copies = CopiedEntries(entries, f"fork:{session}")
        drafts = [Draft(end.turn, forked, OWNER)]
        drafts += [Draft(entry.turn, redacted(body, context.redaction), frozenset(entry.header.labels)) for entry, body in copies.bodies()]
        row = NewSession(origin=source.origin, workspace=source.workspace, title=source.title, model=source.model, soul=source.soul)
        results = await _results(context, source.session, entries)
        context.notify(await context.store.append(session, drafts, lease=lease, rows=[row, *results]))
    return ForkedSession(session=session, source=source.session, turn=end.turn, entries=len(entries))


def placed(place: str) -> tuple[str, int | None]:
    """Session and turn of `ID[@TURN]`. Raises `UsageError`."""
    name, at, turn = place.partition("@")
    if at and not re.fullmatch("[0-9]{1,9}", turn):
        raise UsageError(f"{turn!r} is no turn; nothing was made", hint="ID@TURN, where TURN is a number from 1: neuralclaw sessions show ID has them")
    return name, int(turn) if at else None


async def _end(context: BuiltInContext, source: SessionRow, turn: int | None) -> Entry:
    """The entry with which the turn ended; without one, with which the last turn did that has."""
    wanted = turn if turn is not None else source.last_turn if source.open_turn != source.last_turn else source.last_turn - 1
    if not 1 <= wanted <= source.last_turn:
        told = "has no turn that ended" if turn is None else f"has no turn {turn}, it has {source.last_turn}"
        raise UsageError(f"the session {source.session} {told}; nothing was made", hint=f"neuralclaw sessions show {source.session}")
    ends = await context.store.read(source.session, from_turn=wanted, kinds=("turn.finished",))
    end = next((entry for entry in ends if entry.turn == wanted and isinstance(entry.body, TurnFinished) and not entry.body.waiting), None)
    if end is None:
        raise UsageError(f"turn {wanted} of the session {source.session} has not ended; nothing was made", hint=f"neuralclaw sessions show {source.session}")
    return end


async def _history(context: BuiltInContext, session: str, end: Entry) -> list[Entry]:
    """What the requests of the next turn would have been made of when that one had ended."""
    own = [entry for entry in await context.store.read(session, from_turn=end.turn, kinds=COPIED) if entry.entry <= end.entry]
    started = next((entry.body for entry in own if isinstance(entry.body, TurnStarted) and entry.turn == end.turn), None)
    if started is None:
        raise AgentError(f"the beginning of turn {end.turn} of session {session} was erased or cannot be read; nothing was made")
    first = history_start([entry.body for entry in own], started)
    pages = lookups.pages(context.store, session, after=max(0, first - 1), last=end.entry, kinds=COPIED)
    found = [entry async for page in pages for entry in page if isinstance(entry.body, Body)]
    return those_of_turns(found)


async def _results(context: BuiltInContext, session: str, entries: Sequence[Entry]) -> list[StoredResult]:
    """The whole texts of results that the model was shown a part of."""
    cut = [entry.body.call_id for entry in entries if isinstance(entry.body, ToolFinished) and entry.body.truncated]
    found = [(call_id, await lookups.result(context.store, session, call_id)) for call_id in cut]
    return [StoredResult(call_id, context.redaction.redact(text)) for call_id, text in found if text is not None]
