"""Whether what a capability's `wrap` gives is a provider."""

import inspect
from collections.abc import Callable
from typing import Any


def no_provider(given: Any, wrap: Callable[..., Any]) -> str:
    """Why what `wrap` gave is no provider, and where it stands; "" where it is one."""
    kind = type(given)
    missing = [name for name in ("stream", "info", "count") if not callable(getattr(given, name, None))]
    if missing:
        said = f"it returned {kind.__name__}, which has no {' and no '.join(missing)}: a provider has stream, info and count"
        return f"{said}{_place(wrap)}"
    stream = given.stream
    if inspect.isasyncgenfunction(stream) or inspect.iscoroutinefunction(stream):
        what = "an async generator" if inspect.isasyncgenfunction(stream) else "an async function"
        return f"stream of the {kind.__name__} that it returned is {what}, not an async context manager: put @asynccontextmanager above it{_place(stream)}"
    return ""


def _place(function: Callable[..., Any]) -> str:
    """` (FILE:LINE)` of a function, where it is known."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f" ({code.co_filename}:{code.co_firstlineno})" if code is not None else ""
