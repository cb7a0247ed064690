"""Digests of the files that a command runs as code, looked up when it is judged and compared when it begins."""

import hashlib
import os
import stat
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress

from ..errors import PermissionDeniedError
from .preimages import digest_of

READ_WHOLE = 8 * 2**20
"""Bytes up to which a file is read. A larger one is known by what the kernel says of it, which nobody can set: its inode and the time of its last change."""
SUFFIXES = frozenset(
    ".ac .am .awk .bash .bat .c .cc .cfg .cjs .clj .cmake .coffee .cpp .csh .dart .exs .fish .go .gradle .groovy .hs .inc .ini .ipynb .jar .java"
    " .jl .js .json .jsx .kts .lua .m4 .mak .mjs .mk .nix .php .pl .pm .ps1 .py .pyc .pyz .r .rb .rs .scala .sed .sh .sql .swift .tcl .toml .ts"
    " .tsx .txt .vim .yaml .yml .zsh".split()
)
"""Ends of names of files that programs take orders from."""
MOST_IN_A_TREE = 50_000
"""Names of files and directories that are looked at where any of them may be run: about half a second."""
CODE_IN_A_TREE = SUFFIXES - {".txt"} | {""}
"""Those that a program of the directory may load without being told: also names without an end, such as `Makefile`."""


def code_digests(ran: Iterable[str], named: Iterable[str]) -> dict[str, str]:
    """SHA-256 of the regular files among `ran`, and of those among `named` that look like code: by name, by `#!`, or because they may be run."""
    found = {path: digest for path in ran if (digest := file_digest(path))}
    return found | {path: digest for path in named if path not in found and (digest := file_digest(path, only_code=True))}


def tree_digests(directories: Iterable[str]) -> dict[str, str]:
    """The state of all code below each of these directories, under its name with a slash behind it."""
    return {name: file_digest(name) for name in (f"{place.rstrip('/')}/" for place in directories)}


def file_digest(path: str, *, only_code: bool = False) -> str:
    """What a regular file holds, through links: its SHA-256, of a large one its state. "" of what is none, or cannot be read.

    Of a name that ends with a slash: the state of all code below that directory."""
    if path.endswith("/"):
        return _tree_digest(path)
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


def _tree_digest(root: str) -> str:
    """SHA-256 of what the kernel says of each file below that may be code, which nobody can set: its inode and the time of its last change. Of links, where
    they lead. Hidden directories are left out: what runs code from them is asked about when it is written. The first `MOST_IN_A_TREE` names count, level by
    level."""
    digest = hashlib.sha256()
    places, left = deque([root]), MOST_IN_A_TREE
    while places and left > 0:
        with suppress(OSError), os.scandir(places.popleft()) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name)[:left]:
                left -= 1
                if mark := _mark(entry):
                    digest.update(repr(mark).encode(errors="surrogatepass"))
                elif not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
                    places.append(entry.path)
    return digest.hexdigest()


def _mark(entry: "os.DirEntry[str]") -> tuple[object, ...]:
    """What makes a file of code, or a link, another one; () for a directory, what holds no code, and what has gone."""
    with suppress(OSError):
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            return entry.path, os.readlink(entry.path)
        if stat.S_ISREG(status.st_mode) and (status.st_mode & 0o111 or os.path.splitext(entry.name)[1].lower() in CODE_IN_A_TREE):
            return entry.path, status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    return ()


def _is_code(path: str, fd: int, status: os.stat_result) -> bool:
    return bool(status.st_mode & 0o111) or os.path.splitext(path)[1].lower() in SUFFIXES or os.pread(fd, 2, 0) == b"#!"


def check_code(files: Mapping[str, str]) -> None:
    """Raises `PermissionDeniedError` where a file that will be run is another one than when it was judged, a moment ago. Whole trees, which take long to look
    through, are compared when the call is judged after its answer, and not once more."""
    for path, judged in files.items():
        if not path.endswith("/") and file_digest(path) != judged:
            raise PermissionDeniedError(f"{path} was changed after it was judged; nothing was run", hint="call the same command again: it is judged anew")
