"""`sessions import`: a session that was exported, here or elsewhere, goes on in this home."""

import anyio.to_thread
import msgspec

from ... import lookups
from ...agent.redaction import redacted
from ...errors import UsageError
from ...types.actions import Origin
from ...types.entries import Draft, rfc3339
from ...types.events import SessionImported
from ...types.ids import new_id
from ...types.labels import OWNER
from ...types.records import NewSession
from ..capability_context import BuiltInContext
from ..option_checks import RESERVED, SESSION_ID, new_session
from .copied_entries import CopiedEntries
from .exported_file import FileSession, read_session
from .held_session import held_session
from .session_edits import LONGEST_TITLE


class ImportedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session that was made of a file. `entries`: how many were copied, of the `exported` events of the file; `turns`: in how many turns."""

    session: str
    file: str
    source: str
    turns: int
    entries: int
    exported: int


async def import_session(context: BuiltInContext, file: str, *, to: str | None) -> ImportedSession:
    """Make the session `to`; without it one with the name that it had where that is free, else with a new one.

    Nothing of a file is the owner's word: all of it has the label `external:import`. Raises `UsageError` for a file that is not as an export is.
    """
    turn = context.defaults.turn
    options = msgspec.structs.replace(turn, workspace=context.workspace, origin=Origin(who="agent"))
    read = await anyio.to_thread.run_sync(read_session, file, options)
    session = new_session(to) if to is not None else await _free(context, read.session)
    async with held_session(context.store, session, "nothing was imported", "name another session with --to") as lease:
        if not await _is_free(context, session):
            raise UsageError(f"there is a session {session} already; nothing was imported", hint="name another one with --to, or leave the name out")
        copies = CopiedEntries(read.entries, f"import:{session}")
        drafts = [Draft(read.turn, redacted(_told(context, read), context.redaction), OWNER)]
        drafts += [Draft(entry.turn, redacted(body, context.redaction), frozenset(entry.header.labels)) for entry, body in copies.bodies()]
        title = redacted(" ".join(read.title.split())[:LONGEST_TITLE], context.redaction)
        row = NewSession(origin=context.who, workspace=context.workspace, title=title)
        context.notify(await context.store.append(session, drafts, lease=lease, rows=[row]))
    turns = len({entry.turn for entry in read.entries})
    return ImportedSession(session=session, file=read.file, source=read.session, turns=turns, entries=len(read.entries), exported=read.exported)


def _told(context: BuiltInContext, read: FileSession) -> SessionImported:
    times = [entry.header.time for entry in read.entries]
    return SessionImported(
        file=read.file, digest=read.digest, source=read.session, turn=read.turn, entries=len(read.entries), exported=read.exported,
        began=rfc3339(min(times)), ended=rfc3339(max(times)), by=context.who,
    )  # fmt: skip


async def _free(context: BuiltInContext, name: str) -> str:
    usable = SESSION_ID.fullmatch(name) and name not in RESERVED
    return name if usable and await _is_free(context, name) else new_id()


async def _is_free(context: BuiltInContext, name: str) -> bool:
    return await lookups.session(context.store, name) is None and await lookups.deletion(context.store, name) is None
