"""Reads `config.yaml`, `config.json` and `.env` into nodes that remember their line, and merges such trees.

Nothing is interpreted here: no `${NAME}`, no keys, no types. What cannot be read at all raises `ConfigError`.
"""

import errno
import os
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import ConfigError

MAX_BYTES = 1_000_000
MAX_NODES = 20_000
MAX_DEPTH = 40
"""Bounds of a configuration file, aliases written out: far above any real one, far below what hurts."""


class LayerSource:
    """Where values come from. `text`: they arrive as text only and are read as the key's type (environment variables).

    `path` appears in errors, `label` in origins (`config.yaml:12`). `expand`: `${NAME}` in them is replaced.
    """

    __slots__ = ("expand", "label", "path", "text")

    def __init__(self, path: str, label: str, *, text: bool = False, expand: bool = False) -> None:
        self.path, self.label, self.text, self.expand = path, label, text, expand


class Node:
    """A value of a document: a scalar, a `dict[str, Node]` or a `list[Node]`. `line` 0: the source has no lines."""

    __slots__ = ("line", "size", "source", "value")

    def __init__(self, value: Any, source: LayerSource, line: int = 0, size: int = 1) -> None:
        self.value, self.source, self.line, self.size = value, source, line, size

    def at(self, line: int) -> "Node":
        """The same value, standing in `line`."""
        return Node(self.value, self.source, line, self.size)

    @property
    def place(self) -> str:
        """For errors: the whole path and the line."""
        return f"{self.source.path}:{self.line}" if self.line else self.source.path

    @property
    def origin(self) -> str:
        """For `config show`: the short name and the line."""
        return f"{self.source.label}:{self.line}" if self.line else self.source.label


def node_of(value: Any, source: LayerSource, line: int = 0) -> Node:
    """A Python value as a tree of nodes."""
    if isinstance(value, Mapping):
        return Node({str(k): node_of(v, source, line) for k, v in value.items()}, source, line)
    if isinstance(value, list | tuple):
        return Node([node_of(v, source, line) for v in value], source, line)
    return Node(value, source, line)


def merge(below: Node, above: Node) -> Node:
    """Both trees as one; where both have a value, `above` wins. Lists are replaced whole."""
    if not (isinstance(below.value, dict) and isinstance(above.value, dict)):
        return above
    merged = dict(below.value)
    for name, node in above.value.items():
        merged[name] = merge(merged[name], node) if name in merged else node
    return Node(merged, above.source, below.line)


_HINTS = {
    errno.ENAMETOOLONG: "Choose another data directory with --home DIR.",
    errno.EMFILE: "Raise the limit of open files, such as with: ulimit -n 1024",
    errno.ENFILE: "The whole system has too many files open; end programs that hold many.",
    errno.ELOOP: "Links lead round in a circle there; remove one.",
}


def read_text(path: str) -> str | None:
    """The text of a file, or None when there is none. Raises `ConfigError` when it is there and cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        hint = _HINTS.get(error.errno or 0, "Give yourself the right to read it, or move it away.")
        raise ConfigError(f"{path}: cannot be read: {error.strerror}", hint=hint) from error
    try:
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}", hint="This must be a regular file.") from error
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{path}: larger than {MAX_BYTES:,} bytes: this is no configuration file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: is not UTF-8 text (byte {error.start})", hint="Save the file as UTF-8.") from error


def open_to_others(path: str) -> bool:
    """Whether others on this machine can read or change the file."""
    try:
        return bool(os.stat(path).st_mode & 0o066)  # noqa: PTH116
    except OSError:
        return False


class Builder:
    """Puts parsed pieces together to a tree, within the bounds, and notes keys that occur twice."""

    def __init__(self, source: LayerSource, problems: list[str]) -> None:
        self.source, self.problems = source, problems
        self.nodes = 0

    def stop(self, line: int, text: str) -> ConfigError:
        return ConfigError(f"{self.source.path}:{line}: {text}")

    def node(self, value: Any, line: int, size: int = 1) -> Node:
        """A node, counted with all below it when it is written again by an alias."""
        self.nodes += size
        if self.nodes > MAX_NODES:
            raise self.stop(line, f"more than {MAX_NODES:,} values, aliases written out")
        return Node(value, self.source, line, size)

    def put(self, mapping: dict[str, Node], key: str, line: int, value: Node) -> None:
        if key in mapping:
            self.problems.append(f"{self.source.path}:{line}: the key {key} appears twice (first in line {mapping[key].line})")
        mapping[key] = value.at(line)


def read_json(text: str, source: LayerSource, problems: list[str]) -> Node:
    """The tree of a JSON document. Raises `ConfigError` with the line where it is broken."""
    import json

    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        raise ConfigError(f"{source.path}:{error.lineno}: is not JSON: {error.msg}") from error
    except (RecursionError, ValueError) as error:
        raise ConfigError(f"{source.path}: is not JSON that can be read: nested too deeply, or a number too long") from error
    return JsonTree(text, Builder(source, problems), json.JSONDecoder().raw_decode).tree()


class JsonTree:
    """Walks JSON text that is known to be valid, and keeps the lines."""

    def __init__(self, text: str, builder: Builder, scalar: Callable[[str, int], tuple[Any, int]]) -> None:
        self.text, self.builder, self.scalar = text, builder, scalar
        self.at = 0
        self.line = 1

    def peek(self) -> str:
        """The next character that is no space, comma or colon."""
        while self.text[self.at] in " \t\r\n,:":
            self.line += self.text[self.at] == "\n"
            self.at += 1
        return self.text[self.at]

    def leaf(self) -> Any:
        value, self.at = self.scalar(self.text, self.at)
        return value

    def tree(self, depth: int = 0) -> Node:
        start = self.peek()
        line = self.line
        if depth > MAX_DEPTH:
            raise self.builder.stop(line, f"nested more than {MAX_DEPTH} deep")
        if start not in "{[":
            return self.builder.node(self.leaf(), line)
        self.at += 1
        node = self.builder.node({} if start == "{" else [], line)
        while self.peek() not in "}]":
            if start == "[":
                node.value.append(self.tree(depth + 1))
                continue
            key_line = self.line
            key = self.leaf()
            self.builder.put(node.value, key, key_line, self.tree(depth + 1))
        self.at += 1
        return node


def read_dotenv(text: str, path: str) -> dict[str, tuple[str, int]]:
    """`NAME=value` lines as name -> (value, line). `export `, `#` comments and quotes are understood, nothing is expanded.

    Raises `ConfigError` with the line, never with its content: secrets are there.
    """
    found: dict[str, tuple[str, int]] = {}
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        name, equals, value = line.removeprefix("export ").partition("=")
        name = name.strip()
        if not equals or not (name.isascii() and name.isidentifier()):
            raise ConfigError(f"{path}:{number}: expected NAME=value", hint="Begin the line with # to make it a comment.")
        found[name] = (_dotenv_value(value.strip(), f"{path}:{number}"), number)
    return found


def _dotenv_value(value: str, place: str) -> str:
    if value[:1] not in ("'", '"'):
        return value.partition(" #")[0].partition("\t#")[0].rstrip() if not value.startswith("#") else ""
    quote, parts, at = value[0], [], 1
    while at < len(value) and value[at] != quote:
        if quote == '"' and value[at] == "\\" and at + 1 < len(value):
            at += 1
            parts.append({"n": "\n", "t": "\t", "r": "\r"}.get(value[at], value[at]))
        else:
            parts.append(value[at])
        at += 1
    rest = value[at + 1 :].strip()
    if at >= len(value) or (rest and not rest.startswith("#")):
        raise ConfigError(f"{place}: the quotes do not end where the value ends")
    return "".join(parts)
