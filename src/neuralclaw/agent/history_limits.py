"""Which limit of the history is reached, and which messages leave the requests then. Pure: from messages and limits to a cut."""

from collections.abc import Callable, Sequence
from itertools import accumulate

import msgspec

from ..types.compaction_event import CompactionReason
from ..types.messages import AssistantMessage, ToolMessage
from ..types.options import HistoryLimits, Limits
from .context import SHORT_RESULT, HistoryLine
from .token_estimates import message_tokens, text_tokens

FULL_WINDOW = 128_000
"""The window that the limits are for (row N4)."""
NEAR = 0.95
"""The part of the window that a request and its reply may take by estimate."""
WHOLE_RESULTS = 3
"""The newest results, which stay whole (row N4)."""
WORTH = 8
"""A request that is too long is summarised where that takes out at least such a part of its limit, one of so many, and what is too much."""


class HistoryCut(msgspec.Struct, frozen=True, kw_only=True):
    """What leaves the requests: the first `count` lines, or with the reason `tool_results` all of these results but the beginning."""

    reason: CompactionReason
    count: int = 0
    results: tuple[str, ...] = ()


def scaled(limits: HistoryLimits, window: int) -> HistoryLimits:
    """The limits for a window of so many tokens. What is kept free for the reply gives way last: it is at most half of the window."""
    share = min(1.0, window / FULL_WINDOW)
    return msgspec.structs.replace(
        limits,
        conversation_tokens=int(limits.conversation_tokens * share),
        result_tokens=int(limits.result_tokens * share),
        response_tokens=max(1, min(limits.response_tokens, window // 2)),
    )


def due(lines: Sequence[HistoryLine], turn: int, limits: Limits, window: int, request_tokens: int) -> HistoryCut | None:
    """The first limit that is reached by the history of that turn, None where none is; `request_tokens`: those of the whole request."""
    history = scaled(limits.history, window)
    for find in (_messages, _turns, _conversation):
        cut = find(lines, turn, limits, history)
        if cut is not None:
            return cut
    near = int(window * NEAR) - history.response_tokens
    most = min(history.request_tokens, near)
    if request_tokens > most:
        cut = _shorter(lines, turn, "window" if near < history.request_tokens else "request", max(request_tokens - most, most // WORTH))
        if cut is not None:
            return cut
    return _results(lines, history)


def halved(lines: Sequence[HistoryLine], turn: int, reason: CompactionReason) -> HistoryCut | None:
    """The older half of the messages by their tokens; None where nothing can leave."""
    return _by_tokens(lines, turn, reason, lambda line: message_tokens(line.message))


def before_last_turn(lines: Sequence[HistoryLine]) -> HistoryCut | None:
    """All messages before the newest turn; None where there are none that are no summary."""
    newest = max((line.turn for line in lines), default=0)
    start = next((at for at, line in enumerate(lines) if line.turn == newest and line.entry), 0)
    if start not in _beginnings(lines) or not any(line.entry for line in lines[:start]):
        return None
    return HistoryCut(reason="asked", count=start)


def _shorter(lines: Sequence[HistoryLine], turn: int, reason: CompactionReason, least: int) -> HistoryCut | None:
    """The older half, or all that can leave, whichever is the first to take so many tokens out; None where neither does: a summary would gain nothing."""
    for cut in (halved(lines, turn, reason), _at(lines, turn, len(lines), reason)):
        if cut is not None and sum(message_tokens(line.message) for line in lines[: cut.count] if not _stays(line, turn)) >= least:
            return cut
    return None


def _messages(lines: Sequence[HistoryLine], turn: int, limits: Limits, history: HistoryLimits) -> HistoryCut | None:
    """Messages of people and answers; with a limit of its own for all messages, these."""
    entries = [at for at, line in enumerate(lines) if _is_entry(line)]
    if len(entries) > history.messages:
        gone = max(history.summarised, len(entries) - history.messages)
        return _at(lines, turn, entries[gone], "messages")
    most = limits.max_messages
    if not most or len(lines) <= most or sum(not _stays(line, turn) for line in lines) <= most // 2:
        return None
    return _at(lines, turn, len(lines) - most // 2, "messages")


def _turns(lines: Sequence[HistoryLine], turn: int, limits: Limits, history: HistoryLimits) -> HistoryCut | None:
    turns = sorted({line.turn for line in lines if line.entry})
    if not limits.window_turns or len(turns) <= limits.window_turns:
        return None
    first = turns[-max(1, limits.window_turns // 2)]
    return _at(lines, turn, next(at for at, line in enumerate(lines) if line.turn == first and line.entry), "turns")


def _conversation(lines: Sequence[HistoryLine], turn: int, limits: Limits, history: HistoryLimits) -> HistoryCut | None:
    if not history.conversation_tokens or sum(_spoken(line) for line in lines if not _stays(line, turn)) <= history.conversation_tokens:
        return None
    return _by_tokens(lines, turn, "conversation", _spoken)


def _results(lines: Sequence[HistoryLine], history: HistoryLimits) -> HistoryCut | None:
    results = [line.message for line in lines if isinstance(line.message, ToolMessage)]
    older = [message for message in results[:-WHOLE_RESULTS] if len(message.content) > SHORT_RESULT * 2]
    if not history.result_tokens or sum(map(message_tokens, older)) <= history.result_tokens:
        return None
    return HistoryCut(reason="tool_results", results=tuple(message.call_id for message in older))


def _by_tokens(lines: Sequence[HistoryLine], turn: int, reason: CompactionReason, size: Callable[[HistoryLine], int]) -> HistoryCut | None:
    sizes = [0 if _stays(line, turn) else size(line) for line in lines]
    left, at = sum(sizes), 0
    half = left // 2
    while at < len(lines) and left > half:
        left -= sizes[at]
        at += 1
    return _at(lines, turn, at, reason)


def _at(lines: Sequence[HistoryLine], turn: int, wanted: int, reason: CompactionReason) -> HistoryCut | None:
    """The cut nearest to the wanted one, behind it where possible: never between a call and its result, never with the newest step of the turn."""
    leaving = next((at for at, line in enumerate(lines) if not _stays(line, turn)), len(lines))
    places = [at for at in _beginnings(lines) if at > leaving]
    if not places:
        return None
    return HistoryCut(reason=reason, count=next((at for at in places if at >= wanted), places[-1]))


def _beginnings(lines: Sequence[HistoryLine]) -> list[int]:
    """Where the messages may begin: when all before are from earlier entries and all behind are not. A result has the entry of the reply that asked for it."""
    highest = list(accumulate((line.entry for line in lines), max))
    lowest = list(accumulate((line.entry for line in reversed(lines)), min))[::-1]
    return [at for at in range(1, len(lines)) if highest[at - 1] < lines[at].entry == lowest[at]]


def _stays(line: HistoryLine, turn: int) -> bool:
    """Whether the line is in the requests of the turn whatever is cut: what was said in it, and the summary, which a new one replaces."""
    return not line.entry or (line.said and line.turn == turn)


def _is_entry(line: HistoryLine) -> bool:
    """Whether it is a message of a person or an answer, and no step of the work between them."""
    return line.said or (isinstance(line.message, AssistantMessage) and not line.message.tool_calls)


def _spoken(line: HistoryLine) -> int:
    """Tokens of what was said, without calls and their results: these are the work that is talked about."""
    return 0 if isinstance(line.message, ToolMessage) else text_tokens(line.message.text)
