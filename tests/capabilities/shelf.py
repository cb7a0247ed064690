"""A small capability for tests, and packages that bring capabilities, as pip leaves them on the disk."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from neuralclaw.capability import Capability, CapabilityContext, ContextSource, DoctorCheck, EventKind, Service, Table, TurnContext, Verb
from neuralclaw.plugins import InstalledCapability
from neuralclaw.types.events import Body
from neuralclaw.types.labels import OWNER, Labels


class Shelf(msgspec.Struct, frozen=True, kw_only=True):
    """Books that wait to be read."""

    most: Annotated[int, msgspec.Meta(ge=1)] = 3
    """How many books may wait."""
    order: Literal["old", "new"] = "old"
    """Which book comes first."""
    api_key: str | None = None
    topics: list[str] = []
    """Subjects that count."""


class BookAdded(Body, frozen=True, kw_only=True, tag="shelf.added"):
    title: str


async def add(context: CapabilityContext, title: str, *, urgent: bool = False, copies: Annotated[int, msgspec.Meta(ge=1)] = 1) -> dict[str, Any]:
    if context.settings.most < 1:
        raise AssertionError("the settings hold a bound")
    entries = await context.record(BookAdded(title=title))
    return {"title": title, "urgent": urgent, "entry": entries[0].entry, "who": context.who}


async def listed(context: CapabilityContext) -> list[dict[str, Any]]:
    found = await context.store.read("home", kinds=("shelf.added",))
    return [{"title": entry.body.title} for entry in found if isinstance(entry.body, BookAdded)]


async def tell(context: CapabilityContext, turn: TurnContext, room: int) -> Sequence[tuple[str, Labels]]:
    return [(f"{turn.session}: {room} bytes"[:room], OWNER)]


async def no_tools(context: CapabilityContext, turn: TurnContext) -> Sequence[Any]:
    raise ZeroDivisionError("no tools today")


async def checks(context: CapabilityContext) -> AsyncIterator[DoctorCheck]:
    yield DoctorCheck(check="shelf", ok=True, text=f"at most {context.settings.most}")
    raise LookupError("the shelf fell down")


async def tidy(context: CapabilityContext) -> None:
    await context.clock.sleep(0)


SHELF = Capability(
    name="shelf",
    summary="Books that wait.",
    settings=Shelf,
    verbs=(
        Verb(name="shelf.add", summary="Put a book on the shelf.", run=add, example='neuralclaw shelf add "Dune"', help={"title": "the book"}),
        Verb(name="shelf.list", summary="The books that wait.", run=listed, reads=True),
    ),
    events=(EventKind(body=BookAdded, sentence=lambda body: f"{body.title} was put on the shelf"),),
    tables=(Table(name="shelf", columns={"title": "text"}, key=("title",), kinds=("shelf.added",), fold=lambda entry, rows: rows.put(title=entry.body.title)),),
    sources=(ContextSource(name="shelf", read=tell),),
    tools=no_tools,
    checks=checks,
    services=(Service(name="shelf", run=tidy),),
)
NAMELESS = "no capability at all"


def package(attribute: str = "SHELF", *, name: str = "shelf", distribution: str = "neuralclaw-shelf", module: str = __name__) -> InstalledCapability:
    """An entry point as the metadata of a package has it."""
    return InstalledCapability(name, f"{module}:{attribute}", distribution, "1.2")


def install(folder: Path, name: str, code: str, *, distribution: str = "", version: str = "1.2") -> Path:
    """Write a package `NAME_package` whose entry point `NAME` is its `capability`, with the metadata that pip would leave; the folder for PYTHONPATH."""
    distribution = distribution or f"neuralclaw-{name.replace('_', '-')}"
    folder.mkdir(exist_ok=True)
    module = distribution.replace("-", "_")
    (folder / f"{module}.py").write_text(code)
    info = folder / f"{module}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[neuralclaw]\n{name} = {module}:capability\n")
    return folder
