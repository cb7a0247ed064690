"""How a model without tool calls of its own is told of tools, of its earlier calls and of their results."""

from collections.abc import Sequence
from typing import Any

import msgspec

from ...types.messages import AssistantMessage, ChatMessage, Request, ToolCall, ToolDef, ToolMessage, UserMessage

PLAIN = """\
# Tools

To use a tool, reply with this JSON object and nothing else:
{"tool": "NAME", "arguments": {"ARGUMENT": VALUE}}
For several tools at once, reply with a JSON list of such objects. You are told the results; then use another tool or answer.
When no tool is needed, or you know the answer, reply in plain text without JSON.
"""
HELD = """\
# Tools

Reply with one JSON object, always. To use a tool:
{"tool": "NAME", "arguments": {"ARGUMENT": VALUE}}
You are told the result. When no tool is needed, or you know the answer:
{"answer": "..."}
"""
EXAMPLE = 'When the person says `read notes.txt`, you reply {"tool": "read_file", "arguments": {"path": "notes.txt"}}.\n'
"""One example of a whole reply, where there is the tool: without it small models write the tool's name for its arguments."""
LISTED = "\nTools (`?` may be left out):\n"
THEN = 'Now reply with {"answer": …} that says it, or use a different tool.'
"""Without these words small models that are held to a schema make the same call again and again."""
MOST_ENUM = 12
LARGEST = 999_999_999
_sorted = msgspec.json.Encoder(order="sorted")


def tool_text(tools: Sequence[ToolDef], *, held: bool, short: bool = False) -> str:
    """What stands behind the system prompt; `short`: only the first sentence of each description."""
    example = EXAMPLE if any(tool.name == "read_file" for tool in tools) else ""
    told = [f"- {tool.name}({_arguments(tool.parameters)}): {_description(tool.description, short)}" for tool in tools]
    return (HELD if held else PLAIN) + example + LISTED + "\n".join(told)


def answer_schema(tools: Sequence[ToolDef], answer: dict[str, Any] | None) -> dict[str, Any]:
    """An answer, or a call of one of the tools. `answer`: the schema of the answer, None for text."""
    said = {"answer": answer if answer is not None else {"type": "string"}}
    each = [{"tool": {"const": tool.name}, "arguments": _alone(tool.parameters)} for tool in tools]
    return {"anyOf": [_object(fields) for fields in (said, *each)]}


def without_calls(request: Request, *, held: bool) -> Request:
    """The request with its history as text: one message of the user, one of the assistant in turn, the environment in the last."""
    told: list[ChatMessage] = []
    for message in request.messages:
        _add(told, _as_text(message, held))
    if request.environment:
        _add(told, UserMessage(request.environment, "nudge"))
    return msgspec.structs.replace(request, messages=tuple(told), tools=(), environment="")


def _alone(parameters: dict[str, Any]) -> dict[str, Any]:
    """The schema where it can stand inside another: references would point elsewhere there, so any object will do."""
    return _with_ends(parameters) if parameters and b'"$ref"' not in _sorted.encode(parameters) else {"type": "object"}


def _with_ends(schema: Any) -> Any:
    """The schema with a largest value for every whole number: a small model that is held to a schema writes zeros without end where it may."""
    if isinstance(schema, list):
        return [_with_ends(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: part if name in ("default", "enum", "const") else _with_ends(part) for name, part in schema.items()}
    return made if schema.get("type") != "integer" else {"maximum": LARGEST, **made}


def _object(fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def _as_text(message: ChatMessage, held: bool) -> UserMessage | AssistantMessage:
    match message:
        case ToolMessage():
            if held:
                return UserMessage(f"{message.name} gave this result:\n{message.content}\n\n{THEN}", "nudge", message.images)
            return UserMessage(f"Result of {message.name}:\n{message.content}", "nudge", message.images)
        case AssistantMessage():
            text = message.text if not held or message.tool_calls or not message.text else _sorted.encode({"answer": message.text}).decode()
            return AssistantMessage("\n".join(part for part in (text, _calls(message.tool_calls)) if part))
        case UserMessage():
            return message


def _calls(calls: Sequence[ToolCall]) -> str:
    each = [f'{{"tool": {_sorted.encode(call.name).decode()}, "arguments": {_sorted.encode(call.arguments).decode()}}}' for call in calls]
    return each[0] if len(each) == 1 else f"[{', '.join(each)}]" if each else ""


def _add(told: list[ChatMessage], message: UserMessage | AssistantMessage) -> None:
    """Put the message behind the others, as one with its neighbour of the same role."""
    last = told[-1] if told else None
    if isinstance(last, UserMessage) and isinstance(message, UserMessage):
        kind = "task" if "task" in (last.kind, message.kind) else message.kind
        told[-1] = UserMessage(f"{last.text}\n\n{message.text}", kind, last.images + message.images)
    elif isinstance(last, AssistantMessage) and isinstance(message, AssistantMessage):
        told[-1] = AssistantMessage(f"{last.text}\n{message.text}")
    else:
        told.append(message)


def _arguments(schema: dict[str, Any]) -> str:
    required = schema.get("required") or ()
    return ", ".join(f"{name}{'' if name in required else '?'}: {_kind(part)}" for name, part in (schema.get("properties") or {}).items())


def _kind(schema: Any, depth: int = 0) -> str:
    """A type in a few letters: `string`, `"a" | "b"`, `[string]`, `{x: number}`."""
    if not isinstance(schema, dict) or depth > 3:
        return "any"
    if "const" in schema:
        return _sorted.encode(schema["const"]).decode()
    if schema.get("enum") and len(schema["enum"]) <= MOST_ENUM:
        return " | ".join(_sorted.encode(value).decode() for value in schema["enum"])
    either = schema.get("anyOf") or schema.get("oneOf")
    if either:
        return " | ".join(dict.fromkeys(_kind(part, depth + 1) for part in either))
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        return " | ".join(str(name) for name in kind)
    if kind == "array":
        return f"[{_kind(schema.get('items'), depth + 1)}]"
    if kind == "object" and schema.get("properties"):
        return "{" + ", ".join(f"{name}: {_kind(part, depth + 1)}" for name, part in schema["properties"].items()) + "}"
    return str(kind)


def _description(text: str, short: bool) -> str:
    """In one line. Examples are left out: they show the arguments alone, in another form than a call has here, and small models copy them."""
    line = " ".join(" ".join(part for part in text.splitlines() if not part.lstrip().startswith("Example:")).split())
    return line.partition(". ")[0] if short else line
