"""What can be asked about sessions, questions and the record: verbs that only read, and the answer to a question."""

from collections.abc import Sequence
from typing import Any

import msgspec

from ..errors import SessionNotFound, UnknownQuestion
from ..ports import Store
from ..types.entries import Entry, event_of
from ..types.rows import OpenQuestion, SessionRow, VerifyReport
from .desk import Verb


def reading_verbs(store: Store) -> dict[str, Verb]:
    """Verbs that write nothing; they work over a store that was opened for reading."""
    verbs = Reading(store)
    return {
        "sessions.list": verbs.sessions,
        "sessions.show": verbs.session,
        "approvals.list": verbs.approvals,
        "approvals.show": verbs.approval,
        "audit.verify": verbs.verify,
        "audit.show": verbs.record,
    }


class Reading:
    """The reading verbs of one home."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def sessions(self, *, unfinished: bool = False) -> list[dict[str, Any]]:
        return [listed(row) for row in await self._store.sessions(unfinished=unfinished)]

    async def session(self, *, session: str, after: int = 0) -> dict[str, Any]:
        """One line of `sessions list` with the durable events after entry `after`."""
        row = await find_session(self._store, session)
        entries = await self._store.read(row.session, after=after)
        return {**listed(row), "events": events_of(entries)}

    async def approvals(self, *, session: str | None = None) -> list[dict[str, Any]]:
        return [waiting(q) for q in await self._store.questions(session=session)]

    async def approval(self, *, approval_id: str) -> dict[str, Any]:
        question = await self._store.question(approval_id)
        if question is None:
            raise UnknownQuestion(f"there is no question {approval_id}", hint="neuralclaw approvals list")
        return {**waiting(question), "answer": msgspec.to_builtins(question.answer) if question.answer else None}

    async def verify(self) -> VerifyReport:
        return await self._store.verify()

    async def record(self, *, session: str | None = None, after: int = 0) -> list[dict[str, Any]]:
        """Headers of the record, oldest first, with their kind and digest; of one session or of all."""
        names = [(await find_session(self._store, session)).session] if session else [row.session for row in await self._store.sessions()]
        entries = [entry for name in names for entry in await self._store.read(name)]
        entries.sort(key=lambda e: e.header.record)
        return [{**msgspec.to_builtins(e.header), "erased": e.body is None} for e in entries if e.header.record > after]


async def find_session(store: Store, name: str) -> SessionRow:
    """The session of that id, or of that unique prefix. Raises `SessionNotFound`."""
    row = await store.session(name) or await store.session(await store.resolve(name))
    if row is None:
        raise SessionNotFound(f"there is no session {name}", hint="neuralclaw sessions list")
    return row


def listed(row: SessionRow) -> dict[str, Any]:
    """A line of `sessions list` as INTERFACE.md has it."""
    line: dict[str, Any] = msgspec.to_builtins(row)
    for name in ("entries", "last_turn", "open_turn", "pending"):
        del line[name]
    line["labels"] = sorted(row.labels)
    return line


def events_of(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    shown = (event_of(entry, seq) for seq, entry in enumerate(entries, 1))
    return [event.to_dict() for event in shown if event is not None]


def waiting(question: OpenQuestion) -> dict[str, Any]:
    """A line of `approvals list`."""
    asked: dict[str, Any] = msgspec.to_builtins(question.question)
    del asked["type"]
    return {"approval_id": asked.pop("approval_id"), "session": question.session, "turn": question.turn, "since": question.since, **asked}
