"""Keeps what calls change: compares the roots that a call may write before and after it, and records the difference."""

import logging
import os
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
from anyio.to_thread import run_sync

from ... import lookups
from ...agent.redaction import redacted
from ...capability import PRIVATE
from ...config import LoadedSettings
from ...errors import StoreError, ToolExecutionError
from ...ports import Redaction, Store
from ...safety.command_rules import COVERED
from ...sandbox.running_call import RunningCall
from ...sandbox.undo.path_states import REGULAR, PathChange
from ...sandbox.undo.path_status import states_of
from ...sandbox.undo.saved_tree import OrphanedChanges, SavedTree
from ...sandbox.undo.tree_scan import NotKept, Stopped, why_stopped
from ...types.entries import Draft, Entry
from ...types.grants import Grant
from ...types.ids import new_id
from ...types.labels import join
from ...types.quoted_names import one_line
from ...types.tools import FileChange, ToolContext, ToolResult
from ...types.verdicts import Verdict
from .file_changes import file_changes
from .first_copy import FirstCopy, not_copied, too_much, unfinished
from .git_lines import told, undo_git_line, was_put_back
from .interrupted_files import KINDS, interrupted_calls, record_commands
from .signs_of_life import SignsOfLife
from .undo_events import SHOWN, VERBS, ChangesSaved
from .undo_run import UndoRun
from .undo_store import UndoStore

if TYPE_CHECKING:
    from ..later_run.place_recorder import PlaceRecorder

log = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
"""How long the gate waits for the first copy of a workspace before a command asks."""
COPY_SECONDS = 60.0
"""How long a command that a person allowed waits for it, and how long what it changed is looked for."""
CLOSE_SECONDS = 2.0
"""How long a first copy that is stopped may take to save what it has."""
ROOM = "free some space in the data directory, and call it again"
UNLINKED = "its other hard links are not known: it is a file of its own again"
NAMED = 3
"""Of what undo cannot bring back a question names that many."""
Run = Callable[[], Awaitable[ToolResult]]


class ChangeRecorder:
    """Records, for one home, what calls change. `notify` tells this process's subscribers of entries that were written.

    `places`: puts back what commands changed in places that code is later run from.
    """

    def __init__(
        self,
        loaded: LoadedSettings,
        store: Store,
        redaction: Redaction,
        *,
        places: "Callable[[], PlaceRecorder]",
        allowed: Sequence[str],
        protected: Sequence[str],
    ) -> None:
        self._store, self._redaction, self._places = store, redaction, places
        self._allowed, self._protected = tuple(allowed), tuple(protected)
        self.kept = UndoStore(loaded.home, loaded.section("undo"), roots=1 + len(self._allowed))
        """What is kept in this home, under its settings."""
        self._copies: dict[str, FirstCopy] = {}
        self._failing = set[str]()
        self._alive = SignsOfLife()
        self._closed = threading.Event()
        self.notify: Callable[[Sequence[Entry]], object] = list  # until there is a desk, nobody subscribes

    def close(self) -> None:
        """A copy that is being made stops; the next first copy of its workspace goes on where it ended. Blocks for `CLOSE_SECONDS` at most."""
        self._closed.set()
        deadline = time.monotonic() + CLOSE_SECONDS
        for copy in self._copies.values():
            copy.done.wait(max(0.0, deadline - time.monotonic()))  # it saves what it has

    async def lacks(self, workspace: str, *, copy: bool = True) -> str | None:
        """None where undo brings back all that a command may write that stays in the workspace and the allowed paths; else what it does not, in words.

        The first copy of a workspace is made now, in the background, with `copy`; it is waited for `LOOK_SECONDS`. Without it
        nothing is made, and a workspace that has no copy yet is judged as covered, since whatever runs makes the copy first.
        """
        roots = self._roots((workspace, *self._allowed))
        if not copy and not all(self.kept.tree(root).known for root in roots):
            return too_much(roots, self._protected)
        return await run_sync(self._lacks, roots, workspace, time.monotonic() + LOOK_SECONDS, abandon_on_cancel=True)

    def _lacks(self, roots: Sequence[str], workspace: str, deadline: float) -> str | None:
        if (lacks := too_much(roots, self._protected)) is not None:
            return lacks
        lost: list[NotKept] = []
        try:
            for tree in map(self.kept.tree, roots):
                if not self._copied(tree, deadline):
                    return self._copies[tree.root].failed or unfinished("the workspace" if tree.root == workspace else one_line(tree.root))
                if tree.root in self._failing or tree.not_kept():
                    tree.refresh(self._stop_at(deadline))  # it may have been mended meanwhile
                    self._failing.discard(tree.root)
                lost += tree.not_kept()
        except (OSError, Stopped) as error:
            log.warning("undo cannot keep what commands change: %s", error)
            return not_copied(tree.root, error)
        return named(lost, workspace) if lost else None

    def copy_first(self, workspace: str) -> None:
        """Begin the first copies of what a command may write there, in the background, where they are not there yet."""
        roots = self._roots((workspace, *self._allowed))
        if not self._closed.is_set() and not any(root in self._protected for root in roots):
            for tree in map(self.kept.tree, roots):
                self._copied(tree, time.monotonic())

    def _copied(self, tree: SavedTree, deadline: float) -> bool:
        """Whether the first copy is there, or is by then."""
        if tree.known:
            return True
        copy = self._copies.get(tree.root)
        if copy is None or copy.failed:
            copy = self._copies[tree.root] = FirstCopy(tree, self._closed)
        return copy.done.wait(max(0.0, deadline - time.monotonic())) and not copy.failed

    def _roots(self, places: Sequence[str]) -> list[str]:
        """The places among the workspace and the allowed paths, none of them inside another."""
        unique = sorted(set(places))
        return [place for place in unique if not any(place != other and f"{place}/".startswith(f"{other.rstrip('/')}/") for other in unique)]

    async def call(self, grant: Grant, ctx: ToolContext, run: Run) -> ToolResult:
        """Run the call, and record what it changed. One that may write nothing is run, and nothing is looked at."""
        envelope = grant.envelope
        if envelope.execute and envelope.write:
            return await self._command(grant, ctx, run)
        if envelope.digests:
            return await self._files(grant, ctx, run)
        return await run()

    async def _files(self, grant: Grant, ctx: ToolContext, run: Run) -> ToolResult:
        """A call that changes the files it names, which `Files` keeps."""
        call = RunningCall(ctx.session, ctx.turn, ctx.call_id, grant.tool)
        before = await run_sync(states_of, list(grant.envelope.digests))
        await run_sync(self.kept.share, call, [PathChange(path.encode(errors="surrogateescape"), one, one) for path, one in before.items()])
        written: Sequence[FileChange] = ()
        try:
            result = await run()
            written = result.changes
        finally:
            with anyio.CancelScope(shield=True):  # one that was cancelled, or failed, may have changed some of them
                changes = await run_sync(file_changes, before, grant.envelope.digests, written)
                if changes:
                    changes = await run_sync(self.kept.with_twins, changes, self._roots((grant.workspace, *self._allowed)))
                    await run_sync(self.kept.share, call, changes)
                    await self._record(call, changes, [NotKept(one.path, UNLINKED) for one in changes if _unlinked(one)])
        return result

    async def record_interrupted(self, session: str, places: Sequence[str] = ()) -> None:
        """What calls of file tools changed in this session whose process died goes on record, and what commands did in these places. The caller holds the
        session. Raises `StoreError`."""
        for call, changes in await run_sync(interrupted_calls, await self._store.read(session, kinds=KINDS)):
            await self._record(call, changes, [], interrupted=True)
        await record_commands(self.undoing, session, [place for place in places if place not in self._protected])

    async def _command(self, grant: Grant, ctx: ToolContext, run: Run) -> ToolResult:
        call = RunningCall(ctx.session, ctx.turn, ctx.call_id or new_id(), grant.tool)
        known = (grant.workspace, *self._allowed)
        roots = self._roots([root for root in grant.envelope.write if root in known and root not in self._protected])
        others = [root for root in self._roots(grant.envelope.write) if root not in roots]
        outside = [NotKept(root.encode(errors="surrogateescape"), "it is outside what undo keeps") for root in others]
        outside = [one for one in outside if not any(_beneath(one.path, root) for root in (*roots, *grant.envelope.making) if os.fsencode(root) != one.path)]
        watched, places, begun = list[SavedTree](), {os.fsencode(root) for root in roots}, False
        await self._places().settle()  # first: what is put back of a dead command is no work of this one, which undo would take back
        try:
            missing = await self._begin(call, roots, watched)
            seen = {os.fsencode(tree.root) for tree in watched}
            unseen = [*(one for one in missing if one.below or one.path in places.difference(seen)), *outside]
            if missing and covered(grant.verdict):
                name = shown_path(missing[0].path)
                raise ToolExecutionError(f"nothing was run: undo could not bring back {name} ({missing[0].why})", hint="Call it again: now it is asked about.")
            missing += outside  # what is outside was asked about by itself
            begun = True
        finally:
            if not begun:
                with anyio.CancelScope(shield=True):
                    await run_sync(_give_up, watched, call)
        note = ""
        try:
            with self._alive.of(watched, call):
                result = await run()
        finally:
            with anyio.CancelScope(shield=True):
                changes, lost, looked = await self._after(call, watched, missing)
                await self._finish(call, changes, lost, looked, unseen)
                if grant.envelope.git_alone and await was_put_back(self._store, call):
                    note = await self._undo_git_line(call, roots, changes, [one for one in lost if one not in outside])
        return told(result, note) if note else result

    async def _undo_git_line(self, line: RunningCall, roots: Sequence[str], changes: Sequence[PathChange], lost: Sequence[NotKept]) -> str:
        row = await lookups.existing_session(self._store, line.session)
        call = RunningCall(line.session, line.turn, new_id(), VERBS[0])
        undo = UndoRun(self._store, self.kept, self.notify, row, line.turn, roots, lambda paths: self._places().writing(call, paths))
        return await undo_git_line(undo, self.undoing(call, roots), changes, lost, self._redaction)

    async def _begin(self, call: RunningCall, roots: Sequence[str], watched: list[SavedTree]) -> list[NotKept]:
        """What of the roots cannot be brought back. `watched` gets the trees that are watched from now on, also where it is cancelled."""
        missing: list[NotKept] = []
        for root in roots:
            await anyio.lowlevel.checkpoint()
            try:
                with anyio.CancelScope(shield=True):  # what it takes over is on record, or given back
                    tree = self.kept.tree(root)
                    not_kept, orphans = await run_sync(self._begin_one, tree, call)
                    watched.append(tree)
                    await self._adopt(tree, orphans)
            except Stopped:
                missing.append(NotKept(root.encode(errors="surrogateescape"), "its first copy was not finished"))
            except OSError as error:
                log.warning("what a command changes in %s is not kept: %s", root, error)
                self._failing.add(root)
                missing.append(NotKept(root.encode(errors="surrogateescape"), f"it could not be copied ({error.strerror or error})"))
            else:
                missing += not_kept
        return missing

    def _begin_one(self, tree: SavedTree, call: RunningCall) -> tuple[list[NotKept], list[OrphanedChanges]]:
        deadline = time.monotonic() + COPY_SECONDS
        if not self._copied(tree, deadline):
            raise Stopped
        return tree.begin(call, self._stop_at(deadline))

    def _stop_at(self, deadline: float) -> Callable[[], bool]:
        return lambda: self._closed.is_set() or time.monotonic() > deadline

    async def _after(
        self, call: RunningCall, watched: Sequence[SavedTree], missing: Sequence[NotKept]
    ) -> tuple[list[PathChange], list[NotKept], list[SavedTree]]:
        """What changed, what cannot be brought back, and the trees that were looked at; any other is left to whoever looks next."""
        changes: list[PathChange] = []
        lost = list(missing)
        looked: list[SavedTree] = []
        for tree in watched:
            try:
                state = await run_sync(tree.finish, call, self._stop_at(time.monotonic() + COPY_SECONDS))
            except (Stopped, OSError) as error:
                why = why_stopped(error)
                lost.append(NotKept(tree.root.encode(errors="surrogateescape"), f"it could not be looked at afterwards ({why})"))
                tree.leave(call)
                continue
            looked.append(tree)
            changes += await run_sync(self.kept.share, call, state.changes, tree.root)
            known = {one.path for one in lost}
            lost += [one for one in state.not_kept if one.path not in known]
        return changes, lost, looked

    async def _finish(
        self, call: RunningCall, changes: Sequence[PathChange], lost: Sequence[NotKept], looked: Sequence[SavedTree], unseen: Sequence[NotKept]
    ) -> None:
        saved = False
        try:
            saved = not (changes or lost) or await self._record(call, changes, lost, unseen=unseen)
        finally:
            for tree in looked:
                await run_sync(tree.recorded if saved else tree.leave, call)
        self.kept.clean_in_background(self._closed.is_set)

    def clean(self) -> None:
        """Remove what is kept no longer."""
        self.kept.clean_quietly(self._closed.is_set)

    async def _adopt(self, tree: SavedTree, orphans: Sequence[OrphanedChanges]) -> bool:
        """What commands changed whose processes died goes on record for their turns; what undos changed is there already. Whether all of it could be saved."""
        whole = True
        for orphan in orphans:
            saved = orphan.call.tool in VERBS
            try:
                saved = saved or await self._record(orphan.call, orphan.changes, orphan.not_kept, interrupted=True)
            except StoreError as error:
                log.warning("what an interrupted command changed is recorded later: %s", error)
            finally:
                await run_sync(tree.recorded if saved else tree.leave, orphan.call)
                whole = whole and saved
        return whole

    @asynccontextmanager
    async def undoing(self, call: RunningCall, roots: Sequence[str]) -> AsyncIterator[None]:
        """Around an undo in these roots: what commands changed whose processes died is on record at its beginning, and what it changes belongs to no command.

        Raises `OSError`, `StoreError` where something cannot be saved, and `Stopped` where it takes too long.
        """
        begun: list[SavedTree] = []
        await self._places().settle()  # what dead commands left there is put back, and is nothing that undo or redo brings back
        try:
            for tree in map(self.kept.tree, dict.fromkeys(roots)):  # one inside another too: turns of a session may have run in both
                if tree.known:
                    _, orphans = await run_sync(tree.begin, call, self._stop_at(time.monotonic() + COPY_SECONDS))
                    begun.append(tree)
                    if not await self._adopt(tree, orphans):
                        raise StoreError("what a command changed cannot be saved, and so not be undone yet; nothing was changed", hint=ROOM)
            yield
        finally:
            with anyio.CancelScope(shield=True):
                for tree in begun:
                    await run_sync(self._end_undo, tree, call)

    def _end_undo(self, tree: SavedTree, call: RunningCall) -> None:
        try:
            self.kept.share(call, tree.finish(call, self._stop_at(time.monotonic() + COPY_SECONDS)).changes, tree.root)
        except (Stopped, OSError) as error:
            log.warning("the saved state of %s is from before an undo: %s", tree.root, error)
            tree.leave(call)
        else:
            tree.recorded(call)

    async def _record(
        self, call: RunningCall, changes: Sequence[PathChange], lost: Sequence[NotKept], *, unseen: Sequence[NotKept] = (), interrupted: bool = False
    ) -> bool:
        """Put it on record; whether the list of changes could be saved with it. Raises `StoreError`."""
        digest = ""
        try:
            digest = (await run_sync(self.kept.keep_list, changes)).hex()
        except OSError as error:
            log.warning("what %s changed cannot be undone: %s", call.tool, error)
            if interrupted:
                return False
            known = {one.path for one in lost}
            lost = [*lost, *(NotKept(change.path, f"it could not be saved ({error.strerror})") for change in changes if change.path not in known)]
        body = ChangesSaved(
            call_id=call.call_id,
            tool=call.tool,
            changes=digest,
            created=sum(change.before is None for change in changes),
            changed=sum(change.before is not None and change.after is not None for change in changes),
            deleted=sum(change.after is None for change in changes),
            paths=tuple(shown_path(change.path) for change in changes[:SHOWN]),
            not_kept=tuple(f"{shown_path(one.path)}: {one.why}" for one in lost[:SHOWN]),
            not_kept_count=len(lost),
            interrupted=interrupted,
            unseen=tuple((shown_path(one.path), one.why) for one in unseen[:SHOWN]),
            top=shown_path(os.path.commonpath([os.path.dirname(change.path) for change in changes])) if changes else "",  # noqa: PTH120
        )
        row = await lookups.session(self._store, call.session)
        if row is None:
            return True
        written = await self._store.append(call.session, [Draft(call.turn, redacted(body, self._redaction), join(row.labels, PRIVATE))])
        self.notify(written)
        return bool(digest)


def covered(verdict: Verdict | None) -> bool:
    """Whether the call runs because undo covers it."""
    return verdict is not None and any(rule.id == COVERED for rule in verdict.rules)


def named(lost: Sequence[NotKept], workspace: str) -> str:
    """What cannot be brought back, for a question, as seen from the workspace: the first of it, and how much more there is."""
    more = f" and {len(lost) - NAMED:,} more" if len(lost) > NAMED else ""
    beginning = shown_path(os.fsencode(workspace)) + "/"
    places = [(shown_path(one.path), one.why) for one in lost[:NAMED]]
    shown = [("the workspace" if f"{path}/" == beginning else path.removeprefix(beginning), why) for path, why in places]
    return "undo cannot bring back " + ", ".join(f"{path} ({why})" for path, why in shown) + more


def shown_path(path: bytes) -> str:
    """A path as people and events have it: on one line, bytes that are no UTF-8 escaped."""
    return one_line(path.decode(errors="surrogateescape"))


def _unlinked(change: PathChange) -> bool:
    """Whether it was replaced or removed, and its other hard links are not known: an undo makes a file of its own."""
    then = change.before
    return then is not None and then.kind == REGULAR and then.nlink > 1 and not change.twin and (change.after is None or change.after.ino != then.ino)


def _give_up(watched: Sequence[SavedTree], call: RunningCall) -> None:
    """Nothing was run. What an earlier try of the call changed, which was killed, stays to be recorded."""
    for tree in watched:
        tree.give_up(call)


def _beneath(path: bytes, root: str) -> bool:
    return (path + b"/").startswith(root.rstrip("/").encode(errors="surrogateescape") + b"/")
