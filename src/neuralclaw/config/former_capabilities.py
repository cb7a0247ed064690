"""Names of the capabilities that ever took part in a home: the section of one that was removed is told from a mistyped key by them."""

import os
from collections.abc import Collection, Sequence

FILE = "capabilities.known"
"""One name on each line, in the data directory; in the directory of the configuration as long as there is no data directory."""


def known_capabilities(folders: Sequence[str]) -> frozenset[str]:
    """The names on record; none where there is no record, or one that cannot be read."""
    names: set[str] = set()
    for folder in folders:
        try:
            with open(f"{folder}/{FILE}", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
                names.update(file.read().split())
        except OSError:
            continue  # then the sections of removed capabilities are unknown keys, which is an error with their place
    return frozenset(names)


def remember_capabilities(folders: Sequence[str], names: Collection[str]) -> None:
    """Put names on record that are not there yet, in the first directory that exists. Several processes may do so at the same time."""
    new = sorted(set(names) - known_capabilities(folders)) if names else []
    there = next((folder for folder in folders if os.path.isdir(folder)), None)  # noqa: PTH112
    if not new or there is None:
        return
    try:
        descriptor = os.open(f"{there}/{FILE}", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write("".join(f"{name}\n" for name in new))
    except OSError:
        return  # a read-only home, a full disk: what reads the settings continues, and the next command tries again
