"""What `session_markdown` writes, read back: the events of its turns, in the shape that an export in JSON has."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

_PLACE = r"\((?P<time>\d{4}-[^ ]+Z), entry (?P<entry>\d{1,9})\)"
_SAID = re.compile(rf"\*\*(?P<name>.+)\*\* {_PLACE}")
_RESULT = re.compile(rf"`(?P<name>.+)` (?P<how>ended well|failed|was not run) {_PLACE}")
_END = re.compile(rf"\*The turn ended, (?P<name>.+) {_PLACE}\*")
_OTHER = re.compile(r"\*(?P<name>[a-z_.-]+), (?P<time>\d{4}-[^ ]+Z), entry (?P<entry>\d{1,9})(?P<erased>: erased)?\*(?:: .*)?")
_TURN = re.compile(r"## Turn (\d{1,9})")
_FENCE = re.compile(r"(`{3,})[a-z]*")
_CALL = re.compile(r"calls `(.+)`")
_FACT = re.compile(r"- session: (.+)")


class _Block(NamedTuple):
    """One entry: which line began it, and those behind it."""

    turn: int
    head: re.Match[str]
    lines: list[str]

    @property
    def text(self) -> str:
        return "\n".join(self.lines).strip("\n")

    @property
    def place(self) -> dict[str, Any]:
        return {"turn": self.turn, "entry": int(self.head["entry"]), "time": self.head["time"], "version": 1}


def markdown_session(text: str) -> dict[str, Any]:
    """The session that a Markdown export has. Who edits one keeps the lines that begin an entry. Raises `ValueError` where there is none."""
    lines = text.split("\n")
    blocks = list(_blocks(lines))
    if not blocks:
        raise ValueError("no line begins an entry, such as: **owner** (2026-01-31T12:00:00.000Z, entry 1)")
    head = lines[: next(at for at, line in enumerate(lines) if _TURN.fullmatch(line))] if any(map(_TURN.fullmatch, lines)) else []
    session = next((found[1] for line in head if (found := _FACT.fullmatch(line))), "")
    title = next((line.removeprefix("# ") for line in head if line.startswith("# ")), "")
    return {"session": session, "title": title, "events": list(_Events().of(blocks)), "entries": len(blocks)}


def _blocks(lines: list[str]) -> Iterator[_Block]:
    """The entries, in order. What stands in a block of code begins none."""
    turn, fence, block = 0, "", None
    for at, line in enumerate(lines):
        if fence:
            fence = "" if line == fence else fence
        elif (heading := _TURN.fullmatch(line)) and _head(next(filter(None, lines[at + 1 :]), "")):
            turn = int(heading[1])
            continue
        elif head := _head(line):
            if block is not None:
                yield block
            block = _Block(turn, head, [])
            continue
        elif opening := _FENCE.fullmatch(line):
            fence = opening[1]
        if block is not None:
            block.lines.append(line)
    if block is not None:
        yield block


def _head(line: str) -> re.Match[str] | None:
    return next((found for form in (_SAID, _RESULT, _END, _OTHER) if (found := form.fullmatch(line))), None)


def _is_reply(block: _Block) -> bool:
    """A model is named `P:M`, which no person or program is."""
    return block.head.re is _SAID and ":" in block.head["name"]


class _Events:
    """Events of entries, which name each other."""

    def __init__(self) -> None:
        self._task = 0
        self._task_text = ""
        self._answer: dict[str, Any] = {}
        self._calls: list[dict[str, Any]] = []
        self._last = 0

    def of(self, blocks: list[_Block]) -> Iterator[dict[str, Any]]:
        models = {block.turn: block.head["name"] for block in reversed(blocks) if _is_reply(block)}
        for block in blocks:
            if block.head.re is _SAID:
                yield (self._reply if _is_reply(block) else self._word)(block)
            elif block.head.re is _RESULT:
                yield self._result(block)
            elif block.head.re is _END:
                yield self._end(block)
            elif block.head["erased"]:
                yield {"type": block.head["name"], **block.place, "erased": True}
            elif block.head["name"] == "turn.started":
                model = models.get(block.turn, "")
                yield {"type": "turn.started", **block.place, "text": self._task_text, "model": model, "soul": "", "origin": "import", "inbound": self._task}
            self._last = block.place["entry"]

    def _word(self, block: _Block) -> dict[str, Any]:
        text = re.sub(r"(?:\n\n\*picture: .*\*)+\Z", "", block.text)
        self._task, self._task_text = block.place["entry"], text
        return {"type": "inbound", **block.place, "text": text, "key": "", "by": block.head["name"]}

    def _reply(self, block: _Block) -> dict[str, Any]:
        lines, calls = _without_calls(block.lines)
        text, reasoning = _without_reasoning("\n".join(lines).strip("\n"))
        entry = block.place["entry"]
        self._calls = [{"id": f"{entry}-{at}", "name": name, "arguments": arguments} for at, (name, arguments) in enumerate(calls, 1)]
        stop = "tools" if calls else "end"
        self._answer = {
            "type": "message", **block.place, "text": text, "reasoning": reasoning, "stop": stop, "model": block.head["name"], "usage": {},
            "tool_calls": list(self._calls), "seen": self._last,
        }  # fmt: skip
        return self._answer

    def _result(self, block: _Block) -> dict[str, Any]:
        name, how = block.head["name"], block.head["how"]
        call = next((call for call in self._calls if call["name"] == name), None)
        if call is None:
            raise ValueError(f"entry {block.place['entry']}: no call of {name} waits for a result there")
        self._calls.remove(call)
        content = _fenced(block.lines)
        refused = {"refused": "forbid"} if how == "was not run" else {}
        return {"type": "tool.finished", **block.place, "call_id": call["id"], "name": name, "ok": how == "ended well", "content": content, **refused}

    def _end(self, block: _Block) -> dict[str, Any]:
        status = block.head["name"].replace(" ", "_")
        return {"type": "turn.finished", **block.place, "status": status, "text": self._answer.get("text", ""), "model": self._answer.get("model", "")}


def _fenced(lines: list[str]) -> str:
    """What stands in the block of code of these lines."""
    inside = [at for at, line in enumerate(lines) if _FENCE.fullmatch(line)]
    return "\n".join(lines[inside[0] + 1 : inside[-1]]) if len(inside) > 1 else ""


def _without_calls(lines: list[str]) -> tuple[list[str], list[tuple[str, Any]]]:
    """The lines of a reply before the calls at its end, and these."""
    calls: list[tuple[str, Any]] = []
    kept = lines
    while (call := _last_call(kept)) is not None:
        name, arguments, kept = call
        calls.insert(0, (name, arguments))
    return kept, calls


def _last_call(lines: list[str]) -> tuple[str, Any, list[str]] | None:
    """The name and the arguments of the call that these lines end with, and the lines before it."""
    at = max((at for at, line in enumerate(lines) if _CALL.fullmatch(line)), default=None)
    if at is None:
        return None
    name, block = _CALL.fullmatch(lines[at])[1], [line for line in lines[at + 1 :] if line.strip()]  # type: ignore[index]
    if len(block) < 3 or not block[0].startswith("```") or not _FENCE.fullmatch(block[-1]):
        return None
    try:
        arguments = msgspec.json.decode("\n".join(block[1:-1]), type=dict[str, Any])
    except ValueError:
        return None
    return name, arguments, lines[:at]


def _without_reasoning(text: str) -> tuple[str, str]:
    """The text of a reply, and what the model thought before it."""
    if not text.startswith("thinks\n\n>"):
        return text, ""
    lines = text.split("\n")[2:]
    quoted = next((at for at, line in enumerate(lines) if not line.startswith(">")), len(lines))
    return "\n".join(lines[quoted:]).strip("\n"), "\n".join(line[2:] for line in lines[:quoted])
