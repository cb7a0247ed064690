"""Runs reading sessions: each is a child of the turn whose call began it, recorded, stopped with it, and gone on with after a crash."""

import hashlib

import msgspec

from ... import lookups
from ...errors import NeuralClawError, ToolError
from ...ports import Desk, Redaction, Store, TurnEvents
from ...tools.reading.read_as import ReadContent, ReadingOutcome, ReadingTask
from ...types.actions import Origin
from ...types.events import Inbound, ToolFinished, TurnFinished, TurnStarted
from ...types.labels import AGENT, Labels
from ...types.options import HistoryLimits, Limits, TurnOptions
from ...types.records import SessionRow
from ...types.risk import Trust
from ..models.model_resolver import ModelResolver
from ..tool_call_turns import DIRECT
from .reading_turn import task_text

ANSWERS = 3
"""Model calls of a reading session at most: an answer that does not fit is asked for again."""
SECONDS = 120.0
"""Running time of a reading session at most; that of its turn ends it too."""
LARGEST = 400_000
"""Bytes of content that one session reads at most."""
LEAST = 500
OVERHEAD = 6_000
"""Bytes of a request that are kept for what is neither content nor schema: the instructions and the answer."""
BYTES_PER_TOKEN = 3
"""Cautious: most texts have about four."""
_CODES = {"timed_out": "timed_out", "cancelled": "cancelled", "limit": "no_fit", "failed": "model_failed"}


def child_session(session: str, call_id: str) -> str:
    """The session that reads for this call, the same after a crash."""
    return f"read-{hashlib.sha256(f'{session}/{call_id}'.encode()).hexdigest()[:16]}"


class DeskReadings:
    """The `ReadingSessions` over the desk of the home."""

    def __init__(self, store: Store, models: ModelResolver, redaction: Redaction, desk: Desk) -> None:
        self._store, self._models, self._redaction, self._desk = store, models, redaction, desk

    async def begun(self, session: str, call_id: str) -> ReadingOutcome | None:
        child = child_session(session, call_id)
        row = await lookups.session(self._store, child)
        if row is None:
            return None
        try:
            async with self._desk.resume(child, by="agent") as events:
                return await self._outcome(row, events)
        except NeuralClawError as error:
            raise _failed(error) from error

    async def recorded(self, session: str, call_id: str) -> ReadContent | None:
        entry = await lookups.end_of_call(self._store, session, call_id)
        if entry is None or not isinstance(entry.body, ToolFinished):
            return None
        text = await lookups.call_result(self._store, session, call_id)
        return ReadContent(f"result of {entry.body.name}", text or "", frozenset(entry.header.labels))

    async def message(self, session: str, nth: int) -> ReadContent | None:
        said = [entry for entry in await self._store.read(session, kinds=("inbound",)) if isinstance(entry.body, Inbound)]
        if len(said) < nth:
            return None
        entry = said[-nth]
        assert isinstance(entry.body, Inbound), "only messages were kept"
        return ReadContent("message", entry.body.text, frozenset(entry.header.labels))

    async def read(self, task: ReadingTask) -> ReadingOutcome:
        parent = await self._parent_options(task)
        try:
            options = await self._options(task, parent)
            text = self._redaction.redact(task.content.text)  # before it is cut: half a secret is none that is found
            piece = text[task.offset :].encode(errors="replace")[: await self._room(options.model, task)].decode(errors="ignore")
            child = child_session(task.call.session, task.call.call_id)
            inbound = Inbound(
                text=task_text(task.content.source, task.question, task.schema, piece),
                key=f"read:{task.call.session}:{task.call.call_id}",
                by="agent",
                options=options,
                content_labels=tuple(sorted(task.content.labels)),
            )
            async with self._desk.turn(child, inbound) as events:
                outcome = await self._outcome(await lookups.existing_session(self._store, child), events)
        except NeuralClawError as error:
            raise _failed(error) from error
        return msgspec.structs.replace(outcome, labels=task.content.labels, first=task.offset, last=task.offset + len(piece), total=len(text))

    async def _parent_options(self, task: ReadingTask) -> TurnOptions:
        begun = await self._store.read(task.call.session, from_turn=task.call.turn, kinds=("turn.started",))
        found = next((entry.body.options for entry in begun if isinstance(entry.body, TurnStarted) and entry.turn == task.call.turn), None)
        if found is None:
            raise ToolError("the beginning of this turn cannot be read, so nothing was read for it", metadata={"code": "source"})
        return found

    async def _options(self, task: ReadingTask, parent: TurnOptions) -> TurnOptions:
        """The options of the reading turn: the model of the turn that waits for it, no tools, and nobody to ask."""
        model = "" if parent.model == DIRECT else parent.model
        await self._models.ready(model or None)
        return TurnOptions(
            model=self._models.full_name(model or None),
            workspace=parent.workspace,
            soul=parent.soul,
            trust=Trust.LOW,
            approvals="none",
            limits=Limits(iterations=ANSWERS, seconds=min(SECONDS, parent.limits.seconds), history=HistoryLimits(alone=True)),
            origin=Origin(who="agent", channel=parent.origin.channel, parent=task.call.session, call=task.call.call_id),
            budget_usd=parent.budget_usd,
            schema=task.schema,
            tools=(),
            purpose="reading",
        )

    async def _room(self, model: str, task: ReadingTask) -> int:
        """Bytes of content that fit in the model's window. Raises `ToolError` for a model that reads no language."""
        info = (await self._models.chosen(model)).info
        if not info.language:
            raise ToolError(
                f"{model} is no language model, so nothing was read", hint="read_as needs one: neuralclaw init", metadata={"code": "no_language_model"}
            )
        asked = len(msgspec.json.encode(task.schema)) + len(task.question.encode())
        return max(LEAST, min(LARGEST, info.context * BYTES_PER_TOKEN * 3 // 4 - OVERHEAD - asked))

    async def _outcome(self, row: SessionRow, events: TurnEvents) -> ReadingOutcome:
        """How the turn of these events ended."""
        end: TurnFinished | None = None
        answers = 0
        async for event in events:
            end = event.body if isinstance(event.body, TurnFinished) else end
            answers += event.body.type == "message"
        if end is None:
            return ReadingOutcome(child=row.session, code="interrupted", why="the reading session ended without a result")
        made = ReadingOutcome(child=row.session, usage=end.usage, answers=answers, labels=_labels(row))
        if end.status == "done":
            return msgspec.structs.replace(made, value=end.data)
        code = "no_fit" if end.error is not None and end.error.kind == "UnfitAnswer" else _CODES.get(end.status, "failed")
        why = end.error.text if end.error is not None else f"the reading session ended as {end.status}"
        return msgspec.structs.replace(made, code=code, why=f"no value was read: {why}")


def _labels(row: SessionRow) -> Labels:
    """Those of the content of a session that goes on: all that it has."""
    return row.labels - AGENT


def _failed(error: NeuralClawError) -> ToolError:
    """The failure of a session that could not be run, for the model of the call."""
    if isinstance(error, ToolError):
        return error
    return ToolError(f"no value was read: {error.text}", hint=error.hint, metadata={"code": "not_run", "kind": error.kind})
