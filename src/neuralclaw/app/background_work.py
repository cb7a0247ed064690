"""What works in the background of an agent that is opened with `services`; loaded only then."""

import logging
import math
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TypeVar

import anyio
from anyio.abc import TaskStatus

from .. import lookups
from ..errors import NeuralClawError
from ..ports import Channel
from ..runtime.background import BackgroundJob, BackgroundJobs, BackgroundTask
from ..runtime.channel_desk import own_workspace
from ..runtime.delivery import Delivery
from ..runtime.desk import SessionDesk
from ..types.entries import Entry
from ..types.events import ApprovalResolved, TurnStarted
from ..types.records import Lease
from .home import Home

log = logging.getLogger(__name__)

T = TypeVar("T")


async def run_services(home: Home, desk: SessionDesk) -> None:
    """Run what works in the background: services, and channels with the delivery to them. Until it is cancelled; each in one process of the home.

    A channel and its delivery have one lease: they are in one process, also when the channel has returned or is started again after an error.
    """
    jobs: list[BackgroundJob] = []
    for service, context in home.capability_parts.services():
        name = f"service:{service.name}"
        jobs.append(BackgroundJob(lease=name, tasks=[BackgroundTask(name=name, run=_alone(service.run, context))]))
    for name, channel in home.capability_parts.channels().items():
        jobs.append(_channel_job(home, desk, name, channel))
    async with anyio.create_task_group() as tasks:
        await tasks.start(_go_on_when_answered, home, desk)
        await BackgroundJobs(home.store, home.clock).run(jobs)
        tasks.cancel_scope.cancel()


async def _go_on_when_answered(home: Home, desk: SessionDesk, *, task_status: TaskStatus[None]) -> None:
    """Go on with a turn of a channel or a service when its question was answered, from whichever process: nobody else waits for it."""
    answered, sessions = anyio.create_memory_object_stream[str](math.inf)

    def notice(entries: Sequence[Entry]) -> None:
        for entry in entries:
            if isinstance(entry.body, ApprovalResolved):
                with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # the work in the background has ended
                    answered.send_nowait(entry.header.session)

    desk.listen(notice)
    task_status.started()
    with answered, sessions:
        async for session in sessions:
            try:
                if await _in_background(home, session):
                    await desk.go_on(session)
            except NeuralClawError as error:
                log.warning("the turn of session %s was answered and cannot go on: %s", session, error.text)


async def _in_background(home: Home, session: str) -> bool:
    """Whether the session's last turn was begun by a channel or a service."""
    row = await lookups.session(home.store, session)
    begun = await home.store.read(session, from_turn=row.last_turn, kinds=("turn.started",)) if row is not None and row.last_turn else []
    options = next((entry.body.options for entry in begun if isinstance(entry.body, TurnStarted)), None)
    return options is not None and (bool(options.origin.channel) or options.workspace == own_workspace(home.loaded.home, session))


def _channel_job(home: Home, desk: SessionDesk, name: str, channel: Channel) -> BackgroundJob:
    delivery = Delivery(home.store, home.clock, home.redactor, name, channel)
    desk.listen(delivery.notice)
    lease = f"channel:{name}"
    serve = _alone(channel.serve, home.capability_parts.channel_desk(name))
    return BackgroundJob(lease=lease, tasks=[BackgroundTask(name=lease, run=serve), BackgroundTask(name=f"delivery:{name}", run=delivery.run)])


def _alone(run: Callable[[T], Awaitable[None]], given: T) -> Callable[[Lease], Awaitable[None]]:
    """A task that needs not know its lease."""
    return lambda _: run(given)
