"""Reads the data files that are part of the package, as an import reads its modules: rooms that read nothing themselves have their tables from here."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar, get_args, get_origin

import msgspec

from ..errors import ConfigError

T = TypeVar("T")
HINT = "a file of the program was changed or damaged; install it again"


def read_data_file(name: str, kind: type[T]) -> T:
    """The content of a data file of the package (`safety/tables/git.json`), checked against `kind`. Reads a few kilobytes from the disk.

    Raises `ConfigError` that names the file, the row and what is wrong in it.
    """
    if not name.endswith(".json") or name.startswith("/") or ".." in name:
        raise ValueError(f"{name!r} names no data file of the package")
    path = os.path.join(os.path.dirname(os.path.dirname(__file__)), name)  # noqa: PTH118, PTH120 -- pathlib costs start-up time
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return decode_table(name, file.read(), kind)
    except OSError as error:
        raise ConfigError(f"{name} cannot be read: {error.strerror}", hint=HINT) from error


def decode_table(name: str, data: bytes, kind: type[T]) -> T:
    """The table in `data`. Raises `ConfigError` like `read_data_file`."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$")
        raw = msgspec.json.decode(data)
        row = "/".join(_keys(raw, kind)) or _row(raw, path.rstrip("`"))
        raise damaged(name, row, what[:1].lower() + what[1:]) from error
    except msgspec.DecodeError as error:
        found = re.search(r"\(byte (\d+)\)", str(error))
        line = data.count(b"\n", 0, int(found.group(1))) + 1 if found is not None else data.count(b"\n") + 1
        raise damaged(name, f"line {line}", str(error)) from error


def by_name(name: str, rows: Iterable[T], names: Callable[[T], Iterable[str]]) -> dict[str, T]:
    """The rows of a table under each of their names. Raises `ConfigError` where two rows have the same one."""
    found: dict[str, T] = {}
    for row in rows:
        for each in names(row):
            if each in found:
                raise damaged(name, each, "two rows have this name")
            found[each] = row
    return found


def damaged(name: str, row: str, what: str) -> ConfigError:
    """The error for a row of a data file."""
    return ConfigError(f"{name}, {row}: {what}" if row else f"{name}: {what}", hint=HINT)


def _keys(data: Any, kind: Any) -> Iterator[str]:
    """In a map of rows, or of maps of them, the keys down to the one that does not fit: msgspec does not name them."""
    if get_origin(kind) is dict and isinstance(data, dict):
        inner = get_args(kind)[1]
        for key, value in data.items():
            try:
                msgspec.convert(value, inner)
            except msgspec.ValidationError:
                yield key
                yield from _keys(value, inner)
                return


def _row(data: Any, path: str) -> str:
    """Where in the file an error is: the place as a path, with the first value of the row that it belongs to, which is its name."""
    row = ""
    for step in re.finditer(r"\.(\w+)|\[(\d+)\]", path):
        try:
            data = data[int(step.group(2))] if step.group(2) else data[step.group(1)]
        except (KeyError, IndexError, TypeError):  # the path ends at what is missing
            break
        if isinstance(data, Mapping) and data:
            first = next(iter(data.values()))
            row = msgspec.json.encode(first).decode() if isinstance(first, (str, list)) else row
    shown = row if len(row) <= 60 else row[:60] + "…"
    return f"{path.lstrip('.')} ({shown})" if row else path.lstrip(".")
