"""What cannot be recorded does not run: with a store that really cannot write, every place where the program acts is tried, and its effects are counted."""

import resource
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from neuralclaw import Agent, plugins, tool
from neuralclaw.app.capabilities import capabilities_of
from neuralclaw.app.clock import SystemClock
from neuralclaw.app.settings_loading import load_settings
from neuralclaw.app.verbs import agent_verbs
from neuralclaw.errors import NeuralClawError
from neuralclaw.store import SqliteStore
from neuralclaw.testing import FunctionProvider, Reply
from neuralclaw.types.messages import Request

from ..agent import kit

pytestmark = [pytest.mark.anyio, pytest.mark.full]
Refusal = Callable[[SqliteStore], Any]


def connection(store: SqliteStore) -> sqlite3.Connection:
    assert store._writer is not None
    return store._writer._tables.connection


@contextmanager
def full(store: SqliteStore) -> Iterator[None]:
    """Nothing that is written anywhere fits: the system refuses every byte behind the first of a file."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def read_only(store: SqliteStore) -> Iterator[None]:
    connection(store).execute("PRAGMA query_only = 1")
    yield


@contextmanager
def locked(store: SqliteStore) -> Iterator[None]:
    """Another program holds the lock for longer than the store waits."""
    c = sqlite3.connect(Path(store.home) / "neuralclaw.db", isolation_level=None)
    c.execute("BEGIN IMMEDIATE")
    yield
    c.execute("ROLLBACK")
    c.close()


@contextmanager
def damaged(store: SqliteStore) -> Iterator[None]:
    """Every page but the first of the file is overwritten, and the log with what was in it is gone."""
    c = sqlite3.connect(Path(store.home) / "neuralclaw.db", isolation_level=None)
    c.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    c.close()
    path = Path(store.home) / "neuralclaw.db"
    data = path.read_bytes()
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\x55" * (len(data) - 4096))
    connection(store).execute("PRAGMA shrink_memory")
    yield


REFUSALS = [read_only, locked, damaged, full]


class World:
    """What happened outside the record."""

    def __init__(self) -> None:
        self.tools = 0
        self.models = 0

    def provider(self) -> FunctionProvider:
        async def reply(request: Request) -> Reply:
            self.models += 1
            return Reply("", tool_calls=[{"name": "send_parcel", "arguments": {"to": "me"}}]) if self.models % 2 else Reply("done")

        return FunctionProvider(reply)

    def tool(self) -> Any:
        @tool(effect="once", risk="LOW")
        async def send_parcel(to: str) -> str:
            """Send a parcel."""
            self.tools += 1
            return "sent"

        return send_parcel


async def prepared(home: Path) -> str:
    """A home in which a turn wrote a file that undo brings back, a question waits, and an answer stands; the question's id."""
    work = home.parent / "work"
    work.mkdir(exist_ok=True)
    for name in ("a", "b"):
        (work / name).write_text("x")

    async def session(question: Any) -> str:
        return "session"

    write = kit.calls(kit.call("write_file", "w1", path="made.txt", content="made"))
    async with kit.agent(home, write, "done", kit.calls(kit.call("delete_file", "d1", path="a")), "done", approver=session) as agent:
        await kit.events(agent, session="s")
        await kit.events(agent, session="g")
        await agent.do("sessions.export", session="s", output=str(home.parent / "exported.json"))
    async with kit.agent(home, kit.calls(kit.call("delete_file", "d2", path="b")), "done") as agent:
        await kit.events(agent, session="p", approvals="park")
        (waiting,) = await agent.do("approvals.list")
    return str(waiting["approval_id"])


async def opened(home: Path, patience: float) -> SqliteStore:
    """The store with the kinds of the built-in capabilities."""
    capabilities = capabilities_of(load_settings(str(home), {"HOME": str(home.parent)}, None))
    return await SqliteStore.open(str(home), clock=SystemClock(), codec=capabilities.codec, tables=capabilities.tables(), patience=patience)


async def act(agent: Agent, place: str, question: str) -> None:
    """Try the effect of one place."""
    if place == "a turn":
        await kit.events(agent, session="new")
    elif place == "a steered session":
        await agent.do("sessions.send", session="s", text="send it")
    elif place == "an answered question":
        await agent.do("approvals.answer", approval_id=question, decision="once")
        await kit.events(agent, "go on", session="p")
    else:
        arguments: dict[str, dict[str, Any]] = {
            "tools.call": {"name": "send_parcel", "arguments": {"to": "me"}},
            "grants.revoke": {"grant_id": (await agent.do("grants.list"))[0]["grant_id"]} if place == "grants.revoke" else {},
            "grants.add": {"op": "read", "what": "/srv", "lasting": "1h"},
            "undo": {"session": "s"},
            "redo": {"session": "s"},
            "sessions.cancel": {"session": "p"},
            "sessions.delete": {"session": "g", "yes": True},
            "sessions.rename": {"session": "s", "title": "another"},
            "sessions.compact": {"session": "s"},
            "sessions.fork": {"session": "s"},
            "sessions.import": {"file": str(Path(agent._home.store.home).parent / "exported.json")},
            "audit.anchor": {"accept": True},
        }
        await agent.do(place, **arguments[place])


VERBS = {
    "sessions.send": "a steered session",
    "approvals.answer": "an answered question",
    **{
        name: name
        for name in (
            *("tools.call", "grants.add", "grants.revoke", "undo", "redo", "audit.anchor"),
            *("sessions.cancel", "sessions.delete", "sessions.rename", "sessions.compact", "sessions.fork", "sessions.import"),
        )
    },
}
"""Verbs that write the record: the place that tries each."""
OF_THE_OWNER = {
    "config.set": "the owner edits a file of their own, also where the home cannot be opened; the next turn records the digest and text of the policy",
    "secrets.set": "the owner keeps a value of their own, which no record may hold, also where the home cannot be opened",
    "secrets.remove": "as secrets.set",
    "hooks.pin": "the owner edits the configuration file, as config.set; each run of a hook is recorded with its digest",
    "sandbox.build": "the owner has an image built; what runs in it later is on record",
    "backup": "the owner copies the home, also one that cannot be written",
    "restore": "exchanges the record itself: the restored one says so (tests/durability/test_backup.py)",
    "models.try": "the owner's trial: its turns have a home of their own and are on record there",
    "doctor": "reads, and with --rebuild makes tables anew in one transaction of the store itself",
}
"""Verbs that write no entry, and why."""


def test_every_verb_that_writes_is_tried_or_listed_with_its_reason() -> None:
    names = {verb.name for row in plugins.CAPABILITIES.values() for verb in plugins.load_target(row.target).verbs if not verb.reads}
    assert names | {"config.set", "doctor"} == {*VERBS, *OF_THE_OWNER}
    assert agent_verbs.__annotations__["return"].__name__ == "AgentVerbs"


PLACES = ["undo", "redo", "a turn", *sorted(set(VERBS.values()) - {"undo", "redo"})]


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda one: one.__name__)
async def test_nothing_happens_that_cannot_be_recorded(home: Path, refusal: Refusal) -> None:
    question = await prepared(home)
    world, work = World(), home.parent / "work"
    files = {path.name: path.read_bytes() for path in work.iterdir()}
    anchors = list((home.parent / ".local" / "state" / "neuralclaw" / "anchors").glob("*.json"))
    marks = [path.read_bytes() for path in anchors]
    failures: dict[str, str] = {}
    for place in PLACES:
        store = await opened(home, 0.05)
        backup = sqlite3.connect(":memory:")
        with sqlite3.connect(home / "neuralclaw.db") as whole:
            whole.backup(backup)
        whole.close()
        try:
            async with kit.agent_over(store, provider=world.provider(), tools=[world.tool()]) as agent:
                with refusal(store):
                    try:
                        await act(agent, place, question)
                    except NeuralClawError as error:
                        failures[place] = error.kind
        except* NeuralClawError as errors:
            failures[place] = ", ".join({str(getattr(error, "kind", error)) for error in errors.exceptions})
        for suffix in ("", "-wal", "-shm"):
            Path(f"{home}/neuralclaw.db{suffix}").unlink(missing_ok=True)
        with sqlite3.connect(home / "neuralclaw.db") as restored:
            backup.backup(restored)
        restored.close()
        backup.close()
        assert (world.tools, world.models) == (0, 0), place
        assert {path.name: path.read_bytes() for path in work.iterdir()} == files, place
        assert [path.read_bytes() for path in anchors] == marks, place
    assert set(failures) == set(PLACES)


async def test_the_same_places_act_where_the_record_can_be_written(home: Path) -> None:
    question = await prepared(home)
    world, work = World(), home.parent / "work"
    acted = set()
    for place in PLACES:
        before = (world.tools, world.models, sorted(path.name for path in work.iterdir()))
        store = await opened(home, 5.0)
        async with kit.agent_over(store, provider=world.provider(), tools=[world.tool()]) as agent:
            if place not in (
                "grants.revoke",
                "sessions.cancel",
                "sessions.delete",
                "sessions.rename",
                "sessions.compact",
                "sessions.fork",
                "sessions.import",
                "audit.anchor",
            ):
                await act(agent, place, question)
        if before != (world.tools, world.models, sorted(path.name for path in work.iterdir())):
            acted.add(place)
    assert acted == {"a turn", "a steered session", "an answered question", "tools.call", "undo", "redo"}
