"""From entries to a model request: the same history gives the same bytes."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ..types.actions import ReadValues
from ..types.content import scalars
from ..types.entries import Entry
from ..types.events import Cancel, Inbound, Message, Nudge, ToolFinished, TurnStarted
from ..types.messages import AssistantMessage, ChatMessage, Image, ImageContent, ToolCall, ToolMessage, UserMessage
from .link_history import LinkHistory

NOT_FINISHED = "ERROR: no result was recorded for this call"
CUT_OFF = {
    "length": "[Your reply above was cut off at the output limit.]",
    "cancelled": "[Your reply above was cut off: the turn was stopped.]",
}
"""What the model is told of a reply that did not come to its end, by its `stop`."""
KINDS = ("inbound", "cancel", "turn.started", "message", "tool.finished", "nudge")
"""The kinds of entries that a request is made of."""


def first_turn(turn: int, window: int) -> int:
    """The first turn whose messages are in the requests of turn `turn`, where at most `window` turns may (0: all).

    When the window is full, the older half of it leaves at once: in between, each request begins with the same bytes as the one before.
    """
    if not window or turn <= window:
        return 1
    block = max(1, window // 2)
    return 1 + block * -(-(turn - window) // block)


class Conversation:
    """The chat messages that entries of a session stand for, in the order the model saw them.

    A reply is followed by the results of its calls in the order of the calls, whatever order they finished in. A message that a
    person sent during a turn is before the first reply whose request held it (`Message.seen`). What was withdrawn before a turn began with it
    is left out.
    """

    def __init__(self) -> None:
        self._done: deque[tuple[int, ChatMessage]] = deque()  # with the turn of each
        self._said: deque[tuple[int, str]] = deque()  # the messages of whom the session speaks for, likewise
        self._reply: Message | None = None
        self._results: dict[str, ToolFinished] = {}
        self._waiting: list[tuple[int, int, Inbound]] = []  # entry, turn, steering message not yet seen
        self._tail: list[ChatMessage] = []  # nudges after the last reply
        self._turn = 0
        self._withdrawn: set[int] = set()  # messages that no turn began with, by entry
        self.read_values = ReadValues()
        """What reading mode gave in the session; not all of it where turns have left the window."""
        self.links = LinkHistory()
        self._speaks = True  # the messages of the turn are its owner's, and no other session's

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> "Conversation":
        conversation = cls()
        for entry in entries:
            conversation.apply(entry)
        return conversation

    def apply(self, entry: Entry) -> None:
        body = entry.body
        if isinstance(body, Inbound):
            if not body.queued:
                self._waiting.append((entry.entry, entry.turn, body))
        elif isinstance(body, Cancel):
            if body.message is not None:
                self._withdrawn.add(body.message)
        elif isinstance(body, TurnStarted):
            self._begin(entry.turn, body)
        elif isinstance(body, Message):
            self._settle()
            self._add_seen(body.seen)
            self._reply = body
            for call in body.tool_calls:
                self.links.called(call)
        elif isinstance(body, ToolFinished):
            self._results[body.call_id] = body
            self.links.finished(entry.turn, body, as_read(body))
            if body.values_from:
                self.read_values = with_values(self.read_values, body)
        elif isinstance(body, Nudge):
            self._tail.append(UserMessage(body.text, "nudge"))

    @property
    def length(self) -> int:
        """How many messages there are, before any limit."""
        return len(self.messages())

    def messages(self, *, max_messages: int = 0) -> tuple[ChatMessage, ...]:
        """Everything up to now, messages not yet seen by the model at the end; at most `max_messages` (0: no limit), never a call without its result."""
        steering = [UserMessage(i.text, "steering", i.images) for _, turn, i in self._waiting if turn == self._turn]
        return tuple(_newest([*(message for _, message in self._done), *self._settled(), *steering], max_messages))

    def said(self) -> tuple[str, ...]:
        """The texts of the messages that the model sees of whom the session speaks for, without the loop's own words."""
        return (*(text for _, text in self._said), *(i.text for _, turn, i in self._waiting if turn == self._turn))

    def _begin(self, turn: int, body: TurnStarted) -> None:
        """A turn begins; what its window does not hold any more leaves."""
        self._settle()
        self._turn = turn
        self._waiting = [w for w in self._waiting if w[0] > body.inbound]
        first = first_turn(turn, body.options.limits.window_turns)
        if first > 1 and self.read_values.whole:
            self.read_values = msgspec.structs.replace(self.read_values, whole=False)
        while self._done and self._done[0][0] < first:
            self._done.popleft()
        while self._said and self._said[0][0] < first:
            self._said.popleft()
        self.links.forget_before(first)
        self._speaks = body.options.origin.who != "agent"
        if body.inbound not in self._withdrawn:
            self._add(UserMessage(body.text, images=body.images))
            self._note(body.text)

    def _add(self, message: ChatMessage) -> None:
        self._done.append((self._turn, message))

    def _add_seen(self, seen: int) -> None:
        for number, turn, inbound in self._waiting:
            if number <= seen and turn == self._turn:
                self._add(UserMessage(inbound.text, "steering", inbound.images))
                self._note(inbound.text)
        self._waiting = [w for w in self._waiting if w[0] > seen or w[1] != self._turn]

    def _note(self, text: str) -> None:
        self._said.append((self._turn, text))
        if self._speaks:
            self.links.said(text)

    def _settle(self) -> None:
        for message in self._settled():
            self._add(message)
        self._reply, self._results, self._tail = None, {}, []

    def _settled(self) -> Sequence[ChatMessage]:
        """The last reply with its results and what the loop said after it."""
        if self._reply is None:
            return self._tail
        reply = self._reply
        results = [result_of(c, self._results.get(c.id)) for c in reply.tool_calls]
        if not reply.text and not reply.tool_calls:
            return self._tail
        notice = [UserMessage(CUT_OFF[reply.stop], "notice")] if reply.stop in CUT_OFF else []
        return [AssistantMessage(reply.text, reply.tool_calls, reply.reasoning, reply.state), *results, *notice, *self._tail]


def with_values(known: ReadValues, finished: ToolFinished) -> ReadValues:
    """The values of a session with those of one more result."""
    sessions = (*known.sessions, *filter(None, [finished.child]))
    try:
        found = tuple(scalars(msgspec.json.decode(finished.content)))
    except (ValueError, RecursionError):  # it was cut, or changed by redaction
        return msgspec.structs.replace(known, whole=False, sessions=sessions)
    return ReadValues(values=(*known.values, *found), sources=known.sources.union(finished.values_from), whole=known.whole, sessions=sessions)


def result_of(call: ToolCall, finished: ToolFinished | None) -> ToolMessage:
    """The call's result as the model reads it."""
    if finished is None:
        return ToolMessage(call.id, call.name, NOT_FINISHED, False)
    images = tuple(part.image for part in finished.parts if isinstance(part, ImageContent))
    text = as_read(finished)
    return ToolMessage(call.id, call.name, text, finished.ok, images, None if text == finished.content else finished.content)


def as_read(finished: ToolFinished) -> str:
    """The text of a result as the model reads it: lines of a file behind their numbers, the note at the end."""
    text = finished.content
    if finished.first_line:
        lines = text.split("\n", finished.line_count)
        numbered = [f"{number}\t{line}" for number, line in enumerate(lines[: finished.line_count], finished.first_line)]
        text = "\n".join(numbered + lines[finished.line_count :])
    if not finished.note:
        return text
    return text + ("" if not text or text.endswith("\n") else "\n") + finished.note


def images_of(message: ChatMessage) -> tuple[Image, ...]:
    return message.images if isinstance(message, UserMessage | ToolMessage) else ()


def with_pictures(messages: Sequence[ChatMessage], pictures: Mapping[str, bytes]) -> tuple[ChatMessage, ...]:
    """The messages with the bytes of their pictures, by digest; one whose bytes were erased stays without."""
    return tuple(_filled(message, pictures) if images_of(message) else message for message in messages)


def _filled(message: ChatMessage, pictures: Mapping[str, bytes]) -> ChatMessage:
    images = tuple(Image(i.media_type, pictures[i.digest], i.name) if i.digest in pictures else i for i in images_of(message))
    return msgspec.structs.replace(message, images=images)


def _newest(messages: list[ChatMessage], limit: int) -> list[ChatMessage]:
    """At most `limit` of the newest messages, the older ones left out by halves of the limit; a result whose call is left out is left out too."""
    if not limit or len(messages) <= limit:
        return messages
    block = max(1, limit // 2)
    messages = messages[block * -(-(len(messages) - limit) // block) :]
    while messages and isinstance(messages[0], ToolMessage):
        messages = messages[1:]
    return messages
