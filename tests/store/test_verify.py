"""`audit verify` finds what was done to the record behind the program's back."""

from collections.abc import Callable
from pathlib import Path
from sqlite3 import Connection

import pytest

from neuralclaw.types import chain
from neuralclaw.types.entries import Header
from neuralclaw.types.events import Unreadable
from neuralclaw.types.records import BadRecord, StoredResult, VerifyReport

from . import kit

pytestmark = pytest.mark.anyio


async def verified(home: Path) -> VerifyReport:
    async with kit.opened(home, readonly=True) as store:
        return await store.verify()


async def record(home: Path) -> None:
    """Fourteen records of `work` and thirteen of `other`, one result."""
    async with kit.opened(home) as store:
        await kit.a_life(store, "work")
        await kit.a_life(store, "other")
        await store.append("work", [kit.tool_finished("big")], rows=[StoredResult("big", "the whole text")])


TAMPERED: list[tuple[str, str, int, str]] = [
    ("record", "UPDATE entries SET record = 900 WHERE record = 5", 5, "missing"),
    ("session", "UPDATE entries SET session = 'else' WHERE record = 5", 5, "hash"),
    ("entry", "UPDATE entries SET entry = 99 WHERE record = 5", 5, "hash"),
    ("turn", "UPDATE entries SET turn = 7 WHERE record = 5", 5, "hash"),
    ("kind", "UPDATE entries SET kind = 'nudge' WHERE record = 5", 5, "hash"),
    ("version", "UPDATE entries SET version = 2 WHERE record = 5", 5, "hash"),
    ("time", "UPDATE entries SET time = time + 1 WHERE record = 5", 5, "hash"),
    ("labels", "UPDATE entries SET labels = '[]' WHERE record = 1", 1, "hash"),
    ("labels that are no JSON", "UPDATE entries SET labels = 'x' WHERE record = 5", 5, "hash"),
    ("digest", "UPDATE entries SET digest = zeroblob(32) WHERE record = 5", 5, "hash"),
    ("hash", "UPDATE entries SET hash = zeroblob(32) WHERE record = 5", 5, "hash"),
    ("body", "UPDATE bodies SET data = CAST(replace(data, 'fine', 'fire') AS BLOB) WHERE record = 5", 5, "hash"),
    ("body made empty", "UPDATE bodies SET data = x'' WHERE record = 5", 5, "hash"),
    ("key of a body", "UPDATE bodies SET key = zeroblob(32) WHERE record = 5", 5, "hash"),
    ("place of a body", "UPDATE bodies SET record = 900 WHERE record = 5", 5, "missing"),
    ("body removed", "DELETE FROM bodies WHERE record = 5", 5, "missing"),
    ("entry removed", "DELETE FROM entries WHERE record = 5", 5, "missing"),
    ("first entry removed", "DELETE FROM entries WHERE record = 1", 1, "missing"),
    ("tail cut", "DELETE FROM entries WHERE record > 20", 21, "cut"),
    ("everything removed", "DELETE FROM entries", 1, "cut"),
    ("result", "UPDATE results SET data = x'00'", 27, "hash"),
]


@pytest.mark.invariant("audit.tampering-found")
@pytest.mark.parametrize(("sql", "number", "why"), [t[1:] for t in TAMPERED], ids=[t[0] for t in TAMPERED])
async def test_a_change_is_found_and_its_record_named(home: Path, sql: str, number: int, why: str) -> None:
    await record(home)
    assert await verified(home) == VerifyReport(ok=True, records=27, erased=0, head=head(home, 27))
    changed = kit.raw(home).execute(sql)
    assert changed.rowcount > 0
    report = await verified(home)
    assert report.ok is False
    assert report.bad is not None
    assert (report.bad.record, report.bad.why) == (number, why)


def swap(c: Connection) -> None:
    """Two headers change places, everything else of them as it was."""
    c.execute("UPDATE entries SET record = 900 WHERE record = 5")
    c.execute("UPDATE entries SET record = 5 WHERE record = 6")
    c.execute("UPDATE entries SET record = 6 WHERE record = 900")


def remove_and_close_up(c: Connection) -> None:
    c.execute("DELETE FROM entries WHERE record = 5")
    c.execute("DELETE FROM bodies WHERE record = 5")
    for table in ("entries", "bodies"):
        for number in range(6, 28):
            c.execute(f"UPDATE {table} SET record = record - 1 WHERE record = {number}")


def insert_a_copy(c: Connection) -> None:
    for table in ("entries", "bodies"):
        for number in range(27, 4, -1):
            c.execute(f"UPDATE {table} SET record = record + 1 WHERE record = {number}")
    c.execute("INSERT INTO entries SELECT 5, session, 99, turn, kind, version, time, labels, digest, hash FROM entries WHERE record = 4")
    c.execute("INSERT INTO bodies SELECT 5, key, data FROM bodies WHERE record = 4")


@pytest.mark.invariant("audit.tampering-found")
@pytest.mark.parametrize("tamper", [swap, remove_and_close_up, insert_a_copy])
async def test_reordering_and_insertion_are_found(home: Path, tamper: Callable[[Connection], None]) -> None:
    await record(home)
    tamper(kit.raw(home))
    report = await verified(home)
    assert report.bad == BadRecord(5, report.bad.session if report.bad else "", "hash")


@pytest.mark.invariant("audit.tampering-found")
async def test_an_entry_linked_on_past_the_program_is_found_by_the_sessions_count(home: Path) -> None:
    await record(home)
    c = kit.raw(home)
    digest = "00" * 32
    fields = {"record": 28, "session": "work", "entry": 15, "turn": 2, "kind": "nudge", "version": 1, "time": 1, "labels": (), "digest": digest}
    forged = chain.link(head(home, 27), Header(**fields, hash=""))
    c.execute("INSERT INTO entries VALUES (28, 'work', 15, 2, 'nudge', 1, 1, '[]', ?, ?)", (bytes.fromhex(digest), bytes.fromhex(forged)))
    c.execute("INSERT INTO bodies VALUES (28, x'00', x'00')")
    report = await verified(home)
    assert report.bad == BadRecord(28, "work", "hash")  # its body has no good digest
    key, data = b"k" * 32, b'{"type":"nudge","text":"go on"}'
    fields["digest"] = chain.body_digest(key, data).hex()
    forged = chain.link(head(home, 27), Header(**fields, hash=""))
    c.execute("UPDATE entries SET digest = ?, hash = ? WHERE record = 28", (bytes.fromhex(fields["digest"]), bytes.fromhex(forged)))
    c.execute("UPDATE bodies SET key = ?, data = ? WHERE record = 28", (key, data))
    assert (await verified(home)).bad == BadRecord(28, "work", "order")


@pytest.mark.invariant("audit.tampering-found")
async def test_a_body_without_a_record_is_found(home: Path) -> None:
    await record(home)
    kit.raw(home).execute("INSERT INTO bodies VALUES (900, x'00', x'00')")
    assert (await verified(home)).bad == BadRecord(900, "", "order")


async def test_a_changed_body_is_not_shown_as_if_it_were_good(home: Path) -> None:
    await record(home)
    kit.raw(home).execute("UPDATE bodies SET data = x'7b' WHERE record = 2")
    async with kit.opened(home, readonly=True) as store:
        entries = await store.read("work")
    body = entries[1].body
    assert isinstance(body, Unreadable)
    assert (body.why, body.text) == ("damaged", "entry 2 of session work is damaged: what is recorded of it is no turn.started")
    assert [e.entry for e in entries if isinstance(e.body, Unreadable)] == [2]


async def test_an_empty_home_is_good(home: Path) -> None:
    assert await verified(home) == VerifyReport(ok=True, records=0, erased=0, head="")


def head(home: Path, number: int) -> str:
    value: bytes = kit.raw(home).execute("SELECT hash FROM entries WHERE record = ?", (number,)).fetchone()[0]
    return value.hex()
