"""The saved state of a tree as it is on the disk."""

from contextlib import suppress

import msgspec

from .path_states import REGULAR, PathChange, PathState, decode_changes
from .state_files import names_in
from .tree_scan import NotKept

FORMAT = 2
MANIFEST, PARTIAL = "manifest", "partial"
"""The saved state; and what is known of a tree whose first copy was stopped, from which the next one goes on."""
RUNNING, CARRIED = "running-", "carried-"
"""Names of notes: a command that runs, and what has changed since it began."""


class StoredTree(msgspec.Struct, frozen=True, array_like=True):
    """`entries`: by path below the root; `not_kept`: what cannot be brought back."""

    format: int
    root: bytes
    entries: dict[bytes, PathState]
    not_kept: list[NotKept]


decoder = msgspec.msgpack.Decoder(StoredTree)


def read_changes(path: str) -> tuple[PathChange, ...]:
    """Of a note; none where it is not there, or damaged."""
    try:
        with open(path, "rb") as file:
            return decode_changes(file.read())
    except (FileNotFoundError, msgspec.DecodeError):
        return ()


def contents_of(directory: str) -> set[str]:
    """SHA-256 (hex) of every content that the saved state in this directory needs, or that an undo of the commands that run there will need."""
    needed: list[PathState | None] = []
    for name in (MANIFEST, PARTIAL):
        with suppress(OSError, msgspec.DecodeError), open(f"{directory}/{name}", "rb") as file:
            needed += decoder.decode(file.read()).entries.values()
    for name in names_in(directory):  # after the manifest: what goes out of it is in a note before that
        if name.startswith(CARRIED):
            with suppress(OSError):
                needed += [state for change in read_changes(f"{directory}/{name}") for state in (change.before, change.after)]
    return {state.content.hex() for state in needed if state is not None and state.content and state.kind == REGULAR}
