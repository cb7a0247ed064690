"""Processes over one home, in one event loop in a thread: each an agent with a store and a lock file of its own."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import msgspec
from anyio.abc import TaskGroup

from neuralclaw import Agent, lookups
from neuralclaw.agent.state import TurnState
from neuralclaw.app.clock import SystemClock
from neuralclaw.errors import AgentError, NeuralClawError
from neuralclaw.store import SqliteStore
from neuralclaw.testing import FunctionProvider
from neuralclaw.types.actions import Who
from neuralclaw.types.entries import Draft, Entry
from neuralclaw.types.events import ApprovalRequested, Inbound, TurnFinished
from neuralclaw.types.options import ApprovalsMode, StartOptions
from neuralclaw.types.records import Lease

from ..agent.kit import agent_over
from ..store.kit import raw
from .faults import FaultyStore
from .world import World

QUIET_SECONDS = 5.0


class Client:
    """All that the test knows of the program's names: what a person or program does with sessions, and what the program holds of a turn that runs."""

    def __init__(self, agent: Agent, store: FaultyStore, last: int, tasks: TaskGroup) -> None:
        """`last`: the home's last record as the process began. `tasks`: for whoever follows a turn."""
        self._tasks = tasks
        self._agent, self._desk, self._store = agent, agent.desk, store
        self.seen = set(range(last + 1))
        """The records that this process need not hear of any more."""
        agent.desk.listen(lambda entries: self.seen.update(e.header.record for e in entries))

    async def send(self, session: str, text: str, key: str, by: Who, mode: ApprovalsMode) -> bool:
        """Whether the message was accepted now, and not before."""
        options = self._agent._defaults.options(approvals=mode)
        accepted = await self._desk.send(session, Inbound(text=text, key=key, by=by, options=options), StartOptions())
        return accepted.before is None

    async def queue(self, session: str, text: str, key: str, by: Who, mode: ApprovalsMode) -> None:
        options = self._agent._defaults.options(approvals=mode)
        await self._desk.queue(session, Inbound(text=text, key=key, by=by, options=options))

    async def turn(self, session: str, text: str, key: str, by: Who, mode: ApprovalsMode) -> None:
        """Send a message and follow its turn in the background, to its end."""
        options = self._agent._defaults.options(approvals=mode)
        inbound = Inbound(text=text, key=key, by=by, options=options)
        await self._followed(self._desk.turn(session, inbound, StartOptions()))

    async def steer(self, session: str, text: str, key: str, by: Who) -> None:
        await self._desk.steer(session, Inbound(text=text, key=key, by=by))

    async def cancel(self, session: str, message: int | None = None) -> None:
        await self._desk.cancel(session, by="owner", message=message)

    async def answer(self, question: str, decision: str) -> None:
        await self._desk.answer(question, decision, by="owner")

    async def resume(self, session: str, retry: bool) -> None:
        """Go on with the session and follow it in the background, to the end of its turn."""
        await self._followed(self._desk.resume(session, StartOptions(retry=retry), by="owner"))

    async def _followed(self, turn: Any) -> None:
        """Returns when the turn is entered; raises what keeps it from that."""
        await self._tasks.start(self._follow, turn)

    async def _follow(self, turn: Any, *, task_status: Any) -> None:
        entered, seen = False, 0
        try:
            async with turn as events:
                entered = True
                task_status.started()
                async for event in events:
                    if event.entry is not None and not isinstance(event.body, ApprovalRequested):  # open questions of before come first
                        assert event.entry > seen, f"entry {event.entry} came after {seen}"
                        seen = event.entry
        except NeuralClawError:
            if not entered:
                raise

    async def write_late(self, session: str, lease: Lease, starts: bool) -> None:
        """What a turn would do that does not know yet that its lease has passed on."""
        if starts:
            await lookups.start_turn(self._store, lease, session, 1)
        else:
            await self._store.append(session, [Draft(1, TurnFinished(status="done", text="too late"))], lease=lease)

    def running(self) -> dict[str, TurnState]:
        """The state of each turn that runs here, as the running code has it."""
        runs = self._desk._sessions._runs
        return {name: run._journal.state for name, run in runs.items() if run._journal is not None and run._journal.state.number}


class Process:
    """One process: opened, and then closed or crashed."""

    def __init__(self, number: int, home: Path, world: World) -> None:
        self.number, self._home, self._world = number, home, world
        self._ready, self._stop, self._gone = anyio.Event(), anyio.Event(), anyio.Event()
        self.store: FaultyStore
        self.client: Client
        self.since = last_record(home) if (home / "neuralclaw.db").exists() else 0
        """The last record of before it."""

    async def live(self) -> None:
        """The life of the process; returns when it has ended."""
        store = await SqliteStore.open(str(self._home), clock=SystemClock())
        self.store = FaultyStore(store, self._world.record, self._world.touched)
        provider = FunctionProvider(self._world.model(self.number))
        tools = self._world.tools(self.number, self.store)
        with suppress(AgentError):
            async with agent_over(self.store, provider=provider, tools=tools) as agent, anyio.create_task_group() as tasks:  # type: ignore[arg-type]
                self.client = Client(agent, self.store, last_record(self._home), tasks)
                agent.desk.listen(lambda _: self._world.touched())
                self._ready.set()
                await self._stop.wait()
                agent.closing()  # ends what is followed
        self._gone.set()

    async def opened(self) -> None:
        await self._ready.wait()

    async def end(self, *, crash: bool) -> None:
        """Close the agent, or let the process die: what it had in memory is lost, and its lock is free."""
        if crash:
            self.store.die()
        self._stop.set()
        await self._gone.wait()


class Home:
    """One home, its processes, and the world around them. Used on the event loop alone."""

    def __init__(self, place: Path, processes: int, world: World | None = None) -> None:
        self.home, self.world = place / "home", world or World()
        self.home.mkdir(mode=0o700, exist_ok=True)
        self._count = processes
        self.processes: list[Process] = []

    async def live(self, *, task_status: Any) -> None:
        """Open the processes and keep them until `end`."""
        self._end = anyio.Event()
        async with anyio.create_task_group() as self._tasks:
            for number in range(self._count):
                self.processes.append(await self._opened(number))
            task_status.started()
            await self._end.wait()
            for process in self.processes:
                await process.end(crash=False)

    async def _opened(self, number: int) -> Process:
        process = Process(number, self.home, self.world)
        self._tasks.start_soon(process.live)
        await process.opened()
        return process

    def end(self) -> None:
        self._end.set()

    async def restart(self, number: int, *, crash: bool) -> None:
        await self.processes[number].end(crash=crash)
        self.processes[number] = await self._opened(number)

    async def quiet(self) -> None:
        """Returns when nothing can happen any more without somebody outside: every task waits, no write or worker thread is under way, and every
        process has heard of every entry. Timers, which are longer than a test, are not waited for."""
        with anyio.move_on_after(QUIET_SECONDS):
            while True:
                tick = self.world.tick
                await _all_wait()
                if not tick.is_set() and not self._moves():
                    return
                if not tick.is_set() and not self._threads():
                    await tick.wait()
                else:
                    await anyio.lowlevel.checkpoint()
        raise AssertionError(f"not quiet after {QUIET_SECONDS:g} s: {self._moves()}")

    def _threads(self) -> bool:
        return anyio.to_thread.current_default_thread_limiter().borrowed_tokens > 0

    def _moves(self) -> list[str]:
        """What still moves."""
        found = [f"{p.store.running} writes of process {p.number}" for p in self.processes if p.store.running]
        if self._threads():
            found.append("a worker thread")
        last = last_record(self.home)
        alive = [p for p in self.processes if not p.store.dead]
        behind = [p.number for p in alive if not p.client.seen.issuperset(range(1, last + 1))]
        return found + [f"process {number} has not heard of all {last} entries" for number in behind]

    def reader(self) -> Any:
        """A fresh process that only reads."""
        return _reading(self.home)


def last_record(home: Path) -> int:
    c = raw(home)
    number: int = c.execute("SELECT coalesce(max(record), 0) FROM entries").fetchone()[0]
    c.close()
    return number


class _reading:
    def __init__(self, home: Path) -> None:
        self._home = home

    async def __aenter__(self) -> SqliteStore:
        self._store = await SqliteStore.open(str(self._home), clock=SystemClock(), readonly=True)
        return self._store

    async def __aexit__(self, *_: object) -> None:
        await self._store.aclose()


async def _all_wait() -> None:
    """Returns when every other task of the loop waits for something that has not happened."""
    me, calm = asyncio.current_task(), 0
    while calm < 3:
        await anyio.lowlevel.checkpoint()
        waiters = [getattr(task, "_fut_waiter", None) for task in asyncio.all_tasks() if task is not me]
        calm = calm + 1 if all(waiter is not None and not waiter.done() for waiter in waiters) else 0


def folded(state: TurnState) -> dict[str, Any]:
    """A turn's state as plain values that can be compared."""
    calls = {c.call.id: c for c in state.calls}
    own = {q.approval_id for q in state.questions}
    return {
        "number": state.number,
        "last_entry": state.last_entry,
        "inbox": [(m.entry, m.turn, m.body.key, m.cancelled_by) for m in state.inbox],
        "started": state.started,
        "messages": state.messages,
        "calls": [msgspec.to_builtins((c.call, c.questions, c.reply, c.decision, c.started, c.started_entry, c.finished)) for c in calls.values()],
        "open": [c.call.id for c in state.open],
        "questions": state.questions,
        "answers": {name: answer for name, answer in state.answers.items() if name in own},
        "usage": state.usage,
        "ran_ms": state.ran_ms,
        "ends": (state.cancelled_by, state.limit, state.error, state.nudged, state.pending_nudge, state.finished, state.waiting),
        "parked": state.parked,
    }


def fold_of(number: int, entries: Sequence[Entry], last: int) -> dict[str, Any]:
    """The state of a turn after entry `last`, from the journal alone."""
    return folded(TurnState.fold(number, [e for e in entries if e.entry <= last]))
