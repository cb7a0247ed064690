"""Work in the background, each in one process of a home at a time: where its lease is free it is started, and started again after an error."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import anyio
import msgspec

from .. import lookups
from ..agent.journal import RECORD_SECONDS
from ..errors import AgentError, StoreError
from ..foreign_code import run_foreign
from ..ports import Clock, Store
from ..types.records import Lease
from .backoff import Backoff

log = logging.getLogger(__name__)

TAKE_OVER = 1.0
"""Seconds between two looks at a lease that another process holds: when that dies, this one takes over."""
LEASE_AGAIN = Backoff(first=1.0, longest=30.0)
"""Seconds until a lease that could not be taken or given back, because the store failed, is tried again: the first time, and at most."""
STILL_HELD = 10.0
"""Seconds between two looks whether the lease is still held here. It passes on only where the file that says that this process lives was removed."""
START_AGAIN = Backoff(first=1.0, longest=300.0)
"""Seconds until work that failed is started again: the first time, and at most; each time twice as long, until it has run for as long as that."""


class BackgroundTask(msgspec.Struct, frozen=True, kw_only=True):
    """Work that runs until it is cancelled or returns. `name`: whose it is, for the log."""

    name: str
    run: Callable[[Lease], Awaitable[None]]


class BackgroundJob(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks with one life: they run in the process that holds `lease`, all of them, until the last has returned."""

    lease: str
    tasks: Sequence[BackgroundTask]


class BackgroundJobs:
    """Keeps the jobs of one process running."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock

    async def run(self, jobs: Sequence[BackgroundJob]) -> None:
        """Until all have returned, or until it is cancelled."""
        async with anyio.create_task_group() as tasks:
            for job in jobs:
                tasks.start_soon(self._keep, job)

    async def _keep(self, job: BackgroundJob) -> None:
        returned = False
        while not returned:
            lease = await self._acquired(job.lease)
            try:
                returned = await self._run_under(lease, job)
            finally:
                await self._release(lease)

    async def _acquired(self, name: str) -> Lease:
        """The lease, as soon as no living process has it."""
        failures = 0
        while True:
            try:
                if (lease := await self._store.acquire(name)) is not None:
                    return lease
                failures = 0
            except StoreError as error:
                failures += 1
                log.warning("the lease %s cannot be taken and is tried again: %s", name, error.text)
            await self._clock.sleep(LEASE_AGAIN.after(failures) if failures else TAKE_OVER)

    async def _release(self, lease: Lease) -> None:
        """Give the lease back; while it is being cancelled it is tried once: when the process ends the lease is free."""
        for wait in LEASE_AGAIN.waits():
            try:
                with anyio.move_on_after(RECORD_SECONDS, shield=True):
                    await self._store.release(lease)
                    return
            except StoreError as error:
                log.warning("the lease %s could not be given back and is tried again: %s", lease.name, error.text)
            await self._clock.sleep(wait)

    async def _run_under(self, lease: Lease, job: BackgroundJob) -> bool:
        """The tasks of a job, until all have returned. False: the lease has passed on, and they were stopped."""
        async with anyio.create_task_group() as group:
            stop = group.cancel_scope.cancel
            group.start_soon(self._watch, lease, stop)
            async with anyio.create_task_group() as tasks:
                for task in job.tasks:
                    tasks.start_soon(self._keep_running, task, lease, stop)
            stop()
            return True
        return False

    async def _watch(self, lease: Lease, stop: Callable[[], None]) -> None:
        while not await self._passed_on(lease):
            await self._clock.sleep(STILL_HELD)
        stop()

    async def _keep_running(self, task: BackgroundTask, lease: Lease, stop: Callable[[], None]) -> None:
        """The guard around work in the background: what it fails with is in the log, and it is started again."""
        failures = 0
        while True:
            began = self._clock.monotonic()
            try:
                await run_foreign(task.name, partial(task.run, lease))
            except AgentError as error:
                failures = 1 if self._clock.monotonic() - began >= START_AGAIN.longest else failures + 1
                if await self._passed_on(lease):
                    return stop()
                log.warning("%s; it is started again in %g s", error.text, START_AGAIN.after(failures), exc_info=True)
            else:
                return None
            await self._clock.sleep(START_AGAIN.after(failures))

    async def _passed_on(self, lease: Lease) -> bool:
        """Whether another process has the lease now. What cannot be read is looked at again later."""
        try:
            held = await lookups.holds(self._store, lease)
        except StoreError as error:
            log.warning("whether the lease %s is still held cannot be read: %s", lease.name, error.text)
            return False
        if not held:
            log.warning("the lease %s has passed on to another process; its work is stopped here until the lease is free", lease.name)
        return not held
