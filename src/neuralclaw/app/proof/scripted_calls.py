"""What takes the model's place in the live checks: calls that are written down. And the ledger: a file outside the record that counts what happened."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...providers.computed_reply import ComputedProvider
from ...types.messages import ModelReply, Request, ToolCall, ToolMessage, Usage, UserMessage

DONE = "done"


class ScriptedCalls(ComputedProvider):
    """For each message its calls one after the other, then the answer `done`. Each request leaves a line in the `ledger`, where there is one."""

    def __init__(self, script: Mapping[str, Sequence[tuple[str, Mapping[str, Any]]]], ledger: Path | None = None) -> None:
        self._script, self._ledger = script, ledger

    def reply(self, request: Request) -> ModelReply:
        newest = max(place for place, message in enumerate(request.messages) if isinstance(message, UserMessage) and message.text in self._script)
        task = request.messages[newest]
        calls = self._script[task.text] if isinstance(task, UserMessage) else ()
        made = sum(isinstance(message, ToolMessage) for message in request.messages[newest:])
        if self._ledger is not None:
            note(self._ledger, f"model {made + 1}")
        if made >= len(calls):
            return ModelReply(text=DONE, usage=Usage(usd=0.0))
        name, arguments = calls[made]
        return ModelReply(tool_calls=(ToolCall(f"call_{made + 1}", name, dict(arguments)),), stop="tools", usage=Usage(usd=0.0))


def note(ledger: Path, line: str) -> None:
    """Leave a line in a file outside the record, on the disk."""
    fd = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, f"{line}\n".encode())
        os.fsync(fd)
    finally:
        os.close(fd)


def noted(ledger: Path) -> list[str]:
    """The lines of the ledger."""
    return ledger.read_text().splitlines() if ledger.exists() else []
