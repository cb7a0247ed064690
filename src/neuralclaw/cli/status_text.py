"""How things stand, in words: the first line of a chat and what `/status` shows."""

from collections.abc import Mapping
from typing import Any

from ..channels.command_hints import typed

_UNCONFINED = ("process", None)


def first_line(told: Mapping[str, Any]) -> str:
    """Where the chat works, how freely, and what confines its commands."""
    read_only = "" if told["writable"] else " (read-only)"
    confined = "commands without a sandbox" if told["sandbox"] in _UNCONFINED else f"commands in {told['sandbox']}"
    return f"workspace {told['workspace']}{read_only} · trust {told['trust']} · {confined}"


def status_rows(told: Mapping[str, Any], *, model: str, used: str, queued: int) -> list[tuple[str, str]]:
    """A name and what there is to say of it; what there is nothing to say of is left out."""
    session = told["session"]
    title = f": {told['title']}" if told["title"] else ""
    unfinished = told["unfinished"]
    rows = [
        ("session", f"{session}{title}" if session else "a new one begins with the next message"),
        ("turns", str(told["turns"])),
        ("model", model),
        ("workspace", told["workspace"] + ("" if told["writable"] else " (read-only)")),
        ("trust", told["trust"]),
        ("approvals", told["approvals"]),
        ("sandbox", " — ".join(filter(None, ("none" if told["sandbox"] in _UNCONFINED else told["sandbox"], told["warning"])))),
        ("used", used),
        ("queued", str(queued) if queued else ""),
        ("instructions", ", ".join(told["instructions"])),
        ("unfinished", f"{unfinished} turn{'s' if unfinished > 1 else ''} of other sessions: neuralclaw sessions list --unfinished" if unfinished else ""),
    ]
    return [(name, typed(text) if name in ("sandbox", "unfinished") else text) for name, text in rows if text]
