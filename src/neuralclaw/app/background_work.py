"""What works in the background of an agent that is opened with `services`; loaded only then."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from ..ports import Channel
from ..runtime.background import BackgroundJob, BackgroundJobs, BackgroundTask
from ..runtime.delivery import Delivery
from ..runtime.desk import SessionDesk
from ..types.records import Lease
from .home import Home

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
    await BackgroundJobs(home.store, home.clock).run(jobs)


def _channel_job(home: Home, desk: SessionDesk, name: str, channel: Channel) -> BackgroundJob:
    delivery = Delivery(home.store, home.clock, home.redactor, name, channel)
    desk.listen(delivery.notice)
    lease = f"channel:{name}"
    serve = _alone(channel.serve, home.capability_parts.channel_desk(name))
    return BackgroundJob(lease=lease, tasks=[BackgroundTask(name=lease, run=serve), BackgroundTask(name=f"delivery:{name}", run=delivery.run)])


def _alone(run: Callable[[T], Awaitable[None]], given: T) -> Callable[[Lease], Awaitable[None]]:
    """A task that needs not know its lease."""
    return lambda _: run(given)
