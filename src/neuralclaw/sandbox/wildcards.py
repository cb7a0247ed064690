"""The files that a path with wildcards means, as a shell would find them."""

import fnmatch
import os
import re
import stat
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice

WILD = frozenset("*?[")
MOST = 2_000
"""Names that are found for one path; of one that means more it is not known what it means."""


class TooManyFound(Exception):
    """A path with wildcards means more than `MOST` files."""


def is_wild(path: str) -> bool:
    return not WILD.isdisjoint(path)


def expanded(path: str) -> list[str]:
    """What is there by these names, through links on the way. A set in brackets counts as any character. Raises `TooManyFound`."""
    found = [""]
    parts = path.split("/")[1:]
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        if is_wild(part):
            names = (f"{place}/{name}" for place in found for name in _names(place or "/", part, directories=not last))
            found = list(islice(names, MOST + 1))
        else:
            found = [f"{place}/{part}" for place in found]
        if len(found) > MOST:
            raise TooManyFound(path)
    return [place for place in found if os.path.lexists(place.rstrip("/") or "/")]


def _names(directory: str, pattern: str, *, directories: bool) -> Iterator[str]:
    """Names in the directory that fit; a name that begins with a point only where the pattern does."""
    fits = _fitting(pattern)
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if fits(entry.name) and (pattern[0] == "." or entry.name[0] != ".") and not (directories and not _may_hold(entry)):
                    yield entry.name
    except OSError:
        return


def _may_hold(entry: "os.DirEntry[str]") -> bool:
    try:
        return stat.S_ISDIR(entry.stat().st_mode)
    except OSError:
        return False


@lru_cache(maxsize=64)
def _fitting(pattern: str) -> Callable[[str], object]:
    """Whether a name fits one part of a path."""
    tokens = re.findall(r"\*+|\?|\[[!^]?\]?[^\]]*\]|.", pattern, re.DOTALL)
    plain = "".join("*" if token[0] == "*" else "?" if token[0] == "[" and len(token) > 1 else "[[]" if token == "[" else token for token in tokens)
    return re.compile(fnmatch.translate(plain)).match
