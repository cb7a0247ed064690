"""An error of code that others wrote, in words: its class, what it says, and the line of that code."""

import asyncio
import sys

LONGEST_REASON = 500
"""Characters of what foreign code failed with that are told."""
_OURS = frozenset({"neuralclaw", "anyio", "msgspec", "_frozen_importlib", "_frozen_importlib_external"})
"""Packages that stand between the program and foreign code, besides the standard library."""


def reason_with_place(error: BaseException) -> str:
    """The same as `reason`, and behind it the file and line of foreign code where it happened, where that is known."""
    place = place_of(error)
    return f"{reason(error)} ({place})" if place else reason(error)


def place_of(error: BaseException) -> str:
    """`file:line` in the foreign code that an error came from: the innermost line of its own package, not of a library that it called; "" for none."""
    error = innermost(error)
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno or 1}"
    package, place, trace = "", "", error.__traceback__
    while trace is not None:
        root = str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
        if not package and root not in _OURS and root not in sys.stdlib_module_names:
            package = root
        if package and root == package:
            place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def reason(error: BaseException) -> str:
    """An error of foreign code in one line: its class and what it says."""
    error = innermost(error)
    if isinstance(error, asyncio.CancelledError):
        return "it was cancelled from within"
    text = " ".join((error.msg if isinstance(error, SyntaxError) and error.filename else _text(error)).split())
    text = text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 1] + "…"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def innermost(error: BaseException) -> BaseException:
    """The error itself where it is the only one of its groups."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _text(error: BaseException) -> str:
    """What an error says; one whose own text cannot be made says nothing."""
    try:
        return str(error)
    except Exception:
        return ""
