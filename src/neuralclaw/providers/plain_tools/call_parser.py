"""From what a model wrote to tool calls: broken JSON mended, the many spellings of a call read."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from ...types.messages import ToolCall

MAX_MENDED = 200_000
"""Characters of broken JSON that are looked at; more is refused, since mending takes time."""

NAMES = ("tool", "name", "tool_name", "function_name", "function", "action")
"""Keys that hold a call's name."""
ARGUMENTS = ("arguments", "parameters", "args", "input", "params", "tool_input", "action_input", "kwargs")
INSIDE = ("tool_call", "tool_calls", "function_call", "calls", "function", "tool")
"""Keys whose value is a call, or a list of calls."""
EXTRA = frozenset({"type", "id", "call_id", "index"})

UNREADABLE = 'the call could not be read: reply with one valid JSON object {"tool": NAME, "arguments": {…}} and nothing else'
CUT = "the call broke off in the middle of a text; send it again, whole"

_IDENTIFIER = re.compile(r"[A-Za-z_][\w.:\-]*")


class ToolNames:
    """The tools of a request, found again in the spellings of models."""

    def __init__(self, names: Sequence[str]) -> None:
        self.all = tuple(names)
        self._plain = {_plain(name): name for name in names}

    def find(self, name: str) -> str | None:
        """The tool that is meant: its name, or that in another spelling (`functions.read-file()`), else None."""
        return name if name in self.all else self._plain.get(_plain(name))


def _plain(name: str) -> str:
    bare = name.strip().removesuffix("()").removeprefix("functions.").removeprefix("tools.").removeprefix("default_api.")
    return re.sub(r"[\s_.\-]+", "", bare).lower()


def calls_in(text: str, names: ToolNames, *, cut: bool = False) -> list[tuple[str, dict[str, Any], str | None]] | None:
    """The calls that a piece of JSON stands for, as (name, arguments, error), or None when it is no call. `cut`: it ends inside a string."""
    value, sound = _read(text)
    found = None if value is None else _calls(value, names)
    if found is None:
        name = meant(text, names)
        return [(name, {}, UNREADABLE)] if name and not sound else None
    if cut:
        return [(name, {}, CUT) for name, _, _ in found[-1:]]
    return found


def meant(text: str, names: ToolNames) -> str:
    """The known tool that a piece of unreadable JSON names first, else ""."""
    match = re.match(r"""[\s{\[]*["'“”‘’]?(?:tool|name|tool_name|function_name|function|action)["'“”‘’]?\s*:\s*["'“”‘’]?([\w.:\-]+)""", text)
    return (names.find(match[1]) or "") if match else ""


def _read(text: str) -> tuple[Any, bool]:
    """The value, mended where it must be, and whether it was JSON before that."""
    try:
        return msgspec.json.decode(text), True
    except (msgspec.DecodeError, RecursionError):
        return mend(text), False


def mend(text: str) -> Any:
    """The value of text that is nearly JSON, None when it is not near enough."""
    import json_repair  # 20 ms, needed for broken JSON alone

    if len(text) > MAX_MENDED:
        return None
    try:
        return json_repair.loads(text)
    except (ValueError, RecursionError):
        return None


def _calls(value: Any, names: ToolNames) -> list[tuple[str, dict[str, Any], str | None]] | None:
    """Every item of a list must be a call: a list of anything else is an answer."""
    if isinstance(value, list):
        each = [_calls(item, names) for item in value]
        return [call for calls in each for call in calls or ()] if each and None not in each else None
    if not isinstance(value, dict):
        return None
    for key in INSIDE:
        inner = value.get(key)
        if isinstance(inner, dict | list) and not _other(value, {key}):
            return _calls(inner, names)
    call = _call(value, names)
    return None if call is None else [call]


def _call(value: dict[str, Any], names: ToolNames) -> tuple[str, dict[str, Any], str | None] | None:
    """One call: a name with arguments, a known name with its arguments beside it, or a known name as the only key."""
    if len(value) == 1 and (known := names.find(key := next(iter(value)))) and isinstance(value[key], dict) and key not in NAMES:
        return known, value[key], None
    name_key = next((key for key in NAMES if isinstance(value.get(key), str)), None)
    if name_key is None:
        return None
    name = value[name_key]
    known = names.find(name)
    arguments_key = next((key for key in ARGUMENTS if key in value), None)
    if arguments_key is None:
        beside = {key: item for key, item in value.items() if key != name_key and key not in EXTRA}
        return (known, beside, None) if known is not None and name_key in ("tool", "tool_name", "function_name") else None
    if known is None and (not _IDENTIFIER.fullmatch(name) or _other(value, {name_key, arguments_key})):
        return None
    arguments = _arguments(value[arguments_key])
    return (known or name, arguments, None) if arguments is not None else (known or name, {}, UNREADABLE)


def _other(value: dict[str, Any], keys: set[str]) -> bool:
    return any(key not in keys and key not in EXTRA for key in value)


def _arguments(value: Any) -> dict[str, Any] | None:
    """The arguments as an object: one, none at all, or one that was written as text."""
    if value is None or value in ("", []):
        return {}
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = _read(value)[0]
    return value if isinstance(value, dict) else None


def numbered(found: Sequence[tuple[str, dict[str, Any], str | None]]) -> tuple[ToolCall, ...]:
    """The calls under ids of their own."""
    return tuple(ToolCall(f"call_{place}", name, arguments, error) for place, (name, arguments, error) in enumerate(found, 1))
