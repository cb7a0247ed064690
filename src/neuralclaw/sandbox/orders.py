"""What the agent tells a reaper: one program, and what holds it. Plain values, since the reaper's process has none of the agent's packages."""

import marshal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

INSIDE_PORT = 3128
"""Where its proxy listens for a program that has a network namespace of its own."""


PlacesToOpen = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]]
"""Of a restriction: to read, to list, devices, to write."""


OwnMounts = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]]
"""Of a program that has mounts of its own: directories in memory that it may write, directories that cannot be renamed, places that are read-only, and
places that are empty."""


class Restriction:
    """What holds a program that Landlock confines. Paths are absolute and real.

    `read`: to read and to run. `listed`: directories whose names may be read, and those of the directories below. `devices`: to read and to write.
    `scratch`: the program's own directory for temporary files, made and taken away with it; it may be written too.
    `mounts`: None where it has those of everybody. `seccomp`: the filter; `hands_over`: it hands calls over that change modes, owners and times of files.
    `proxy`: the port of this machine's loopback to which alone it may connect, 0: to none.
    """

    def __init__(
        self, places: "Sequence[Sequence[str]]", scratch: str, seccomp: bytes, *, proxy: int, hands_over: bool, mounts: OwnMounts | None = None
    ) -> None:
        self.places: PlacesToOpen = (tuple(places[0]), tuple(places[1]), tuple(places[2]), tuple(places[3]))
        self.read, self.listed, self.devices, self.write = self.places
        self.scratch, self.seccomp, self.proxy, self.hands_over, self.mounts = scratch, seccomp, proxy, hands_over, mounts

    def fields(self) -> tuple[Any, ...]:
        return self.places, self.scratch, self.seccomp, self.proxy, self.hands_over, self.mounts


class Order:
    """One program: its directory, the real file, arguments and environment as bytes, what holds it (None: nothing), and the file that is its standard
    input ("": /dev/null)."""

    def __init__(
        self, cwd: bytes, file: bytes, arguments: list[bytes], environment: dict[bytes, bytes], restriction: Restriction | None = None, *, stdin: bytes = b""
    ) -> None:
        self.cwd, self.file, self.arguments, self.environment, self.restriction, self.stdin = cwd, file, arguments, environment, restriction, stdin

    def encoded(self) -> bytes:
        """8 bytes length, then what `marshal` makes of it: both ends are this interpreter."""
        held = self.restriction.fields() if self.restriction is not None else None
        return _framed(marshal.dumps((self.cwd, self.file, self.arguments, self.environment, held, self.stdin)))

    @classmethod
    def decoded(cls, data: bytes) -> "Order":
        cwd, file, arguments, environment, held, stdin = marshal.loads(data)
        if held is None:
            return cls(cwd, file, arguments, environment, stdin=stdin)
        places, scratch, seccomp, proxy, hands_over, mounts = held
        return cls(cwd, file, arguments, environment, Restriction(places, scratch, seccomp, proxy=proxy, hands_over=hands_over, mounts=mounts), stdin=stdin)


def expectation(restriction: Restriction) -> bytes:
    """What is sent before an order: places and mounts of the program that is likely to come."""
    return _framed(marshal.dumps((restriction.places, restriction.mounts)))


def received(data: bytes) -> "Order | tuple[PlacesToOpen, OwnMounts | None]":
    """An order, or what is expected, without the length."""
    fields = marshal.loads(data)
    return fields if len(fields) == _EXPECTED else Order.decoded(data)


_EXPECTED = 2


def _framed(data: bytes) -> bytes:
    return len(data).to_bytes(8, "big") + data
