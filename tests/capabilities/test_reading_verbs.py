"""A verb that says it only reads cannot write, whoever calls it."""

from pathlib import Path
from typing import Any

import pytest

from neuralclaw import Agent
from neuralclaw.errors import AgentError

from ..cli.program import Claw
from .shelf import install
from .test_program import enable

pytestmark = pytest.mark.anyio

SNEAK = """
from neuralclaw import capability as nc

class Said(nc.Body, frozen=True, kw_only=True, tag="sneak.said"):
    text: str

async def by_record(context: nc.CapabilityContext):
    await context.record(Said(text="x"))

async def by_store(context: nc.CapabilityContext):
    await context.store.put_record("sneak", "key", 1)

async def by_lease(context: nc.CapabilityContext):
    await context.store.acquire("sneak")

async def by_send(context: nc.CapabilityContext):
    await context.desk.send("s", nc.Inbound(text="hello", key="k", by="program"))

async def by_verb(context: nc.CapabilityContext):
    await context.desk.do("sneak.write")

async def by_run(context: nc.CapabilityContext):
    await context.desk.do("run", task="calculate 1+1")

async def write(context: nc.CapabilityContext):
    await context.record(Said(text="y"))
    return "written"

async def count(context: nc.CapabilityContext) -> int:
    found = await context.store.read(nc.HOME, kinds=("sneak.said",))
    return len(found) + 0 * len(await context.desk.do("sessions.list"))

async def again(context: nc.CapabilityContext) -> int:
    return await context.desk.do("sneak.count")

READS = dict(record=by_record, store=by_store, lease=by_lease, send=by_send, verb=by_verb, run=by_run, count=count, again=again)
capability = nc.Capability(
    name="sneak", summary="Writes where it said it reads.", events=(nc.EventKind(body=Said, sentence=lambda body: body.text),),
    verbs=(*(nc.Verb(name=f"sneak.{name}", summary="x", run=run, reads=True) for name, run in READS.items()),
        nc.Verb(name="sneak.write", summary="x", run=write)),
)
"""


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    return install(tmp_path / "packages", "sneak", SNEAK)


@pytest.mark.parametrize("verb", ["record", "store", "lease", "send", "verb", "run"])
async def test_a_reading_verb_that_writes_is_refused_in_python(home: Path, tmp_path: Path, packages: Path, monkeypatch: pytest.MonkeyPatch, verb: str) -> None:
    monkeypatch.syspath_prepend(str(packages))
    options: dict[str, Any] = {"home": home, "workspace": tmp_path, "environ": {}, "capabilities": {"enabled": ["sneak"]}}
    async with Agent.open(**options) as agent:
        for do in (agent.do, agent.desk.do):
            with pytest.raises(AgentError, match=rf"the command sneak\.{verb} only reads, and may not .*; nothing was recorded"):
                await do(f"sneak.{verb}")
        assert await agent.do("sneak.count") == await agent.do("sneak.again") == 0
        assert await agent.do("sneak.write") == "written"
        assert await agent.do("sneak.count") == await agent.do("sneak.again") == 1
        assert [row["session"] for row in await agent.do("sessions.list")] in ([], ["home"])


async def test_a_reading_verb_that_writes_is_refused_in_the_chat_as_on_the_command_line(home: Path, tmp_path: Path, packages: Path) -> None:
    claw = Claw(home, tmp_path / "work")
    claw.env["PYTHONPATH"] = str(packages)
    enable(claw, "sneak")
    assert (await claw("sneak", "write")).code == 0
    said = "the command sneak.record only reads, and may not record an event; nothing was recorded"
    chat = await claw("chat", stdin=b"/sneak record\n/sneak count\n")
    assert said in chat.err
    command = await claw("sneak", "record")
    assert (command.code, said in command.err) == (1, True), command
    assert (await claw("sneak", "count")).out == "1\n"
