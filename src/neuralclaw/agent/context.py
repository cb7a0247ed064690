"""From entries to a model request: the same history gives the same bytes."""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

import msgspec

from ..types.actions import ReadValues
from ..types.content import scalars
from ..types.entries import Entry
from ..types.events import Cancel, Compaction, Inbound, Message, Nudge, ToolFinished, TurnStarted
from ..types.messages import AssistantMessage, ChatMessage, Image, ImageContent, ToolCall, ToolMessage, UserMessage
from .link_history import LinkHistory

NOT_FINISHED = "ERROR: no result was recorded for this call"
CUT_OFF = {
    "length": "[Your reply above was cut off at the output limit.]",
    "cancelled": "[Your reply above was cut off: the turn was stopped.]",
}
"""What the model is told of a reply that did not come to its end, by its `stop`."""
KINDS = ("inbound", "cancel", "turn.started", "message", "tool.finished", "nudge", "compaction")
"""The kinds of entries that a request is made of."""


SHORT_RESULT = 300
"""Characters that a request keeps of a result that is shortened in it; shorter ones stay whole."""


class HistoryLine(NamedTuple):
    """One message of the history. `entry`: the entry it is from, for a result the one of the reply that asked for it; 0 for a summary."""

    entry: int
    turn: int
    message: ChatMessage

    @property
    def said(self) -> bool:
        """Whether a person or program said it, and not the loop or a summary."""
        return isinstance(self.message, UserMessage) and self.message.kind in ("task", "steering")


class Conversation:
    """The chat messages that entries of a session stand for, in the order the model saw them.

    A reply is followed by the results of its calls in the order of the calls, whatever order they finished in. A message that a
    person sent during a turn is before the first reply whose request held it (`Message.seen`). What was withdrawn before a turn began with it
    is left out. What a compaction took out is a summary at the beginning.
    """

    def __init__(self) -> None:
        self._done: list[HistoryLine] = []
        self._said: list[tuple[int, int, str]] = []  # the messages of whom the session speaks for, with entry and turn
        self._reply: Message | None = None
        self._reply_entry = 0
        self._results: dict[str, ToolFinished] = {}
        self._waiting: list[tuple[int, int, Inbound]] = []  # entry, turn, steering message not yet seen
        self._tail: list[ChatMessage] = []  # nudges after the last reply
        self._turn = 0
        self._withdrawn: set[int] = set()  # messages that no turn began with, by entry
        self.read_from = 0
        """The first entry that the messages are read from; 0: all entries of the session."""
        self.prompt_tokens = 0
        """Tokens of the last request and its reply, as the service counted them; 0 where it did not, or where the history was changed since."""
        self.read_values = ReadValues()
        """What reading mode gave in the session; not all of it where messages have left the requests."""
        self.links = LinkHistory()
        self._prefix: dict[str, str] = {}  # what stands before the messages in requests of the turn: `model`, and digests of `system` and `tools`
        self.changed_prefix: tuple[str, ...] = ()
        """What of it is other than in the turn before, by these names."""
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
            self._begin(entry.entry, entry.turn, body)
        elif isinstance(body, Message):
            self._settle()
            self._add_seen(body.seen)
            self._reply, self._reply_entry = body, entry.entry
            self.prompt_tokens = body.usage.input + body.usage.output if body.usage.input else 0
            for call in body.tool_calls:
                self.links.called(call)
        elif isinstance(body, ToolFinished):
            self._results[body.call_id] = body
            self.links.finished(entry.entry, body, as_read(body))
            if body.values_from:
                self.read_values = with_values(self.read_values, body)
        elif isinstance(body, Nudge):
            self._tail.append(UserMessage(body.text, "nudge"))
        elif isinstance(body, Compaction):
            self._compact(entry.turn, body)

    def messages(self) -> tuple[ChatMessage, ...]:
        """Everything up to now, messages not yet seen by the model at the end."""
        steering = [UserMessage(i.text, "steering", i.images) for _, turn, i in self._waiting if turn == self._turn]
        return (*(line.message for line in self.lines()), *steering)

    def lines(self) -> list[HistoryLine]:
        """The same with their entries, without those that the model has not seen."""
        return [*self._done, *(HistoryLine(self._reply_entry, self._turn, message) for message in self._settled())]

    def said(self) -> tuple[str, ...]:
        """The texts of the messages that the model sees of whom the session speaks for, without the loop's own words."""
        return (*(text for _, _, text in self._said), *(i.text for _, turn, i in self._waiting if turn == self._turn))

    def _begin(self, entry: int, turn: int, body: TurnStarted) -> None:
        """A turn begins. Where each turn of the session stands alone, what was before it leaves."""
        self._settle()
        self._turn = turn
        self._waiting = [w for w in self._waiting if w[0] > body.inbound]
        if body.options.limits.history.alone:
            self._forget_before(entry, turn)
            self.read_from = entry
        prefix = {"model": body.model} | {name: body.stored[name] for name in ("system", "tools") if name in body.stored}
        self.changed_prefix = tuple(name for name in prefix if self._prefix.get(name, prefix[name]) != prefix[name])
        self._prefix |= prefix
        self._speaks = body.options.origin.who != "agent"
        if body.inbound not in self._withdrawn:
            self._add(entry, UserMessage(body.text, images=body.images))
            self._note(entry, body.text)

    def _compact(self, turn: int, body: Compaction) -> None:
        """What a compaction says is done: messages give way to its summary, or results to their beginnings."""
        if self._reply is None or self._results.keys() >= {call.id for call in self._reply.tool_calls}:
            self._settle()
        self.prompt_tokens = 0
        if body.reason == "tool_results":
            whole = set(body.whole_results)
            self._done = [line if _is_whole(line.message, whole) else line._replace(message=shortened(line.message)) for line in self._done]
            return
        self._forget_before(body.before, turn)
        self.read_values = msgspec.structs.replace(self.read_values, whole=False)
        self._done.insert(0, HistoryLine(0, 0, UserMessage(body.summary, "summary")))
        self.links.summarised(body.summary, private=body.private)
        self.read_from = body.read_from

    def _forget_before(self, entry: int, turn: int) -> None:
        """What is from entries before that one leaves, but not what was said in that turn."""
        kept = next((at for at, line in enumerate(self._done) if line.entry >= entry), len(self._done))
        gone, self._done = self._done[:kept], self._done[kept:]
        if gone and self.read_values.whole:
            self.read_values = msgspec.structs.replace(self.read_values, whole=False)
        self._done[:0] = [line for line in gone if line.said and line.turn == turn]
        self._said = [one for one in self._said if one[0] >= entry or one[1] == turn]
        self.links.forget_before(entry)

    def _add(self, entry: int, message: ChatMessage) -> None:
        self._done.append(HistoryLine(entry, self._turn, message))

    def _add_seen(self, seen: int) -> None:
        for number, turn, inbound in self._waiting:
            if number <= seen and turn == self._turn:
                self._add(number, UserMessage(inbound.text, "steering", inbound.images))
                self._note(number, inbound.text)
        self._waiting = [w for w in self._waiting if w[0] > seen or w[1] != self._turn]

    def _note(self, entry: int, text: str) -> None:
        if self._speaks:
            self._said.append((entry, self._turn, text))
            self.links.said(text)

    def _settle(self) -> None:
        for message in self._settled():
            self._add(self._reply_entry, message)
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


def _is_whole(message: ChatMessage, whole: Set[str]) -> bool:
    return not isinstance(message, ToolMessage) or message.call_id in whole or len(message.content) <= SHORT_RESULT


def shortened(message: ChatMessage) -> ChatMessage:
    """A result as requests have it that no longer hold all of it; any other message is as it was."""
    if not isinstance(message, ToolMessage):
        return message
    notice = f"[OUTPUT SHORTENED: Showing {SHORT_RESULT} of {len(message.content):,} characters from {message.name}"
    rest = f'; for all of it: read_result with call_id="{message.call_id}"]'
    return msgspec.structs.replace(message, content=f"{message.content[:SHORT_RESULT]}\n{notice}{rest}", images=(), plain=None)
