"""Bytes that entries name: kept once, gone with the last body that names them."""

from pathlib import Path

import pytest

from neuralclaw import lookups
from neuralclaw.errors import StoreError
from neuralclaw.types import events as ev
from neuralclaw.types.entries import Draft, blob_digest
from neuralclaw.types.messages import Image, ImageContent
from neuralclaw.types.records import BadRecord, VerifyReport

from . import kit

pytestmark = pytest.mark.anyio

PNG, GIF = b"\x89PNG " * 1000, b"GIF89a " * 1000


def kept(home: Path) -> set[str]:
    return {digest for (digest,) in kit.raw(home).execute("SELECT digest FROM blobs")}


def refs(home: Path) -> list[tuple[str, int]]:
    return kit.raw(home).execute("SELECT digest, record FROM blob_refs ORDER BY record, digest").fetchall()


async def verified(home: Path) -> VerifyReport:
    async with kit.opened(home, readonly=True) as store:
        return await store.verify()


async def test_bytes_are_kept_once_however_often_they_are_named(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("a", [kit.picture(PNG), kit.picture(PNG)])
        await store.append("b", [kit.picture(PNG)])
        await store.append("b", [kit.picture(PNG, with_bytes=False)])  # they are there
        body = ev.ToolFinished(call_id="c", name="look", ok=True, content="", parts=(ImageContent(Image("image/gif", digest=blob_digest(GIF))),))
        await store.append("b", [Draft(1, body, blobs=(GIF,)), kit.message()])
        assert await lookups.blobs(store, [blob_digest(PNG), blob_digest(GIF), blob_digest(b"other")]) == {blob_digest(PNG): PNG, blob_digest(GIF): GIF}
        assert await lookups.blobs(store, []) == {}
        assert (await store.verify()).ok
    assert kit.raw(home).execute("SELECT count(*) FROM blobs").fetchone() == (2,)
    assert refs(home) == [*((blob_digest(PNG), record) for record in (1, 2, 3, 4)), (blob_digest(GIF), 5)]


async def test_what_a_turn_starts_with_and_a_reply_saw_is_kept_too(home: Path) -> None:
    system, tools, around = b"You are", b"[]", b"a machine"
    body = kit.started().body
    assert isinstance(body, ev.TurnStarted)
    stored = ev.TurnStarted(
        text="", model="m", soul="", origin="owner", options=body.options, inbound=1, stored={"system": blob_digest(system), "tools": blob_digest(tools)}
    )
    reply = ev.Message(text="x", stop="end", model="m", usage=ev.Usage(), environment=blob_digest(around))
    metadata = ev.ToolFinished(call_id="c", name="t", ok=True, content="", metadata_digest=blob_digest(b"{}"))
    async with kit.opened(home) as store:
        await store.append("a", [Draft(1, stored, blobs=(system, tools)), Draft(1, reply, blobs=(around,)), Draft(1, metadata, blobs=(b"{}",))])
        assert len(await lookups.blobs(store, [blob_digest(data) for data in (system, tools, around, b"{}")])) == 4


async def test_an_entry_that_names_bytes_nobody_has_is_refused(home: Path) -> None:
    async with kit.opened(home) as store:
        with pytest.raises(StoreError, match="bytes that it names are not kept"):
            await store.append("a", [kit.message(), kit.picture(PNG, with_bytes=False)])
        with pytest.raises(StoreError, match="does not name all bytes"):
            await store.append("a", [Draft(1, kit.message().body, blobs=(PNG,))])
        assert await store.read("a") == []
        await store.append("a", [kit.picture(PNG), kit.picture(PNG, with_bytes=False)])  # the draft before brings them
        assert (await store.verify()).records == 2


async def test_erasing_takes_bytes_that_nobody_names_any_more(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("a", [kit.picture(PNG), kit.picture(GIF), kit.message()])
        await store.append("b", [kit.picture(PNG)])
        assert GIF[:70] in (home / "neuralclaw.db-wal").read_bytes()
        await store.erase("a", [1, 2], "owner")
        assert kept(home) == {blob_digest(PNG)}
        assert refs(home) == [(blob_digest(PNG), 4)]
        assert (await store.verify()).ok
        assert GIF[:70] not in (home / "neuralclaw.db-wal").read_bytes()  # which need not be empty: the sync that follows writes to it
        with pytest.raises(StoreError, match="are not kept"):
            await store.append("a", [kit.picture(GIF, with_bytes=False)])
        await store.erase("b", None, "owner")
        assert kept(home) == set()
        assert (await store.verify()).ok
    for beginning in (GIF[:70], PNG[:60]):  # the whole stands in no page
        assert beginning not in (home / "neuralclaw.db").read_bytes()


async def test_a_rebuild_finds_again_who_names_what(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("a", [kit.picture(PNG), kit.picture(GIF)])
        before = refs(home)
        kit.raw(home).execute("DELETE FROM blob_refs")
        await store.rebuild()
        assert refs(home) == before != []


@pytest.mark.invariant("audit.tampering-found")
@pytest.mark.parametrize(
    ("sql", "bad"),
    [
        ("UPDATE blobs SET data = x'00'", BadRecord(2, "a", "hash", "blobs", "data")),
        ("DELETE FROM blobs", BadRecord(2, "a", "missing", "blobs")),
        ("INSERT INTO blobs (digest, data) VALUES ('00', x'00')", BadRecord(0, "", "order", "blobs")),
    ],
    ids=["changed", "removed", "added"],
)
async def test_kept_bytes_that_were_changed_are_found(home: Path, sql: str, bad: BadRecord) -> None:
    async with kit.opened(home) as store:
        await store.append("a", [kit.message(), kit.picture(PNG), kit.picture(PNG)])
    assert (await verified(home)).ok
    kit.raw(home).execute(sql)
    assert (await verified(home)).bad == bad
    async with kit.opened(home, readonly=True) as store:
        assert (await lookups.blobs(store, [blob_digest(PNG)]) == {}) == (bad.record == 2)


async def test_what_an_unknown_entry_names_is_kept(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("a", [kit.picture(PNG), kit.message()])
    kit.rewrite(home, 1, b'{"type":"mood","picture":"?"}', kind="mood")
    async with kit.opened(home) as store:
        assert (await store.verify()).ok
        await store.rebuild()
        assert refs(home) == [(blob_digest(PNG), 1)]
        await store.erase("a", [2], "owner")
        assert kept(home) == {blob_digest(PNG)}
        assert (await store.verify()).ok
        await store.erase("a", [1], "owner")
        assert kept(home) == set()
