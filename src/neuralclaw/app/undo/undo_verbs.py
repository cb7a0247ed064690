"""The verbs `undo`, `redo` and `diff` of one client."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import anyio
import msgspec
from anyio.to_thread import run_sync

from ... import lookups
from ...capability import SessionRow
from ...errors import SessionBusy, StoreError, UsageError
from ...runtime.sessions import lease_name
from ...sandbox.running_call import RunningCall
from ...sandbox.undo.path_states import REGULAR, PathChange, PathState
from ...sandbox.undo.restoring import LeftPath
from ...sandbox.undo.saved_tree import LATER_THAN_DEATH
from ...sandbox.undo.tree_scan import Stopped, why_stopped
from ...types.entries import CALLS, HOME
from ...types.events import TurnStarted
from ...types.ids import new_id
from ...types.quoted_names import one_line
from ..capability_context import BuiltInContext
from ..option_checks import RESERVED
from .change_recorder import ChangeRecorder, shown_path
from .change_text import described
from .interrupted_files import KINDS as INTERRUPTED
from .interrupted_files import interrupted_calls
from .turn_changes import NetChanges, RecordedUndo, SessionChanges, TurnChanges
from .undo_events import VERBS, UndoBegun
from .undo_run import UndoRun

PATIENCE = 2.0
"""Seconds that who ran the last turn may take to let the session go."""
_LOOK = 0.01
_EARLIER = 20
"""Sessions of a workspace, from the newest on, in which it is looked for something to undo."""
_NOT_SHOWN = "what a call changed that was interrupted, or still runs, is not shown: undo looks at it first"
_REDO = "; neuralclaw redo brings it back"
PARTED = "somebody else changed it in the meantime: only what came after that is taken back"


class LeftFile(msgspec.Struct, frozen=True):
    """A path that was left as it is, and why. `conflict`: it was changed later; else it cannot be brought back."""

    path: str
    why: str
    conflict: bool


class UndoReport(msgspec.Struct, frozen=True, kw_only=True):
    """What an undo or redo did. `turn` None: nothing was there to do, as `said` tells. `finished`: one that was interrupted before was brought to its end.

    `not_kept`: what the turn may have changed and undo cannot bring back, with the reason.
    """

    session: str | None
    turn: int | None = None
    kind: Literal["undo", "redo"]
    restored: tuple[str, ...] = ()
    left: tuple[LeftFile, ...] = ()
    not_kept: tuple[str, ...] = ()
    said: str = ""
    finished: bool = False


class FileDiff(msgspec.Struct, frozen=True, kw_only=True):
    """What a turn changed at one path, and how, in words; `diff` is a unified diff where it is text."""

    path: str
    change: str
    diff: str = ""


class TurnDiff(msgspec.Struct, frozen=True, kw_only=True):
    """What a turn changed, as it stands now. `not_kept`: what undo cannot bring back, with the reason."""

    session: str | None
    turn: int | None = None
    files: tuple[FileDiff, ...] = ()
    not_kept: tuple[str, ...] = ()
    said: str = ""


class UndoVerbs:
    """The verbs over one home, for the client of `context`."""

    def __init__(self, context: BuiltInContext, recorder: ChangeRecorder, allowed: Sequence[str]) -> None:
        self._context, self._recorder, self._allowed = context, recorder, tuple(allowed)

    async def undo(self, turn: int | None, file: str | None, session: str | None) -> UndoReport:
        """Bring back what a turn changed. Raises `UsageError` for a turn that is not there, `SessionBusy` while one runs."""
        row = await self._row(session, turn)
        if row is None:
            return UndoReport(session=None, kind="undo", said=await self._no_session())
        return await self._alone(row, lambda: self._undo(row, turn, file))

    async def redo(self, file: str | None, session: str | None) -> UndoReport:
        """Take back the newest undo that was not taken back yet."""
        row = await self._row(session)
        if row is None:
            return UndoReport(session=None, kind="redo", said=await self._no_session())
        return await self._alone(row, lambda: self._redo(row, file))

    async def diff(self, turn: int | None, file: str | None, session: str | None) -> TurnDiff:
        """What a turn changed. Raises `UsageError` for a turn that is not there."""
        row = await self._row(session, turn)
        if row is None:
            return TurnDiff(session=None, said=await self._no_session())
        found = await SessionChanges.read(self._context.store, row.session, self._recorder.kept)
        one = self._chosen(row, found, turn, file)
        said = _NOT_SHOWN if await self._unrecorded(row) else ""
        if one is None:
            what = "everything that undo can bring back was undone" if found.to_redo() else "nothing was changed"
            said = said or f"{what} in the session {row.session}{_REDO if found.to_redo() else await self._earlier(row, 'diff')}"
            return TurnDiff(session=row.session, turn=turn, said=said)
        changes = self._only(one.net()[0], file)
        files = await run_sync(described, changes, self._recorder.kept.contents, one.workspace)
        none = "" if files else self._undone(found, one, file) or _nothing(one, file, "changed nothing")
        kept = f"what turn {one.turn} changed was kept until {one.gone}" if one.gone else none
        said = "; ".join(filter(None, (kept, said)))
        return TurnDiff(session=row.session, turn=one.turn, files=tuple(FileDiff(**each) for each in files), not_kept=tuple(one.not_kept), said=said)

    def _undone(self, found: SessionChanges, one: TurnChanges, file: str | None) -> str:
        """That what the turn changed, or changed there, was undone; "" where it was not."""
        if not any(undo.turn == one.turn and self._only(list(undo.changes), file) for undo in found.undos):
            return ""
        there = found.to_redo()
        what = f"what turn {one.turn} changed{f' at {one_line(file)}' if file else ''} was undone"
        return what + (_REDO if there is not None and there[0].turn == one.turn else "")

    async def _unrecorded(self, row: SessionRow) -> bool:
        """Whether calls of the session changed something, or may have, that is not on record: they were interrupted, or still run."""
        for tree in map(self._recorder.kept.tree, await self._places(row)):
            if await run_sync(tree.interrupted, row.session):
                return True
        return bool(await run_sync(interrupted_calls, await self._context.store.read(row.session, kinds=INTERRUPTED)))

    async def _places(self, row: SessionRow) -> list[str]:
        """Where undo looks for the session: the workspaces of its turns that are there, the newest one in any case, and the allowed paths."""
        begun = await self._context.store.read(row.session, kinds=("turn.started",))
        workspaces = [row.workspace, *(entry.body.options.workspace for entry in begun if isinstance(entry.body, TurnStarted))]
        there = await run_sync(lambda: [place for place in workspaces if place and (place == workspaces[-1] or Path(place).is_dir())])
        return [*reversed(there), *self._allowed]

    async def _row(self, session: str | None, turn: int | None = None) -> SessionRow | None:
        """The session that is meant; None where the workspace has none. Raises `UsageError` where a `turn` of it was named."""
        store = self._context.store
        if session is not None:
            return await lookups.find_session(store, session)
        name = await lookups.newest(store, self._context.workspace, left_out=RESERVED)
        row = await lookups.session(store, name) if name else None
        if row is None and turn is not None:
            raise UsageError(f"there is no turn {turn}: {await self._no_session()}", hint="neuralclaw sessions list")
        return row

    async def _no_session(self) -> str:
        """That none began in this workspace; where one did in a directory above it, which."""
        workspace = Path(self._context.workspace)
        said = f"there is no session that began in {one_line(str(workspace))}"
        if await lookups.newest(self._context.store, str(workspace), left_out=(HOME,)):
            return f"{said} but the one that keeps single calls: --session {CALLS}"
        for above in workspace.parents:
            if await lookups.newest(self._context.store, str(above), left_out=RESERVED):
                return f"{said}; sessions began in {one_line(str(above))}: call it there, or name one with --session"
        return f"{said}; --session names one that began elsewhere"

    async def _earlier(self, row: SessionRow, verb: str) -> str:
        """The newest other session of its workspace that has something to undo, as the end of a sentence; "" where there is none."""
        store = self._context.store
        for name in await lookups.newest_sessions(store, row.workspace, limit=_EARLIER, left_out=(HOME,)):
            if name != row.session and (await SessionChanges.read(store, name, self._recorder.kept)).newest() is not None:
                return f"; another session of this workspace changed files: neuralclaw {verb} --session {name}"
        return ""

    async def _alone(self, row: SessionRow, work: Callable[[], Any]) -> UndoReport:
        """Do it under the session's lease: no turn runs meanwhile, and no other undo."""
        store = self._context.store
        lease = await store.acquire(lease_name(row.session))
        tries = round(PATIENCE / _LOOK)
        while lease is None and tries > 0 and (await lookups.existing_session(store, row.session)).state != "running":
            await anyio.sleep(_LOOK)  # the turn has ended, and who ran it is about to let the session go
            lease, tries = await store.acquire(lease_name(row.session)), tries - 1
        if lease is None:
            holder = await store.holder(lease_name(row.session))
            raise SessionBusy(f"the session {row.session} is busy in {holder or 'another process'}; nothing was changed", hint="wait for its end, or cancel it")
        try:
            report: UndoReport = await self._settled(row, work)
        finally:
            await store.release(lease)
        await run_sync(self._recorder.clean)
        return report

    async def _settled(self, row: SessionRow, work: Callable[[], Any]) -> UndoReport:
        """Do it once all that commands changed is on record, and let the saved states of the trees know what it changed. Raises `StoreError`."""
        places = await self._places(row)
        call = RunningCall(row.session, row.last_turn, new_id(), VERBS[0])
        try:
            await self._recorder.record_interrupted(row.session)
            async with self._recorder.undoing(call, places):
                report: UndoReport = await work()
        except (OSError, Stopped) as error:
            raise _not_settled(places[0], error) from error
        return report

    async def _undo(self, row: SessionRow, turn: int | None, file: str | None) -> UndoReport:
        found, ended = await self._ended(row)
        one = self._chosen(row, found, turn, file)
        if ended is not None and (turn is None or one is None or not one.net()[0]):
            return ended
        if one is None:
            lost = found.not_kept()
            unseen = lost and found.to_redo() is None
            what = "nothing was changed that undo could look at" if unseen else "there is nothing more to undo" if found.undos else "nothing was changed"
            said = f"{what} in the session {row.session}{await self._earlier(row, 'undo')}"
            return UndoReport(session=row.session, kind="undo", not_kept=tuple(lost), said=said)
        changes, broken = one.net()
        changes = self._scope(changes, file)
        if not changes:
            return await self._undone_nothing(row, one, file)
        begun = UndoBegun(undo_id=new_id(), kind="undo", changes="", count=len(changes), by=self._context.who, whole=file is None)
        shared = {} if file is not None else {change.path: _shared(change.shared) for change in changes if change.shared}
        report = await self._apply(row, one, begun, (changes, self._within(broken, file)), shared)
        said = f"some of what turn {one.turn} changed was kept until {one.gone}" if one.gone else ""
        return msgspec.structs.replace(report, not_kept=tuple(one.not_kept), said=said)

    async def _undone_nothing(self, row: SessionRow, one: TurnChanges, file: str | None) -> UndoReport:
        """The report on a turn of which nothing can be brought back. It goes on record where it names what nobody looked at: the next undo passes it over."""
        gone = f"; what it changed was kept until {one.gone}" if one.gone else ""
        said, left = _nothing(one, file, "left nothing to undo") + gone, tuple(LeftFile(path, why, conflict=False) for path, why in one.unseen)
        if left and file is None:
            if not one.told:
                await self._apply(row, one, UndoBegun(undo_id=new_id(), kind="undo", changes="", count=0, by=self._context.who), ([], {}), {})
            said = f"nothing of turn {one.turn} could be restored; another undo takes the turn before it"
        named = {f"{one.path}: {one.why}" for one in left}
        others = tuple(text for text in one.not_kept if text not in named)
        return UndoReport(session=row.session, kind="undo", turn=one.turn, left=left, not_kept=others, said=said)

    async def _redo(self, row: SessionRow, file: str | None) -> UndoReport:
        found, ended = await self._ended(row)
        if ended is not None:
            return ended
        there = found.to_redo()
        if there is None:
            return UndoReport(session=row.session, kind="redo", said="there is no undo to take back")
        undo, (changes, broken) = there
        changes = self._scope(changes, file)
        if not changes:
            return UndoReport(session=row.session, kind="redo", turn=undo.turn, said="the undo changed no such file")
        begun = UndoBegun(undo_id=new_id(), kind="redo", changes="", count=len(changes), reverts=undo.begun.undo_id, by=self._context.who)
        return await self._apply(row, found.turns[undo.turn], begun, (changes, self._within(broken, file)), {})

    async def _ended(self, row: SessionRow) -> tuple[SessionChanges, UndoReport | None]:
        """The changes of the session, and how an undo ended that was interrupted before."""
        found = await SessionChanges.read(self._context.store, row.session, self._recorder.kept)
        report: UndoReport | None = None
        for undo in found.unfinished():
            report = await self._finish(row, found.turns[undo.turn], undo.begun, list(undo.changes))
        if report is None:
            return found, None
        found = await SessionChanges.read(self._context.store, row.session, self._recorder.kept)
        return found, msgspec.structs.replace(report, finished=True, said=f"the {report.kind} that was interrupted came to its end")

    async def _apply(self, row: SessionRow, turn: TurnChanges, begun: UndoBegun, net: NetChanges, others: Mapping[bytes, str]) -> UndoReport:
        """Take back these changes. `others`: paths that are left, and why."""
        changes, broken = [change.reversed for change in net[0]], net[1]
        before = [step.reversed for steps in broken.values() for step in steps]
        restored, left = await self._run_of(row, turn).apply(turn.steps, begun, changes, others, before)
        return _parted(_report(row, turn, begun, restored, left), broken.keys() & {change.path for change in changes})

    async def _finish(self, row: SessionRow, turn: TurnChanges, begun: UndoBegun, changes: list[PathChange]) -> UndoReport:
        """The rest of one that was begun before, and killed in the middle."""
        return _report(row, turn, begun, *await self._run_of(row, turn).finish(begun, changes, turn.steps, None))

    def _run_of(self, row: SessionRow, turn: TurnChanges) -> UndoRun:
        places = [place for place in (turn.workspace or row.workspace, *self._allowed) if place]
        call = RunningCall(row.session, turn.turn, new_id(), VERBS[0])
        guard = self._context.home.places
        return UndoRun(self._context.store, self._recorder.kept, self._context.notify, row, turn.turn, places, lambda paths: guard.writing(call, paths))

    def _chosen(self, row: SessionRow, found: SessionChanges, turn: int | None, file: str | None) -> TurnChanges | None:
        """The turn that is meant; where none is named the newest that changed something, with `file` the newest that changed that. Raises `UsageError`."""
        if turn is None:
            return (found.newest(lambda one: bool(self._only(one.net()[0], file))) if file is not None else None) or found.newest()
        if not 1 <= turn <= row.last_turn:
            there = f"it has turns 1 to {row.last_turn}" if row.last_turn else "it has none"
            raise UsageError(f"there is no turn {turn} in the session {row.session}: {there}", hint=f"neuralclaw sessions show {row.session}")
        return found.turns.get(turn) or TurnChanges(turn)

    def _scope(self, changes: list[PathChange], file: str | None) -> list[PathChange]:
        """Those of the path, or below it, with the places that files there came from: a move is taken back as a whole."""
        chosen = self._only(changes, file)
        made = {key for one in chosen if one.before is None and one.after is not None for key in _identities(one.after)}
        sources = [one for one in changes if one.after is None and one.before is not None and made.intersection(_identities(one.before))]
        above = [one for one in changes if one.after is None and any(source.path.startswith(one.path + b"/") for source in sources)]
        wanted = {one.path for one in (*chosen, *sources, *above)}
        return [one for one in changes if one.path in wanted]

    def _within(self, broken: Mapping[bytes, list[PathChange]], file: str | None) -> dict[bytes, list[PathChange]]:
        """Those of the path, or below it."""
        return {path: steps for path, steps in broken.items() if self._only(steps, file)}

    def _only(self, changes: list[PathChange], file: str | None) -> list[PathChange]:
        """Those of the path, or below it. Raises `UsageError` for a path that is empty."""
        if file is None:
            return changes
        if not file:
            raise UsageError("the path of --file is empty", hint="name a file, or leave --file out for the whole turn")
        named = os.path.normpath(os.path.join(self._context.workspace, file))  # noqa: PTH118
        above, name = os.path.split(named)
        places = {os.fsencode(named), os.fsencode(os.path.join(os.path.realpath(above), name))}  # noqa: PTH118
        return [change for change in changes if any(change.path == place or change.path.startswith(place + b"/") for place in places)]


def _not_settled(workspace: str, error: OSError | Stopped) -> StoreError:
    """Why what undo keeps of the workspace could not be brought up to date."""
    if workspace and not os.path.lexists(workspace):
        return StoreError(f"{one_line(workspace)} is not there any more", hint=f"make the directory again, and undo with --file {one_line(workspace)}")
    why = why_stopped(error)
    text = f"what undo keeps of {workspace} could not be read or written ({why}); files that were changed back are on record as such"
    return StoreError(text, hint="free some space, or fix what is named, and call it again: it continues where it stopped")


def _report(row: SessionRow, turn: TurnChanges, begun: UndoBegun, restored: Sequence[bytes], left: Sequence[LeftPath]) -> UndoReport:
    return UndoReport(
        session=row.session,
        turn=turn.turn,
        kind=begun.kind,
        restored=tuple(shown_path(path) for path in restored),
        left=tuple(LeftFile(shown_path(one.path), one.why, one.conflict) for one in left),
    )


def _identities(state: PathState) -> tuple[int | bytes, ...]:
    """What a regular file is known by in another place."""
    return (state.ino, *([state.content] if state.content else [])) if state.kind == REGULAR and state.size else ()


def _parted(report: UndoReport, broken: Collection[bytes]) -> UndoReport:
    """The report, in which those paths are named that somebody else changed between the steps that it takes back."""
    named = {one.path for one in report.left}
    parted = tuple(LeftFile(path, PARTED, conflict=True) for path in map(shown_path, sorted(broken)) if path not in named)
    return msgspec.structs.replace(report, left=(*report.left, *parted))


def _nothing(one: TurnChanges, file: str | None, what: str) -> str:
    """Why there is nothing: `what` the turn did, or that it did nothing to the file, or nothing that is kept."""
    if file is not None:
        return f"turn {one.turn} changed nothing at {one_line(file)} that undo keeps"
    return f"turn {one.turn} {'changed nothing that undo keeps' if one.not_kept else what}"


def _shared(others: str) -> str:
    if others == LATER_THAN_DEATH:
        return "it may have been changed after the process that ran the command had ended: undo it alone (--file) if it is to be undone"
    return f"at the same time ran {others}, which may have changed it: undo it alone (--file) if it is to be undone"


__all__ = ["FileDiff", "LeftFile", "RecordedUndo", "TurnDiff", "UndoReport", "UndoVerbs"]
