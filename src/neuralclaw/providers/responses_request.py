"""A request in OpenAI's Responses form. The same request gives the same bytes."""

from typing import Any

import msgspec

from ..types.messages import AssistantMessage, ChatMessage, ModelInfo, Request, ToolCall, ToolDef, ToolMessage, UserMessage
from .images import data_url, seen
from .reply_assembly import with_environment

API = "responses"
"""Name of this format in a `ReasoningState`."""

_encoder = msgspec.json.Encoder()
_sorted = msgspec.json.Encoder(order="deterministic")  # a journal may give arguments back in another order


def encode(request: Request, info: ModelInfo, *, without: frozenset[str]) -> bytes:
    """The body of `POST /responses`. `without` names parameters that the service or model refuses and that are left out."""
    body: dict[str, Any] = {"model": request.model, "input": _input(request, info), "stream": True, "store": False}
    if request.system:
        body["instructions"] = request.system
    if info.tools is True and request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        body["parallel_tool_calls"] = True
    body["include"] = ["reasoning.encrypted_content"]  # nothing is stored, so the reasoning travels with us
    if request.answer_schema is not None and "text.format" not in without:
        body["text"] = {"format": {"type": "json_schema", "name": "answer", "schema": request.answer_schema, "strict": False}}
    optional = {"temperature": request.temperature, "top_p": request.top_p, "max_output_tokens": request.max_tokens}
    body |= {name: value for name, value in optional.items() if value is not None}
    return _encoder.encode({name: value for name, value in body.items() if name not in without})


def _input(request: Request, info: ModelInfo) -> list[dict[str, Any]]:
    return [item for message in with_environment(request) for item in _items(message, info, request.model)]


def _items(message: ChatMessage, info: ModelInfo, model: str) -> list[dict[str, Any]]:
    match message:
        case UserMessage():
            return [{"type": "message", "role": "user", "content": _content(message, info)}]
        case ToolMessage():
            output = _content(message, info) if message.images else message.content
            return [{"type": "function_call_output", "call_id": message.call_id, "output": output}]
        case AssistantMessage():
            state = message.state
            return _answer(message, state.items if state is not None and (state.api, state.model) == (API, model) else ())


def _content(message: UserMessage | ToolMessage, info: ModelInfo) -> list[dict[str, Any]]:
    """Text and pictures; a picture that the model cannot see is named."""
    text, images = seen(message, info)
    pictures = [{"type": "input_image", "image_url": data_url(image), "detail": "auto"} for image in images]
    return [{"type": "input_text", "text": text}, *pictures]


def _answer(message: AssistantMessage, kept: tuple[dict[str, Any], ...]) -> list[dict[str, Any]]:
    """The items of one reply: where its reasoning was kept in the order in which they came, else text and then calls.

    `kept` holds reasoning as it came, and for text and calls only their place (`ResponseParts.state`): what they say is the
    message's, which a person or the loop may have changed since.
    """
    calls = {call.id: call for call in message.tool_calls}
    spans = [item["span"] for item in kept if item.get("type") == "message"]
    whole = not spans or spans[-1][1] != len(message.text)  # the text is not what came: it goes in one piece
    items: list[dict[str, Any]] = []
    text = message.text
    for item in kept:
        match item.get("type"):
            case "reasoning":
                items.append(item)
            case "message":
                start, end = item["span"]
                items += _text(text if whole else message.text[start:end], item.get("phase"))
                text = ""
            case "function_call" if call := calls.pop(item["call_id"], None):
                items.append(_call(call))
    return [*items, *_text(text), *(_call(call) for call in calls.values())]


def _text(text: str, phase: str | None = None) -> list[dict[str, Any]]:
    """The model's own words; `phase` tells newer models which were a remark on the way and which the answer."""
    if not text:
        return []
    item = {"type": "message", "role": "assistant", "content": text}
    return [item | {"phase": phase} if phase else item]


def _call(call: ToolCall) -> dict[str, Any]:
    """A call whose arguments were unreadable goes back as `{}`."""
    return {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": _sorted.encode(call.arguments).decode()}


def _tool(tool: ToolDef) -> dict[str, Any]:
    return {"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.parameters, "strict": False}
