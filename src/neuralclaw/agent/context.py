"""From entries to a model request: the same history gives the same bytes."""

from collections.abc import Iterable, Sequence

from ..types.entries import Entry
from ..types.events import Inbound, Message, Nudge, ToolFinished, TurnStarted
from ..types.labels import NONE, Labels, join
from ..types.messages import AssistantMessage, ChatMessage, ToolCall, ToolMessage, UserMessage

NOT_FINISHED = "ERROR: no result was recorded for this call"


class Conversation:
    """The chat messages that entries of a session stand for, in the order the model saw them.

    A reply is followed by the results of its calls in the order of the calls, whatever order they finished in. A message that a
    person sent during a turn stands before the first reply whose request held it (`Message.seen`).
    """

    def __init__(self) -> None:
        self._done: list[ChatMessage] = []
        self._turns: list[int] = []  # turn of each message in _done
        self._reply: Message | None = None
        self._results: dict[str, ToolFinished] = {}
        self._waiting: list[tuple[int, int, Inbound]] = []  # entry, turn, steering message not yet seen
        self._tail: list[ChatMessage] = []  # nudges after the last reply
        self._turn = 0
        self.labels: Labels = NONE
        """Joined labels of everything taken in."""

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> "Conversation":
        conversation = cls()
        for entry in entries:
            conversation.apply(entry)
        return conversation

    def apply(self, entry: Entry) -> None:
        body = entry.body
        if entry.header.labels:
            self.labels = join(self.labels, entry.header.labels)
        if isinstance(body, Inbound):
            if not body.queued:
                self._waiting.append((entry.entry, entry.turn, body))
        elif isinstance(body, TurnStarted):
            self._settle()
            self._turn = entry.turn
            self._waiting = [w for w in self._waiting if w[0] > body.inbound]
            self._add(UserMessage(body.text, images=body.images))
        elif isinstance(body, Message):
            self._settle()
            self._add_seen(body.seen)
            self._reply = body
        elif isinstance(body, ToolFinished):
            self._results[body.call_id] = body
        elif isinstance(body, Nudge):
            self._tail.append(UserMessage(body.text, "nudge"))

    def messages(self, *, last_turns: int = 0, max_messages: int = 0) -> tuple[ChatMessage, ...]:
        """Everything up to now, messages not yet seen by the model at the end.

        Only the newest `last_turns` turns (0: all), and at most `max_messages` messages (0: no limit), never a call without its result.
        """
        ending = [*self._settled(), *(UserMessage(i.text, "steering", i.images) for _, _, i in self._waiting)]
        first = self._turn - last_turns
        kept = [m for m, turn in zip(self._done, self._turns, strict=True) if not last_turns or turn > first]
        return tuple(_newest([*kept, *ending], max_messages))

    def _add(self, message: ChatMessage) -> None:
        self._done.append(message)
        self._turns.append(self._turn)

    def _add_seen(self, seen: int) -> None:
        for number, _, inbound in self._waiting:
            if number <= seen:
                self._add(UserMessage(inbound.text, "steering", inbound.images))
        self._waiting = [w for w in self._waiting if w[0] > seen]

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
        return [AssistantMessage(reply.text, reply.tool_calls, reply.reasoning, reply.state), *results, *self._tail]


def result_of(call: ToolCall, finished: ToolFinished | None) -> ToolMessage:
    """The call's result as the model reads it."""
    if finished is None:
        return ToolMessage(call.id, call.name, NOT_FINISHED, False)
    return ToolMessage(call.id, call.name, finished.content, finished.ok)


def _newest(messages: list[ChatMessage], limit: int) -> list[ChatMessage]:
    """At most `limit` of the newest messages; a result whose call fell away falls away too."""
    if limit and len(messages) > limit:
        messages = messages[-limit:]
        while messages and isinstance(messages[0], ToolMessage):
            messages = messages[1:]
    return messages
