"""A reply of OpenAI's Responses put together from its events.

What was shown stays: text and reasoning are what the deltas said, and what a finished item says beyond them is shown then. Of a
call, which nobody sees while it is written, the finished item counts.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from ..types.messages import ModelEvent, ModelInfo, ModelReply, ReasoningState, StopReason, ToolCall, Usage
from .reply_assembly import TextRuns, call_of, decode, json_text, number, priced
from .responses_request import API
from .sse import SSEEvent


class _ResponsesContent(msgspec.Struct):
    text: str | None = None
    refusal: str | None = None


class _ResponsesItem(msgspec.Struct):
    """An output item: a message, a function call, reasoning; other types are the service's own business."""

    type: str = ""
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: Any = None
    content: list[_ResponsesContent] | None = None
    summary: list[_ResponsesContent] | None = None
    phase: str | None = None


class _Incomplete(msgspec.Struct):
    reason: str | None = None


class _ResponsesObject(msgspec.Struct):
    model: str | None = None
    status: str | None = None
    output: list[Any] | None = None
    error: Any = None
    incomplete_details: _Incomplete | None = None
    usage: Any = None


class _ResponsesEvent(msgspec.Struct):
    type: str = ""
    output_index: int | None = None
    item_id: str | None = None
    summary_index: int | None = None
    delta: Any = None
    arguments: Any = None
    item: Any = None
    response: _ResponsesObject | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(_ResponsesEvent)
_object_decoder = msgspec.json.Decoder(dict[str, Any])

_ENDS = {"response.completed": "completed", "response.incomplete": "incomplete", "response.failed": "failed", "response.cancelled": "cancelled"}
_TYPES = ("message", "function_call", "reasoning")
_PARAGRAPH = "\n\n"


class _ItemSlot:
    """One output item that is arriving. `said` is what was shown of it, `part` the summary part that was last, `start` and `end` its place in the text."""

    __slots__ = ("arguments", "call_id", "end", "id", "kept", "name", "part", "phase", "said", "start", "type")

    def __init__(self, kind: str) -> None:
        self.type = kind
        self.id = ""
        self.call_id = ""
        self.name = ""
        self.phase = ""
        self.arguments: list[str] = []
        self.said: list[str] = []
        self.part: int | None = None
        self.start = self.end = 0
        self.kept: dict[str, Any] | None = None

    def beyond(self, *wholes: str) -> str:
        """What the finished item says beyond what was shown: of the first whole that begins with it."""
        said = "".join(self.said)
        return next((whole[len(said) :] for whole in wholes if whole and whole.startswith(said)), "")

    def call(self, number: int) -> ToolCall:
        return call_of(self.call_id or self.id or f"call_{number}", self.name, "".join(self.arguments))


class ResponseParts:
    """Collects the events of one reply. `finish` is the service's own word for how it ended, "" while it has not."""

    __slots__ = ("_asked", "_length", "_places", "_slots", "_thought", "done", "error", "finish", "model", "runs", "seen", "usage")

    def __init__(self, asked: str = "") -> None:
        self.runs = TextRuns()
        self._asked = asked
        self._slots: list[_ItemSlot] = []
        self._places: dict[tuple[str, int | str], _ItemSlot] = {}  # by type and place, or id where a service does not say the place
        self._length = 0
        self._thought = False
        self.model = ""
        self.finish = ""
        self.seen = False
        self.done = False
        self.usage: dict[str, Any] | None = None
        self.error: Any = None

    def add(self, event: SSEEvent) -> None:
        """Take in one event. Raises `msgspec.DecodeError` when it is none."""
        if event.data.strip() == b"[DONE]":  # not OpenAI's own, but others end so
            self.done = True
            return
        wire = decode(_decoder, event.data)
        kind = wire.type or event.name
        if kind == "error" or (not kind and wire.error):
            self.error = wire.error or decode(_object_decoder, event.data)
        elif kind in _ENDS:
            self._end(wire.response or _ResponsesObject(), _ENDS[kind])
        elif kind in ("response.output_item.added", "response.output_item.done"):
            if wire.item is not None:
                self._item(wire.item, wire.output_index, done=kind.endswith("done"))
        elif isinstance(wire.delta, str) and wire.delta:
            self._delta(kind, wire, wire.delta)
        elif kind == "response.function_call_arguments.done" and isinstance(wire.arguments, str):
            self._slot(wire, "function_call").arguments = [wire.arguments]
        elif wire.response is not None and wire.response.model:
            self.model = wire.response.model

    def take(self) -> list[ModelEvent]:
        """The parts since the last time."""
        return self.runs.take()

    def _slot(self, wire: _ResponsesEvent, kind: str) -> _ItemSlot:
        """The item that an event belongs to; one that was not announced is begun here."""
        place = (kind, wire.output_index if wire.output_index is not None else wire.item_id or "")
        return self._places.get(place) or self._begin(place)

    def _begin(self, place: tuple[str, int | str]) -> _ItemSlot:
        self.seen = True
        slot = self._places[place] = _ItemSlot(place[0])
        self._slots.append(slot)
        return slot

    def _delta(self, kind: str, wire: _ResponsesEvent, delta: str) -> None:
        match kind:
            case "response.output_text.delta" | "response.refusal.delta":
                self._say(self._slot(wire, "message"), delta)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                slot = self._slot(wire, "reasoning")
                if slot.said and wire.summary_index != slot.part:
                    self._think(slot, _PARAGRAPH)
                slot.part = wire.summary_index
                self._think(slot, delta)
            case "response.function_call_arguments.delta":
                self._slot(wire, "function_call").arguments.append(delta)

    def _say(self, slot: _ItemSlot, text: str) -> None:
        if not text:
            return
        if not slot.said:
            if self._length:  # a second message: the first was a remark on the way
                self._length += len(_PARAGRAPH)
                self.runs.say(_PARAGRAPH)
            slot.start = self._length
        slot.said.append(text)
        self.runs.say(text)
        self._length += len(text)
        slot.end = self._length

    def _think(self, slot: _ItemSlot, text: str) -> None:
        if not text:
            return
        if not slot.said and self._thought:
            self.runs.think(_PARAGRAPH)
        self._thought = True
        slot.said.append(text)
        self.runs.think(text)

    def _item(self, data: Any, index: int | None, *, done: bool) -> None:
        """An item was begun or is whole. Another one under a used place is a new one: some servers number every item 0."""
        item = msgspec.convert(data, _ResponsesItem)
        if item.type not in _TYPES:
            return
        place = (item.type, index if index is not None else item.id or "")
        slot = self._places.get(place)
        if slot is None or (not done and slot.id and item.id != slot.id):
            slot = self._begin(place)
        self._name(slot, item)
        if done:
            self._whole(slot, item, data)

    def _name(self, slot: _ItemSlot, item: _ResponsesItem) -> None:
        slot.id = item.id or slot.id
        slot.call_id = item.call_id or slot.call_id
        slot.name = item.name or slot.name
        slot.phase = item.phase or slot.phase

    def _whole(self, slot: _ItemSlot, item: _ResponsesItem, data: dict[str, Any]) -> None:
        """The finished item: what it says beyond what came, its call, its reasoning as it goes back."""
        content = item.content or []
        match item.type:
            case "message":
                self._say(slot, slot.beyond("".join(piece.text or piece.refusal or "" for piece in content)))
            case "reasoning":
                summary = _PARAGRAPH.join(piece.text or "" for piece in item.summary or ())
                self._think(slot, slot.beyond(summary, "".join(piece.text or "" for piece in content)))
                slot.kept = _kept(data) or slot.kept
            case "function_call" if isinstance(item.arguments, str) and item.arguments:
                slot.arguments = [item.arguments]
            case "function_call" if isinstance(item.arguments, dict):
                slot.arguments = [json_text(item.arguments)]

    def _end(self, response: _ResponsesObject, ended: str) -> None:
        """The last event."""
        said = response.status or ""
        status = said if said in _ENDS.values() else ended
        if isinstance(response.usage, dict):
            self.usage = response.usage
        self.model = response.model or self.model
        if status == "failed":
            self.error = response.error or {"message": "it says that the answer failed, and not why", "code": "server_error"}
            return
        self._output(response.output or ())
        reason = response.incomplete_details.reason if response.incomplete_details is not None else None
        self.finish = (reason or status) if status == "incomplete" else status
        self.seen = self.done = True

    def _output(self, output: Sequence[Any]) -> None:
        """The items of the last event: servers that send few events say some things only here. The nth of a type is the nth that came of it."""
        came = {kind: [slot for slot in self._slots if slot.type == kind] for kind in _TYPES}
        for index, data in enumerate(output):
            item = msgspec.convert(data, _ResponsesItem)
            if item.type not in _TYPES:
                continue
            slot = came[item.type].pop(0) if came[item.type] else self._begin((item.type, f"at the end {index}"))
            self._name(slot, item)
            self._whole(slot, item, data)

    @property
    def withheld(self) -> str:
        return "" if self.finish in ("", "completed", "max_output_tokens") else self.finish

    @property
    def whole(self) -> bool:
        return bool(self.finish)

    def reply(self, info: ModelInfo) -> ModelReply:
        calls = [slot for slot in self._slots if slot.type == "function_call"]
        stop: StopReason = "length" if self.finish == "max_output_tokens" else "tools" if calls else "end"
        return ModelReply(
            text=self.runs.text,
            tool_calls=tuple(slot.call(number) for number, slot in enumerate(calls)),
            stop="error" if self.withheld else stop,
            model=self.model,
            reasoning=self.runs.reasoning,
            state=self.state(),
            usage=usage_of(self.usage, info),
        )

    def state(self) -> ReasoningState | None:
        """The reasoning to send back, between the places of what else came: of text where it lies in the reply's, of calls their ids."""
        items: list[dict[str, Any]] = []
        calls = 0
        for slot in self._slots:
            if slot.type == "reasoning" and slot.kept is not None:
                items.append(slot.kept)
            elif slot.type == "message" and slot.said:
                place = {"type": "message", "span": [slot.start, slot.end]}
                items.append(place | {"phase": slot.phase} if slot.phase else place)
            elif slot.type == "function_call":
                items.append({"type": "function_call", "call_id": slot.call(calls).id})
                calls += 1
        worth = any(item["type"] == "reasoning" or "phase" in item for item in items)
        return ReasoningState(API, self._asked, tuple(items)) if worth else None


def _kept(item: dict[str, Any]) -> dict[str, Any] | None:
    """A reasoning item as it goes back: sealed or in clear. One that is neither the service could only look up, and it stored nothing."""
    if not item.get("encrypted_content") and not item.get("content"):
        return None
    return {"summary": []} | {name: value for name, value in item.items() if name != "status" and value is not None}


def usage_of(wire: dict[str, Any] | None, info: ModelInfo) -> Usage:
    """Tokens and money. Without a usage object from the service both are unknown: zero tokens, no price."""
    if wire is None:
        return Usage()
    details = wire.get("input_tokens_details")
    cached = number(details.get("cached_tokens")) if isinstance(details, dict) else 0
    return priced(number(wire.get("input_tokens")), cached, number(wire.get("output_tokens")), info)
