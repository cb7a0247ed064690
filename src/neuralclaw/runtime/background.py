"""Work in the background, each in one process of a home at a time: where its lease is free it is started, and started again after an error."""

import logging
from collections.abc import Awaitable, Callable, Sequence

import anyio
import msgspec

from ..agent.journal import RECORD_SECONDS
from ..errors import AgentError, StoreError
from ..foreign_code import run_foreign
from ..ports import Clock, Store
from ..types.records import Lease

log = logging.getLogger(__name__)

TAKE_OVER = 1.0
"""Seconds between two looks at a lease that another process holds: when that dies, this one takes over."""
START_AGAIN = (1.0, 300.0)
"""Seconds until work that failed is started again: the first time, and at most; each time twice as long, until it has run for as long as that."""


class BackgroundJob(msgspec.Struct, frozen=True, kw_only=True):
    """Work that runs until it is cancelled or returns. `lease`: what makes it the only one."""

    lease: str
    run: Callable[[], Awaitable[None]]


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
        lease = await self._acquired(job.lease)
        try:
            await self._work(job)
        finally:
            await self._release(lease)

    async def _acquired(self, name: str) -> Lease:
        """The lease, as soon as no living process has it."""
        while True:
            try:
                if (lease := await self._store.acquire(name)) is not None:
                    return lease
            except StoreError as error:
                log.warning("the lease %s cannot be taken and is tried again: %s", name, error.text)
            await self._clock.sleep(TAKE_OVER)

    async def _release(self, lease: Lease) -> None:
        try:
            with anyio.move_on_after(RECORD_SECONDS, shield=True):
                await self._store.release(lease)
        except StoreError as error:
            log.warning("the lease %s could not be given back: %s", lease.name, error.text)

    async def _work(self, job: BackgroundJob) -> None:
        """The guard around work in the background: what it fails with is in the log, and it is started again."""
        wait, longest = START_AGAIN
        while True:
            began = self._clock.monotonic()
            try:
                await run_foreign(job.lease, job.run)
            except AgentError as error:
                if self._clock.monotonic() - began >= longest:
                    wait = START_AGAIN[0]
                log.warning("%s; it is started again in %g s", error.text, wait, exc_info=True)
            else:
                return
            await self._clock.sleep(wait)
            wait = min(2 * wait, longest)
