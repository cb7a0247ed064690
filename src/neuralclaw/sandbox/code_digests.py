"""Digests of the files that a command runs as code, looked up when it is judged and compared when it begins."""

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress

from ..errors import PermissionDeniedError
from .preimages import digest_of

READ_WHOLE = 8 * 2**20
"""Bytes up to which a file is read. A larger one is known by what the kernel says of it, which nobody can set: its inode and the time of its last change."""
SUFFIXES = frozenset(
    ".awk .bash .bat .cjs .clj .cmake .coffee .csh .dart .exs .fish .gradle .groovy .hs .ipynb .jar .jl .js .jsx .kts .lua .mjs .mk .php .pl .pm .ps1 .py .pyc"
    " .pyz .r .rb .rs .scala .sed .sh .sql .swift .tcl .ts .tsx .vim .zsh .cfg .ini .toml .yaml .yml .json .nix .go .c .cc .cpp .java".split()
)
"""Ends of names of files that programs take orders from."""


def code_digests(ran: Iterable[str], named: Iterable[str]) -> dict[str, str]:
    """SHA-256 of the regular files among `ran`, and of those among `named` that look like code: by name, by `#!`, or because they may be run."""
    found = {path: digest for path in ran if (digest := file_digest(path))}
    return found | {path: digest for path in named if path not in found and (digest := file_digest(path, only_code=True))}


def file_digest(path: str, *, only_code: bool = False) -> str:
    """What a regular file holds, through links: its SHA-256, of a large one its state. "" of what is none, or cannot be read."""
    fd = -1
    with suppress(OSError, ValueError):
        if stat.S_ISREG(os.stat(path).st_mode):
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    if fd < 0:
        return ""
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or (only_code and not _is_code(path, fd, status)):
            return ""
        if status.st_size > READ_WHOLE:
            mark = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            return hashlib.sha256(repr(mark).encode()).hexdigest()
        return digest_of(fd)
    except OSError:
        return ""
    finally:
        os.close(fd)


def _is_code(path: str, fd: int, status: os.stat_result) -> bool:
    return bool(status.st_mode & 0o111) or os.path.splitext(path)[1].lower() in SUFFIXES or os.pread(fd, 2, 0) == b"#!"


def check_code(files: Mapping[str, str]) -> None:
    """Raises `PermissionDeniedError` where a file that will be run is another one than when it was judged."""
    for path, judged in files.items():
        if file_digest(path) != judged:
            raise PermissionDeniedError(f"{path} was changed after it was judged; nothing was run", hint="call the same command again: it is judged anew")
