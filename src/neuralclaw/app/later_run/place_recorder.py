"""Runs calls of commands under the guard of places that code is later run from: what they change there is put back, recorded and told."""

import logging
import stat
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from posixpath import dirname
from typing import TypeVar

import anyio
import msgspec
from anyio.to_thread import run_sync

from ... import lookups
from ...agent.redaction import redacted
from ...capability import PRIVATE
from ...errors import StoreError, ToolExecutionError
from ...ports import Redaction, Sandbox, Store
from ...sandbox.later_run.place_guard import GuardBusy, GuardedCommand, InterruptedCommand, PlaceGuard, Written, WrittenFile
from ...sandbox.later_run.place_names import whole_place
from ...sandbox.later_run.tree_comparison import PlaceChange
from ...sandbox.program_lookup import beneath
from ...sandbox.running_call import RunningCall
from ...types.entries import Draft, Entry
from ...types.grants import Grant, asking_for
from ...types.ids import new_id
from ...types.labels import join
from ...types.quoted_names import one_line
from ...types.tools import ToolContext, ToolResult
from .later_run_events import SHOWN, PlacesPutBack, PlaceTaken

log = logging.getLogger(__name__)

MOUNTS = frozenset({"bubblewrap", "container"})
"""Sandboxes that show such places read-only."""
_TOLD, _OFFERED = 10, 5
_UNSAVED = "how the places stand that code is later run from could not be saved"
_POLL_SECONDS = 0.01
Result = TypeVar("Result")


class PlaceRecorder:
    """Guards, for one home, what commands may not change unasked. `sandbox`: where they run. `notify` tells subscribers."""

    def __init__(self, guard: PlaceGuard, store: Store, redaction: Redaction, *, sandbox: Sandbox) -> None:
        self._guard, self._store, self._redaction, self._sandbox = guard, store, redaction, sandbox
        self.notify: Callable[[Sequence[Entry]], object] = list  # until there is a desk, nobody subscribes

    async def call(self, grant: Grant, ctx: ToolContext, run: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
        """Run the call. One that starts no program, or may write nothing, is run, and nothing is looked at. Raises `ToolExecutionError` where that cannot be
        done: then nothing was run."""
        envelope = grant.envelope
        call = RunningCall(ctx.session, ctx.turn, ctx.call_id or new_id(), grant.tool)
        if not envelope.execute and envelope.digests:
            async with self.writing(call, list(envelope.digests)) as written:
                result = await run()
                written |= {one.path: None if one.after is None else WrittenFile(bytes.fromhex(one.after)) for one in result.changes}
            return result
        if not (envelope.execute and envelope.write):
            return await run()
        try:
            command, interrupted = await _when_free(partial(self._begin, call, grant))
        except Exception as error:
            raise ToolExecutionError(f"nothing was run: {_UNSAVED} ({error})") from error
        changes: list[PlaceChange] = []
        try:
            await self._record_interrupted(interrupted)
            result = await run()
        finally:
            with anyio.CancelScope(shield=True):
                changes = await self._end(command)
        return _told(result, changes, grant) if changes else result

    @asynccontextmanager
    async def writing(self, call: RunningCall, paths: Sequence[str]) -> AsyncIterator[Written]:
        """Around a file tool, or an undo, that changes these files, and says what it left there: the commands that run meanwhile did not. Raises
        `ToolExecutionError`, before anything is written, where that cannot be noted."""
        try:
            with anyio.CancelScope(shield=True):  # who is cancelled here would leave a note behind
                files = await run_sync(self._guard.begin_writing, call, paths)
        except OSError as error:
            raise ToolExecutionError(f"nothing was written: {_UNSAVED} ({error})") from error
        written: Written = {}
        try:
            yield written
        finally:
            with anyio.CancelScope(shield=True):
                try:
                    await run_sync(self._guard.end_writing, files, written)
                except OSError as error:
                    log.warning("that %d files were changed could not be told to the commands that run: %s", len(paths), error)

    def _begin(self, call: RunningCall, grant: Grant) -> tuple[GuardedCommand, list[InterruptedCommand]]:
        return self._guard.begin(call, _looked_at(grant), mounts=self._sandbox.name in MOUNTS, by_git=grant.envelope.git_alone, wait=False)

    async def _end(self, command: GuardedCommand) -> list[PlaceChange]:
        try:
            changes = await run_sync(self._guard.end, command)
        except Exception as error:  # whatever it is: what the command changed is told, and compared by whoever looks next
            log.warning("what a command changed in places that code is later run from could not be put back: %s", error)
            await run_sync(self._guard.abandon, command)
            root = command.before[0].root if command.before else ""
            changes = [PlaceChange(root, "a program", why=f"it could not be looked at afterwards: {error}")]
        if changes:
            await self._record(command.call, changes)
        return changes

    async def settle(self) -> None:
        """Put back and record for commands whose process died."""
        try:
            interrupted = await _when_free(partial(self._guard.settle, wait=False))
        except OSError as error:
            log.warning("places that code is later run from could not be compared: %s", error)
            return
        with anyio.CancelScope(shield=True):  # what is given once is recorded
            await self._record_interrupted(interrupted)

    async def _record_interrupted(self, interrupted: Sequence[InterruptedCommand]) -> None:
        """What is not recorded now is recorded at the next start."""
        for one in interrupted:
            try:
                await self._record(one.call, one.changes, interrupted=True)
            except StoreError as error:
                log.warning("what was put back after an interrupted command could not be recorded yet: %s", error)
            else:
                await run_sync(self._guard.recorded, one)

    async def _record(self, call: RunningCall, changes: Sequence[PlaceChange], *, interrupted: bool = False) -> None:
        row = await lookups.session(self._store, call.session)
        if row is None:
            log.warning("what a command of session %s changed in %d places was put back; the session is gone", call.session, len(changes))
            return
        places = tuple(PlaceTaken(path=one_line(one.path), who=one.who, found=one.found, why=one.why) for one in changes[:SHOWN])
        body = PlacesPutBack(call_id=call.call_id, tool=call.tool, places=places, count=len(changes), interrupted=interrupted)
        written = await self._store.append(call.session, [Draft(call.turn, redacted(body, self._redaction), join(row.labels, PRIVATE))])
        self.notify(written)


async def _when_free(work: Callable[[], Result]) -> Result:
    """Do it in a thread, when no other command is looked at; who is cancelled does not wait for that."""
    while True:
        with suppress(GuardBusy):
            return await run_sync(work)
        await anyio.sleep(_POLL_SECONDS)


def _looked_at(grant: Grant) -> tuple[str, ...]:
    """The places that a command may write, but for directories that everybody writes (`/tmp`), where it makes what its words name and others make the rest."""
    making = frozenset(grant.envelope.making)
    return tuple(path for path in grant.envelope.write if path not in making or not _is_shared(path))


def _is_shared(path: str) -> bool:
    try:
        return bool(Path(path).stat().st_mode & stat.S_ISVTX)
    except OSError:
        return False


def _told(result: ToolResult, changes: Sequence[PlaceChange], grant: Grant) -> ToolResult:
    """The result, with what was put back and how to ask for it, for the model."""
    back, left = [one for one in changes if not one.why], [one for one in changes if one.why]
    notes = [result.note] if result.note else []
    if back:
        more = f" and {len(back) - _TOLD} more" if len(back) > _TOLD else ""
        names = ", ".join(f"{_shown(one, grant.workspace)} ({one.who} runs it)" for one in back[:_TOLD])
        why = "Other programs run or follow it later, outside of the sandbox, so it is changed only after the person's yes."
        wanted = _whole_places(back, grant) if grant.envelope.git_alone else [one.path for one in back[:_OFFERED]]
        inner = "" if grant.envelope.git_alone else _in_inner_repository(back, grant.workspace)
        notes.append(f"[put back: {names}{more}. {why} {asking_for([f'write {one_line(path)}' for path in wanted])}.{inner}]")
    if left:
        notes.append(f"[changed, and not put back: {', '.join(f'{_shown(one, grant.workspace)} ({one.why})' for one in left[:_TOLD])}. Tell the person.]")
    return msgspec.structs.replace(result, note="\n".join(notes), metadata={**result.metadata, "put_back": [one_line(one.path) for one in back[:_TOLD]]})


def _in_inner_repository(changes: Sequence[PlaceChange], workspace: str) -> str:
    """What to know of places in a repository below the workspace, which may track them. Reads the disk."""
    for change in changes:
        for above in Path(change.path).parents:
            if not beneath(str(above), workspace) or str(above) == workspace:
                break
            if (above / ".git").exists():
                name = one_line(str(above.relative_to(workspace)))
                return f" The repository {name} may track what was put back: look at git status before a commit. A line of git clone alone brings such files."
    return ""


def _whole_places(changes: Sequence[PlaceChange], grant: Grant) -> list[str]:
    """All that a line of git has to be allowed, since it is undone as a whole else: of `.github/ci.yml`, `.github`."""
    tops = [dirname(root) for root in grant.envelope.repositories]
    found: dict[str, None] = {}
    for change in changes:
        top = max((one for one in tops if beneath(change.path, one)), key=len, default="")
        inside = whole_place(change.path.removeprefix(f"{top}/"), top if top == grant.workspace else "") if top else ""
        found[f"{top}/{inside}" if inside else change.path] = None
    return list(found)


def _shown(change: PlaceChange, workspace: str) -> str:
    return one_line(change.path.removeprefix(f"{workspace}/"))
