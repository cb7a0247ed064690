"""Habits for NeuralClaw: the verb of docs/capabilities.md, with typed arguments, a result and a table."""

from datetime import UTC, date, datetime
from typing import Annotated, Literal

import msgspec

from neuralclaw import UsageError
from neuralclaw import capability as nc

Effort = Literal["easy", "hard"]


class HabitDone(nc.Body, frozen=True, kw_only=True, tag="habits.done"):
    name: str
    day: date
    times: int
    effort: Effort


class Day(msgspec.Struct, frozen=True):
    """What was done of one habit on one day."""

    name: str
    day: date
    times: int
    effort: Effort


def fold(entry: nc.Entry, rows: nc.Rows) -> None:
    match entry.body:
        case HabitDone(name=name, day=day, times=times, effort=effort):
            before = rows.get(name=name, day=day.isoformat())
            rows.put(name=name, day=day.isoformat(), times=times + (before["times"] if before else 0), effort=effort)


async def days(context: nc.CapabilityContext, *, since: date | None = None) -> list[Day]:
    rows = await context.store.rows("habits", order=("day", "name"))
    found = [Day(row["name"], date.fromisoformat(row["day"]), row["times"], row["effort"]) for row in rows]
    return [one for one in found if since is None or one.day >= since]


async def done(
    context: nc.CapabilityContext, name: str, times: Annotated[int, msgspec.Meta(ge=1)] = 1, *, effort: Effort = "easy", day: date | None = None
) -> Day:
    today = datetime.fromtimestamp(context.clock.now(), UTC).date()
    day = day or today
    if day > today:
        raise UsageError(f"{day} is not over yet; nothing was recorded", hint="leave --day out for today")
    await context.record(HabitDone(name=name, day=day, times=times, effort=effort), labels=nc.OWNER)
    return next(one for one in await days(context) if (one.name, one.day) == (name, day))


DONE = nc.Verb(
    name="habit.done",
    summary="Tick a habit off.",
    run=done,
    help={"name": "the habit", "times": "how often", "effort": "how it was", "day": "the day, else today"},
    example="neuralclaw habit done run 2 --effort hard",
)

HABITS = nc.Capability(
    name="habits",
    summary="What is done every day.",
    verbs=(
        DONE,
        nc.Verb(name="habit.list", summary="List what was done.", run=days, reads=True, columns=("day", "name", "times"), empty="nothing was done yet"),
    ),
    events=(nc.EventKind(body=HabitDone, sentence=lambda body: f"{body.name} was done on {body.day}, {body.times} times"),),
    tables=(
        nc.Table(
            name="habits",
            columns={"name": "text", "day": "text", "times": "integer", "effort": "text"},
            key=("name", "day"),
            kinds=("habits.done",),
            fold=fold,
        ),
    ),
)
