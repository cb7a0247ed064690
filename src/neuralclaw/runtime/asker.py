"""Brings a question to whoever may answer it: waits for the answer in the journal, from whichever process it comes."""

import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import get_args

import anyio
import msgspec

from .. import lookups
from ..agent.redaction import NO_REDACTION, redacted
from ..errors import AgentError, AlreadyAnswered, StoreError, UnknownQuestion
from ..foreign_code import run_foreign, shown_value
from ..ports import Clock, Redaction, Store
from ..types.entries import Draft, Entry
from ..types.events import ApprovalResolved, ErrorEvent
from ..types.labels import AGENT
from ..types.options import ApprovalsMode
from ..types.questions import Answer, AnswerDecision, Question
from ..types.records import OpenQuestion, expiry
from ..types.signals import Parked

log = logging.getLogger(__name__)

EXPIRY_CHECKED = 60.0
"""Seconds after which the time of a question is looked at again."""

AskApprover = Callable[[str, Question], Awaitable[AnswerDecision]]
"""A program that answers in the person's place: session and question in, decision out."""

LONGEST_FAILURE = 500
"""Characters of what an approver failed with that are recorded."""
ANSWERS = "an approver is an async function of one question that returns one of its choices"


class ApproverDecision(msgspec.Struct, frozen=True):
    """What an approver decided: its answer, whose that is, and what kept it from giving one."""

    decision: AnswerDecision
    by: str = "program"
    failure: ErrorEvent | None = None


LEFT = "whoever was asked left without an answer"
"""Why nobody answered a question that somebody was asked."""


def this_process() -> str:
    """This process as people read it, in the words of `Store.holder`."""
    return f"pid {os.getpid()}"


def failing(kind: str, text: str) -> ApproverDecision:
    """The decision of an approver that gave no answer: nobody's, which means no."""
    text = text.encode(errors="replace").decode()
    text = text if len(text) <= LONGEST_FAILURE else text[: LONGEST_FAILURE - 1] + "…"
    log.warning("%s; its answer counts as no", text)
    return ApproverDecision("no", "nobody", ErrorEvent(kind=kind, text=text, recoverable=True, hint=ANSWERS))


class Pending:
    """A question that is waited for."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.answer: ApprovalResolved | StoreError | None = None
        self.wake = anyio.Event()


class JournalAsker:
    """The `Asker` of a process. `notice` is told of every new entry, of other processes too."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        notify: Callable[[Sequence[Entry]], None],
        *,
        approver: AskApprover | None = None,
        redaction: Redaction = NO_REDACTION,
    ) -> None:
        self._store, self._clock, self._notify, self._approver, self._redaction = store, clock, notify, approver, redaction
        self._waiting: dict[str, Pending] = {}
        self._absent: set[str] = set()

    async def ask(self, session: str, question: Question, mode: ApprovalsMode) -> Answer:
        """See `ports.Asker`. Raises `UnknownQuestion` for a question that is not on record."""
        if mode == "park":
            raise Parked(question)
        name = question.approval_id
        pending = self._waiting[name] = Pending(session)
        try:
            known = await lookups.question(self._store, name)
            if known is None:
                raise UnknownQuestion(f"there is no question {name} on record; nothing was run", hint="neuralclaw approvals list shows those that wait")
            pending.answer = known.answer
            if pending.answer is None and session in self._absent:
                await self.resolve(known, "no", "nobody")
            async with anyio.create_task_group() as tasks:
                if pending.answer is None and self._approver is not None and session not in self._absent:
                    tasks.start_soon(self._approve, known, session, question)  # others may answer meanwhile
                if pending.answer is None:
                    tasks.start_soon(self._expire, known)
                while pending.answer is None:
                    await pending.wake.wait()
                tasks.cancel_scope.cancel()
        finally:
            del self._waiting[name]
        answer = pending.answer
        if not isinstance(answer, ApprovalResolved):
            raise answer or UnknownQuestion(f"the question {name} was given up")
        return Answer(approval_id=name, decision=answer.decision, by=answer.by, value=answer.value, text=answer.text)

    async def _expire(self, asked: OpenQuestion) -> None:
        """Answer the question when its time is over. The wall clock decides, which may jump: it is looked at again and again."""
        name, until = asked.question.approval_id, expiry(asked.question)
        while (left := until - self._clock.now()) > 0:
            await self._clock.sleep(min(left, EXPIRY_CHECKED))
        try:
            await self.resolve(asked, "no", "expired")
        except StoreError as error:
            self._give_up(name, error)

    def _give_up(self, name: str, error: StoreError) -> None:
        """The answer cannot be written: whoever waits for it learns that."""
        if (pending := self._waiting.get(name)) is not None:
            pending.answer = error
            pending.wake.set()

    async def _approve(self, asked: OpenQuestion, session: str, question: Question) -> None:
        """Ask the approver and record the decision, and what kept it from giving one."""
        word = await self._decided(session, question)
        try:
            await self.resolve(asked, word.decision, word.by, word.failure)
        except StoreError as error:
            self._give_up(question.approval_id, error)

    async def _decided(self, session: str, question: Question) -> ApproverDecision:
        """The decision of an approver. One that fails is nobody, and nobody means no."""
        assert self._approver is not None, "asked only where there is one"
        try:
            said = await run_foreign("the approver", partial(self._approver, session, question))
        except AgentError as error:
            log.debug("the approver failed", exc_info=error)
            return failing(type(error.__cause__).__name__, error.text)
        if not isinstance(said, str) or said not in get_args(AnswerDecision) or said not in question.choices:
            return failing("UsageError", f"the approver gave {shown_value(said):.80}, which this question does not offer ({', '.join(question.choices)})")
        return ApproverDecision(said)

    async def resolve(self, asked: OpenQuestion, decision: AnswerDecision, by: str, failure: ErrorEvent | None = None, text: str | None = None) -> None:
        """Record an answer, with a text or behind the failure that led to it; where somebody was faster, that answer counts."""
        name = asked.question.approval_id
        failure = redacted(failure, self._redaction)
        answer = ApprovalResolved(approval_id=name, decision=decision, by=by, text=failure.text if failure is not None else text, process=this_process())
        drafts = [Draft(asked.turn, body, AGENT) for body in (failure, answer) if body is not None]
        try:
            self._notify(await self._store.append(asked.session, drafts))
        except AlreadyAnswered:
            known, pending = await lookups.question(self._store, name), self._waiting.get(name)
            if pending is not None and known is not None and known.answer is not None:
                pending.answer = known.answer
                pending.wake.set()

    def notice(self, entries: Sequence[Entry]) -> None:
        """Wake whoever waits for an answer among these entries."""
        for entry in entries:
            body = entry.body
            if isinstance(body, ApprovalResolved) and (pending := self._waiting.get(body.approval_id)) is not None:
                pending.answer = body
                pending.wake.set()

    def arrive(self, session: str) -> None:
        """Somebody is there for this session again, or nothing of it runs here any more."""
        self._absent.discard(session)

    async def leave(self, session: str) -> None:
        """Nobody is there any more: open questions of this session's run here are answered no by nobody, and so are later ones of it."""
        self._absent.add(session)
        for name in [name for name, pending in self._waiting.items() if pending.session == session]:
            asked = await lookups.question(self._store, name)
            if asked is not None and asked.answer is None:
                await self.resolve(asked, "no", "nobody", text=LEFT)
