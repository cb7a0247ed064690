"""`sessions compact`: the messages before the newest turn give way to a summary, outside a turn."""

import msgspec

from ... import lookups
from ...agent import history_limits
from ...agent.compaction import compacted, told
from ...agent.context import Conversation
from ...agent.redaction import Searched, redacted
from ...agent.token_estimates import message_tokens
from ...errors import AgentError, UsageError
from ...runtime.session_history import read_history
from ...types.cut_texts import cut_text
from ...types.entries import Draft
from ...types.labels import AGENT, join
from ...types.records import Lease, SessionRow, SettledReservation
from ..capability_context import BuiltInContext
from ..option_checks import checked_name
from .held_session import held_session

SHOWN = 200
"""Characters of a message in the preview."""


class CompactedSession(msgspec.Struct, frozen=True, kw_only=True):
    """What was summarised, or with `preview` would be: `messages` of them, whose beginnings are in `leaving`. Tokens are estimates of what requests hold of the
    conversation. `model`: who wrote the `summary`, "" for an extract; `summary` is "" where nothing was done."""

    session: str
    messages: int = 0
    tokens_before: int = 0
    tokens_after: int | None = None
    preview: bool = False
    model: str = ""
    summary: str = ""
    leaving: tuple[str, ...] = ()


async def compact_session(context: BuiltInContext, session: str, *, preview: bool) -> CompactedSession:
    """Summarise all messages of the session before its newest turn; with `preview` say which these are.

    Raises `SessionNotFound`, `SessionBusy` while a turn of it runs, `UsageError` where a turn is open that waits for a person or was interrupted, and what
    `OpenHome.summarizer` raises.
    """
    row = await lookups.find_session(context.store, checked_name(session))
    if preview:
        return await _preview(context, row)
    later = "try again when it has ended; a turn compacts its session by itself"
    async with held_session(context.store, row.session, "nothing was changed", later) as lease:
        return await _compact(context, await lookups.existing_session(context.store, row.session), lease)


async def _preview(context: BuiltInContext, row: SessionRow) -> CompactedSession:
    lines = (await _history(context, row)).lines()
    cut = history_limits.before_last_turn(lines)
    leaving = [line for line in lines[: cut.count] if line.entry] if cut is not None else []
    return CompactedSession(
        session=row.session,
        messages=len(leaving),
        tokens_before=sum(message_tokens(line.message) for line in lines),
        preview=True,
        leaving=tuple(cut_text(told(line, SHOWN), SHOWN) for line in leaving),
    )


async def _compact(context: BuiltInContext, row: SessionRow, lease: Lease) -> CompactedSession:
    if row.open_turn or row.pending:
        raise UsageError(
            f"turn {row.open_turn or row.last_turn + 1} of the session {row.session} has not ended; nothing was changed",
            hint=f'go on with it: neuralclaw run --resume {row.session} "go on"',
        )
    started, _ = await read_history(context.store, row.session, row.last_turn)
    history = await _history(context, row)
    cut = history_limits.before_last_turn(history.lines())
    if cut is None:
        return CompactedSession(session=row.session, tokens_before=sum(message_tokens(line.message) for line in history.lines()))
    if started is None:
        raise AgentError(f"the beginning of turn {row.last_turn} of session {row.session} was erased or cannot be read; nothing was changed")
    by = await context.home.summarizer(row.session, row.last_turn, started.options)
    body, reservations = await compacted(history, cut, by, 0, 0)
    body = redacted(body, context.redaction)
    drafts = [Draft(row.last_turn, body, join(row.labels, AGENT))]
    context.notify(await context.store.append(row.session, drafts, lease=lease, rows=[SettledReservation(one) for one in reservations]))
    return CompactedSession(
        session=row.session,
        messages=body.messages,
        tokens_before=body.tokens_before,
        tokens_after=body.tokens_after,
        model=body.model,
        summary=body.summary,
    )


async def _history(context: BuiltInContext, row: SessionRow) -> Conversation:
    _, entries = await read_history(context.store, row.session, row.last_turn)
    return Conversation.of(Searched(context.redaction).entries(entries))
