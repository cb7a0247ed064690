"""NeuralClaw: a personal agent that people dare to leave running.

Everything a program needs is here: `from neuralclaw import Agent, tool`. Each name is loaded when it is first asked for.
"""

import os
import sys

from ._version import __version__


def _leave_out_the_current_directory() -> None:
    """Take it off the search path by whatever name, unless this package, the library of Python or installed packages lie in it."""
    try:
        here = os.path.realpath(os.getcwd())  # noqa: PTH109
    except FileNotFoundError:  # it was removed: nothing can be imported from it
        return
    package = os.path.realpath(os.path.dirname(os.path.dirname(__file__)))  # noqa: PTH120
    if here not in (package, os.path.realpath(os.path.dirname(os.__file__))) and not here.endswith(("/site-packages", "/dist-packages")):  # noqa: PTH120
        sys.path[:] = [one for one in sys.path if one and os.path.realpath(one) != here]


if sys.argv[:1] == ["-m"] and not sys.flags.safe_path:  # `python -m neuralclaw`: the directory that it is called in comes first, and may be a workspace
    del sys.path[0]
if sys.argv[:1] == ["-m"] or (sys.argv[:1] and sys.argv[0].endswith("/neuralclaw")):  # an empty part of PYTHONPATH is that directory too
    _leave_out_the_current_directory()

TYPE_CHECKING = False  # typing itself would cost `--version` as much as all the rest
if TYPE_CHECKING:
    from . import errors
    from .app.agent import Agent
    from .app.approver import Approver, Ask
    from .app.option_types import AgentOptions, AskOptions, RunOptions
    from .app.script import run
    from .config import Settings
    from .errors import ConfigError, NeuralClawError, StoreError, ToolError, UsageError
    from .ports import Provider
    from .testing import FunctionProvider, Reply
    from .tool import tool
    from .types.entries import Event
    from .types.events import (
        ApprovalRequested,
        ApprovalResolved,
        Cancel,
        Debug,
        DecisionMade,
        Erased,
        ErrorEvent,
        Inbound,
        LimitHit,
        Message,
        Nudge,
        ReasoningDelta,
        RetryEvent,
        StatusEvent,
        TextDelta,
        ToolFinished,
        ToolStarted,
        TurnFinished,
        TurnStarted,
        Unreadable,
    )
    from .types.messages import Image, ImageContent, ModelInfo, Price, Request, StructuredContent, TextContent, Usage
    from .types.tools import ToolContext, ToolResult

_NAMES = {
    "app.agent": "Agent",
    "app.approver": "Approver Ask",
    "app.script": "run",
    "app.option_types": "AgentOptions AskOptions RunOptions",
    "config": "Settings",
    "errors": "ConfigError NeuralClawError StoreError ToolError UsageError",
    "ports": "Provider",
    "testing": "FunctionProvider Reply",
    "tool": "tool",
    "types.entries": "Event",
    "types.events": "ApprovalRequested ApprovalResolved Cancel Debug DecisionMade Erased ErrorEvent Inbound LimitHit Message Nudge ReasoningDelta RetryEvent"
    " StatusEvent TextDelta ToolFinished ToolStarted TurnFinished TurnStarted Unreadable",
    "types.messages": "Image ImageContent ModelInfo Price Request StructuredContent TextContent Usage",
    "types.tools": "ToolContext ToolResult",
}
"""Module of this package -> the public names it brings."""

__all__ = [
    "Agent",
    "AgentOptions",
    "ApprovalRequested",
    "ApprovalResolved",
    "Approver",
    "Ask",
    "AskOptions",
    "Cancel",
    "ConfigError",
    "Debug",
    "DecisionMade",
    "Erased",
    "ErrorEvent",
    "Event",
    "FunctionProvider",
    "Image",
    "ImageContent",
    "Inbound",
    "LimitHit",
    "Message",
    "ModelInfo",
    "NeuralClawError",
    "Nudge",
    "Price",
    "Provider",
    "ReasoningDelta",
    "Reply",
    "Request",
    "RetryEvent",
    "RunOptions",
    "Settings",
    "StatusEvent",
    "StoreError",
    "StructuredContent",
    "TextContent",
    "TextDelta",
    "ToolContext",
    "ToolError",
    "ToolFinished",
    "ToolResult",
    "ToolStarted",
    "TurnFinished",
    "TurnStarted",
    "Unreadable",
    "Usage",
    "UsageError",
    "__version__",
    "errors",
    "run",
    "tool",
]


def __getattr__(name: str) -> object:
    """Load the public names when they are first asked for (PEP 562)."""
    from importlib import import_module

    if name == "errors":
        return import_module(f"{__name__}.errors")
    for module, names in _NAMES.items():
        if name in names.split():
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
