"""A request in Ollama's own form. The same request gives the same bytes."""

from typing import Any

import msgspec

from ..types.messages import AssistantMessage, ChatMessage, ModelInfo, Request, ToolCall, ToolDef, ToolMessage, UserMessage
from .images import base64, behind_results, seen
from .reply_assembly import with_environment

_encoder = msgspec.json.Encoder()
_sorted = msgspec.json.Encoder(order="deterministic")  # a journal may give arguments back in another order


def encode(request: Request, info: ModelInfo, *, window: int | None, without: frozenset[str]) -> bytes:
    """The body of `POST /api/chat`.

    `window`: the context window in tokens that the model is loaded with, None for the server's own. Ollama would drop the oldest
    messages of a prompt that does not fit, and say nothing: it is told to refuse it instead.
    """
    body: dict[str, Any] = {"model": request.model, "messages": _messages(request, info), "stream": True, "truncate": False, "shift": False}
    if info.tools is True and request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.answer_schema is not None and "format" not in without:
        body["format"] = request.answer_schema
    options = {"temperature": request.temperature, "top_p": request.top_p, "num_predict": request.max_tokens, "num_ctx": window}
    body["options"] = {name: value for name, value in options.items() if value is not None}
    return _encoder.encode(body)


def _messages(request: Request, info: ModelInfo) -> list[dict[str, Any]]:
    """The messages. Pictures of results are behind them: Ollama's own prompts for seeing models leave those of a tool message out."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": request.system}] if request.system else []
    prepared = msgspec.structs.replace(request, messages=behind_results(request.messages, info))
    messages.extend(_message(message, info) for message in with_environment(prepared))
    return messages


def _message(message: ChatMessage, info: ModelInfo) -> dict[str, Any]:
    match message:
        case UserMessage():
            return _user(message, info)
        case ToolMessage():
            return {"role": "tool", "content": message.content, "tool_name": message.name, "tool_call_id": message.call_id}
        case AssistantMessage():
            wire: dict[str, Any] = {"role": "assistant", "content": message.text}
            if message.tool_calls:
                if message.reasoning:  # models that think between calls continue from it
                    wire["thinking"] = message.reasoning
                wire["tool_calls"] = [_call(call) for call in message.tool_calls]
            return wire


def _user(message: UserMessage, info: ModelInfo) -> dict[str, Any]:
    """Text, and pictures beside it; a picture that the model cannot see is named."""
    text, images = seen(message, info)
    beside = {"images": [base64(image) for image in images]} if images else {}
    return {"role": "user", "content": text, **beside}


def _call(call: ToolCall) -> dict[str, Any]:
    """A call; its arguments are `{}` where they were unreadable."""
    return {"id": call.id, "function": {"name": call.name, "arguments": msgspec.Raw(_sorted.encode(call.arguments))}}


def _tool(tool: ToolDef) -> dict[str, Any]:
    return {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters}}
