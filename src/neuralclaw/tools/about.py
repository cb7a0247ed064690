"""`about_me`: the agent's real settings and tools."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ..tool import FunctionTool, tool
from ..types.tools import ToolResult


def about_me(about: Callable[[], Mapping[str, Any] | str]) -> FunctionTool:
    """The tool `about_me`; `about` gives what holds at the moment of the call."""

    @tool(risk="LOW", effect="pure", category="utility", instant=True)
    def about_me() -> ToolResult:
        """Tell which agent this is: its name, model, settings, limits, safety rules and tools, as they are now. Use it when you are asked
        about yourself or what you may do; for the machine use system_info."""
        told = about()
        if isinstance(told, str):
            return ToolResult(content=told)
        data = msgspec.to_builtins(dict(told), str_keys=True)
        return ToolResult(content="\n".join(f"{key}: {_line(value)}" for key, value in data.items()), metadata=data)

    return about_me


def _line(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return msgspec.json.encode(value).decode()
