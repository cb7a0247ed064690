"""`BACKUP`: the capability that brings the commands `backup` and `restore`."""

from typing import Any

from ...capability import Capability, Verb
from ...plugins import load
from ..capability_context import BuiltInContext
from .backup_events import KINDS


async def make_backup(context: BuiltInContext, place: str | None = None) -> Any:
    """Copy the home beside running processes, and verify the copy. Raises `StoreError` where it could not be made, `UsageError` for a place in the home."""
    return await load("backup.make")(context, place)


async def restore_backup(context: BuiltInContext, backup: str | None = None) -> Any:
    """Bring the home to what a backup holds; what was there is set aside. Raises `StoreError`, with the home as it was, and `UsageError`."""
    return await load("backup.restore")(context, backup)


BACKUP = Capability(
    name="backup",
    summary="verified copies of the home",
    events=KINDS,
    verbs=(
        Verb(
            name="backup",
            summary="Copy the home, beside running processes too, and verify the copy.",
            run=make_backup,
            example="neuralclaw backup /mnt/disk/neuralclaw",
            help={"place": "the directory in which a new one is made for the backup; else the home's own directory backups"},
            spelled={"place": "DIR"},
            render=lambda value: load("backup.made")(value),
            succeeded=lambda report: bool(report["ok"]),
            in_chat=False,
            needs="settings",
        ),
        Verb(
            name="restore",
            summary="Bring the home to what a backup holds; what was there before is kept beside it.",
            run=restore_backup,
            example="neuralclaw restore /mnt/disk/neuralclaw/20261124T120000Z",
            help={"backup": "the directory that backup printed; without it, a restore that was interrupted is finished"},
            spelled={"backup": "BACKUP"},
            render=lambda value: load("backup.restored")(value),
            in_chat=False,
            needs="settings",
        ),
    ),
)
