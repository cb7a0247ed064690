"""`sessions replay`: each turn of a session goes through the loop again. Nothing is written, nothing runs, and only a model that is named is asked."""

from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import anyio
import msgspec

from ... import lookups
from ...agent.compaction import finished
from ...agent.context import Conversation
from ...agent.equipment import ChosenModel, Equipment
from ...agent.journal import Journal
from ...agent.loop import run_turn
from ...agent.redaction import NO_REDACTION, Searched, redacted
from ...agent.sources import TurnSource
from ...agent.state import TurnState
from ...agent.turn import Turn, TurnRecord
from ...capability import TurnContext
from ...errors import AgentError, ConfigError, UsageError
from ...plugins import load
from ...ports import Store, Toolset
from ...runtime.session_history import read_history
from ...safety.recorded_gate import RecordedGate
from ...types.codec import foreign
from ...types.entries import CALLS, Entry, event_of
from ...types.events import (
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    HookRan,
    Message,
    SessionForked,
    SessionImported,
    TurnFinished,
    TurnStarted,
    Unreadable,
)
from ...types.labels import NONE, Labels
from ...types.messages import ModelInfo, Request, ToolDef
from ...types.options import ApprovalsMode, TurnOptions
from ...types.records import Lease
from ...types.risk import Decision
from ..home import Home
from ..option_checks import checked_name
from ..simulation.recorded_actions import ActionSelection, RecordedActions
from ..simulation.simulated_policy import ActionJudge, policy_of_file
from .recording import Difference, Recording, ReplayStopped, shown
from .replay_store import ReplayStore
from .served_parts import ReplayTime, ServedAnswers, ServedProvider, ServedTools, next_about

_definitions = msgspec.json.Decoder(tuple[ToolDef, ...])
UNLIMITED = 1e9
"""Seconds: the time of a replayed turn is up where it was up."""


class _StandingClock:
    """A clock that does not move: times are no part of what is compared."""

    def now(self) -> float:
        return 0.0

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        await anyio.lowlevel.checkpoint()


async def replay_session(home: Home, name: str, *, model: str | None, policy: str | None) -> list[dict[str, Any]]:
    """The events of the session, as they came out again, and behind the last one that is the same a `fork`, where one is.

    `model` (`P:M`): asked for each reply anew; the first one that is not the recorded one is a fork. `policy`: a file of rules; the first decision that they
    make otherwise is one. Raises `SessionNotFound`, `UsageError` for a session that cannot be run again, and `ConfigError` for the model.
    """
    row = await lookups.find_session(home.store, checked_name(name))
    pages = lookups.pages(home.store, row.session, last=row.entries)
    entries = [redacted(entry, home.redactor) async for page in pages for entry in page]
    _check(row.session, entries)
    chosen = await _chosen(home, model) if model is not None else None
    replay = SessionReplay(home, row.session, Recording(entries), chosen)
    await replay.run()
    forks = [one for one in (replay.recording.difference, await _decided_otherwise(home, row.session, entries, policy)) if one is not None]
    fork = min(forks, key=lambda one: one.entry or len(entries) + 1, default=None)
    last = fork.entry - 1 if fork is not None and fork.entry else len(entries)
    events = [_event(entry) for entry in entries if entry.entry <= last]
    if fork is None:
        return events
    unexpected = {} if model is not None or policy is not None else {"unexpected": True}
    return [*events, {"type": "fork", **msgspec.to_builtins(fork), **unexpected}]


def _check(session: str, entries: Sequence[Entry]) -> None:
    """Refuse what cannot be run again."""
    what = ""
    for entry in entries:
        body = entry.body
        if (body is None or isinstance(body, Unreadable)) and not foreign(entry.header.kind):
            what = f"entry {entry.entry} was erased or cannot be read"
        elif isinstance(body, HookRan):
            what = f"hooks ran in it (entry {entry.entry}), and what they were told is not on record"
        elif isinstance(body, TurnStarted) and body.options.purpose == "reading":
            what = "it read content for another session, and the form of its answer is not on record"
        if what:
            raise UsageError(f"the session {session} cannot be replayed: {what}; nothing was done")


async def _chosen(home: Home, model: str) -> ChosenModel:
    """The model that is asked anew. Raises `ConfigError`, also where a cap would not count its cost."""
    if home.loaded.settings.budget != type(home.loaded.settings.budget)():
        raise ConfigError("a replay with another model is not counted by budget.*, so it is refused while a cap is set", hint="replay without --model")
    await home.models.ready(model)
    return await home.models.chosen(home.models.full_name(model))


def _event(entry: Entry) -> dict[str, Any]:
    event = event_of(entry)
    if event is None:
        return {"type": entry.header.kind, "entry": entry.entry, "turn": entry.turn, "erased": True}
    fields = event.to_dict()
    del fields["seq"]
    return fields


class SessionReplay:
    """The replay of one session, turn after turn."""

    def __init__(self, home: Home, session: str, recording: Recording, chosen: ChosenModel | None) -> None:
        self._home, self._session, self.recording, self._chosen = home, session, recording, chosen
        self._store = cast(Store, ReplayStore(home.store, session, recording))  # as much of one as a turn uses

    async def run(self) -> None:
        """Until the record ends or the run goes another way."""
        recording = self.recording
        copied = _copied(recording.entries)
        while (entry := recording.next_of_loop()) is not None:
            recording.move_behind(entry)
            body = entry.body
            if not isinstance(body, TurnStarted) or entry.entry <= copied:
                continue  # a copy of another session's, or how a turn was ended that had not been equipped
            if {"system", "tools"} <= body.stored.keys():
                await self._turn(entry.turn, body)
            if recording.difference is not None or recording.at_end:
                return

    async def _turn(self, number: int, started: TurnStarted) -> None:
        """One turn, as many runs as it had."""
        recording = self.recording
        blobs = await lookups.blobs(self._home.store, [started.stored["system"], started.stored["tools"]])
        if len(blobs) < 2:
            raise UsageError(f"the session {self._session} cannot be replayed: the prompt of turn {number} is not kept; nothing was done")
        while True:
            before = recording.position
            state = await self._run(number, started.options, blobs[started.stored["system"]].decode(), _definitions.decode(blobs[started.stored["tools"]]))
            following = recording.next_of_loop()
            if recording.difference is not None or recording.at_end or state.finished is not None or following is None:
                return
            if isinstance(following.body, TurnStarted):
                raise recording.differ(following, {"type": "turn.finished", "turn": number}) from None
            alone = self._session == CALLS  # a single call that its process left is ended, and not gone on with
            if alone or recording.position == before:
                if not self._ended_outside(number):
                    recording.differ(following, None)
                return
            recording.move_before(following)  # what came in before the next run began

    def _ended_outside(self, number: int) -> bool:
        """Whether the turn was ended without being run: then all up to its end comes in."""
        end = next((entry for entry in self.recording.coming() if entry.turn == number and isinstance(entry.body, TurnFinished)), None)
        if end is not None:
            self.recording.move_behind(end)
        return end is not None

    async def _run(self, number: int, options: TurnOptions, system: str, definitions: tuple[ToolDef, ...]) -> TurnState:
        """One run of the turn."""
        recording, clock = self.recording, _StandingClock()
        recording.life, recording.interrupted = anyio.CancelScope(), False
        _, history = await read_history(self._store, self._session, number)
        journal = Journal(self._store, Lease(self._session, "", 0), self._session, lambda entries: None, Searched(NO_REDACTION))
        journal.begin(TurnState.fold(number, history), Conversation.of(history), recording.labels)
        time = ReplayTime(clock, 0, UNLIMITED)
        options = msgspec.structs.replace(options, approvals=self._mode(options.approvals))
        today = await self._home.turn_tools(TurnContext(session=self._session, turn=number, options=msgspec.structs.replace(options, tools=None)))
        turn = Turn(
            record=TurnRecord(options=options, journal=journal, time=time),
            session=self._session,
            equipment=self._equipment(options, journal, time, system, definitions, today),
            store=self._store,
            asker=ServedAnswers(recording),
            clock=clock,
            show=lambda body: None,
        )
        with recording.life:
            try:
                await run_turn(turn)
            except ReplayStopped:
                return journal.state
        return journal.state

    def _equipment(self, options: TurnOptions, journal: Journal, time: ReplayTime, system: str, definitions: tuple[ToolDef, ...], today: Toolset) -> Equipment:
        recording = self.recording
        provider = ServedProvider(recording, self._info(options.model), self._compare if self._chosen is not None else None)
        tools = ServedTools(recording, definitions, today)
        provider.time = tools.time = time
        model = ChosenModel(provider=provider, name=options.model.partition(":")[2])
        return Equipment(
            model=model,
            foreign_provider=False,
            tools=tools,
            gate=RecordedGate(partial(next_about, recording, time), recording.question_of),
            system=system,
            definitions=definitions,
            before_last=(TurnSource(name="the record", read=partial(self._environment, journal), foreign=False),),
        )

    async def _environment(self, journal: Journal) -> Sequence[tuple[str, Labels]]:
        """What stood before the last message of the next request. What had come in by then comes in now."""
        reply = self.recording.next_reply()
        if reply is not None and reply.seen > journal.state.last_entry:
            self.recording.let_in(reply.seen)
            await journal.sync()
        digest = reply.environment if reply is not None else ""
        found = await lookups.blobs(self._home.store, [digest]) if digest else {}
        return [(found[digest].decode(), NONE)] if digest in found else []

    def _info(self, model: str) -> ModelInfo:
        """What is known today of the recorded model."""
        try:
            return self._home.models.infos(model)[model]
        except ConfigError:
            service, _, name = model.partition(":")
            described = self._home.models.described(service) if self._home.models.names_service(model) else None
            known: ModelInfo = load("provider.info")(described, name) if described is not None else ModelInfo()
            return known

    def _mode(self, recorded: ApprovalsMode) -> ApprovalsMode:
        """How this run treated what asks: a later run of a turn may do so otherwise than its first one."""
        asked: set[str | None] = set()
        for entry in self.recording.coming():
            body = entry.body
            if isinstance(body, ApprovalRequested):
                asked |= {body.approval_id, body.call_id}
            elif isinstance(body, ApprovalResolved) and body.by == "auto":
                return "auto"
            elif isinstance(body, ApprovalResolved) and body.by == "nobody" and body.approval_id not in asked:
                return "none"
            elif isinstance(body, DecisionMade) and body.decision is Decision.ASK and body.by == "nobody" and body.call_id not in asked:
                return "none"
            elif isinstance(body, TurnFinished):
                break
        return "park" if asked and recorded in ("none", "auto") else recorded

    async def _compare(self, request: Request, entry: Entry, body: Message) -> None:
        """Ask the other model the same. Raises `ReplayStopped` for another reply."""
        model = self._chosen
        assert model is not None, "asked only where there is one"
        settings = {name: getattr(model, name) for name in ("temperature", "top_p", "max_tokens", "timeout")}
        reply = await finished(model, msgspec.structs.replace(request, model=model.name, **settings))
        if reply.failure is not None:
            raise AgentError(reply.failure.text, hint=reply.failure.hint)
        calls = [{"name": call.name, "arguments": call.arguments} for call in reply.tool_calls]
        recorded = shown(body)
        if (reply.text, calls) != (recorded["text"], recorded["tool_calls"]):
            raise self.recording.differ(entry, {**recorded, "text": reply.text, "tool_calls": calls, "stop": reply.stop})


def _copied(entries: Sequence[Entry]) -> int:
    """The number of the last entry that is the copy of another session's, 0 where none is."""
    forked = next((entry for entry in entries if isinstance(entry.body, SessionForked | SessionImported)), None)
    if forked is None or not isinstance(forked.body, SessionForked | SessionImported):
        return 0
    turn = forked.body.turn
    return next((entry.entry for entry in entries if entry.turn == turn and isinstance(entry.body, TurnFinished) and not entry.body.waiting), 0)


async def _decided_otherwise(home: Home, session: str, entries: Sequence[Entry], policy: str | None) -> Difference | None:
    """The first decision on record that the rules of the file make otherwise, where those in force do not."""
    if policy is None:
        return None
    judge = ActionJudge(home, policy_of_file(home, policy, add=False)[0])
    places = {entry.body.call_id: entry.entry for entry in reversed(entries) if isinstance(entry.body, DecisionMade)}
    async for one in RecordedActions(home.store, ActionSelection(session=session)):
        found = await judge.judge(one)
        if isinstance(found, str):
            continue
        _, now, then = found
        recorded = one.decision.decision if one.decision.by == "policy" else Decision.ASK
        if then.decision not in (now.decision, recorded):
            place = places.get(one.call.id, 0)
            return Difference(entry=place, recorded=_decision(one.decision.name, recorded), now=_decision(one.decision.name, then.decision))
    return None


def _decision(name: str, decision: Decision) -> dict[str, Any]:
    return {"type": "decision", "name": name, "decision": str(decision)}
