"""`Codec`: the bodies of the journal as bytes and back, for the built-in kinds and those of capabilities."""

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from ..errors import ConfigError
from .events import Body, Durable, Passing

Upcast = Callable[[dict[str, Any]], dict[str, Any]]

VERSIONS: Mapping[str, int] = MappingProxyType({})
"""Version of each built-in kind; a kind that is not named is at 1."""
UPCASTS: Mapping[tuple[str, int], Upcast] = MappingProxyType({})
"""(built-in kind, version) -> a function from that version's fields to the next version's. Stored bytes are never rewritten."""

_KIND = r"[a-z_][a-z0-9_]*\.[a-z0-9_]+(?:[.-][a-z0-9_]+)*"


class EventKind(msgspec.Struct, frozen=True, kw_only=True):
    """A durable kind of event. `body` is a subclass of `types.events.Body` whose tag, `CAPABILITY.NAME`, is the kind.

    `version` rises when the shape of the body changes; `upcasts[v]` turns the fields of version `v` into those of `v + 1`. Stored bytes are never rewritten.
    """

    body: type[Body]
    sentence: Callable[[Any], str]
    """What happened, for a person, from the body."""
    version: int = 1
    upcasts: Mapping[int, Upcast] = {}

    @property
    def kind(self) -> str:
        return tag_of(self.body)


def tag_of(body: type[Body]) -> str:
    """The kind of a body's class."""
    return str(body.__struct_config__.tag)


_TYPES: Mapping[str, type[Durable]] = MappingProxyType({tag_of(t): t for t in Durable.__args__})
_BUILT_IN: Mapping[str, type[Body]] = MappingProxyType({tag_of(t): t for t in (*Durable.__args__, *Passing.__args__)})
_OWN = frozenset(kind.partition(".")[0] for kind in _BUILT_IN)
"""The first words of built-in kinds. Kinds that a newer version adds to the program begin with one of them, so that `foreign` is true of none."""


def foreign(kind: str) -> bool:
    """Whether a kind is a capability's, known to this program or not: it has the form `CAPABILITY.NAME`, and no built-in kind begins so.

    What a turn did stands in built-in kinds alone, so a turn can go on past an entry of a foreign kind that is erased or cannot be read.
    """
    first, dot, _ = kind.partition(".")
    return bool(dot) and first not in _OWN


class _Reader(msgspec.Struct, frozen=True):
    """How the bodies of one kind are read. `upcasts`: version -> to the next one."""

    body: type[Body]
    version: int
    decoder: msgspec.json.Decoder[Any]
    upcasts: Mapping[int, Upcast]


class Codec:
    """The kinds of bodies that a program reads and writes: the built-in ones, and `kinds`. It does not change once it is made.

    Raises `ConfigError` for a kind that has the name of another, is not of the form `CAPABILITY.NAME`, or begins like a built-in one.
    """

    def __init__(self, kinds: Iterable[EventKind] = ()) -> None:
        self._readers = dict(_BUILT_IN_READERS)
        self._kinds: dict[str, EventKind] = {}
        for kind in kinds:
            self._check(kind)
            self._kinds[kind.kind] = kind
            self._readers[kind.kind] = _reader(kind.body, kind.version, kind.upcasts)

    def _check(self, kind: EventKind) -> None:
        if not (isinstance(kind.body, type) and issubclass(kind.body, Body)):
            raise ConfigError(f"the event kind {kind.body!r} is no subclass of neuralclaw.capability.Body")
        name, place = kind.kind, _place(kind.body)
        if name in _BUILT_IN:
            raise ConfigError(f"the event kind {name} of {place} has the name of a built-in one, {_place(_BUILT_IN[name])}")
        if (base := next((base for base in _BUILT_IN.values() if issubclass(kind.body, base)), None)) is not None:
            raise ConfigError(f"the event kind {name} of {place} is a subclass of {_place(base)}, which the program acts on", hint="derive it from Body itself")
        if name in self._kinds:
            raise ConfigError(f"two event kinds are called {name}: {_place(self._kinds[name].body)} and {place}")
        if not re.fullmatch(_KIND, name):
            raise ConfigError(
                f"the event kind {name!r} of {place} is not called CAPABILITY.NAME", hint=f'class {kind.body.__name__}(Body, tag="CAPABILITY.NAME")'
            )
        if not foreign(name):
            own = next(kind for kind in sorted(_BUILT_IN) if kind.partition(".")[0] == name.partition(".")[0])
            raise ConfigError(f"the event kind {name} of {place} begins like the built-in kind {own}: a capability has another name")
        if kind.version < 1:
            raise ConfigError(f"the event kind {name} of {place} has version {kind.version}; versions begin at 1")

    @property
    def kinds(self) -> Mapping[str, EventKind]:
        """The kinds that were given, by name; the built-in ones are not among them."""
        return MappingProxyType(self._kinds)

    def has(self, kind: str) -> bool:
        """Whether bodies of that kind can be written."""
        return kind in self._readers

    def knows(self, kind: str, version: int) -> bool:
        """Whether bodies of that kind and version can be read."""
        reader = self._readers.get(kind)
        if reader is None:
            return False
        return version == reader.version or (1 <= version < reader.version and all(older in reader.upcasts for older in range(version, reader.version)))

    def built_in_decoder(self, kind: str, version: int) -> Callable[[bytes], Body] | None:
        """What decodes bodies of a built-in kind in today's version, None for any other. It raises `ValueError` or `RecursionError` for what is none."""
        reader = _BUILT_IN_READERS.get(kind)
        return reader.decoder.decode if reader is not None and version == reader.version else None

    def version(self, kind: str) -> int:
        """The version in which bodies of that kind are written. Raises `LookupError` for a kind that is not known."""
        return self._readers[kind].version

    def encode(self, body: Body) -> bytes:
        """The bytes of a body as the journal stores them."""
        return _encoder.encode(body)

    def decode(self, kind: str, version: int, data: bytes) -> Body:
        """A stored body of a kind and version that `knows` names, in today's shape.

        Raises `ValueError` or `RecursionError` for what is no body of that kind; of an older version, what its upcast raises becomes a `ValueError` too.
        """
        reader = self._readers[kind]
        try:
            if version == reader.version:
                body: Body = reader.decoder.decode(data)
                return body
            fields = msgspec.json.decode(data)
            for older in range(version, reader.version):
                fields = reader.upcasts[older](fields)
            return msgspec.convert(fields, reader.body)
        except (ValueError, RecursionError, KeyboardInterrupt):
            raise
        except BaseException as error:  # of an upcast or a body that a capability brings: what it raises stops no reader
            raise ValueError(f"{kind} version {version}: {type(error).__name__}: {error}") from error


def _reader(body: type[Body], version: int, upcasts: Mapping[int, Upcast]) -> _Reader:
    return _Reader(body, version, msgspec.json.Decoder(body), MappingProxyType(dict(upcasts)))


def _place(body: type[Body]) -> str:
    return f"{body.__module__}.{body.__qualname__}"


_encoder = msgspec.json.Encoder()
_BUILT_IN_READERS: Mapping[str, _Reader] = MappingProxyType(
    {kind: _reader(body, VERSIONS.get(kind, 1), {at: up for (of, at), up in UPCASTS.items() if of == kind}) for kind, body in _TYPES.items()}
)
BUILT_IN = Codec()
"""The codec of the built-in kinds alone."""
