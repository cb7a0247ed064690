"""Opening the database of a home: checks, modes, pragmas, and SQLite's errors in our words."""

import errno
import fcntl
import os
import resource
import sqlite3
import stat
import time

from ..errors import StoreError
from .bodies import stored_text
from .migrations import VERSION, migrate

NAME = "neuralclaw.db"
NETWORK = frozenset("nfs nfs4 cifs smb3 smbfs afs ceph glusterfs lustre ncpfs gfs2 ocfs2 beegfs fuse.sshfs fuse.glusterfs fuse.s3fs fuse.rclone".split())
"""File system types (third field of /proc/mounts) on which neither locks nor shared memory of SQLite can be relied on."""


LONGEST_HOME = 490
"""Bytes of a home's path at most: SQLite takes 512 with the zero at the end, `/neuralclaw.db` and `-journal` (`os_unix.c`, `MAX_PATHNAME`)."""
_FEW = 8
"""Free descriptors without which an error of the record may be for want of one: the database, its WAL, its index, a lock, and some to spare."""


def database(home: str) -> str:
    """The path of a home's database."""
    return os.path.join(home, NAME)  # noqa: PTH118  (pathlib costs start-up time)


def store_error(error: sqlite3.Error | OSError | UnicodeDecodeError, home: str) -> StoreError:
    """What an error of SQLite or the system means to a person: what happened, what was kept, what to do. A message of SQLite that is no UTF-8 quotes a
    damaged schema."""
    name = getattr(error, "sqlite_errorname", "") or ""
    kept = "all that was recorded before is kept"
    if name.startswith("SQLITE_FULL") or (isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)):
        return StoreError(
            f"the disk of {home} is full: this step could not be recorded; {kept}",
            hint="free some space, then go on with: neuralclaw run --resume SESSION (neuralclaw sessions list --unfinished names it)",
        )
    read_only = StoreError(
        f"the record in {home} cannot be written, it is read-only; {kept}", hint="make the directory writable, or choose another with --home"
    )
    if (isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)) or (name.startswith("SQLITE_CANTOPEN") and _few_descriptors()):
        return StoreError(f"too many files are open to use the record in {home}; {kept}", hint="raise the limit, such as with: ulimit -n 1024")
    if isinstance(error, OSError):
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM) and os.path.exists(database(home)):  # noqa: PTH110
            return read_only
        return StoreError(
            f"the data home {home} cannot be used: {error.strerror or error}; nothing was changed",
            hint="check the path and its permissions, or choose another with --home",
            unusable=not os.path.isdir(home),  # noqa: PTH112
        )
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreError(f"another program keeps the record in {home} locked; {kept}", hint="end the program that has neuralclaw.db open, then try again")
    locked_out = name.startswith("SQLITE_CANTOPEN") and os.path.isdir(home) and not os.access(home, os.W_OK)  # noqa: PTH112
    if locked_out or name.startswith(("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH")):
        return read_only
    if name.startswith("SQLITE_CANTOPEN"):
        return StoreError(f"the record in {home} cannot be opened; {kept}", hint="check the permissions of the directory and of neuralclaw.db")
    if isinstance(error, UnicodeDecodeError) or name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR", "SQLITE_SCHEMA")):
        return StoreError(
            f"the record in {home} is damaged ({_said(error)}); nothing more is written to it",
            hint="keep a copy of neuralclaw.db, then restore a backup",
        )
    return StoreError(f"the record in {home} could not be written or read ({error}); {kept}", hint="check the disk and its free space, then try again")


def _few_descriptors() -> bool:
    """Whether hardly a file can be opened in this process."""
    try:
        return resource.getrlimit(resource.RLIMIT_NOFILE)[0] - len(os.listdir("/proc/self/fd")) < _FEW  # noqa: PTH208
    except OSError as error:
        return error.errno in (errno.EMFILE, errno.ENFILE)


def _said(error: Exception) -> str:
    """The words of an error, also where they are no UTF-8."""
    return error.object.decode(errors="replace") if isinstance(error, UnicodeDecodeError) else str(error)


def is_refusal(error: sqlite3.Error) -> bool:
    """Whether SQLite refuses what it was given (a value, a constraint, a statement); else something is wrong with the file or the disk."""
    return isinstance(error, (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.DataError, sqlite3.InterfaceError)) or not isinstance(
        error, sqlite3.DatabaseError
    )


def file_system(path: str, mounts: str = "/proc/self/mounts") -> str:
    """The type of the file system that `path` (absolute, real) lies on, "" where the system does not tell."""
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
            lines = file.readlines()
    except OSError:
        return ""
    best, kind = "", ""
    for line in lines:
        fields = line.split(" ")
        point = fields[1].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
        if len(point) >= len(best) and (path == point or path.startswith(point.rstrip("/") + "/")):
            best, kind = point, fields[2]
    return kind


def check_home(home: str, *, mounts: str = "/proc/self/mounts") -> None:
    """Refuse a home (an absolute path) that is no directory and cannot be made one, that may not be entered, or that lies on a network file system."""
    if wrong := _unusable(home):
        raise StoreError(f"the data home {home} {wrong}; nothing was changed", hint="choose another with --home", unusable=True)
    kind = file_system(os.path.realpath(home), mounts)
    if kind in NETWORK:
        raise StoreError(
            f"the data home {home} is on a network file system ({kind}), where locks cannot be relied on; nothing was changed",
            hint="choose a directory on a local disk with --home or NEURALCLAW_HOME",
            unusable=True,
        )


def _unusable(home: str) -> str:
    """What keeps a home from being used or made, "" where nothing does."""
    if os.path.lexists(home) and not os.path.isdir(home):  # noqa: PTH112
        return "is not a directory"
    place = home
    while not os.path.lexists(place):
        place = os.path.dirname(place)  # noqa: PTH120
    if not os.path.isdir(place):  # noqa: PTH112
        return f"cannot be used: {place} is not a directory"
    if not os.access(place, os.X_OK):
        return f"cannot be used: there is no permission to enter {place}"
    length = max(len(os.fsencode(path)) for path in (home, os.path.realpath(home)))
    if length > LONGEST_HOME:
        return f"cannot be used: its path has {length:,} bytes, and {LONGEST_HOME} is the most that SQLite takes"
    return ""


def make_home(home: str) -> None:
    """Make the home and its `locks` for the owner alone."""
    locks = os.path.join(home, "locks")  # noqa: PTH118
    for path in (home, locks):
        os.makedirs(path, mode=0o700, exist_ok=True)  # noqa: PTH103
        status = os.stat(path)  # noqa: PTH116
        if status.st_mode & 0o077 and status.st_uid == os.geteuid():
            os.chmod(path, 0o700)  # noqa: PTH101


def _make_database(home: str) -> None:
    """Make an empty database file that nobody else can read, where there is none."""
    try:
        # O_EXCL: closing any descriptor of a database that this process has open would drop SQLite's locks on it.
        os.close(os.open(database(home), os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        status = os.stat(database(home))  # noqa: PTH116
        if not stat.S_ISREG(status.st_mode):
            raise StoreError(f"{database(home)} is not a file; nothing was changed", hint="move it away, or choose another home with --home") from None


def connect(path: str, query: str, patience: float) -> sqlite3.Connection:
    """A connection in autocommit mode that any thread may use, one at a time. `patience`: seconds to wait for a lock."""
    name = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return sqlite3.connect(f"file:{name}{query}", uri=True, timeout=patience, isolation_level=None, check_same_thread=False, cached_statements=400)


def open_writer(home: str, patience: float) -> sqlite3.Connection:
    """The connection that writes: WAL, today's schema, `synchronous=NORMAL`. The database is made if it is not there."""
    _make_database(home)
    c = connect(database(home), "?mode=rw", patience)
    c.text_factory = stored_text
    try:
        c.execute("PRAGMA wal_autocheckpoint = 0")  # `write_ahead_log` does it
        version: int = c.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise StoreError(
                f"the record in {home} was written by a newer version of the program (schema {version}, this one knows {VERSION}); it was left unchanged",
                hint="install the newer version; reading commands still work",
                newer=True,
            )
        if version < VERSION:
            _upgrade(c, home, patience)
        c.execute("PRAGMA synchronous = NORMAL")
        c.execute("PRAGMA journal_size_limit = 0")  # the log's size says how much of it is in use
        c.execute("PRAGMA secure_delete = ON")  # what is erased is overwritten
    except BaseException:
        c.close()
        raise
    return c


def _upgrade(c: sqlite3.Connection, home: str, patience: float) -> None:
    """Switch to WAL and migrate while no other process does: SQLite's busy handler does not cover the switch."""
    fd = os.open(os.path.join(home, "locks", "upgrade"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)  # noqa: PTH118
    deadline = time.monotonic() + patience
    try:
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise StoreError(
                        f"another process is preparing the record in {home} and does not finish; nothing was changed", hint="end it, then try again"
                    ) from None
                time.sleep(0.002)
        c.execute("PRAGMA journal_mode = WAL")
        migrate(c)
    finally:
        fcntl.flock(fd, fcntl.LOCK_UN)  # closing alone would leave it locked in a child that was forked meanwhile
        os.close(fd)
