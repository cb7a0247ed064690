"""What a command asks for by name beside its words, as text: a path to read or to change, or a place of the network."""

import msgspec

from ..types.facts import PathWant
from .paths import absolute


class Access(msgspec.Struct, frozen=True):
    """One of them. `want`: the path, None for a place, and for what is neither."""

    text: str
    place: str = ""
    want: PathWant | None = None


def access(text: str, cwd: str) -> Access:
    """The access that a word and a path or place name; `cwd` is where the command runs."""
    kind, _, what = text.strip().partition(" ")
    what = what.strip()
    if what and kind in ("read", "write"):
        return Access(text, want=PathWant(absolute(what, cwd), "read" if kind == "read" else "write"))
    return Access(text, place=what if kind == "connect" else "")
