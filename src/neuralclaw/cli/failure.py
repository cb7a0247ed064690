"""The end of a command that failed: one clear line, the next step, the exit code."""

import errno
import os
import signal
import sys
import traceback
from itertools import pairwise

from .. import errors
from ..channels.command_hints import typed
from ..errors import ConfigError, NeuralClawError, SecurityError, SessionNotFound, StoreError, ToolNotFoundError, UnknownQuestion, UsageError
from ..plugins import load
from ..types.events import TurnFinished
from . import output

CODES = {"done": 0, "failed": 1, "needs_approval": 3, "limit": 4, "denied": 5, "timed_out": 124, "cancelled": 130}
"""Status of a turn -> exit code."""

USAGE, CONFIGURATION = 2, 78
_WRONG_WORD = (UsageError, SessionNotFound, UnknownQuestion, ToolNotFoundError)


def code_of(error: BaseException) -> int:
    """The exit code that an error stands for."""
    if isinstance(error, _WRONG_WORD):
        return USAGE
    if isinstance(error, ConfigError) or (isinstance(error, StoreError) and (error.newer or error.unusable)):
        return CONFIGURATION
    if isinstance(error, SecurityError):
        return CODES["denied"]
    return 1


def exit_code(finished: TurnFinished) -> int:
    """The exit code that the end of a turn stands for."""
    if finished.status == "failed" and finished.error is not None and finished.error.kind == "ConfigError":
        return CONFIGURATION
    return CODES[finished.status]


def report(error: BaseException, arguments: list[str]) -> int:
    """Tell the person (or the program, with `--json`) what went wrong, and give the exit code."""
    error = _leaf(error)
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    if isinstance(error, KeyboardInterrupt):
        return CODES["cancelled"]
    if isinstance(error, BrokenPipeError):
        _silence()
        return 128 + signal.SIGPIPE
    try:
        _tell(error, arguments)
    except BrokenPipeError:
        _silence()
    return code_of(error)


def _leaf(error: BaseException) -> BaseException:
    """The error that a group of errors is about: our own before any other."""
    while isinstance(error, BaseExceptionGroup):
        ours = error.subgroup(NeuralClawError) or error
        error = ours.exceptions[0]
    return error


def _tell(error: BaseException, arguments: list[str]) -> None:
    kind, text, hint = type(error).__name__, str(error), ""
    if isinstance(error, NeuralClawError):
        text, hint = error.text, error.hint
    elif isinstance(error, OSError) and _is_output(error):
        kind, text = "StoreError", f"standard output cannot be written: {error.strerror}"
        _silence()
    elif isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        kind, text, hint = "NeuralClawError", "too many files are open; what was recorded so far is kept", "raise the limit, such as with: ulimit -n 1024"
    redact = load("secrets.formats")().redact  # an error of the settings is told before the configured ones are known
    text, hint = redact(text), redact(hint)
    if _wants_json(arguments):
        output.json_line({"error": {"kind": kind, "text": text, "hint": hint}}, sys.stderr)
        return
    screen = output.err()
    screen.trouble("NeuralClawError" if isinstance(error, UsageError) else kind, text)
    if hint:
        screen.line(f"   {typed(hint)}", "dim")
    if "--verbose" in arguments:
        screen.line(redact("".join(traceback.format_exception(error))))
    elif not isinstance(error, NeuralClawError) and not hasattr(errors, kind):
        screen.line("   again with --verbose it shows where; what was recorded so far is kept", "dim")


def _is_output(error: OSError) -> bool:
    return error.filename is None and error.errno in (errno.ENOSPC, errno.EIO, errno.EBADF, errno.EFBIG)


def _wants_json(arguments: list[str]) -> bool:
    """Whether the command was asked for JSON; what stands behind `--` is no option."""
    words = arguments[: arguments.index("--")] if "--" in arguments else arguments
    formats = {word.removeprefix("--output=") for word in words if word.startswith("--output=")}
    formats |= {value for option, value in pairwise(words) if option == "--output"}
    return "--json" in words or bool(formats & {"json", "stream-json"})


def _silence() -> None:
    """Nobody reads standard output any more: what is left in its buffer must not complain at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def fill_closed() -> None:
    """A program that was started with standard output or error closed writes to nowhere instead."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123  # lives as long as the process
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123
