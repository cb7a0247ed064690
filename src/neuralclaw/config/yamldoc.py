"""YAML text as a tree of nodes. PyYAML is imported only when there is a file to read.

The tree is built from the parser's events, without recursion, so that neither deep nesting nor aliases that multiply cost more
than the bounds of `document` allow.
"""

from typing import Any

from ..errors import ConfigError
from .document import MAX_DEPTH, Builder, LayerSource, Node

TAG = "a tag is not allowed here; put quotes around a value that begins with !"
ALIAS = "an alias names nothing; put quotes around a value that begins with *"
"""Neither is quoted: it may be a password that somebody wrote without quotes."""
SCALARS = {"str", "int", "float", "bool", "null", "timestamp", "value", "merge"}


def read_yaml(text: str, source: LayerSource, problems: list[str]) -> Node:
    """The tree of a YAML document (an empty one is an empty mapping). Raises `ConfigError` with the line where it is broken."""
    import yaml

    loader_class: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    tree = YamlTree(yaml, Builder(source, problems))
    try:
        loader = loader_class(text)
        try:
            tree.resolver = loader
            while loader.check_event():
                tree.take(loader.get_event())
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        last = text.rstrip().count("\n") + 1  # an end that comes too early is marked behind it
        place = f"{source.path}:{min(mark.line + 1, last)}" if mark else source.path
        raise ConfigError(f"{place}: is not YAML: {error.problem or error.context}") from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1 if isinstance(error.position, int) else 1
        raise ConfigError(f"{source.path}:{line}: is not YAML: it contains a control character") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{source.path}: is not YAML: {error}") from error
    return tree.root or Node({}, source)


class YamlTree:
    """Takes parser events one by one. A frame of the stack is an open collection and the key that waits for its value."""

    def __init__(self, yaml: Any, builder: Builder) -> None:
        self.yaml, self.builder = yaml, builder
        self.resolver: Any = None
        self.root: Node | None = None
        self.stack: list[tuple[Node, list[tuple[str, int]]]] = []
        self.merges: list[list[Node]] = []
        self.anchors: dict[str, Node] = {}
        self.open_anchors: list[str | None] = []

    def take(self, event: Any) -> None:
        """One event of the parser."""
        line = event.start_mark.line + 1
        kind = type(event).__name__
        if kind == "ScalarEvent":
            self._scalar(event, line)
        elif kind == "AliasEvent":
            self._alias(event.anchor, line)
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            self._open(event, kind == "MappingStartEvent", line)
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            self._close()
        elif kind == "DocumentStartEvent" and self.root is not None:
            raise self.builder.stop(line, "a second document begins here: only one is read")

    def _waits_for_key(self) -> bool:
        return bool(self.stack) and isinstance(self.stack[-1][0].value, dict) and not self.stack[-1][1]

    def _scalar(self, event: Any, line: int) -> None:
        if self._waits_for_key():
            self.stack[-1][1].append((event.value, line))
            if event.anchor:
                self.anchors[event.anchor] = self.builder.node(event.value, line)
            return
        node = self.builder.node(self._value(event, line), line)
        if event.anchor:
            self.anchors[event.anchor] = node
        self._place(node, line)

    def _value(self, event: Any, line: int) -> Any:
        tag = event.tag
        if tag in (None, "!"):
            tag = self.resolver.resolve(self.yaml.ScalarNode, event.value, event.implicit)
        name = tag.removeprefix("tag:yaml.org,2002:")
        if name not in SCALARS or name == tag:
            raise self.builder.stop(line, TAG)
        if name in ("str", "timestamp", "value", "merge"):
            return event.value
        try:
            return self.resolver.construct_object(self.yaml.ScalarNode(tag, event.value))
        except (ValueError, KeyError) as error:
            raise self.builder.stop(line, f"a value that is not of its kind ({name})") from error

    def _alias(self, anchor: str, line: int) -> None:
        if anchor in self.open_anchors:
            raise self.builder.stop(line, "an alias refers to a value that contains it")
        if anchor not in self.anchors:
            raise self.builder.stop(line, ALIAS)
        if self._waits_for_key():
            raise self.builder.stop(line, "an alias cannot be a key here")
        named = self.anchors[anchor]
        self._place(self.builder.node(named.value, line, named.size), line)

    def _open(self, event: Any, mapping: bool, line: int) -> None:
        wanted = "map" if mapping else "seq"
        if event.tag not in (None, "!", f"tag:yaml.org,2002:{wanted}"):
            raise self.builder.stop(line, TAG)
        if self._waits_for_key():
            raise self.builder.stop(line, "a key must be plain text")
        if len(self.stack) >= MAX_DEPTH:
            raise self.builder.stop(line, f"nested more than {MAX_DEPTH} deep")
        self.stack.append((self.builder.node({} if mapping else [], line), []))
        self.merges.append([])
        self.open_anchors.append(event.anchor)

    def _close(self) -> None:
        node, _ = self.stack.pop()
        anchor = self.open_anchors.pop()
        for merged in self.merges.pop():
            for name, value in merged.value.items():
                node.value.setdefault(name, value)
        below = node.value.values() if isinstance(node.value, dict) else node.value
        node.size = 1 + sum(child.size for child in below)
        if anchor:
            self.anchors[anchor] = node
        self._place(node, node.line)

    def _place(self, node: Node, line: int) -> None:
        """Give a finished value to the collection it is in."""
        if not self.stack:
            self.root = node
            return
        parent, keys = self.stack[-1]
        if isinstance(parent.value, list):
            parent.value.append(node)
            return
        key, key_line = keys.pop()
        if key == "<<":
            self._merge(node, line)
        else:
            self.builder.put(parent.value, key, key_line, node)

    def _merge(self, node: Node, line: int) -> None:
        parts = node.value if isinstance(node.value, list) else [node]
        if not all(isinstance(part.value, dict) for part in parts):
            raise self.builder.stop(line, "<< takes a mapping or a list of mappings")
        self.merges[-1].extend(parts)
