"""Brings a question to whoever may answer it: waits for the answer in the journal, from whichever process it comes."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

import anyio

from ..errors import AlreadyAnswered
from ..ports import Store
from ..types.actions import Answer, AnswerDecision, Question
from ..types.entries import Draft, Entry
from ..types.events import ApprovalRequested, ApprovalResolved
from ..types.options import ApprovalsMode
from ..types.rows import OpenQuestion
from ..types.signals import Parked

log = logging.getLogger(__name__)

Approver = Callable[[str, Question], Awaitable[AnswerDecision]]
"""A program that answers in the person's place: session and question in, decision out."""


def expired(question: ApprovalRequested, now: float) -> bool:
    """Whether a question's time is over; `now` in epoch seconds."""
    return datetime.fromisoformat(question.expires).timestamp() <= now


class JournalAsker:
    """The `Asker` of a process. `notice` is told of every new entry, of other processes too."""

    def __init__(self, store: Store, notify: Callable[[Sequence[Entry]], None], *, approver: Approver | None = None) -> None:
        self._store, self._notify, self._approver = store, notify, approver
        self._waiting: dict[str, tuple[str, anyio.Event]] = {}
        self._resolved: dict[str, ApprovalResolved] = {}
        self._absent: set[str] = set()

    async def ask(self, session: str, question: Question, mode: ApprovalsMode) -> Answer:
        if mode == "park":
            raise Parked(question)
        wake = anyio.Event()
        self._waiting[question.approval_id] = (session, wake)
        try:
            asked = await self._store.questions(session=session, open_only=False)
            known = next(q for q in asked if q.question.approval_id == question.approval_id)
            answer = known.answer
            if answer is None and session in self._absent:
                await self.resolve(known, "no", "nobody")
            elif answer is None and self._approver is not None:
                decision, by = await self._decided(session, question)
                await self.resolve(known, decision, by)
            if answer is None:
                await wake.wait()
                answer = self._resolved.pop(question.approval_id)
        finally:
            del self._waiting[question.approval_id]
        return Answer(approval_id=question.approval_id, decision=answer.decision, by=answer.by, value=answer.value)

    async def _decided(self, session: str, question: Question) -> tuple[AnswerDecision, str]:
        """The approver's word and whose it is. The guard around approvers: one that fails is nobody, and nobody means no."""
        assert self._approver is not None, "asked only where there is one"
        try:
            return await self._approver(session, question), "program"
        except Exception as error:
            log.warning("the approver failed and counts as nobody: %s: %s", type(error).__name__, error, exc_info=True)
            return "no", "nobody"

    async def resolve(self, asked: OpenQuestion, decision: AnswerDecision, by: str) -> None:
        """Record an answer, unless somebody was faster."""
        body = ApprovalResolved(approval_id=asked.question.approval_id, decision=decision, by=by)
        try:
            entries = await self._store.append(asked.session, [Draft(asked.turn, body)])
        except AlreadyAnswered:
            return
        self._notify(entries)

    def notice(self, entries: Sequence[Entry]) -> None:
        """Wake whoever waits for an answer among these entries."""
        for entry in entries:
            body = entry.body
            if isinstance(body, ApprovalResolved) and body.approval_id in self._waiting:
                self._resolved[body.approval_id] = body
                self._waiting[body.approval_id][1].set()

    def arrive(self, session: str) -> None:
        """Somebody is there for this session (again)."""
        self._absent.discard(session)

    async def leave(self, session: str) -> None:
        """Nobody is there any more: open questions of this process are answered no by nobody, and so are later ones."""
        self._absent.add(session)
        for asked in await self._store.questions(session=session):
            if asked.question.approval_id in self._waiting:
                await self.resolve(asked, "no", "nobody")
