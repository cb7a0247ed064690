"""The files of a home that a backup holds, copied with their digests."""

import os
import stat
from collections.abc import Iterator
from hashlib import sha256

from ...errors import StoreError
from .backup_manifest import SavedFile, SavedFolder

DATABASE = "neuralclaw.db"
LEFT_OUT = {
    "locks": "of running processes",
    "restoring": "of a restore",
    "later_run": "of running commands",
    "backups": "other backups",
    "logs": "logs",
    "models": "model files, which can be fetched again",
    "capabilities.json": "a cache",
}
"""Names in a home that a backup does not hold, and what is there. A restore leaves them as they are."""
TOLD = ("logs", "models")
"""Those of them that a person is told of."""
_CHUNK = 1 << 20


def is_left_out(name: str) -> bool:
    """Whether a name in a home is none that a backup holds. The database and its log are copied by SQLite."""
    return name in LEFT_OUT or name.startswith(f"{DATABASE}-") or name.endswith(".new")


def entries(folder: str, below: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """(path below the home, status) of everything of a home that a backup holds but the database, directories before what is in them.

    What vanishes meanwhile is passed over.
    """
    for name in sorted(os.listdir(os.path.join(folder, below) if below else folder)):  # noqa: PTH118, PTH208
        if not below and (is_left_out(name) or name == DATABASE):
            continue
        path = f"{below}/{name}" if below else name
        try:
            status = os.lstat(os.path.join(folder, path))  # noqa: PTH118
        except FileNotFoundError:
            continue
        yield path, status
        if stat.S_ISDIR(status.st_mode):
            try:
                yield from entries(folder, path)
            except FileNotFoundError:
                continue


def copy_entry(source: str, target: str, path: str, status: os.stat_result) -> SavedFile | SavedFolder | None:
    """Copy a file, a link or the directory itself from one folder to another; None for what is neither, or has vanished. Raises `OSError`."""
    old, new = os.path.join(source, path), os.path.join(target, path)  # noqa: PTH118
    mode = stat.S_IMODE(status.st_mode) & 0o777
    if stat.S_ISDIR(status.st_mode):
        os.mkdir(new, mode | 0o700)  # noqa: PTH102
        os.chmod(new, mode | 0o700)  # noqa: PTH101
        return SavedFolder(path=path, mode=mode | 0o700)
    try:
        if stat.S_ISLNK(status.st_mode):
            os.symlink(link := os.readlink(old), new)  # noqa: PTH115, PTH211
            return SavedFile(path=path, link=link)
        if not stat.S_ISREG(status.st_mode):
            return None
        reading = os.open(old, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        size, digest = _copied(reading, new, mode)
    finally:
        os.close(reading)
    return SavedFile(path=path, size=size, mode=mode, sha256=digest)


def _copied(reading: int, new: str, mode: int) -> tuple[int, str]:
    """Write what is read to a new file and sync it; how many bytes, and their digest."""
    digest, size = sha256(), 0
    writing = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        while piece := os.read(reading, _CHUNK):
            digest.update(piece)
            size += len(piece)
            while piece:
                piece = piece[os.write(writing, piece) :]
        os.fchmod(writing, mode)
        os.fsync(writing)
    finally:
        os.close(writing)
    return size, digest.hexdigest()


def read_back(folder: str, path: str) -> SavedFile:
    """A file or link as it is on the disk. Raises `OSError`."""
    whole = os.path.join(folder, path)  # noqa: PTH118
    status = os.lstat(whole)
    if stat.S_ISLNK(status.st_mode):
        return SavedFile(path=path, link=os.readlink(whole))  # noqa: PTH115
    digest, size = sha256(), 0
    fd = os.open(whole, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)  # from the disk, not from memory, where the system goes along
        while piece := os.read(fd, _CHUNK):
            digest.update(piece)
            size += len(piece)
    finally:
        os.close(fd)
    return SavedFile(path=path, size=size, mode=stat.S_IMODE(status.st_mode) & 0o777, sha256=digest.hexdigest())


def check_files(folder: str, files: tuple[SavedFile, ...], where: str) -> None:
    """Compare files and links with what is known of them. Raises `StoreError`, which names the first that differs; `where` begins its sentence."""
    for file in files:
        try:
            found = read_back(folder, file.path)
        except OSError as error:
            raise StoreError(f"{where} cannot be read: {file.path}: {error.strerror}; nothing was changed", hint="restore another backup") from error
        if (found.size, found.sha256, found.link) != (file.size, file.sha256, file.link):
            raise StoreError(f"{where} is damaged: {file.path} is not as it was written; nothing was changed", hint="restore another backup")


def sync_folder(path: str) -> None:
    """Bring the names in a directory to the disk. Raises `OSError`."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
