"""`sessions.export`: a whole session as JSON or Markdown, read page by page, so that its length takes no memory."""

import io
import os
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import anyio
import anyio.to_thread
import msgspec

from ... import lookups
from ...agent.redaction import redacted
from ...errors import AgentError, UsageError
from ...runtime.record_verbs import listed
from ...types.entries import Entry, event_of, rfc3339
from ...types.records import SessionRow
from ..capability_context import BuiltInContext
from ..option_checks import checked_name
from .session_markdown import SessionMarkdown

FORMAT = "neuralclaw.session"
VERSION = 1
"""Of the JSON: it rises when what stands there means something else."""


class ExportedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session that was written: to the file `output` (absolute), or to whoever asked for it."""

    session: str
    entries: int
    output: str | None = None


async def export_session(
    context: BuiltInContext, *, session: str, output: str | None, markdown: bool, write: Callable[[str], object] | None
) -> dict[str, Any] | str:
    """The session as it stands when this begins. Without `output` and `write` the whole of it is the value, in memory. Raises `UsageError`.

    Secrets that are known now are taken out, also those that were stored after they were recorded. Bytes of pictures, and the rest of shortened results,
    are not in it.
    """
    if output is not None and write is not None:
        raise UsageError("the session is written to output or to write, not to both; nothing was written")
    row = await lookups.find_session(context.store, checked_name(session))
    pieces = SessionPieces(context, row)
    chosen = pieces.markdown() if markdown else pieces.json()
    if output is not None:
        place = os.path.abspath(output)  # noqa: ASYNC240, PTH100  # no look at the disk
        await _to_new_file(place, chosen)
        return _receipt(pieces, place)
    if write is not None:
        async for piece in chosen:
            write(piece)
        return _receipt(pieces, None)
    text = io.StringIO()
    async for piece in chosen:
        text.write(piece)
    if markdown:
        return text.getvalue()
    value: dict[str, Any] = msgspec.json.decode(text.getvalue())
    return value


def _receipt(pieces: "SessionPieces", output: str | None) -> dict[str, Any]:
    done: dict[str, Any] = msgspec.to_builtins(ExportedSession(session=pieces.row.session, entries=pieces.count, output=output))
    return done


class SessionPieces:
    """The pieces of one session's export, a page of entries at a time. `count`: the entries that were given so far."""

    def __init__(self, context: BuiltInContext, row: SessionRow) -> None:
        self._context, self.row, self.count = context, row, 0
        self._head: dict[str, Any] = redacted(listed(row), context.redaction)

    async def json(self) -> AsyncIterator[str]:
        """One JSON object; each event on a line of its own."""
        head = msgspec.json.encode({"format": FORMAT, "version": VERSION, **self._head}).decode()
        yield f'{head[:-1]},"events":['
        async for page in self._pages():
            lines = [f"{',' if self.count + place else ''}\n{msgspec.json.encode(self._event(entry)).decode()}" for place, entry in enumerate(page)]
            self.count += len(page)
            yield "".join(lines)
        yield "\n]}\n"

    async def markdown(self) -> AsyncIterator[str]:
        """What people read: what was said, each call with its arguments and result, and a line for all else."""
        text = SessionMarkdown(self._context.told)
        yield text.head(self._head)
        async for page in self._pages():
            self.count += len(page)
            yield "".join(text.entry(redacted(entry, self._context.redaction)) for entry in page)

    def _pages(self) -> AsyncIterator[list[Entry]]:
        return lookups.pages(self._context.store, self.row.session, last=self.row.entries)

    def _event(self, entry: Entry) -> dict[str, Any]:
        """The durable event as `sessions show` has it, with its labels and the version of its kind; of an erased one what is left."""
        header, event = entry.header, event_of(entry)
        if event is None:
            erased = {"type": header.kind, "session": header.session, "turn": header.turn, "time": rfc3339(header.time), "entry": header.entry}
            return erased | {"version": header.version, "labels": list(header.labels), "erased": True}
        fields: dict[str, Any] = redacted(event.to_dict(), self._context.redaction)
        del fields["seq"]
        return fields | {"version": header.version, "labels": list(header.labels)}


async def _to_new_file(place: str, pieces: AsyncIterator[str]) -> None:
    """Write the pieces to a file that only its owner reads. Where that fails nothing is left of it. Raises `UsageError` and `AgentError`."""
    try:
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise UsageError(f"there is a file {place} already; it was left as it is", hint="name another file, or remove that one first") from None
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{place!r:.200} cannot be written ({getattr(error, 'strerror', None) or error}); nothing was written",
            hint="name a file in a directory that you can write",
        ) from None
    done = False
    try:
        with open(descriptor, "w", encoding="utf-8", newline="") as file:  # noqa: ASYNC230, PTH123  # opened above
            async for piece in pieces:
                await anyio.to_thread.run_sync(file.write, piece)
        done = True
    except OSError as error:
        raise AgentError(f"{place} cannot be written ({error.strerror}); nothing of it was kept, the session is as it was") from error
    finally:
        if not done:
            with suppress(OSError):
                os.unlink(place)  # noqa: PTH108
