"""`restore`: a home as a backup has it. What was there before is set aside, and nothing is exchanged before all of it is verified."""

import os
import shutil
from typing import Any

import msgspec
from anyio.to_thread import run_sync

from ...capability import PRIVATE
from ...config import absolute
from ...errors import StoreError, UsageError
from ...sandbox.undo.state_files import replace_file
from ...store.connection import check_home, make_home
from ...store.home_exchange import DIRECTORY, STATE, exclusive
from ...store.sqlite import SqliteStore
from ...types.entries import HOME as HOME_SESSION
from ...types.entries import Draft, rfc3339
from ..capabilities import capabilities_of
from ..capability_context import BuiltInContext
from .backup_events import HomeRestored
from .backup_manifest import HOME, BackupManifest, SavedFile, newest_backup, read_manifest
from .home_backup import PLACE, compact_time, free_name, verified
from .home_files import DATABASE, check_files, copy_entry, is_left_out, sync_folder


class RestoreReport(msgspec.Struct, frozen=True, kw_only=True):
    """A home that was restored. `replaced`: the directory, itself a home, with what was there before; "" where nothing was. `records`, `head`: of the record as
    it was verified. `unfinished`: turns that had not ended when the backup was made; `undelivered`: answers that had not arrived then. `finished`: an
    interrupted restore was brought to its end."""

    home: str
    backup: str
    created: str
    files: int
    bytes: int
    records: int
    head: str
    replaced: str
    unfinished: int
    undelivered: int
    finished: bool = False


class _ExchangeNote(msgspec.Struct, frozen=True, kw_only=True):
    """`state.json` while files are exchanged. `entering`: all that was there is set aside, what is new goes in."""

    report: RestoreReport
    entering: bool


async def restore(context: BuiltInContext, backup: str | None) -> RestoreReport:
    """Bring the home to what the backup holds, or finish a restore that was interrupted.

    Raises `UsageError` without a backup where none was interrupted, and `StoreError` where the backup is damaged, where a process has the home open, and
    where it could not be written: then the home is as it was.
    """
    home, env = context.loaded.home, context.loaded.env
    check_home(home)
    source = absolute(backup, env.get("HOME", ""), os.getcwd()) if backup is not None else ""  # noqa: PTH109
    manifest = await run_sync(read_manifest, source) if source else None
    try:
        await run_sync(make_home, home)
        with exclusive(home):
            finished = await run_sync(_finished, home)
            if manifest is None or (finished is not None and finished.backup == source):
                if finished is None:
                    raise UsageError("restore requires BACKUP, the directory of a backup; nothing was changed", hint=_newest(home))
                return finished
            return await _restored(context, home, source, manifest)
    except OSError as error:
        text = f"{home} could not be restored: {error.strerror or error}; what was there is kept"
        raise StoreError(text, hint="make room, then run the same command again") from error


def _newest(home: str) -> str:
    newest = newest_backup(os.path.join(home, PLACE))  # noqa: PTH118
    return f"the newest here: neuralclaw restore {newest}" if newest else "neuralclaw backup makes one"


async def _restored(context: BuiltInContext, home: str, source: str, manifest: BackupManifest) -> RestoreReport:
    """Prepare everything beside the home, then exchange it."""
    if not manifest.record.ok:
        raise StoreError(f"the record in {source} is not whole ({manifest.record.why}); nothing was changed", hint="restore another backup")
    folder = os.path.join(home, DIRECTORY)  # noqa: PTH118
    new = os.path.join(folder, HOME)  # noqa: PTH118
    try:
        await run_sync(_prepare, source, new, manifest)
        record = await verified(new, context)
        if not record.ok or (record.records, record.head) != (manifest.record.records, manifest.record.head):
            why = record.why or "it is another record than the manifest says"
            raise StoreError(f"the record in {source} is damaged ({why}); nothing was changed", hint="restore another backup")
        now = rfc3339(round(context.clock.now() * 1_000_000))
        report = RestoreReport(
            home=home,
            backup=source,
            created=manifest.created,
            files=len(manifest.files),
            bytes=sum(file.size for file in manifest.files),
            records=record.records,
            head=record.head,
            replaced=free_name(os.path.join(home, PLACE), f"replaced-{compact_time(now)}") if _replaced_names(home) else "",  # noqa: PTH118
            unfinished=0,
            undelivered=0,
        )
        report = await _recorded(context, new, report)
    except BaseException:
        await run_sync(lambda: shutil.rmtree(folder, ignore_errors=True))
        raise
    return await run_sync(_exchange, home, report)


def _prepare(source: str, new: str, manifest: BackupManifest) -> None:
    """Copy the files of the backup beside the home, and compare them with the manifest."""
    shutil.rmtree(os.path.dirname(new), ignore_errors=True)  # noqa: PTH120
    os.makedirs(new, mode=0o700)  # noqa: PTH103
    old = os.path.join(source, HOME)  # noqa: PTH118
    for folder in manifest.folders:
        os.mkdir(os.path.join(new, folder.path), folder.mode)  # noqa: PTH102, PTH118
    known = {file.path: file for file in manifest.files}
    for file in manifest.files:
        try:
            status = os.lstat(os.path.join(old, file.path))  # noqa: PTH118
            saved = copy_entry(old, new, file.path, status)
        except OSError as error:
            if error.filename is None or not str(error.filename).startswith(old):
                raise
            raise _damaged(source, file.path, error.strerror or str(error)) from error
        if not isinstance(saved, SavedFile) or (saved.size, saved.sha256, saved.link) != (file.size, file.sha256, file.link):
            raise _damaged(source, file.path, "it is not as it was written")
        if not file.link:
            os.chmod(os.path.join(new, file.path), file.mode)  # noqa: PTH101, PTH118
    if DATABASE not in known:
        raise _damaged(source, DATABASE, "it is not there")
    check_files(new, manifest.files, f"the copy in {new}")
    for path in (*(os.path.join(new, one.path) for one in reversed(manifest.folders)), new, os.path.dirname(new)):  # noqa: PTH118, PTH120
        sync_folder(path)


def _damaged(source: str, path: str, why: str) -> StoreError:
    return StoreError(f"the backup {source} is damaged: {path}: {why}; nothing was changed", hint="restore another backup")


async def _recorded(context: BuiltInContext, new: str, report: RestoreReport) -> RestoreReport:
    """Bring the copy to today's schema, and put on record there that it is what the home goes on with."""
    capabilities = capabilities_of(context.loaded)
    async with await SqliteStore.open(new, clock=context.clock, codec=capabilities.codec, tables=capabilities.tables()) as store:
        unfinished = sum(row.state == "unfinished" for row in await store.sessions(unfinished=True))
        undelivered = await store.rows("outbox", {"state": "pending"})
        body = HomeRestored(by=context.who, backup=report.backup, created=report.created, records=report.records, head=report.head, replaced=report.replaced)
        await store.append(HOME_SESSION, [Draft(0, body, PRIVATE)])
        await store.barrier()
    return msgspec.structs.replace(report, unfinished=unfinished, undelivered=len(undelivered))


def _exchange(home: str, report: RestoreReport) -> RestoreReport:
    """Set aside what is there and bring in what is new; each step is a rename, and a restore that is interrupted is gone on with from here."""
    _note(home, _ExchangeNote(report=report, entering=False))
    return _set_aside(home, report)


def _set_aside(home: str, report: RestoreReport) -> RestoreReport:
    if report.replaced:
        os.makedirs(report.replaced, mode=0o700, exist_ok=True)  # noqa: PTH103
        for name in _replaced_names(home):
            os.rename(os.path.join(home, name), os.path.join(report.replaced, name))  # noqa: PTH104, PTH118
        sync_folder(report.replaced)
        sync_folder(os.path.dirname(report.replaced))  # noqa: PTH120
    sync_folder(home)
    _note(home, _ExchangeNote(report=report, entering=True))
    return _enter(home, report)


def _replaced_names(home: str) -> list[str]:
    """What a restore replaces: first the database, so that nobody reads it without its log, then the log and the rest."""
    names = [name for name in os.listdir(home) if not is_left_out(name) or name.startswith(DATABASE)]  # noqa: PTH208
    return sorted(names, key=lambda name: (not name.startswith(DATABASE), len(name), name))


def _enter(home: str, report: RestoreReport) -> RestoreReport:
    folder = os.path.join(home, DIRECTORY)  # noqa: PTH118
    new = os.path.join(folder, HOME)  # noqa: PTH118
    for name in _replaced_names(new) if os.path.isdir(new) else []:  # noqa: PTH112
        os.replace(os.path.join(new, name), os.path.join(home, name))  # noqa: PTH105, PTH118
    sync_folder(home)
    os.unlink(os.path.join(folder, STATE))  # noqa: PTH108, PTH118
    sync_folder(folder)
    shutil.rmtree(folder, ignore_errors=True)
    return report


def _note(home: str, exchange: _ExchangeNote) -> None:
    """Write how far the exchange is, in one step that a power cut does not tear."""
    folder = os.path.join(home, DIRECTORY)  # noqa: PTH118
    path = os.path.join(folder, STATE)  # noqa: PTH118
    replace_file(path, msgspec.json.encode(exchange), sync=True)
    sync_folder(folder)
    sync_folder(home)


def _finished(home: str) -> RestoreReport | None:
    """Go on with a restore that was interrupted while it exchanged the files; remove what one left that was not so far."""
    folder = os.path.join(home, DIRECTORY)  # noqa: PTH118
    path = os.path.join(folder, STATE)  # noqa: PTH118
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            data = file.read()
    except FileNotFoundError:
        shutil.rmtree(folder, ignore_errors=True)
        return None
    try:
        found: Any = msgspec.json.decode(data, type=_ExchangeNote)
    except msgspec.MsgspecError as error:
        raise StoreError(f"{path} is damaged ({error}); nothing was changed", hint=f"the new home is in {folder}, the old one in {home}/{PLACE}") from error
    report = _enter(home, found.report) if found.entering else _set_aside(home, found.report)
    return msgspec.structs.replace(report, finished=True)
