"""`about_me`: the agent's real settings and tools."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from ..tool import FunctionTool, tool
from ..types.tools import ToolContext, ToolResult

About = Callable[[ToolContext], Awaitable[Mapping[str, Any] | str]]
"""What holds at the moment of a call, for the turn that the call belongs to."""


def about_me(about: About) -> FunctionTool:
    """The tool `about_me`."""

    @tool(risk="LOW", effect="pure", category="utility")
    async def about_me(ctx: ToolContext) -> ToolResult:
        """Tell which agent this is: its name, model, settings, limits, safety rules and tools, as they are now. Use it when you are asked
        about yourself or what you may do; for the machine use system_info."""
        facts = await about(ctx)
        if isinstance(facts, str):
            return ToolResult(content=facts)
        data = msgspec.to_builtins(dict(facts), str_keys=True)
        return ToolResult(content="\n".join(f"{key}: {_line(value)}" for key, value in data.items()), metadata=data)

    return about_me


def _line(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return msgspec.json.encode(value).decode()
