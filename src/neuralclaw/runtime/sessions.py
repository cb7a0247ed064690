"""Sessions of this process: one turn at a time per session, under its lease.

`Sessions.start` brings a session's unfinished turn and its waiting messages to their end in the background; whoever wants to see it
subscribes to the bus.
"""

import logging
import math
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from typing import TypeVar

import anyio
from anyio.abc import TaskGroup

from .. import lookups
from ..agent.journal import RECORD_SECONDS
from ..errors import AgentError, NeuralClawError, SessionBusy, StoreError
from ..foreign_code import reason, run_apart, uncancel
from ..types.entries import Entry
from ..types.logcontext import about
from ..types.records import Lease
from .backoff import Backoff
from .bus import Subscription
from .runtime_ports import RuntimePorts
from .session_run import SessionRun
from .turn_start import RunStart
from .turnstream import TurnStream

log = logging.getLogger(__name__)

T = TypeVar("T")

RELEASE_AGAIN = Backoff(first=1.0, longest=30.0)
"""Seconds until a lease that could not be given back is tried again: the first time, and at most."""


class Sessions:
    """The sessions this process drives. `ended` is called with each session whose run ends."""

    def __init__(self, ports: RuntimePorts, tasks: TaskGroup, *, max_sessions: int, ended: Callable[[str], None]) -> None:
        self._ports, self._store, self._tasks, self._ended = ports, ports.store, tasks, ended
        self._runs: dict[str, SessionRun] = {}
        self._claims: dict[str, anyio.Event] = {}  # leases of this process that no run has yet
        self._kept: dict[str, Lease] = {}  # leases that could not be given back
        self._since: int | None = None  # the first record that was written while this process was there
        self._slots = anyio.CapacityLimiter(max_sessions)
        self._closing = False

    def close(self) -> None:
        """The program ends: turns that run stop where they are and stay unfinished, and none is begun."""
        self._closing = True
        for run in self._runs.values():
            run.life.cancel()

    def driving(self, session: str) -> bool:
        """Whether a turn of this session runs here and goes on; one that stops because the agent is closed does not, and nobody need cancel it."""
        return not self._closing and self.here(session)

    def here(self, session: str) -> bool:
        """Whether a turn of this session runs here, or the next one is about to."""
        run = self._runs.get(session)
        return run is not None and not run.ending

    async def claim(self, session: str) -> Lease | None:
        """The lease of a session, to be handed to `start` or `give_back`; None when this process drives the session already.

        Raises `SessionBusy` when its turn runs elsewhere.
        """
        while True:
            run = self._runs.get(session)
            if run is not None and not run.ending:
                return None
            if run is not None:
                await run.done.wait()
            elif session in self._claims:
                await self._claims[session].wait()
            else:
                return await self._take(session)

    async def whole(self, work: Callable[[], Awaitable[T]], undo: Callable[[T], Awaitable[None]]) -> T:
        """What `work` gives; it is never stopped half-way. A cancellation by anyio waits for its end, one by asyncio does not: then `undo` takes it back."""
        outcome: list[T | Exception] = []
        ended, given_up = anyio.Event(), False

        async def run() -> None:
            try:
                outcome.append(await work())
            except NeuralClawError as error:
                outcome.append(error)
            finally:
                ended.set()
            if given_up and not isinstance(outcome[0], Exception):
                try:
                    await undo(outcome[0])
                except NeuralClawError as error:
                    log.warning("what was begun for a caller that left could not be taken back: %s", error.text)

        self._tasks.start_soon(run)
        try:
            with anyio.CancelScope(shield=True):
                await ended.wait()
        finally:
            given_up = not ended.is_set()
        if not outcome:
            raise AgentError("the agent was closed; nothing more was begun")
        if isinstance(outcome[0], Exception):
            raise outcome[0]
        return outcome[0]

    async def _take(self, session: str) -> Lease:
        self._claims[session] = anyio.Event()
        lease = self._kept.pop(session, None)
        try:
            if lease is None:
                lease = await self._store.acquire(lease_name(session))
            if lease is None:
                holder = await self._store.holder(lease_name(session))
                raise SessionBusy(
                    f"the session {session} is busy: its turn runs in {holder or 'another process'}",
                    hint="wait for it, answer or cancel it from here, or use another --session",
                )
        finally:
            if lease is None:
                self._unclaim(session)
        return lease

    def _unclaim(self, session: str) -> None:
        claim = self._claims.pop(session, None)
        if claim is not None:
            claim.set()

    async def give_back(self, session: str, lease: Lease) -> None:
        """Free the lease. Where the store cannot, it is kept for the next turn of the session here, and tried again meanwhile."""
        if not await self._released(lease):
            self._kept[session] = lease
            self._tasks.start_soon(self._give_back_later, session, lease)
        self._unclaim(session)

    async def _released(self, lease: Lease) -> bool:
        try:
            with anyio.move_on_after(RECORD_SECONDS, shield=True):
                await self._store.release(lease)
                return True
        except StoreError as error:
            log.warning("the lease %s could not be given back and is tried again: %s", lease.name, error.text)
        return False

    async def _give_back_later(self, session: str, lease: Lease) -> None:
        for wait in RELEASE_AGAIN.waits():
            await self._ports.clock.sleep(wait)
            if self._kept.get(session) is not lease:
                return  # it was taken up again
            del self._kept[session]
            self._claims[session] = anyio.Event()  # whoever wants the session waits for the outcome
            released = await self._released(lease)
            if not released:
                self._kept[session] = lease
            self._unclaim(session)
            if released:
                return

    def start(self, session: str, lease: Lease, start: RunStart) -> None:
        """Drive the session in the background until nothing is left to do, then give the lease back."""
        run = SessionRun(self._ports, session, lease, start, lambda record: self._since is not None and record >= self._since)
        if self._closing:
            run.life.cancel()
        self._runs[session] = run
        self._unclaim(session)
        self._tasks.start_soon(self._drive, run)

    async def wake(self, session: str, start: RunStart) -> None:
        """See to it that what waits in the session is taken up, by this process or by the one that holds it.

        What runs here already goes on as it was started. Raises `SessionBusy` and `StoreError`.
        """
        lease = await self.claim(session)
        if lease is not None:
            self.start(session, lease, start)
        else:
            self._runs[session].again = True

    async def idle(self, session: str) -> None:
        """Returns when this process does not drive the session."""
        while (run := self._runs.get(session)) is not None:
            await run.done.wait()

    def notice(self, entries: Sequence[Entry]) -> None:
        """Entries that were written outside a run, here or by other processes."""
        for entry in entries:
            if self._since is None or entry.header.record < self._since:
                self._since = entry.header.record
            run = self._runs.get(entry.header.session)
            if run is not None:
                run.notice(entry)

    async def _drive(self, run: SessionRun) -> None:
        """The guard of a run: whatever ends it reaches those whose work it was, never other sessions, and the lease is given back.

        Only a cancellation of all sessions is raised.
        """
        failure: Exception | None = None
        try:
            with about(session=run.session), run.life:
                async with nullcontext() if run.within else self._slots:
                    failure = _failure_of(run, (await run_apart(run.work)).error)
        except anyio.get_cancelled_exc_class() as error:
            if anyio.current_effective_deadline() == -math.inf:
                raise
            uncancel()
            failure = _failure_of(run, error)
        finally:
            run.ending = True
            if run.life.cancel_called:
                failure = AgentError("the agent was closed; the turn stays unfinished, and what was recorded is kept", hint="neuralclaw recover")
            told = self._ports.bus.readers(run.session, run.seen) if failure is not None else []  # nobody who comes from now on
            if isinstance(failure, StoreError):  # the lease may not be given back for as long as the store waits
                _tell(told, failure)
            await self.give_back(run.session, run.lease)
            del self._runs[run.session]
            self._ended(run.session)
            run.done.set()
        if failure is not None and not isinstance(failure, StoreError):
            _tell(told, failure)
        if not self._closing:
            await self._wake_again(run, failed=failure is not None)

    async def _wake_again(self, run: SessionRun, *, failed: bool) -> None:
        """Take up what came in while the lease was given back; who holds the session now has seen it too."""
        session = run.session
        try:
            if run.missed if failed else (run.again or await self._wrote_behind(run)):
                await self.wake(session, RunStart())
        except SessionBusy:
            return
        except NeuralClawError as error:
            log.warning("what came in for session %s waits for the next start: %s", session, error.text)
            _tell(self._ports.bus.readers(session, None), error)

    async def _wrote_behind(self, run: SessionRun) -> bool:
        """Whether another process, which found the session held here, left something to do that this one has not been told of yet."""
        row = await lookups.session(self._store, run.session)
        return row is not None and row.state == "unfinished" and row.entries > (run.seen or 0)


def _failure_of(run: SessionRun, error: BaseException | None) -> Exception | None:
    """What the readers of a run are told of what ended it, which is in the log; None where it came to its end."""
    if error is None:
        return None
    if isinstance(error, NeuralClawError):
        log.warning("the turn of session %s stopped: %s", run.session, error.text)
        return error
    log.error("the turn of session %s stopped on a defect of the program (%s) and can be resumed", run.session, type(error).__name__, exc_info=error)
    return error if isinstance(error, Exception) else AgentError(f"the turn stopped on a defect: {reason(error)}; what was recorded is kept")


def _tell(readers: Sequence[TurnStream | Subscription], error: Exception) -> None:
    for reader in readers:
        reader.fail(error)


def lease_name(session: str) -> str:
    return f"session:{session}"
