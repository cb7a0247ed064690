"""Sets single keys in the text of `config.yaml`, `config.json` and `.env` and leaves every other byte of a YAML file and of `.env` as it is.

Pure: text in, text out. YAML is parsed, changed and written by ruamel.yaml, which writes the whole file in a form of its own (spaces, line breaks in
braces, comments in lists). So it writes the file twice, without the change and with it, and only the difference is carried over into the person's text.
What cannot be changed without touching something else is refused, never guessed.
"""

import io
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..errors import ConfigError
from .document import LayerSource, Node, node_of
from .yamldoc import read_yaml

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9._/-]*")
_WORDS = ("true", "false", "yes", "no", "on", "off", "null", "y", "n")
_PARTS = re.compile(r'"[^"\x00-\x1f]+"|[^".\s]+')
_KEY = re.compile(rf"(?:{_PARTS.pattern})(?:\.(?:{_PARTS.pattern}))*")
_INDENT = re.compile(r"\{\n([ \t]+)")
_BARE = re.compile(r"[A-Za-z0-9_.:/+=@~-]+")
_BARE_EXPONENT = re.compile(r"^(-?\d+)e")  # YAML 1.1 reads 1e+20 as text and 1.0e+20 as a number
_UNSEEN = ("DirectiveToken", "DocumentStartToken", "FlowEntryToken", "KeyToken")
"""Tokens that may be in the person's text and not in the library's, or the other way round: `---`, a comma before a bracket, `? `."""


def split_key(key: str) -> list[str]:
    """The names of a key with dots; a name in double quotes may have dots of its own: `llm.providers.openai.models."gpt-4.1".context`."""
    return [part.strip('"') for part in _PARTS.findall(key)] if _KEY.fullmatch(key) else [""]


def set_yaml(text: str, values: Mapping[str, Any]) -> str:
    """The text with these values (scalars, lists, mappings, None) at their dotted keys; comments, order, quoting and line ends of the rest stay.

    The result is parsed and compared before it is returned. Raises `ConfigError` with the lines to write by hand where the file is written in a way
    that this cannot follow (an alias whose anchor would change too, several documents), and for a file that is no YAML.
    """
    import ruamel.yaml as library

    wanted, edited = _plain(read_yaml(text, LayerSource("the file", ""), [])), text
    for key, value in values.items():
        wanted = _with(wanted, split_key(key), _plain(node_of(value, LayerSource("", ""))))
    try:
        for key, value in values.items():
            edited = _set_one(library, edited, split_key(key), value)
        same = _plain(read_yaml(edited, LayerSource("", ""), [])) == wanted
    except (library.error.YAMLError, ConfigError):
        same = False
    if not same:
        lines = "; ".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in values.items())
        raise ConfigError("the file is written in a way that cannot be changed without touching more", hint=f"Write these yourself: {lines}")
    return edited


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


def _plain(node: Node) -> Any:
    """A tree that equals another only where kinds are equal too: to Python, 1 is 1.0 and True."""
    if isinstance(node.value, dict):
        return {name: _plain(inner) for name, inner in node.value.items()}
    if isinstance(node.value, list):
        return [_plain(inner) for inner in node.value]
    return type(node.value), repr(node.value)


def _set_one(library: Any, text: str, path: list[str], value: Any) -> str:
    """The text with one value set, unchecked."""
    mark = "value"
    while any(mark in each for each in (text, *path)):  # so the difference is the whole value, whatever it has in common with the former one
        mark += "-"
    edit = _Edit(library)
    events = list(_yaml(library).parse(text))[2:-2]
    before, after = _written(library, events), _written(library, edit.set(events, path, mark))
    shown = _written(library, list(edit.values([value]))).strip()[1:-1]  # in brackets, where it is written so that it may be anywhere
    return _carried(library, text, before, after).replace(mark, shown)


def _yaml(library: Any) -> Any:
    yaml = library.YAML(typ="safe", pure=True)
    yaml.width = 1 << 30
    yaml.brace_single_entry_mapping_in_flow_sequence = True
    return yaml


def _written(library: Any, events: list[Any]) -> str:
    """The document of these events in the library's form."""
    if not events:
        return ""
    for event in events:
        event.comment = None  # empty lines, which its scanner takes for comments
        if isinstance(event, library.ScalarEvent):  # its emitter asks for more than its parser gives
            event.implicit = (*event.implicit[:2], False)
            event.ctag = event.ctag or library.tag.Tag(suffix="")
            event.style = event.style or ("" if event.value else "-")  # nothing stays nothing
    begin, end = [library.StreamStartEvent(), library.DocumentStartEvent(explicit=False)], [library.DocumentEndEvent(explicit=False), library.StreamEndEvent()]
    out = io.StringIO()
    _yaml(library).emit([*begin, *events, *end], out)
    return out.getvalue()


class _Edit:
    """Changes the events of a document."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def set(self, events: list[Any], path: list[str], value: Any) -> list[Any]:
        """The events with the value at the path. Raises `ConfigError` for a document that is no mapping."""
        if not events:
            return self._nested(path, value, flow_style=False)
        if not isinstance(events[0], self._library.MappingStartEvent):
            raise ConfigError("the file holds no keys")
        at, flow_style = 0, False
        for depth, name in enumerate(path):
            flow_style = flow_style or events[at].flow_style
            place, end = self._value(events, at, name)
            rest = path[depth + 1 :]
            if place == end:  # the key is not there
                return [*events[:place], *self._nested(path[depth:], value, flow_style=flow_style)[1:-1], *events[place:]]
            empty = end - place == 2 and not events[place].anchor
            if not rest or empty or not isinstance(events[place], self._library.MappingStartEvent):
                return [*events[:place], *self._nested(rest, value, flow_style=flow_style), *events[end:]]
            at = place
        return events

    def _value(self, events: list[Any], at: int, name: str) -> tuple[int, int]:
        """Where the value of a key of the mapping at `at` begins and ends: of the last one where it occurs twice; at its end where it is not there."""
        found, key = None, at + 1
        while not isinstance(events[key], self._library.MappingEndEvent):
            value = self._after(events, key)
            end = self._after(events, value)
            if isinstance(events[key], self._library.ScalarEvent) and events[key].value == name:
                found = (value, end)
            key = end
        return found or (key, key)

    def _after(self, events: list[Any], at: int) -> int:
        depth = 0
        while True:
            depth += isinstance(events[at], self._library.CollectionStartEvent) - isinstance(events[at], self._library.CollectionEndEvent)
            at += 1
            if not depth:
                return at

    def _nested(self, path: list[str], value: Any, *, flow_style: bool) -> list[Any]:
        """The value below these keys."""
        if not path:
            return list(self.values(value))
        begin = self._library.MappingStartEvent(None, None, True, flow_style=flow_style)
        return [begin, *self.values(path[0]), *self._nested(path[1:], value, flow_style=flow_style), self._library.MappingEndEvent()]

    def values(self, value: Any) -> Iterator[Any]:
        """The events of a value that is written in one line. Plain words go without quotes."""
        library = self._library
        if isinstance(value, Mapping):
            yield library.MappingStartEvent(None, None, True, flow_style=True)
            for name, inner in value.items():
                yield from self.values(name)
                yield from self.values(inner)
            yield library.MappingEndEvent()
        elif isinstance(value, list | tuple):
            yield library.SequenceStartEvent(None, None, True, flow_style=True)
            for inner in value:
                yield from self.values(inner)
            yield library.SequenceEndEvent()
        elif isinstance(value, str):
            plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS
            yield library.ScalarEvent(None, None, (True, True), value, style=None if plain else '"')
        else:
            yield library.ScalarEvent(None, None, (True, False), _BARE_EXPONENT.sub(r"\1.0e", json.dumps(value)))


class _Token(NamedTuple):
    """What can be seen in a text: no comment, no space. `column` is -1 where something is before it in its line."""

    kind: str
    value: Any
    style: Any
    column: int
    start: int
    end: int


def _tokens(library: Any, text: str) -> list[_Token]:
    found = []
    for token in _yaml(library).scan(text):
        start, end, kind = token.start_mark.index, token.end_mark.index, type(token).__name__
        if end > start and kind not in _UNSEEN:
            column = token.start_mark.column
            end = start + len(text[start:end].rstrip())  # a block of text ends behind its newline
            alone = not text[start - column : start].strip()
            found.append(_Token(kind, getattr(token, "value", None), getattr(token, "style", None), column if alone else -1, start, end))
    return found


def _carried(library: Any, text: str, before: str, after: str) -> str:
    """The text, changed as `before` was to become `after`, both the library's. Raises `ConfigError` where text and `before` do not agree."""
    mine, old, new = (_tokens(library, each) for each in (text, before, after))
    if [token[:2] for token in mine] != [token[:2] for token in old]:
        raise ConfigError("the library reads another document than the one it writes")
    first = last = 0
    shorter = min(len(old), len(new))
    while first < shorter and old[first][:4] == new[first][:4]:
        first += 1
    while last < shorter - first and old[-1 - last][:4] == new[-1 - last][:4]:
        last += 1
    came, gone = new[first : len(new) - last], mine[first : len(mine) - last]
    end_line = "\r\n" if "\r\n" in text else "\n"
    if not first:
        return text + (end_line if text and not text.endswith("\n") else "") + after.replace("\n", end_line)
    column = came[0].column
    above = next((i for i in range(first - 1, -1, -1) if 0 <= old[i].column <= column and old[i].kind != "BlockEntryToken"), None)
    shift = 0 if above is None else max(mine[above].column, 0) - old[above].column
    added = after[new[first - 1].end : came[-1].end]
    added = re.sub(r"\n *", lambda found: end_line + " " * (len(found.group()) - 1 + shift), added)
    at = mine[first - 1].end
    if gone:
        comment = text[at : gone[0].start].rstrip()
        return text[:at] + (comment + added if column >= 0 else added + comment) + text[gone[-1].end :]
    if column >= 0:
        at = _line_end(text, at, column + shift, last=not last)
    return text[:at] + added + text[at:]


def _line_end(text: str, at: int, column: int, *, last: bool) -> int:
    """Where a line that begins in `column` can go after `at`: behind what is left of the line, and behind comments that belong to what is deeper."""
    at = len(text.rstrip()) if last and not column else at  # a new section is at the end of the file
    deeper = re.compile(rf"[^\r\n]*(?:\s*\n {{{column + 1},}}#[^\r\n]*)*").match(text, at)
    return deeper.end() if deeper else at


def _quoted(value: str) -> str:
    if _BARE.fullmatch(value):
        return value
    if "'" not in value:
        return f"'{value}'"
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
