"""What is recorded of backups: that the home was restored from one."""

from ...capability import Body, EventKind


class HomeRestored(Body, frozen=True, kw_only=True, tag="backup.restored"):
    """The home was restored from a backup that was made at `created`, with a record of so many `records`, the last of hash `head`. `replaced`: where what was
    there before lies, "" where nothing was."""

    by: str
    backup: str
    created: str
    records: int
    head: str
    replaced: str = ""


def _sentence(body: HomeRestored) -> str:
    kept = f"; what was there before is in {body.replaced}" if body.replaced else ""
    return f"{body.by} restored the home from {body.backup}, made {body.created} with {body.records} records{kept}"


KINDS = (EventKind(body=HomeRestored, sentence=_sentence),)
