"""Sets single keys in the text of `config.yaml`, `config.json` and `.env` and leaves every other byte of a YAML file and of `.env` as it is.

Pure: text in, text out. What cannot be changed without touching something else is refused, never guessed.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from ..errors import ConfigError

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9._/-]*")
_WORDS = ("true", "false", "yes", "no", "on", "off", "null", "y", "n")
_PARTS = re.compile(r'"[^"\x00-\x1f]+"|[^".\s]+')
_KEY = re.compile(rf"(?:{_PARTS.pattern})(?:\.(?:{_PARTS.pattern}))*")
_INDENT = re.compile(r"\{\n([ \t]+)")
_BARE = re.compile(r"[A-Za-z0-9_.:/+=@~-]+")


def split_key(key: str) -> list[str]:
    """The names of a key with dots; a name in double quotes may have dots of its own: `llm.providers.openai.models."gpt-4.1".context`."""
    return [part.strip('"') for part in _PARTS.findall(key)] if _KEY.fullmatch(key) else [""]


def set_yaml(text: str, values: Mapping[str, Any]) -> str:
    """The text with these values (scalars, lists of text, None) at their dotted keys; comments and order stay.

    Raises `ConfigError` with the lines to write by hand where the file is written in a way that this cannot follow (aliases, several documents).
    """
    import yaml

    crlf, text = "\r\n" in text, text.replace("\r\n", "\n")
    wanted, edited = yaml.safe_load(text) or {}, text
    for key, value in values.items():
        wanted = _with(wanted, split_key(key), value)
    try:
        for key in values:
            edited = _set_one(yaml, edited, split_key(key), values[key])
        same = yaml.safe_load(edited) == wanted
    except yaml.YAMLError:
        same = False
    if not same:
        lines = "; ".join(f"{key}: {_spelled(value)}" for key, value in values.items())
        raise ConfigError("the file is written in a way that cannot be changed without touching more", hint=f"Write these yourself: {lines}")
    return edited.replace("\n", "\r\n") if crlf else edited


def set_json(text: str, values: Mapping[str, Any]) -> str:
    """The JSON document with these values at their dotted keys, indented as it was."""
    tree = json.loads(text) if text.strip() else {}
    for key, value in values.items():
        tree = _with(tree, split_key(key), value)
    step = _INDENT.search(text)
    return json.dumps(tree, indent=step[1] if step else 2, ensure_ascii=False) + "\n"


def set_dotenv(text: str, values: Mapping[str, str]) -> str:
    """The text of a `.env` with these variables; a line that sets one is replaced, a new one goes to the end."""
    lines = text.splitlines()
    for name, value in values.items():
        line = f"{name}={_quoted(value)}"
        at = [i for i, old in enumerate(lines) if old.strip().removeprefix("export ").partition("=")[0].strip() == name and "=" in old]
        if at:
            lines[at[-1]] = line  # the last one wins when it is read
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def _with(tree: Any, path: list[str], value: Any) -> dict[str, Any]:
    """The tree with the value at the path; sections on the way are made."""
    inner = dict(tree) if isinstance(tree, dict) else {}
    inner[path[0]] = value if len(path) == 1 else _with(inner.get(path[0]), path[1:], value)
    return inner


def _set_one(yaml: Any, text: str, path: list[str], value: Any) -> str:
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(node, yaml.MappingNode) or not (node.value or node.flow_style):
        return _appended(text, path, value)
    for depth, name in enumerate(path):
        found = next(((key, inner) for key, inner in node.value if key.value == name), None)
        rest = path[depth:]
        if found is None:
            return _inserted(yaml, text, node, rest, value, top=depth == 0)
        key, inner = found
        if depth == len(path) - 1 or not isinstance(inner, yaml.MappingNode) or not inner.value:
            # The key is there, and its value, or an empty section, gives way.
            flow = node.flow_style or not rest[1:]
            new = _flow(rest[1:], value) if flow else _block(rest[1:], value, key.start_mark.column + 2)
            colon = text.index(":", key.end_mark.index)
            end = len(text[: _end(yaml, inner)].rstrip())  # a block of text ends behind its newline
            return text[:colon] + (": " if flow else ":\n") + new + text[max(end, colon + 1) :]
        node = inner
    return text


def _end(yaml: Any, node: Any) -> int:
    """Where a value really ends: a block collection's own mark stands behind the comments that follow it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(yaml, last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _inserted(yaml: Any, text: str, node: Any, path: list[str], value: Any, *, top: bool) -> str:
    if node.flow_style:
        at = text.index("{", node.start_mark.index) + 1  # an anchor may stand before it
        return text[:at] + _spelled(path[0]) + ": " + _flow(path[1:], value) + (", " if node.value else "") + text[at:]
    if top:
        return _appended(text, path, value)
    end = len(text[: _end(yaml, node)].rstrip())
    line = text.find("\n", end)
    at = len(text) if line < 0 else line  # behind a comment that stands in the last line
    return f"{text[:at]}\n{_block(path, value, int(node.value[0][0].start_mark.column))}{text[at:]}"


def _appended(text: str, path: list[str], value: Any) -> str:
    lead = text if not text or text.endswith("\n") else f"{text}\n"
    return lead + _block(path, value, 0) + "\n"


def _block(path: list[str], value: Any, column: int) -> str:
    lines = [" " * (column + 2 * depth) + f"{_spelled(name)}:" for depth, name in enumerate(path)]
    return "\n".join(lines) + f" {_spelled(value)}"


def _flow(path: list[str], value: Any) -> str:
    return _spelled(value) if not path else f"{{{_spelled(path[0])}: {_flow(path[1:], value)}}}"


def _spelled(value: Any) -> str:
    """A value as YAML that means the same inside braces and outside. JSON is YAML; plain words go without quotes."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_spelled, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_spelled(name)}: {_spelled(one)}' for name, one in value.items())}}}"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def _quoted(value: str) -> str:
    if _BARE.fullmatch(value):
        return value
    if "'" not in value:
        return f"'{value}'"
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
