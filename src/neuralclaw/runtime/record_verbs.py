"""What can be asked about sessions, questions, grants and the record; nothing is written."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from .. import lookups
from ..errors import SessionNotFound, UnknownQuestion
from ..ports import Store
from ..types.entries import HOME, Entry, event_of, rfc3339
from ..types.events import Body
from ..types.grants import StandingGrant
from ..types.labels import join
from ..types.records import OpenQuestion, SessionRow, VerifyReport
from ..types.sentences import sentence


class RecordQueries:
    """What can be asked of the record of one home; nothing is written.

    Where no session is named, the newest of `workspace` is meant, those of `left_out` never. `told`: an event in words.
    """

    def __init__(self, store: Store, workspace: str, left_out: Sequence[str] = (), told: Callable[[Body], str] = sentence) -> None:
        self._store, self._workspace, self._left_out, self._told = store, workspace, left_out, told

    async def sessions(self, *, unfinished: bool = False) -> list[dict[str, Any]]:
        return [listed(row) for row in await self._store.sessions(unfinished=unfinished)]

    async def session(self, *, session: str | None = None, after: int = 0, sentences: bool = False) -> dict[str, Any]:
        """One line of `sessions list` with the durable events after entry `after`. Without `session`: the newest of the workspace.

        `sentences`: each event says too, as `sentence`, what happened in words.
        """
        row = await self._shown(session) if session is not None else await self._newest()
        entries = await self._store.read(row.session, after=after)
        return {**listed(row), "events": events_of(entries, self._told if sentences else None)}

    async def _shown(self, name: str) -> SessionRow:
        """The session of that id or prefix; `home` too, which holds what belongs to no session, once there is something."""
        entries = await self._store.read(HOME) if name == HOME else []
        if not entries:
            return await lookups.find_session(self._store, name)
        created, updated = (rfc3339(entry.header.time) for entry in (entries[0], entries[-1]))
        labels = join(*(entry.header.labels for entry in entries))
        return SessionRow(
            session=HOME, title="", state="idle", turns=0, model="", origin="", workspace="", created=created, updated=updated, usd=0, labels=labels
        )

    async def _newest(self) -> SessionRow:
        """The session of the workspace that was used last. Raises `SessionNotFound`."""
        if not self._workspace:
            text = "the current directory was deleted, so its newest session is not known"
            raise SessionNotFound(text, hint="name one of neuralclaw sessions list: neuralclaw sessions show ID")
        name = await lookups.newest(self._store, self._workspace, left_out=self._left_out)
        row = await lookups.session(self._store, name) if name is not None else None
        if row is None:
            raise SessionNotFound(f"there is no session of the workspace {self._workspace}", hint="neuralclaw sessions list")
        return row

    async def approvals(self, *, session: str | None = None) -> list[dict[str, Any]]:
        name = (await self._shown(session)).session if session is not None else None
        return [waiting(q) for q in await self._store.questions(session=name)]

    async def approval(self, *, approval_id: str) -> dict[str, Any]:
        question = await lookups.question(self._store, approval_id)
        if question is None:
            raise UnknownQuestion(f"there is no question {approval_id}", hint="neuralclaw approvals list")
        return {**waiting(question), "answer": msgspec.to_builtins(question.answer) if question.answer else None}

    async def grants(self) -> list[dict[str, Any]]:
        """The answers for a session or for ever that are in force, oldest first."""
        return [granted(grant) for grant in await self._store.grants()]

    async def verify(self) -> VerifyReport:
        return await self._store.verify()

    async def record(self, *, session: str | None = None, after: int = 0) -> list[dict[str, Any]]:
        """Headers of the record, oldest first, with their kind and digest; of one session or of all."""
        if session is None:
            names = [row["session"] for row in await self._store.rows("progress")]  # of deleted ones too
        elif await lookups.deletion(self._store, session) is not None:
            names = [session]
        else:
            names = [(await self._shown(session)).session]
        entries = [entry for name in names for entry in await self._store.read(name)]
        entries.sort(key=lambda e: e.header.record)
        return [{**msgspec.to_builtins(e.header), "erased": e.body is None} for e in entries if e.header.record > after]


def listed(row: SessionRow) -> dict[str, Any]:
    """A line of `sessions list` as INTERFACE.md has it."""
    line: dict[str, Any] = msgspec.to_builtins(row)
    for name in ("entries", "last_turn", "open_turn", "pending"):
        del line[name]
    line["labels"] = sorted(row.labels)
    return line


def events_of(entries: Sequence[Entry], told: Callable[[Body], str] | None = None) -> list[dict[str, Any]]:
    shown = (event_of(entry, seq) for seq, entry in enumerate(entries, 1))
    return [event.to_dict() | ({"sentence": told(event.body)} if told is not None else {}) for event in shown if event is not None]


def granted(grant: StandingGrant) -> dict[str, Any]:
    """A line of `grants list`. `definition`: of its tool, where the answer holds for that definition alone."""
    line: dict[str, Any] = msgspec.to_builtins(grant)
    del line["scopes"]
    until = rfc3339(int(grant.until * 1_000_000)) if grant.until is not None else None
    return line | {"definition": grant.definition or None, "until": until, "used": len(grant.used)}


def waiting(question: OpenQuestion) -> dict[str, Any]:
    """A line of `approvals list`."""
    asked: dict[str, Any] = msgspec.to_builtins(question.question)
    del asked["type"]
    return {"approval_id": asked.pop("approval_id"), "session": question.session, "turn": question.turn, "since": question.since, **asked}
