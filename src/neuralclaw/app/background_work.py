"""What works in the background of an agent that is opened with `services`; loaded only then."""

from functools import partial

from ..runtime.background import BackgroundJob, BackgroundJobs
from ..runtime.delivery import Delivery
from ..runtime.desk import SessionDesk
from .home import Home


async def run_services(home: Home, desk: SessionDesk) -> None:
    """Run what works in the background: services, channels, and the delivery to channels. Until it is cancelled; each in one process of the home."""
    jobs = [BackgroundJob(lease=f"service:{service.name}", run=partial(service.run, context)) for service, context in home.capability_parts.services()]
    for name, channel in home.capability_parts.channels().items():
        delivery = Delivery(home.store, home.clock, name, channel)
        desk.listen(delivery.notice)
        jobs.append(BackgroundJob(lease=f"channel:{name}", run=partial(channel.serve, desk)))
        jobs.append(BackgroundJob(lease=f"delivery:{name}", run=delivery.run))
    await BackgroundJobs(home.store, home.clock).run(jobs)
