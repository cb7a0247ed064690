"""The provider behind `tools call`: it proposes the one call its message spells out. No way around the gate, and no model."""

import msgspec

from ..types.ids import new_id
from ..types.messages import Failure, ModelInfo, ModelReply, Request, ToolCall, ToolMessage, Usage, UserMessage
from .computed_reply import ComputedProvider

SAID = ("task", "steering")
"""What a person or program says; the other kinds are the loop's own word."""


class SpelledCall(msgspec.Struct, frozen=True):
    """The message of a direct call: the JSON of a tool's name and its arguments."""

    tool: str
    arguments: dict[str, object]


class DirectProvider(ComputedProvider):
    """First proposes the call, under an id that no other call has, then ends with its result as the answer."""

    def info(self, model: str) -> ModelInfo:
        """A call needs nothing of the history, however long it is: no window."""
        return msgspec.structs.replace(super().info(model), context=0)

    def reply(self, request: Request) -> ModelReply:
        usage = Usage(usd=0.0)
        last = next((m for m in reversed(request.messages) if isinstance(m, ToolMessage) or (isinstance(m, UserMessage) and m.kind in SAID)), None)
        if isinstance(last, ToolMessage):
            return ModelReply(text=last.for_people, usage=usage)
        try:
            spelled = msgspec.json.decode(last.text if isinstance(last, UserMessage) else "", type=SpelledCall)
        except msgspec.DecodeError as error:
            return ModelReply(stop="error", failure=Failure("LLMError", f"direct: the message spells no tool call: {error}"))
        return ModelReply(tool_calls=(ToolCall(f"direct-{new_id()}", spelled.tool, spelled.arguments),), stop="tools", usage=usage)
