"""The folder of a task: what it holds, read whatever a model left in it, and removed however deep it is."""

import os
import stat
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import NamedTuple

LARGEST = 2_000_000
"""Bytes of a file that are compared; of a larger one only the size."""
CACHES = ("__pycache__", ".pytest_cache", ".ruff_cache", ".mypy_cache")
"""Directories that programs make by themselves; they are no change of a model's."""


class Snapshot(NamedTuple):
    """What a folder holds at a moment; every path is relative to it.

    `files`: the bytes of each file. A link appears as `-> TARGET`, never followed; what cannot be read appears with the reason.
    `caches`: the same for what lies in the caches of programs. `modes`: the permission bits of files and directories, of the folder itself under `.`.
    """

    files: Mapping[str, bytes]
    caches: Mapping[str, bytes] = {}
    modes: Mapping[str, int] = {}


def snapshot(folder: Path) -> Snapshot:
    """Read a folder. Nothing is followed that leads out of it."""
    files: dict[str, bytes] = {}
    caches: dict[str, bytes] = {}
    modes: dict[str, int] = {}
    for name, path in _below(folder):
        cached = any(part in CACHES for part in name.split("/"))
        try:
            about = path.lstat()
            data = _content(path, about)
        except OSError as error:
            data, about = f"cannot be read: {error.strerror}".encode(), None
        if data is not None:
            (caches if cached else files)[name] = data
        if about is not None and not cached and not stat.S_ISLNK(about.st_mode):
            modes[name] = stat.S_IMODE(about.st_mode)
    return Snapshot(files, caches, modes)


def _below(folder: Path) -> Iterator[tuple[str, Path]]:
    """The folder itself as `.`, and everything below it."""
    yield ".", folder
    waiting = [""]
    while waiting:
        inside = waiting.pop()
        try:
            entries = sorted(os.scandir(folder / inside), key=lambda entry: entry.name)
        except OSError:
            continue  # told where its own entry is read
        for entry in entries:
            name = f"{inside}/{entry.name}" if inside else entry.name
            yield name, folder / name
            if entry.is_dir(follow_symlinks=False):
                waiting.append(name)


def _content(path: Path, about: os.stat_result) -> bytes | None:
    """The bytes that stand for a path; None for a directory that can be opened. Raises `OSError`."""
    if stat.S_ISLNK(about.st_mode):
        return b"-> " + os.fsencode(path.readlink())
    if stat.S_ISDIR(about.st_mode):
        os.scandir(path).close()
        return None
    if not stat.S_ISREG(about.st_mode):
        return b"a special file"
    return path.read_bytes() if about.st_size <= LARGEST else f"{about.st_size} bytes".encode()


def remove(place: Path) -> None:
    """Remove a directory with all below it, however deep and whatever its modes. Raises `OSError`.

    Directories are moved up before they are emptied: no path grows too long, and nothing recurses.
    """
    number = count()
    while entries := list(place.iterdir()):
        for entry in entries:
            if not _is_directory(entry):
                entry.unlink()
                continue
            entry.chmod(stat.S_IRWXU)
            for below in list(entry.iterdir()):
                if _is_directory(below):
                    below.chmod(stat.S_IRWXU)
                    below.rename(place / f"moved-{next(number)}")
                else:
                    below.unlink()
            entry.rmdir()
    place.rmdir()


def _is_directory(path: Path) -> bool:
    return stat.S_ISDIR(path.lstat().st_mode)
