"""`UNDO`: the capability that brings the commands `undo`, `redo` and `diff`, their settings, and the events of what calls changed."""

from typing import Annotated, Any

import msgspec

from ...capability import Capability, Verb
from ...plugins import load
from ..capability_context import BuiltInContext
from .undo_events import KINDS, UndoSettings

TurnNumber = Annotated[int, msgspec.Meta(ge=1, le=2**31)]


def _verbs(context: BuiltInContext) -> Any:
    return load("undo.verbs")(context, context.home.changes, context.home.policy.allowed_paths)


async def undo(context: BuiltInContext, turn: TurnNumber | None = None, *, file: str | None = None, session: str | None = None) -> Any:
    """Bring back what a turn changed; without `turn` the newest that changed something. Raises `UsageError`, `SessionBusy`."""
    return await _verbs(context).undo(turn, file, session)


async def redo(context: BuiltInContext, *, file: str | None = None, session: str | None = None) -> Any:
    """Take back the newest undo. Raises `SessionBusy`."""
    return await _verbs(context).redo(file, session)


async def diff(context: BuiltInContext, turn: TurnNumber | None = None, *, file: str | None = None, session: str | None = None) -> Any:
    """What a turn changed, as it stands now; without `turn` the newest that changed something. Raises `UsageError`."""
    return await _verbs(context).diff(turn, file, session)


_HELP = {
    "turn": "the turn, by its number; else the newest that changed something",
    "file": "only this file, or what is below this directory",
    "session": "the session, or a unique beginning of its name; else the newest of this workspace",
}
_SPELLED = {"file": "--file PATH", "session": "--session ID"}
_REDO = {name: text for name, text in _HELP.items() if name != "turn"}


def _whole(report: Any) -> bool:
    return not report["left"]


UNDO = Capability(
    name="undo",
    summary="what turns changed, taken back",
    settings=UndoSettings,
    events=KINDS,
    verbs=(
        Verb(
            name="undo",
            summary="Bring back the files that a turn changed, those of its commands too.",
            run=undo,
            example="neuralclaw undo 3 --file src",
            help=_HELP,
            spelled=_SPELLED,
            render=lambda value: load("undo.report")(value),
            succeeded=_whole,
            begins_no_turn=True,
        ),
        Verb(
            name="redo",
            summary="Take back the newest undo.",
            run=redo,
            example="neuralclaw redo",
            help=_REDO,
            spelled=_SPELLED,
            render=lambda value: load("undo.report")(value),
            succeeded=_whole,
            begins_no_turn=True,
        ),
        Verb(
            name="diff",
            summary="What a turn changed in files.",
            run=diff,
            example="neuralclaw diff 3",
            help=_HELP,
            spelled=_SPELLED,
            render=lambda value: load("undo.diff")(value),
            reads=True,
        ),
    ),
)
