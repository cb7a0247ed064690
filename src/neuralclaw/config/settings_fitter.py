"""Fits a tree of nodes to the settings: interpolation, types, ranges, unknown keys. Collects every problem before it gives up."""

import enum
import re
import types
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec

from .describe import FORMER, UNIONS, expected, field_types, found, suggest_key, suggest_value
from .document import Node, node_of

ABSENT: Any = object()
"""What a value becomes that is not set, or that has a problem: its key keeps the default."""

UNSET = "needs the environment variable"
LAZY = ("llm.providers.", "mcp.servers.", "telegram.")
"""Sections that a run may leave unused: a variable that is not set there is no problem until the section is used."""


class SettingsFitter:
    """One reading of a tree. Afterwards `problems`, `former` (notices), `origins` (key -> origin) and `unset` (key -> sentence) are complete."""

    def __init__(self, env: Mapping[str, str], root: type, problems: list[str], *, lazy: tuple[str, ...] = LAZY) -> None:
        self.env, self.root, self.problems, self.lazy = env, root, problems, lazy
        self.former: dict[str, str] = {}
        self.origins: dict[str, str] = {}
        self.unset: dict[str, str] = {}
        self.nodes: dict[str, Node] = {}

    def fit(self, kind: Any, node: Node, key: str) -> Any:
        """The node's value as `kind`, or ABSENT."""
        limits: tuple[msgspec.Meta, ...] = ()
        if get_origin(kind) is Annotated:
            kind, *metas = get_args(kind)
            limits = tuple(metas)
        if kind is Any:
            self._note(key, node)
            return plain(node)
        if get_origin(kind) in UNIONS:
            return self._optional(kind, node, key)
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            return self._struct(kind, self._opened(node), key)
        if get_origin(kind) in (dict, tuple, list):
            node = self._opened(node)
            return self._mapping(kind, node, key) if get_origin(kind) is dict else self._sequence(kind, node, key)
        return self._leaf(kind, limits, node, key)

    def _problem(self, kind: Any, limits: tuple[msgspec.Meta, ...], node: Node, key: str) -> Any:
        value = node.value
        if node.source.text and kind in (int, float) and isinstance(value, str) and (number := from_text(kind, value)) is not ABSENT:
            value = number  # a variable has no quotes: the number is out of its range
        text = f"{node.place}: {key or 'the file'}: expected {expected(kind, limits)}, found {found(value, key, kind)}{suggest_value(kind, value)}"
        if node.source.text and key.startswith(self.lazy):
            self.unset[key] = text
        else:
            self.problems.append(text)
        return ABSENT

    def _note(self, key: str, node: Node) -> None:
        self.origins[key] = node.origin
        self.nodes[key] = node

    def _opened(self, node: Node) -> Node:
        """A list or a mapping that arrived as the text of a variable: JSON, or words with commas between them."""
        text = node.value
        if not (node.source.text and isinstance(text, str)):
            return node
        if text.lstrip()[:1] in ("{", "["):
            try:
                return node_of(msgspec.json.decode(text), node.source, node.line)
            except (msgspec.DecodeError, RecursionError):
                return node
        return node_of([part.strip() for part in text.split(",") if part.strip()], node.source, node.line)

    def _optional(self, kind: Any, node: Node, key: str) -> Any:
        inners = [arg for arg in get_args(kind) if arg is not types.NoneType]
        fitting = (arg for arg in inners if (is_struct(arg) if isinstance(node.value, dict) else get_origin(arg) is Literal and node.value in get_args(arg)))
        inner = next(fitting, inners[0])
        if node.value is None or (node.source.text and node.value in ("null", "none")):
            self._note(key, node)
            return None
        value = self.fit(inner, node, key)
        return None if value == "" else value

    def _struct(self, kind: type[msgspec.Struct], node: Node, key: str) -> Any:
        if isinstance(node.value, kind):
            self._note(key, node)
            return node.value
        fields = field_types(kind)
        if node.value is not None and not isinstance(node.value, dict):
            return self._problem(kind, (), node, key)
        self.nodes[key] = node
        values = {}
        for name, child in (node.value or {}).items():
            path = f"{key}.{name}" if key else name
            if name in fields:
                values[name] = self.fit(fields[name], child, path)
            elif name == "$schema" and not key:
                continue  # where an editor of config.json finds the schema
            elif name in FORMER:
                self._former(name, child, path)
            else:
                self.problems.append(f"{child.place}: unknown key {path}{suggest_key(self.root, path)}")
        needed = required(kind)
        self.problems.extend(f"{node.place}: {key}.{n} is missing: expected {expected(fields[n], ())}" for n in needed if n not in values)
        if any(values.get(name, ABSENT) is ABSENT for name in needed):
            return ABSENT
        try:
            return kind(**{name: value for name, value in values.items() if value is not ABSENT})
        except (ValueError, TypeError) as error:  # a check of its own
            self.problems.append(f"{node.place}: {key}: {error}")
            return ABSENT

    def _former(self, name: str, node: Node, path: str) -> None:
        """A key of an earlier design: one notice, however often it occurs."""
        self.former.setdefault(name, f"{node.place}: {path} is a key of an earlier design and has no effect: {FORMER[name]}")

    def _mapping(self, kind: Any, node: Node, key: str) -> Any:
        if node.value is None:
            return {}
        if not isinstance(node.value, dict):
            return self._problem(kind, (), node, key)
        _, inner = get_args(kind)
        if not node.value:
            self._note(key, node)
        values = {name: self.fit(inner, child, f"{key}.{name}") for name, child in node.value.items()}
        return {name: value for name, value in values.items() if value is not ABSENT}

    def _sequence(self, kind: Any, node: Node, key: str) -> Any:
        if node.value is None:
            return get_origin(kind)()
        if not isinstance(node.value, list):
            return self._problem(kind, (), node, key)
        self._note(key, node)
        inner = get_args(kind)[0]
        values = [self._element(inner, child, f"{key}[{number}]") for number, child in enumerate(node.value)]
        found = (value for value in values if value is not ABSENT and value != "")
        return list(found) if get_origin(kind) is list else tuple(found)

    def _element(self, kind: Any, node: Node, key: str) -> Any:
        """An element of a list. An empty text says nothing: one that is written is a problem, one that a variable gave is left out."""
        if node.value == "" and not node.source.text:
            self.problems.append(f"{node.place}: {key}: expected {expected(kind, ())}, found an empty text")
            return ABSENT
        return self.fit(kind, node, key)

    def _leaf(self, kind: Any, limits: tuple[msgspec.Meta, ...], node: Node, key: str) -> Any:
        text, whole = self._expanded(node, key)
        if text is ABSENT:
            return ABSENT
        value = from_text(kind, text) if (node.source.text or whole) and isinstance(text, str) else from_value(kind, text)
        if value is ABSENT or not all(within(meta, value) for meta in limits):
            return self._problem(kind, limits, node, key)
        self._note(key, node)
        return value

    def _expanded(self, node: Node, key: str) -> tuple[Any, bool]:
        """The node's value with `${NAME}` replaced, and whether anything was. Errors show the value as it was written, not what a variable holds."""
        if not (node.source.expand and isinstance(node.value, str) and "${" in node.value):
            return node.value, False
        text, missing, bad = interpolate(node.value, self.env)
        if bad:
            self.problems.append(f"{node.place}: {key}: {bad}")
        elif missing:
            sentence = f"{node.place}: {key} {UNSET} {missing}, which is not set or empty"
            if key.startswith(self.lazy):
                self.unset[key] = sentence
            else:
                self.problems.append(sentence)
        return ABSENT if bad or missing else text, True


def unset_hint(sentences: Iterable[str]) -> str:
    """What to do about variables that are not set; "" where none of the sentences is about one."""
    unset = any(UNSET in sentence for sentence in sentences)
    return "Set it in the environment or in .env, or give a default: ${NAME:-default}." if unset else ""


def is_struct(kind: Any) -> bool:
    """Whether the type is a section with keys of its own."""
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def plain(node: Node) -> Any:
    """The values below a node as they are written."""
    if isinstance(node.value, dict):
        return {name: plain(child) for name, child in node.value.items()}
    return [plain(child) for child in node.value] if isinstance(node.value, list) else node.value


def required(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """Fields without a default."""
    return tuple(field.name for field in msgspec.structs.fields(kind) if field.required)


def interpolate(text: str, env: Mapping[str, str]) -> tuple[str, str, str]:
    """`text` with `${NAME}` and `${NAME:-default}` replaced (`$${` stands for a plain `${`), the first variable that is not set, and what is malformed.

    An empty variable counts as not set.
    """
    parts: list[str] = []
    while (start := text.find("${")) >= 0:
        if text[start - 1 : start] == "$":
            parts.append(text[: start - 1] + "${")
            text = text[start + 2 :]
            continue
        inside, closed, rest = text[start + 2 :].partition("}")
        name, dash, default = inside.partition(":-")
        if not closed or not (name.isascii() and name.isidentifier()) or "${" in default:
            return "", "", "expected ${NAME} or ${NAME:-default} ($${ for a plain ${)"
        value = env.get(name) or (default if dash else None)
        if value is None:
            return "", name, ""
        parts.append(text[:start] + value)
        text = rest
    return "".join(parts) + text, "", ""


def within(meta: msgspec.Meta, value: Any) -> bool:
    """Whether a number lies in the bounds, and a text fits its pattern."""
    if meta.pattern is not None and re.search(meta.pattern, value) is None:
        return False
    above = (meta.ge is None or value >= meta.ge) and (meta.gt is None or value > meta.gt)
    return bool(above and (meta.le is None or value <= meta.le))


def from_value(kind: Any, value: Any) -> Any:
    """A typed value (of a file or the command line) as `kind`, or ABSENT."""
    if get_origin(kind) is Literal:
        return value if isinstance(value, str) and value in get_args(kind) else ABSENT
    if issubclass(kind, enum.Enum):
        return next((member for member in kind if member.value == value), ABSENT)
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        return value if -(2**53) <= value <= 2**53 and isfinite(value) else ABSENT
    return value if type(value) is kind and not (kind is int and abs(value) > 2**53) else ABSENT


def from_text(kind: Any, text: str) -> Any:
    """The text of a variable as `kind`, or ABSENT."""
    if kind is bool:
        return {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}.get(text.strip().lower(), ABSENT)
    if kind is int or kind is float:
        try:
            return from_value(kind, kind(text))
        except ValueError:
            return ABSENT
    return from_value(kind, text)
