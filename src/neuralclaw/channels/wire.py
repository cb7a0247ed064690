"""JSON lines in and out: the objects of a client, and the events that it gets. Whoever has a pipe or a socket brings the lines."""

import time
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import Any, get_args

import msgspec

from ..errors import UsageError
from ..types.entries import Event, rfc3339
from ..types.questions import AnswerDecision

DECISIONS: tuple[str, ...] = get_args(AnswerDecision)


class ClientObject(msgspec.Struct, frozen=True, tag_field="type", forbid_unknown_fields=True):
    """One object of a client."""


class MessageIn(ClientObject, frozen=True, tag="message"):
    """Something to say: the next task, or a word to the running turn. `queue`: it waits for the end of that turn.

    `key` makes it unique in the home: given again, it is not recorded again, and its turn is followed.
    """

    text: str
    queue: bool = False
    key: str | None = None


class AnswerIn(ClientObject, frozen=True, tag="answer"):
    """The answer to a question; `value` is that of a form, `text` a word for the model beside it."""

    approval_id: str
    decision: str | None = None
    value: dict[str, Any] | None = None
    text: str | None = None


class CancelIn(ClientObject, frozen=True, tag="cancel"):
    """Stop the turn."""


AnyObject = MessageIn | AnswerIn | CancelIn
_decoder: msgspec.json.Decoder[AnyObject] = msgspec.json.Decoder(AnyObject)


def decode(line: str | bytes, *, source: str) -> AnyObject:
    """The object on a line. Raises `UsageError` for what is none, or cannot be meant; `source` names in it what the line was.

    An answer that is returned has one of `DECISIONS` or a value, and a message has a text.
    """
    try:
        said = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise UsageError(f"{source} cannot be used: {error}; nothing was changed") from error
    match said:
        case MessageIn(text=text) if not text.strip():
            raise UsageError("the message is empty; nothing was changed")
        case MessageIn(key=key) if key is not None and not key.strip():
            raise UsageError("the key is empty; nothing was changed", hint="leave it out, or give one that no other message of the home has")
        case AnswerIn(decision=None, value=None):
            raise UsageError("an answer needs a decision or a value; nothing was changed")
        case AnswerIn(decision=decision) if decision is not None and decision not in DECISIONS:
            raise UsageError(f"{decision!r} is not a decision; nothing was changed", hint=f"one of {', '.join(DECISIONS)}")
    return said


async def decoded(lines: AsyncIterable[str | bytes], *, source: str) -> AsyncIterator[AnyObject | UsageError]:
    """The objects on the lines, in their order; in place of one that cannot be used the error that says why. Empty lines are left out."""
    async for line in lines:
        if line.strip():
            try:
                yield decode(line, source=source)
            except UsageError as error:
                yield error


class WireRenderer:
    """Gives each event to `send` as one JSON line; `seq` rises by one over all of them, whichever turn or session they are of.

    `verbose`: `debug` events too. `room` waits until there is room for more.
    """

    def __init__(self, send: Callable[[bytes], None], room: Callable[[], Awaitable[None]], *, verbose: bool = False) -> None:
        self._send, self.room, self._verbose = send, room, verbose
        self._seq = 0
        self._session, self._turn = "", 0

    def show(self, event: Event) -> None:
        if event.type in ("debug", "subsystem") and not self._verbose:
            return
        self._session, self._turn = event.session, event.turn
        self._put(event.to_dict())

    def trouble(self, kind: str, text: str, hint: str = "") -> None:
        """An `error` event without an entry."""
        head = {"type": "error", "session": self._session, "turn": self._turn, "seq": 0, "time": rfc3339(time.time_ns() // 1000)}
        self._put(head | {"kind": kind, "text": text, "recoverable": True} | ({"hint": hint} if hint else {}))

    def turned(self) -> None:
        """All of it is shown already."""

    def _put(self, event: dict[str, Any]) -> None:
        self._seq += 1
        event["seq"] = self._seq
        self._send(msgspec.json.encode(event) + b"\n")
