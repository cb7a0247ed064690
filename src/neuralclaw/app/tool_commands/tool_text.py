"""Tools as people read them: a row with one sentence, and one tool with a line for each argument."""

from collections.abc import Mapping
from typing import Any

from ...channels.value_text import compact, field_lines, sentence, worded


def tool_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A tool of a list, described by one sentence."""
    return {**row, "description": sentence(row["description"])}


def tool_lines(tool: Mapping[str, Any]) -> list[tuple[str, str]]:
    """A tool in words, with a line for each argument."""
    schema, named = tool["input_schema"], ("name", "description")
    required = schema.get("required", ())
    lines = [*field_lines({name: tool[name] for name in named}), "arguments:" if schema.get("properties") else "arguments: none"]
    for name, one in schema.get("properties", {}).items():
        default = one.get("default")
        needed = "required" if name in required else f"optional{'' if default is None else f', else {compact(default)}'}"
        lines.append(f"  {name} ({_type(one)}, {needed}){': ' if one.get('description') else ''}{one.get('description', '')}")
    rest = {name: value for name, value in tool.items() if name not in (*named, "input_schema", "touches")}
    lines += field_lines({**rest, "touches": [f"{one['argument']} ({one['kind']})" for one in tool["touches"]]})
    return [(line, "") for line in lines]


def _type(schema: Mapping[str, Any]) -> str:
    """The type of an argument in words; that it may be null is what `optional` says."""
    if "enum" in schema:
        return "one of " + ", ".join(map(worded, schema["enum"]))
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"] if one.get("type") != "null")
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    kind = schema.get("type", "any value")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)
