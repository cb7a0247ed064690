"""A verb that says it only reads cannot write, whoever calls it."""

from pathlib import Path
from typing import Any

import pytest

from neuralclaw import Agent
from neuralclaw.app.capabilities import Capabilities, LoadedCapability
from neuralclaw.app.capability_context import BuiltInContext
from neuralclaw.app.reader import reader
from neuralclaw.app.settings_verbs import settings_desk
from neuralclaw.capability import Capability, CapabilityContext, Verb
from neuralclaw.config import SettingsRequest
from neuralclaw.errors import AgentError, UsageError
from neuralclaw.plugins import BuiltInCapability

from ..cli.program import Claw
from .shelf import install
from .test_program import enable
from .test_registry import client_of

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

async def by_doctor(context: nc.CapabilityContext):
    await context.desk.do("doctor")

async def by_setting(context: nc.CapabilityContext):
    await context.desk.do("config.set", key="llm.temperature", value="0.2")

async def ask(context: nc.CapabilityContext):
    shown = {verb: await context.desk.do(verb) for verb in ("status", "instructions.list", "policy.rules", "config.path", "tools.list")}
    return (await context.desk.do("policy.explain", command="git push"))["decision"], sorted(shown)

async def parts(context: nc.CapabilityContext):
    return sorted(name for name in dir(context) if not name.startswith("_"))

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

READS = dict(record=by_record, store=by_store, lease=by_lease, send=by_send, verb=by_verb, run=by_run, doctor=by_doctor, setting=by_setting,
    ask=ask, parts=parts, count=count, again=again)
capability = nc.Capability(
    name="sneak", summary="Writes where it said it reads.", events=(nc.EventKind(body=Said, sentence=lambda body: body.text),),
    verbs=(*(nc.Verb(name=f"sneak.{name}", summary="x", run=run, reads=True) for name, run in READS.items()),
        nc.Verb(name="sneak.write", summary="x", run=write)),
)
"""


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    return install(tmp_path / "packages", "sneak", SNEAK)


@pytest.mark.parametrize("verb", ["record", "store", "lease", "send", "verb", "run", "doctor", "setting"])
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


async def test_a_reading_verb_asks_every_verb_that_only_reads(home: Path, tmp_path: Path, packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(packages))
    options: dict[str, Any] = {"home": home, "workspace": tmp_path, "environ": {}, "capabilities": {"enabled": ["sneak"]}}
    async with Agent.open(**options) as agent:
        assert await agent.do("sneak.ask") == ["ask", ["config.path", "instructions.list", "policy.rules", "status", "tools.list"]]


async def test_foreign_code_has_what_its_context_promises_and_no_way_around_it(
    home: Path, tmp_path: Path, packages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(packages))
    options: dict[str, Any] = {"home": home, "workspace": tmp_path, "environ": {}, "capabilities": {"enabled": ["sneak"]}}
    async with Agent.open(**options) as agent:
        assert await agent.do("sneak.parts") == sorted(name for name in dir(CapabilityContext) if not name.startswith("_"))


async def test_the_context_of_a_built_in_verb_that_only_reads_tells_of_no_new_entries(home: Path, tmp_path: Path) -> None:
    async def tell(context: BuiltInContext) -> None:
        context.notify(())

    value = Capability(name="shelf", summary="x", verbs=(Verb(name="shelf.tell", summary="x", run=tell, reads=True),))
    async with Agent.open(home=home, workspace=tmp_path, environ={}) as agent:
        row = BuiltInCapability("none:NONE", {"shelf": "x"}, verbs=("shelf.tell",), parts=frozenset())
        found = Capabilities([LoadedCapability("shelf", "", "built in", value=value, row=row)])
        verbs = found.for_client(client_of(agent)).verbs()
        with pytest.raises(AgentError, match=r"the command shelf\.tell only reads, and may not tell of new entries"):
            await verbs["shelf.tell"]()


@pytest.mark.parametrize(
    ("verb", "arguments"), [("grants.revoke", {"grant_id": "x"}), ("tools.list", {}), ("models.list", {}), ("sessions.cancel", {"session": "s"})]
)
async def test_the_desk_of_the_record_runs_no_verb_that_needs_more(home: Path, tmp_path: Path, verb: str, arguments: dict[str, Any]) -> None:
    async with Agent.open(home=home, workspace=tmp_path, environ={}) as agent:
        await agent.ask("calculate 6*7", session="s")
    async with reader(str(home), environ={}) as desk:
        with pytest.raises(UsageError, match=rf"{verb} needs more than the record, and nothing else is open here"):
            await desk.do(verb, **arguments)
        assert [row["session"] for row in await desk.do("sessions.list")] == ["s"]


async def test_the_desk_of_the_settings_runs_no_verb_that_needs_more(home: Path) -> None:
    async with settings_desk(SettingsRequest(str(home), {})) as desk:
        for verb in ("tools.list", "sessions.list"):
            with pytest.raises(UsageError, match=rf"{verb} needs more than the settings, and nothing else is open here"):
                await desk.do(verb)
        assert (await desk.do("models.list"))[-1]["model"]


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
