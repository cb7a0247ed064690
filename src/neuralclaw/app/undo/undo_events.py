"""The settings of undo, and the events that it records."""

from typing import Annotated, Any, Literal

import msgspec

from ...capability import Body, EventKind

SHOWN = 20
"""Paths that an event names itself; all of them stand in the list that it names by its digest."""
SANDBOX = "sandbox"
"""Who undoes a line of git whose places were put back."""
VERBS = ("undo", "redo")
"""What changes files back, and has events of its own."""
_MOST = 1_000_000_000


class UndoSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The section `undo`."""

    keep_days: Annotated[float, msgspec.Meta(gt=0, le=36_500)] = 14.0
    """Days that what a turn changed can be undone."""
    max_mb: Annotated[int, msgspec.Meta(ge=1, le=_MOST)] = 5_000
    """Megabytes that all that is kept may take; what is oldest goes first, and nothing of the last hour.

    Of the workspace and the allowed paths together 45 % of it are kept at most; commands that may write more than that ask.
    """
    max_file_mb: Annotated[int, msgspec.Meta(ge=1, le=_MOST)] = 50
    """A larger file is not kept: commands where there is one ask."""
    max_workspace_mb: Annotated[int, msgspec.Meta(ge=1, le=_MOST)] = 1_000
    """Megabytes of files that are kept of one workspace; what is beyond is not kept."""
    max_files: Annotated[int, msgspec.Meta(ge=1, le=_MOST)] = 100_000
    """Files and directories that are looked at in one workspace."""


class ChangesSaved(Body, frozen=True, kw_only=True, tag="undo.saved"):
    """What a call changed. `changes`: SHA-256 of the list, which undo keeps as long as the contents; "" where it could not be saved.

    `paths`: the first of them.
    `not_kept`: what undo cannot bring back, the first of it with the reason, where the call might have changed it. `interrupted`: the process ended, or the
    disk was full, before what the call changed was on record. `unseen`: of `not_kept` the places that nobody looked at, each with the reason.
    """

    call_id: str
    tool: str
    changes: str
    created: int = 0
    changed: int = 0
    deleted: int = 0
    paths: tuple[str, ...] = ()
    not_kept: tuple[str, ...] = ()
    not_kept_count: int = 0
    interrupted: bool = False
    unseen: tuple[tuple[str, str], ...] = ()
    top: str = ""
    """The deepest directory that holds all that was changed."""


class UndoBegun(Body, frozen=True, kw_only=True, tag="undo.begun"):
    """An undo, or redo, of the turn of this entry begins. `undo_id`: its name; of a redo that of the undo that it takes back is `reverts`.

    `changes`: SHA-256 of the list of what shall be changed. `whole`: an undo of all that the turn changed, not of one file. `paths`: where the sandbox undoes
    a line of git (`by`), the first of them, without those of the repository itself.
    """

    undo_id: str
    kind: Literal["undo", "redo"]
    changes: str
    count: int
    reverts: str = ""
    by: str = ""
    whole: bool = False
    paths: tuple[str, ...] = ()


class UndoDone(Body, frozen=True, kw_only=True, tag="undo.done"):
    """The undo or redo `undo_id` ended. `left`: SHA-256 of the list of the paths that were left as they are; "" for none."""

    undo_id: str
    kind: Literal["undo", "redo"]
    restored: int
    left: str = ""
    left_count: int = 0


def _saved(body: ChangesSaved) -> str:
    counts = [(count, word) for count, word in ((body.created, "created"), (body.changed, "changed"), (body.deleted, "deleted")) if count]
    said = ", ".join(f"{count} {'' if at else 'path ' if count == 1 else 'paths '}{word}" for at, (count, word) in enumerate(counts))
    said = f"{body.tool}: {said}" if said else f"{body.tool} changed no file that undo watches"
    if body.interrupted:
        said += ", recorded later"
    if body.not_kept_count:
        said += f"; undo cannot bring back {body.not_kept[0]}" + (f" and {body.not_kept_count - 1} more" if body.not_kept_count > 1 else "")
    return said


def _begun(body: UndoBegun) -> str:
    if body.by == SANDBOX:
        names = ", ".join(body.paths[:3]) + (" and others" if body.count > 3 else "")
        return f"what changed while a line of git ran is undone ({body.count} paths: {names}); neuralclaw redo --file PATH brings one back"
    return f"{body.kind} of {body.count} {'path' if body.count == 1 else 'paths'} begins"


def _done(body: UndoDone) -> str:
    left = f"; {body.left_count} left as they are" if body.left_count else ""
    return f"{body.kind}: {body.restored} {'path' if body.restored == 1 else 'paths'} brought back{left}"


def _kind(body: type[Body], sentence: Any) -> EventKind:
    return EventKind(body=body, sentence=sentence)


KINDS = (_kind(ChangesSaved, _saved), _kind(UndoBegun, _begun), _kind(UndoDone, _done))
