"""`read_result`: the rest of a result that was shortened for the model."""

from collections.abc import Awaitable, Callable
from typing import Annotated

import msgspec

from ..errors import ToolError
from ..tool import FunctionTool, tool
from ..types.cut_texts import cut_text
from ..types.tools import ToolContext, ToolResult

ResultSource = Callable[[str, str], Awaitable[str | None]]
"""Session and call id to the whole text of a result, None if there is none (`lookups.call_result`)."""

_NOTICE = 120  # characters kept free for the notice


def read_result(source: ResultSource, page_chars: int) -> FunctionTool:
    """The tool `read_result`. A page with its notice has at most `page_chars` characters."""

    @tool(risk="LOW", effect="pure", category="utility")
    async def read_result(ctx: ToolContext, call_id: str, offset: Annotated[int, msgspec.Meta(ge=0)] = 0) -> ToolResult:
        """Read the part of a tool result that was cut off: where a result says OUTPUT TRUNCATED or SHORTENED, instead of running the call again.

        It gives one page; the last line says how many characters remain and the offset to read on with.
        Example: {"call_id": "call_7", "offset": 40000}

        Args:
            call_id: The id of the call whose result was cut off, as that result names it.
            offset: The first character to show; they count from 0.
        """
        text = await source(ctx.session, call_id)
        if text is None:
            raise ToolError(f"no result of a call {cut_text(call_id, 80)!r} is kept in this session")
        if offset > len(text):
            raise ToolError(f"the result of {call_id} has {len(text):,} characters; offset {offset:,} is beyond its end")
        end = min(len(text), offset + max(page_chars - _NOTICE, 1))
        remaining = len(text) - end
        notice = f"[{remaining:,} of {len(text):,} characters remain" + (f"; read on with offset {end}]" if remaining else "]")
        about = {"call_id": call_id, "offset": offset, "end": end, "remaining": remaining, "total": len(text)}
        return ToolResult(content=f"{text[offset:end]}\n{notice}", metadata=about)

    return read_result
