"""Marks that go to the owner as messages, the owner's comparison with one, and that accepting the record is on record."""

import os
from pathlib import Path

import pytest

from neuralclaw import Agent
from neuralclaw.app.record.anchor_events import AnchorAccepted, MarkSent
from neuralclaw.app.record.anchor_settings import MessageAnchor
from neuralclaw.app.record.anchoring import message_check
from neuralclaw.errors import StoreError, UsageError
from neuralclaw.types.records import OutboxRow

from ..agent import kit
from ..store.kit import raw
from ..store.test_anchor import cut
from ..waiting import until

pytestmark = pytest.mark.anyio


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}


async def with_a_turn(home: Path, environ: dict[str, str]) -> int:
    """How many records there are then."""
    async with kit.agent(home, "fine", environ=environ) as agent:
        await kit.events(agent, session="s")
        records: int = (await agent.do("audit.verify"))["records"]
    return records


async def outbox(agent: Agent) -> list[OutboxRow]:
    return [OutboxRow(**row) for row in await agent._home.store.rows("outbox")]


async def sent(home: Path, environ: dict[str, str]) -> OutboxRow:
    """The message that the service puts into the outbox."""
    settings = {"audit": {"anchor": {"message": {"channel": "post", "address": "room:1"}}}}
    async with kit.agent(home, settings=settings, environ=environ, services=True) as agent:
        await until(lambda: _any(agent))
        (row,) = await outbox(agent)
    return row


async def _any(agent: Agent) -> bool:
    return bool(await outbox(agent))


async def test_a_mark_goes_to_the_address_at_most_once_a_day_and_is_compared(home: Path, environ: dict[str, str]) -> None:
    await with_a_turn(home, environ)
    row = await sent(home, environ)
    assert (row.channel, row.address, row.state) == ("post", "room:1", "pending")
    again = await sent(home, environ)
    assert again == row
    async with kit.agent(home, environ=environ) as agent:
        told = await agent.do("audit.anchor", check=row.text)
        assert (told["ok"], told["why"]) == (True, "")
        (entry,) = await agent._home.store.read("anchor-messages", kinds=("audit.sent",))
        assert isinstance(entry.body, MarkSent)
        assert (await agent.do("audit.verify"))["ok"]


async def test_a_record_that_was_cut_is_not_as_the_message_says(home: Path, environ: dict[str, str]) -> None:
    await with_a_turn(home, environ)
    row = await sent(home, environ)
    cut(home, 0)
    async with kit.agent(home, environ=environ | {"XDG_STATE_HOME": environ["HOME"]}) as agent:
        told = await agent.do("audit.anchor", check=row.text)
    assert (told["ok"], told["why"]) == (False, "cut")


async def test_another_hash_is_told(home: Path, environ: dict[str, str]) -> None:
    await with_a_turn(home, environ)
    async with kit.agent(home, environ=environ) as agent:
        told = await agent.do("audit.anchor", check=f"record 2 has the hash {'ab' * 32}")
        assert (told["ok"], told["why"]) == (False, "changed")
        for text in ("", "record 2", "ab" * 32):
            with pytest.raises(UsageError, match="names no record"):
                await agent.do("audit.anchor", check=text)


async def test_a_record_that_is_not_whole_is_not_accepted_and_nothing_is_recorded(home: Path, environ: dict[str, str]) -> None:
    await with_a_turn(home, environ)
    raw(home).execute("UPDATE progress SET model = 'forged'")
    async with kit.agent(home, environ=environ) as agent:
        with pytest.raises(StoreError, match="not whole: its head was not accepted"):
            await agent.do("audit.anchor", accept=True)
        assert await agent._home.store.read("home", kinds=("audit.accepted",)) == []


async def test_accepting_the_record_is_on_record_with_what_it_was_against(home: Path, environ: dict[str, str]) -> None:
    records = await with_a_turn(home, environ)
    async with kit.agent(home, "two", environ=environ) as agent:
        await kit.events(agent, session="t")
    cut(home, records)
    async with kit.agent(home, environ=environ) as agent:
        report = await agent.do("audit.verify")
        assert not report["ok"]
        await agent.do("audit.anchor", accept=True)
        (entry,) = await agent._home.store.read("home", kinds=("audit.accepted",))
        assert isinstance(entry.body, AnchorAccepted)
        assert [place.rpartition("/")[0] for place in entry.body.contradicted] == [f"{environ['XDG_STATE_HOME']}/neuralclaw/anchors"]
        assert (await agent.do("audit.verify"))["ok"]


async def test_doctor_says_that_no_mark_is_sent_where_no_capability_brings_the_channel(home: Path, environ: dict[str, str]) -> None:
    settings = {"audit": {"anchor": {"message": {"channel": "post", "address": "room:1"}}}}
    async with kit.agent(home, settings=settings, environ=environ) as agent:
        (check,) = [one for one in await agent.do("doctor") if one["check"] == "anchor.message"]
    assert (check["ok"], check.get("needed", True)) == (False, True)
    assert "no capability brings the channel post, so no mark is sent (no capability brings a channel); none was sent yet" in check["text"]


def test_doctor_names_the_last_mark_where_the_channel_is_there() -> None:
    check = message_check(MessageAnchor(channel="post", address="room:1"), {"post"}, 7)
    assert (check.ok, check.text) == (True, "marks go to the channel post where a process serves it; the last one was of record 7")
