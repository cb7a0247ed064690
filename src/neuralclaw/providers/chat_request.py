"""A request in OpenAI's Chat Completions form. The same request gives the same bytes."""

from typing import Any

import msgspec

from ..types.messages import AssistantMessage, ChatMessage, Request, ToolCall, ToolDef, ToolMessage, UserMessage

_encoder = msgspec.json.Encoder()
_sorted = msgspec.json.Encoder(order="deterministic")  # a journal may give arguments back in another order


def encode(request: Request, *, tools: bool, without: frozenset[str], echo_reasoning: bool = False) -> bytes:
    """The body of `POST /chat/completions`.

    `without` names parameters that the service or model refuses and that are left out. Where `max_tokens` is refused,
    `max_completion_tokens` stands in its place.
    """
    body: dict[str, Any] = {"model": request.model, "messages": _messages(request, echo_reasoning), "stream": True}
    if "stream_options" not in without:
        body["stream_options"] = {"include_usage": True}
    if tools and request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    limit = "max_completion_tokens" if "max_tokens" in without else "max_tokens"
    optional = {"temperature": request.temperature, "top_p": request.top_p, limit: request.max_tokens}
    body |= {name: value for name, value in optional.items() if value is not None and name not in without}
    return _encoder.encode(body)


def _messages(request: Request, echo_reasoning: bool) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": request.system}] if request.system else []
    messages.extend(_message(message, echo_reasoning) for message in request.messages)
    return messages


def _message(message: ChatMessage, echo_reasoning: bool) -> dict[str, Any]:
    match message:
        case UserMessage():
            return {"role": "user", "content": message.text}
        case ToolMessage():
            return {"role": "tool", "tool_call_id": message.call_id, "content": message.content}
        case AssistantMessage():
            if not message.tool_calls:
                return {"role": "assistant", "content": message.text}
            wire: dict[str, Any] = {"role": "assistant", "content": message.text or None, "tool_calls": [_call(call) for call in message.tool_calls]}
            if echo_reasoning and message.reasoning:
                wire["reasoning_content"] = message.reasoning
            return wire


def _call(call: ToolCall) -> dict[str, Any]:
    """A call whose arguments were unreadable goes back as `{}`: servers answer 500 to broken JSON in the history."""
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _sorted.encode(call.arguments).decode()}}


def _tool(tool: ToolDef) -> dict[str, Any]:
    return {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters}}
