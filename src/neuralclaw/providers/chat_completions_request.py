"""A request in OpenAI's Chat Completions form. The same request gives the same bytes."""

from typing import Any

import msgspec

from ..types.messages import AssistantMessage, ChatMessage, ModelInfo, ReasoningState, Request, ToolCall, ToolDef, ToolMessage, UserMessage
from .images import behind_results, data_url, seen
from .reply_assembly import with_environment

_encoder = msgspec.json.Encoder()
_sorted = msgspec.json.Encoder(order="deterministic")  # a journal may give arguments back in another order


API = "chat"
"""Name of this format in a `ReasoningState`."""

_UNSIGNED = {"google": {"thought_signature": "skip_thought_signature_validator"}}
"""Google's own word for a call that none of its models made (ai.google.dev, Thought signatures, FAQ)."""


def encode(request: Request, info: ModelInfo, *, without: frozenset[str], echo_reasoning: bool = False, signed: bool = False) -> bytes:
    """The body of `POST /chat/completions`.

    `without` names parameters that the service or model refuses and that are left out. Where `max_tokens` is refused,
    `max_completion_tokens` is sent in its place. `signed`: the service refuses calls without a signature, also those of other models.
    """
    body: dict[str, Any] = {"model": request.model, "messages": _messages(request, info, echo_reasoning, signed), "stream": True}
    if "stream_options" not in without:
        body["stream_options"] = {"include_usage": True}
    if info.tools is True and request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.answer_schema is not None and "response_format" not in without:
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": request.answer_schema}}
    limit = "max_completion_tokens" if "max_tokens" in without else "max_tokens"
    optional = {"temperature": request.temperature, "top_p": request.top_p, limit: request.max_tokens}
    body |= {name: value for name, value in optional.items() if value is not None and name not in without}
    return _encoder.encode(body)


def _messages(request: Request, info: ModelInfo, echo_reasoning: bool, signed: bool) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": request.system}] if request.system else []
    for message in with_environment(msgspec.structs.replace(request, messages=behind_results(request.messages, info))):
        wire = _message(message, info, echo_reasoning)
        if isinstance(message, AssistantMessage) and message.tool_calls:
            _sign(wire["tool_calls"], message.state, request.model, signed)
        messages.append(wire)
    return messages


def _user(message: UserMessage, info: ModelInfo) -> str | list[dict[str, Any]]:
    """The content: text alone, or text and pictures; a picture that the model cannot see is named."""
    text, images = seen(message, info)
    if not images:
        return text
    return [{"type": "text", "text": text}, *({"type": "image_url", "image_url": {"url": data_url(image)}} for image in images)]


def _message(message: ChatMessage, info: ModelInfo, echo_reasoning: bool) -> dict[str, Any]:
    match message:
        case UserMessage():
            return {"role": "user", "content": _user(message, info)}
        case ToolMessage():
            return {"role": "tool", "tool_call_id": message.call_id, "content": message.content}
        case AssistantMessage():
            if not message.tool_calls:
                return {"role": "assistant", "content": message.text}
            wire: dict[str, Any] = {"role": "assistant", "content": message.text or None, "tool_calls": [_call(call) for call in message.tool_calls]}
            if echo_reasoning and message.reasoning:
                wire["reasoning_content"] = message.reasoning
            return wire


def _sign(calls: list[dict[str, Any]], state: ReasoningState | None, model: str, signed: bool) -> None:
    """Put back what the service gave with its calls; of calls made at once Google signs the first alone."""
    extras = {item["call_id"]: item["extra_content"] for item in state.items} if state is not None and (state.api, state.model) == (API, model) else {}
    for call in calls:
        if call["id"] in extras:
            call["extra_content"] = extras[call["id"]]
    if signed and not extras:
        calls[0]["extra_content"] = _UNSIGNED


def _call(call: ToolCall) -> dict[str, Any]:
    """A call whose arguments were unreadable goes back as `{}`: servers answer 500 to broken JSON in the history."""
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _sorted.encode(call.arguments).decode()}}


def _tool(tool: ToolDef) -> dict[str, Any]:
    return {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters}}
