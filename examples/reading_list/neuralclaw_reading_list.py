"""A reading list for NeuralClaw: the sample of docs/capabilities.md. Pages are added and ticked off; the model is told what waits."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec

from neuralclaw import UsageError, tool
from neuralclaw import capability as nc

DAY, HOUR = 86_400, 3_600


class ReadingList(msgspec.Struct, frozen=True, kw_only=True):
    """Pages to read later."""

    shown: Annotated[int, msgspec.Meta(ge=0, le=100)] = 5
    """How many pages the model is told of, the oldest first."""
    keep_days: Annotated[float, msgspec.Meta(ge=0)] = 90
    """Days after which a page that nobody read is dropped."""


class PageAdded(nc.Body, frozen=True, kw_only=True, tag="reading_list.added"):
    url: str
    title: str


class PageDone(nc.Body, frozen=True, kw_only=True, tag="reading_list.done"):
    """A page is off the list. `why`: `read`, or `dropped` because it waited too long."""

    url: str
    why: str


class Page(msgspec.Struct, frozen=True):
    """One page that waits. `added`: the day, in UTC."""

    url: str
    title: str
    added: str


def fold(entry: nc.Entry, rows: nc.Rows) -> None:
    match entry.body:
        case PageAdded(url=url, title=title):
            rows.put(url=url, title=title, added=entry.header.time)
        case PageDone(url=url):
            rows.delete(url=url)


async def pages(context: nc.CapabilityContext) -> list[Page]:
    """The pages that wait, the oldest first."""
    rows = await context.store.rows("reading_list", order=("added",))
    return [Page(row["url"], row["title"], datetime.fromtimestamp(row["added"] / 1e6, UTC).date().isoformat()) for row in rows]


async def add(context: nc.CapabilityContext, url: str, *, title: str = "") -> Page:
    if "://" not in url:
        raise UsageError(f"{url!r} is not the address of a page; nothing was added", hint="neuralclaw reading add https://example.org")
    await context.record(PageAdded(url=url, title=title or url), labels=nc.OWNER)
    return next(page for page in await pages(context) if page.url == url)


async def list_pages(context: nc.CapabilityContext, *, limit: Annotated[int, msgspec.Meta(ge=1)] = 50) -> list[Page]:
    return (await pages(context))[:limit]


async def tools(context: nc.CapabilityContext, turn: nc.TurnContext) -> Sequence[Any]:
    @tool(risk="LOW", effect="idempotent")
    async def finish_reading(url: str, ctx: nc.ToolContext) -> str:
        """Take a page off the reading list once it was read.

        Args:
            url: The page's address, as the list has it.
        """
        if not await context.store.rows("reading_list", {"url": url}):
            return f"{url} is not on the list"
        await context.record(PageDone(url=url, why="read"), session=ctx.session, turn=ctx.turn)
        return f"{url} is off the list"

    return [finish_reading]


async def tell(context: nc.CapabilityContext, turn: nc.TurnContext, room: int) -> Sequence[tuple[str, nc.Labels]]:
    waiting = (await pages(context))[: context.settings.shown]
    lines = "\n".join(f"- {page.title}: {page.url}" for page in waiting)
    return [(f"On the reading list:\n{lines}", nc.OWNER)] if waiting else []


async def drop_old_pages(context: nc.CapabilityContext) -> None:
    while True:
        before = (context.clock.now() - context.settings.keep_days * DAY) * 1e6
        for row in await context.store.rows("reading_list"):
            if row["added"] < before:
                await context.record(PageDone(url=row["url"], why="dropped"))
        await context.clock.sleep(HOUR)


async def checks(context: nc.CapabilityContext) -> AsyncIterator[nc.DoctorCheck]:
    yield nc.DoctorCheck(check="reading_list.pages", ok=True, text=f"{len(await pages(context))} on the list")


READING_LIST = nc.Capability(
    name="reading_list",
    summary="Pages to read later.",
    settings=ReadingList,
    verbs=(
        nc.Verb(name="reading.add", summary="Put a page on the reading list.", run=add, example="neuralclaw reading add https://example.org"),
        nc.Verb(name="reading.list", summary="List the pages that wait.", run=list_pages, reads=True, help={"limit": "how many at most"}),
    ),
    events=(
        nc.EventKind(body=PageAdded, sentence=lambda body: f"{body.title} was put on the reading list"),
        nc.EventKind(body=PageDone, sentence=lambda body: f"{body.url} was {body.why} and is off the reading list"),
    ),
    tables=(
        nc.Table(
            name="reading_list",
            columns={"url": "text", "title": "text", "added": "integer"},
            key=("url",),
            kinds=("reading_list.added", "reading_list.done"),
            fold=fold,
        ),
    ),
    tools=tools,
    sources=(nc.ContextSource(name="reading_list", read=tell, place="before_last"),),
    services=(nc.Service(name="reading_list.drop", run=drop_old_pages),),
    checks=checks,
)
