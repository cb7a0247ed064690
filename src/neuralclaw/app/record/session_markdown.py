"""A session as Markdown: what was said, what was called with what result, and a line for each other entry."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ...channels.control_characters import visible
from ...types.entries import Entry, rfc3339
from ...types.events import Body, Inbound, Message, ToolFinished, TurnFinished

_FACTS = ("session", "created", "updated", "state", "turns", "model", "soul", "workspace", "origin", "parent", "usd")
_FENCE = re.compile("`{3,}")


class SessionMarkdown:
    """The Markdown of one session, entry after entry. `told`: an event of any kind in words. Control characters become visible escapes."""

    def __init__(self, told: Callable[[Body], str]) -> None:
        self._told, self._turn = told, -1

    def head(self, row: Mapping[str, Any]) -> str:
        """The title, and the facts of a line of `sessions list`."""
        facts = [f"- {name}: {row[name]}" for name in _FACTS if row.get(name) not in (None, "")]
        return visible("\n".join((f"# {row['title'] or row['session']}", "", *facts, "")))

    def entry(self, entry: Entry) -> str:
        """The paragraphs of one entry, under the heading of its turn where that begins."""
        heading = ""
        if entry.turn != self._turn:
            self._turn = entry.turn
            heading = f"\n## Turn {entry.turn}\n"
        return heading + visible(self._paragraphs(entry))

    def _paragraphs(self, entry: Entry) -> str:
        body, place = entry.body, f"{rfc3339(entry.header.time)}, entry {entry.entry}"
        match body:
            case None:
                return f"\n*{entry.header.kind}, {place}: erased*\n"
            case Inbound(text=text, by=by, images=images):
                pictures = "".join(f"\n\n*picture: {image.name or image.media_type}*" for image in images)
                return f"\n**{by}** ({place})\n\n{text}{pictures}\n"
            case Message():
                return f"\n**{body.model}** ({place})\n{_said(body)}"
            case ToolFinished(name=name, ok=ok):
                how = "ended well" if ok else "was not run" if body.refused is not None else "failed"
                return f"\n`{name}` {how} ({place})\n\n{fenced(body.content or body.error or '')}\n"
            case TurnFinished(status=status):
                return f"\n*The turn ended, {status.replace('_', ' ')} ({place})*\n"
            case _:
                return f"\n*{entry.header.kind}, {place}*: {_in_one_line(self._told(body))}\n"


def _said(body: Message) -> str:
    """A reply: what the model thought as a quotation, its words, and the calls that it wants."""
    thought = "\n".join(("thinks\n", *(f"> {line}" for line in body.reasoning.splitlines()))) if body.reasoning else ""
    calls = [f"calls `{call.name}`\n\n{fenced(msgspec.json.format(msgspec.json.encode(call.arguments)).decode(), 'json')}" for call in body.tool_calls]
    return "".join(f"\n{part}\n" for part in (thought, body.text, *calls) if part)


def fenced(text: str, language: str = "") -> str:
    """A block of code, whatever fences stand in the text."""
    longest = max((len(found) for found in _FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    end = "" if text.endswith("\n") else "\n"
    return f"{fence}{language}\n{text}{end}{fence}"


def _in_one_line(text: str) -> str:
    return " ".join(text.split())
