"""The anchor outside a home: a cut, an older copy and a record written anew are found, and nothing about it stops a turn."""

import logging
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from neuralclaw.errors import StoreError
from neuralclaw.store.anchor import Anchorage, AnchorFile, AnchorMark
from neuralclaw.types.records import AnchorReport, VerifyReport

from . import kit

pytestmark = pytest.mark.anyio


@pytest.fixture
def anchor(home: Path, tmp_path: Path) -> AnchorFile:
    return AnchorFile(str(home), str(tmp_path / "state"))


@pytest.fixture
def warnings() -> Iterator[list[str]]:
    """What is in the log about the anchor."""
    found: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: found.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("neuralclaw.store.anchor")
    logger.addHandler(handler)
    yield found
    logger.removeHandler(handler)


async def live(home: Path, anchor: AnchorFile, name: str = "work") -> None:
    async with kit.opened(home, anchor=anchor) as store:
        await kit.a_life(store, name)


async def verified(home: Path, anchor: AnchorFile) -> VerifyReport:
    async with kit.opened(home, readonly=True, anchor=anchor) as store:
        return await store.verify()


def told(report: VerifyReport) -> tuple[bool, bool, str]:
    assert report.anchor is not None
    return report.ok, report.anchor.ok, report.anchor.why


def standing(anchor: AnchorFile) -> AnchorMark:
    mark = anchor.read()
    assert mark is not None
    return mark


async def test_a_home_is_anchored_when_it_is_closed(home: Path, anchor: AnchorFile) -> None:
    assert (await verified(home, anchor)).anchor is None
    await live(home, anchor)
    report = await verified(home, anchor)
    assert report.ok
    assert report.anchor == AnchorReport(place=anchor.path, record=report.records, ok=True)
    assert standing(anchor).hash == report.head
    place = Path(anchor.path)
    assert (place.stat().st_mode & 0o777, place.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert [path.name for path in place.parent.iterdir()] == [place.name]


def cut(home: Path, record: int) -> None:
    """The end of the record is cut, with all that was derived from it."""
    c = kit.raw(home)
    for table in ("entries", "bodies", "state_changes", "results", "usage", "scopes", "calls", "blob_refs", "outbox"):
        c.execute(f"DELETE FROM {table} WHERE record > ?", (record,))
    c.execute("DELETE FROM blobs WHERE digest NOT IN (SELECT digest FROM blob_refs)")
    c.execute("DELETE FROM inbound_keys WHERE session NOT IN (SELECT session FROM entries)")
    c.execute("DELETE FROM sessions WHERE session NOT IN (SELECT session FROM entries)")
    for table in ("progress", "inbox", "turns", "questions"):
        c.execute(f"DELETE FROM {table} WHERE session NOT IN (SELECT session FROM entries)")


@pytest.mark.invariant("audit.cut-found")
async def test_a_clean_cut_is_found_and_the_anchor_stays(home: Path, anchor: AnchorFile) -> None:
    await live(home, anchor)
    await live(home, anchor, "other")
    before = standing(anchor)
    cut(home, 13)
    assert (await verified(home, AnchorFile(str(home), "/nowhere"))).ok  # inside the home nothing tells
    report = await verified(home, anchor)
    assert told(report) == (False, False, "cut")
    assert report.bad is not None
    assert (report.bad.record, report.bad.why) == (14, "cut")
    assert standing(anchor) == before


async def test_what_is_written_on_after_a_cut_hides_nothing(home: Path, anchor: AnchorFile, warnings: list[str]) -> None:
    await live(home, anchor)
    await live(home, anchor, "other")
    before = standing(anchor)
    cut(home, 13)
    for name in ("a", "b", "c"):
        await live(home, anchor, name)
    report = await verified(home, anchor)
    assert report.records > before.record
    assert told(report) == (False, False, "changed")
    assert standing(anchor) == before
    assert [text.startswith("the record is not as it was anchored in ") for text in warnings] == [True] * 3  # once in each process


@pytest.mark.invariant("audit.cut-found")
@pytest.mark.parametrize("older", ["a copy", "an empty one"])
async def test_a_program_whose_record_went_back_while_it_ran_records_nothing_more_and_hides_nothing(home: Path, anchor: AnchorFile, older: str) -> None:
    await live(home, anchor)
    with sqlite3.connect(":memory:") as copy:
        kit.raw(home).backup(copy)
    async with kit.opened(home, anchor=anchor) as store:
        await kit.a_life(store, "deed")
        await store.barrier()
        with kit.raw(home) as c:
            copy.backup(c)
            if older == "an empty one":
                c.execute("DELETE FROM entries")
        c.close()
        for _ in range(2):
            with pytest.raises(StoreError, match=r"the record was changed while this program ran: record .* is not there as it was"):
                await store.append("work", [kit.message()])
    assert told(await verified(home, anchor))[:2] == (False, False)


async def test_a_running_program_does_not_cover_a_cut_with_its_own_next_mark(home: Path, anchor: AnchorFile, warnings: list[str]) -> None:
    await live(home, anchor)
    anchorage, c = Anchorage(anchor), kit.raw(home)
    ((record, link),) = c.execute("SELECT record, hash FROM entries ORDER BY record DESC LIMIT 1").fetchall()
    anchorage.synced(record, link.hex())
    anchorage.write(c, closing=True)
    before = standing(anchor)
    cut(home, 5)
    anchorage.synced(record + 9, "ab" * 32)
    anchorage.write(c, closing=True)
    c.close()
    assert standing(anchor) == before
    assert len(warnings) == 1


async def test_a_record_that_was_written_anew_is_found(home: Path, anchor: AnchorFile, tmp_path: Path) -> None:
    await live(home, anchor)
    other = tmp_path / "forged"
    other.mkdir()
    async with kit.opened(other) as store:
        await kit.a_life(store, "work")
        await kit.a_life(store, "more")
    assert (await verified(other, AnchorFile(str(other), "/nowhere"))).ok
    shutil.copyfile(other / "neuralclaw.db", home / "neuralclaw.db")
    assert told(await verified(home, anchor)) == (False, False, "changed")


@pytest.mark.invariant("audit.cut-found")
async def test_an_older_copy_is_found_until_the_person_accepts_it(home: Path, anchor: AnchorFile) -> None:
    await live(home, anchor)
    shutil.copyfile(home / "neuralclaw.db", home / "backup")
    await live(home, anchor, "other")
    shutil.copyfile(home / "backup", home / "neuralclaw.db")
    assert told(await verified(home, anchor)) == (False, False, "cut")
    async with kit.opened(home, anchor=anchor) as store:
        accepted = await store.accept_anchor()
        assert accepted == AnchorReport(place=anchor.path, record=13, ok=True)
    assert told(await verified(home, anchor)) == (True, True, "")
    await live(home, anchor, "third")
    assert standing(anchor).record == 26


async def test_a_record_that_is_not_whole_is_not_accepted(home: Path, anchor: AnchorFile) -> None:
    await live(home, anchor)
    before = standing(anchor)
    kit.raw(home).execute("UPDATE sessions SET workspace = '/forged'")
    async with kit.opened(home, anchor=anchor) as store:
        with pytest.raises(StoreError, match="the record is not whole"):
            await store.accept_anchor()
    assert standing(anchor) == before


async def test_two_processes_keep_one_anchor(home: Path, anchor: AnchorFile) -> None:
    async with kit.opened(home, anchor=anchor) as one, kit.opened(home, anchor=anchor) as two:
        for turn in range(3):
            await kit.a_life(one, f"one{turn}")
            await kit.a_life(two, f"two{turn}")
            await two.barrier()
            await one.barrier()
            assert told(await verified(home, anchor)) == (True, True, "")
    assert standing(anchor).record == 78


async def test_only_what_is_on_the_disk_is_anchored(home: Path, anchor: AnchorFile) -> None:
    async with kit.opened(home, anchor=anchor) as store:
        await kit.a_life(store)
        assert anchor.read() is None or standing(anchor).record <= 13
        await store.barrier()
        await store.barrier()
        for _ in range(2):  # the second job runs after the first one's anchor
            await store.acquire("x")
        assert standing(anchor).record == 13


@pytest.mark.parametrize("content", [b"", b"{", b'{"home":"/else","record":1,"hash":"00","time":1}'], ids=["empty", "cut", "of another home"])
async def test_an_anchor_that_cannot_be_read_is_said_and_left(home: Path, anchor: AnchorFile, content: bytes) -> None:
    await live(home, anchor)
    Path(anchor.path).write_bytes(content)
    await live(home, anchor, "other")
    report = await verified(home, anchor)
    assert report.anchor is not None
    assert (report.ok, report.bad, report.anchor.ok, report.anchor.record) == (False, None, False, 0)
    assert report.anchor.why.startswith("it cannot be read (")
    assert Path(anchor.path).read_bytes() == content


async def test_a_fifo_in_the_place_of_an_anchor_is_said_and_waited_for_by_nobody(home: Path, anchor: AnchorFile) -> None:
    await live(home, anchor)
    Path(anchor.path).unlink()
    os.mkfifo(anchor.path)
    await live(home, anchor, "other")
    report = await verified(home, anchor)
    assert report.anchor is not None
    assert (report.ok, report.anchor.ok, report.anchor.why) == (False, False, "it cannot be read (it is no regular file)")
    assert Path(anchor.path).is_fifo()


async def test_a_state_directory_that_cannot_be_written_stops_no_turn(home: Path, tmp_path: Path, warnings: list[str]) -> None:
    (tmp_path / "state").write_text("a file")
    anchor = AnchorFile(str(home), str(tmp_path / "state" / "anchors"))
    async with kit.opened(home, anchor=anchor) as store:
        for name in ("a", "b", "c"):
            await kit.a_life(store, name)
            await store.barrier()
    assert [text.startswith("the anchor of the record cannot be written to ") for text in warnings] == [True]


async def test_a_link_in_the_place_of_a_home_hides_no_older_copy(home: Path, anchor: AnchorFile) -> None:
    await live(home, anchor)
    older = home.with_name("older")
    shutil.copytree(home, older)
    await live(home, anchor, "other")
    before = standing(anchor)
    home.rename(home.with_name("gone"))
    home.symlink_to(older)
    linked = AnchorFile(str(home), anchor.folder)
    assert told(await verified(home, linked)) == (False, False, "cut")
    await live(home, linked, "third")
    assert told(await verified(home, linked))[1] is False
    assert standing(anchor) == before


async def test_a_home_with_two_names_is_compared_with_the_anchors_of_both(home: Path, anchor: AnchorFile) -> None:
    link = home.with_name("link")
    link.symlink_to(home)
    by_link = AnchorFile(str(link), anchor.folder)
    await live(home, anchor)
    assert (await verified(link, by_link)).anchor is not None
    await live(link, by_link, "other")
    assert standing(anchor).record == standing(by_link).record == 26
    cut(home, 13)
    assert told(await verified(home, anchor)) == (False, False, "cut")
    assert told(await verified(link, by_link)) == (False, False, "cut")
    async with kit.opened(link, anchor=by_link) as store:
        await store.accept_anchor()
    assert standing(anchor).record == standing(by_link).record == 13
