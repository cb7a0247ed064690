"""`backup`: a copy of a home beside running processes, verified before it has its name."""

import fcntl
import os
import re
import shutil

import msgspec
from anyio.to_thread import run_sync

from ..._version import __version__
from ...config import absolute, state_directory
from ...errors import StoreError, UsageError
from ...plugins import load
from ...sandbox.program_lookup import beneath
from ...store.database_copy import check_record, copy_database
from ...store.sqlite import SqliteStore
from ...types.entries import rfc3339
from ..capabilities import capabilities_of
from ..capability_context import BuiltInContext
from .backup_manifest import FILE, FORMAT, HOME, VERSION, BackupManifest, RecordState, SavedFile, SavedFolder, encoded
from .home_files import DATABASE, LEFT_OUT, TOLD, check_files, copy_entry, entries, read_back, sync_folder

PLACE = "backups"
"""The directory of a home where backups are made that are given no other."""
_UNFINISHED = re.compile(r"\.\d{8}T\d{6}Z(-\d+)?\.unfinished")


class NotIncluded(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a backup does not hold, and why."""

    path: str
    why: str


class BackupReport(msgspec.Struct, frozen=True, kw_only=True):
    """A backup that was made. `ok`: the record in it is whole; else `why` not. `bytes`: of all files."""

    backup: str
    created: str
    files: int
    bytes: int
    records: int
    head: str
    ok: bool
    why: str
    not_included: tuple[NotIncluded, ...]


async def back_up(context: BuiltInContext, place: str | None) -> BackupReport:
    """Copy the home into a new directory below `place`, verify the copy, and give it its name.

    What was written when it began is in it. Raises `StoreError` where it could not be made; then nothing is left of it.
    """
    home, env = context.loaded.home, context.loaded.env
    target = absolute(place, env.get("HOME", ""), os.getcwd()) if place is not None else os.path.join(home, PLACE)  # noqa: PTH109, PTH118
    if place is not None and _inside(target, home) and not _inside(target, os.path.join(home, PLACE)):  # noqa: PTH118
        raise UsageError(f"{target} is in the home itself; nothing was copied", hint="name a directory outside it, best on another disk")
    created = rfc3339(round(context.clock.now() * 1_000_000))
    making = _Backup(home, target, created)
    try:
        await run_sync(making.copy)
        record = await verified(making.files, context)
        manifest = await run_sync(making.sign, record)
    except BaseException as error:
        await run_sync(making.discard)
        if isinstance(error, OSError):
            raise StoreError(f"the backup could not be written to {target}: {error.strerror or error}; nothing is left of it", hint=_HINT) from error
        raise
    told = await run_sync(_not_included, context, making.skipped)
    size = sum(file.size for file in manifest.files)
    files = len(manifest.files)
    return BackupReport(
        backup=making.path, created=created, files=files, bytes=size, records=record.records, head=record.head, ok=record.ok, why=record.why, not_included=told
    )


_HINT = "make room, or name another directory: neuralclaw backup DIR"


async def verified(folder: str, context: BuiltInContext) -> RecordState:
    """Verify the record in a copy of a home, which is only read. Raises `StoreError` where it cannot be read at all."""
    capabilities = capabilities_of(context.loaded)
    async with await SqliteStore.open(folder, clock=context.clock, codec=capabilities.codec, tables=capabilities.tables(), readonly=True) as store:
        report = await store.verify()
    bad = report.bad
    return RecordState(ok=bad is None, records=report.records, head=report.head, why="" if bad is None else f"record {bad.record}: {bad.why}")


class _Backup:
    """One backup on its way. The directory is locked while it is written: one that is not was left by a process that was killed."""

    def __init__(self, home: str, place: str, created: str) -> None:
        self._home, self._place, self._created = home, place, created
        self._name = compact_time(created)
        self._folder, self._fd = "", -1
        self._saved: list[SavedFile] = []
        self._folders: list[SavedFolder] = []
        self.path = ""
        self.skipped: list[str] = []

    @property
    def files(self) -> str:
        """The directory of the copy."""
        return os.path.join(self._folder, HOME)  # noqa: PTH118

    def copy(self) -> None:
        """Copy the record, then the files: what the record names is there before it is recorded."""
        check_record(self._home)
        os.makedirs(self._place, mode=0o700, exist_ok=True)  # noqa: PTH103
        self._sweep()
        self._begin()
        os.mkdir(self.files, 0o700)  # noqa: PTH102
        copy_database(self._home, self.files)
        for path, status in entries(self._home):
            saved = copy_entry(self._home, self.files, path, status)
            if isinstance(saved, SavedFile):
                self._saved.append(saved)
            elif saved is not None:
                self._folders.append(saved)
            else:
                self.skipped.append(path)
        check_files(self.files, tuple(self._saved), f"the copy in {self._place}")
        self._saved.append(read_back(self.files, DATABASE))
        for folder in (*(os.path.join(self.files, one.path) for one in reversed(self._folders)), self.files):  # noqa: PTH118
            sync_folder(folder)

    def sign(self, record: RecordState) -> BackupManifest:
        """Write the manifest, and give the backup its name."""
        manifest = BackupManifest(
            format=FORMAT,
            version=VERSION,
            created=self._created,
            program=__version__,
            home=self._home,
            record=record,
            folders=tuple(self._folders),
            files=tuple(self._saved),
        )
        with open(os.open(os.path.join(self._folder, FILE), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:  # noqa: PTH118, PTH123
            file.write(encoded(manifest))
            file.flush()
            os.fsync(file.fileno())
        sync_folder(self._folder)
        self.path = free_name(self._place, self._name)
        os.rename(self._folder, self.path)  # noqa: PTH104
        self._folder = ""
        sync_folder(self._place)
        self._unlock()
        return manifest

    def discard(self) -> None:
        """Remove what was written of it."""
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._unlock()

    def _begin(self) -> None:
        number = 1
        while not self._folder:
            path = os.path.join(self._place, f".{self._name}-{number}.unfinished")  # noqa: PTH118
            try:
                os.mkdir(path, 0o700)  # noqa: PTH102
            except FileExistsError:
                number += 1
                continue
            self._fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(self._fd, fcntl.LOCK_EX)
            self._folder = path

    def _unlock(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def _sweep(self) -> None:
        """Remove backups that were interrupted."""
        for name in filter(_UNFINISHED.fullmatch, os.listdir(self._place)):  # noqa: PTH208
            path = os.path.join(self._place, name)  # noqa: PTH118
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path)
            except BlockingIOError:
                continue
            finally:
                os.close(fd)


def compact_time(moment: str) -> str:
    """A time of RFC 3339 as a name of a directory: `20261124T120000Z`."""
    return re.sub(r"\.\d+|[-:]", "", moment)


def free_name(place: str, name: str) -> str:
    """The path of that name in a directory, with a number behind it where it is taken."""
    path, number = os.path.join(place, name), 1  # noqa: PTH118
    while os.path.lexists(path):
        number += 1
        path = os.path.join(place, f"{name}-{number}")  # noqa: PTH118
    return path


def _inside(path: str, folder: str) -> bool:
    return beneath(os.path.realpath(path), os.path.realpath(folder))


def _not_included(context: BuiltInContext, skipped: list[str]) -> tuple[NotIncluded, ...]:
    """What a person could miss in the backup."""
    loaded = context.loaded
    home, state = loaded.home, state_directory(loaded.env)
    found = [(os.path.join(home, name), LEFT_OUT[name]) for name in TOLD if os.path.exists(os.path.join(home, name))]  # noqa: PTH110, PTH118
    found += [(os.path.join(home, name), "neither a file nor a directory") for name in skipped]  # noqa: PTH118
    if loaded.file and not _inside(loaded.file, home):
        found.append((loaded.file, "the configuration is outside the home"))
    store = load("secrets.store")(home, loaded.env)
    if store.exists():
        found.append((store.key_place(), "opens the secret store: keep it apart from the backup, and keep it"))
    if state and os.path.isdir(state):  # noqa: PTH112
        found.append((state, "anchors of the record, which must not lie beside it"))
    return tuple(NotIncluded(path=path, why=why) for path, why in found)
