"""Values from outside that the store cannot keep or compare: each is one clear error, nothing is written, and the record stays whole."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from neuralclaw import lookups
from neuralclaw.errors import StoreError, UsageError
from neuralclaw.store import SqliteStore
from neuralclaw.types.entries import Draft
from neuralclaw.types.events import ErrorEvent
from neuralclaw.types.labels import OWNER
from neuralclaw.types.records import DeliveryAttempt, Lease, NewSession, OutboxItem, Prefix, PutRecord, StoredResult

from . import kit, readings

pytestmark = pytest.mark.anyio
HALF = "half \udcff of a pair"
HUGE = 2**70
Ask = Callable[[SqliteStore], Awaitable[object]]


def opened(home: Path, **options: Any) -> Any:
    return kit.opened(home, codec=readings.CODEC, tables=[readings.BOOKS], **options)


def rows(table: str = "reading_books", where: Any = None, **more: Any) -> Ask:
    return lambda store: store.rows(table, where or {}, **more)


ASKED: dict[str, Ask] = {
    "half a pair": rows(where={"title": HALF}),
    "half a pair in a list": rows("sessions", {"session": ["a", HALF]}),
    "half a pair as a prefix": rows("sessions", {"session": Prefix(HALF)}),
    "more than 64 bits": rows(where={"pages": HUGE}),
    "a dict": rows(where={"pages": {}}),
    "a path": rows("sessions", {"workspace": Path("/w")}),
    "a list in a list": rows("sessions", {"session": [["a"]]}),
    "a prefix in a list": rows("sessions", {"session": [Prefix("a")]}),
    "a number as a prefix": rows("sessions", {"session": Prefix(3)}),  # type: ignore[arg-type]
    "too many": rows("sessions", {"session": [str(i) for i in range(300_000)]}),
    "a list in place of columns": rows("sessions", ["session"]),
    "a text as the order": rows("sessions", order="session"),
    "a list as the order": rows("sessions", order=3),
    "a text as the limit": rows("sessions", limit="5"),
    "a huge limit": rows("sessions", limit=HUGE),
    "a limit below 0": rows("sessions", limit=-1),
    "a list as a table": rows(["sessions"]),  # type: ignore[arg-type]
    "entries": lambda store: store.read(HALF),
    "entries after": lambda store: store.read("a", after=HUGE),
    "entries of a kind": lambda store: store.read("a", kinds=[HALF]),
    "entries of no session": lambda store: store.read({}),  # type: ignore[arg-type]
    "a session": lambda store: store.sessions(session=HALF),
    "a question": lambda store: store.questions(approval_id=HALF),
    "questions": lambda store: store.questions(session=HALF),
    "grants": lambda store: store.grants("a", HALF),
    "a holder": lambda store: store.holder(HALF),
    "a record": lambda store: lookups.record(store, HALF, "k"),
    "records": lambda store: lookups.records(store, "s", prefix=HALF),
    "a prefix of a session": lambda store: lookups.resolve(store, HALF),
    "the newest": lambda store: lookups.newest(store, HALF),
}


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
async def test_what_nothing_can_be_compared_with_is_wrong_usage(home: Path, ask: Ask, readonly: bool) -> None:
    async with opened(home) as store:
        await store.append("a", [kit.inbound()])
    async with opened(home, readonly=readonly) as store:
        with pytest.raises(UsageError) as refused:
            await ask(store)
        assert "damaged" not in refused.value.text
        assert "disk" not in refused.value.text + refused.value.hint


ASKED_OF_COLUMNS: dict[str, Ask] = {
    "half a pair as a table": rows(HALF),
    "a number as a column": rows("sessions", {1: 2}),
    "a list as a column": rows("sessions", order=[["session"]]),
}


@pytest.mark.parametrize("ask", ASKED_OF_COLUMNS.values(), ids=ASKED_OF_COLUMNS)
async def test_what_is_no_column_is_named(home: Path, ask: Ask) -> None:
    async with opened(home) as store:
        with pytest.raises(StoreError, match=r"the table sessions has no column|there is no derived table"):
            await ask(store)


async def test_none_in_a_list_is_what_has_no_value(home: Path) -> None:
    async with opened(home) as store:
        await store.append("home", [readings.added("Emma", 474), readings.added("Ulysses", 730), readings.finished("Emma")])
        (finished,) = {row["finished"] for row in await store.rows("reading_books", {"title": "Emma"})}
        for wanted, expected in (([None], ["Ulysses"]), ([None, finished], ["Emma", "Ulysses"]), ([finished], ["Emma"]), ([], []), ({None, 5}, ["Ulysses"])):
            found = await store.rows("reading_books", {"finished": wanted, "pages": [474, 730]}, order=("title",))
            assert [row["title"] for row in found] == expected


def draft(turn: Any) -> Draft:
    return Draft(turn, ErrorEvent(kind="error", text="x"), OWNER)


WRITTEN: dict[str, Ask] = {
    "half a pair as a session": lambda store: store.append(HALF, [kit.message()]),
    "a number as a session": lambda store: store.append(5, [kit.message()]),  # type: ignore[arg-type]
    "a list as a session": lambda store: store.append([], [kit.message()]),  # type: ignore[arg-type]
    "no session": lambda store: store.append("", [kit.message()]),
    "a huge turn": lambda store: store.append("a", [draft(HUGE)]),
    "a truth value as a turn": lambda store: store.append("a", [draft(True)]),
    "half a turn": lambda store: store.append("a", [draft(1.0)]),
    "a turn below 0": lambda store: store.append("a", [draft(-7)]),
    "a text as a turn": lambda store: store.append("a", [draft("1")]),
    "half a pair as an address": lambda store: store.append("a", [kit.message()], rows=[OutboxItem(HALF, "text")]),
    "half a pair as a call": lambda store: store.append("a", [kit.message()], rows=[StoredResult(HALF, "text")]),
    "half a pair as a workspace": lambda store: store.append("a", [kit.message()], rows=[NewSession(origin="owner", workspace=HALF)]),
    "what is no row": lambda store: store.append("a", [kit.message()], rows=["x"]),  # type: ignore[list-item]
    "a huge item": lambda store: store.append("a", [kit.message()], rows=[DeliveryAttempt(HUGE)]),
    "an endless wait": lambda store: lookups.delivered(store, 1, error="x", retry_at=float("inf")),
    "a huge epoch": lambda store: store.append("a", [kit.message()], lease=Lease("session:a", "me", HUGE)),
    "half a pair as a lease": lambda store: store.acquire(HALF),
    "a list as a lease": lambda store: store.acquire([]),  # type: ignore[arg-type]
    "half a pair as a space": lambda store: store.put_record(HALF, "k", 1),
    "half a pair as a key": lambda store: store.put_record("s", HALF, 1),
    "half a pair as a key to remove": lambda store: store.put_record("s", HALF, None),
    "a number as a key": lambda store: store.put_record("s", 5, 1),  # type: ignore[arg-type]
    "a list as a key": lambda store: store.put_record("s", [5], 1),  # type: ignore[arg-type]
    "a list as a key of a row": lambda store: store.append("a", [kit.message()], rows=[PutRecord("s", [5], 1)]),  # type: ignore[arg-type]
    "bytes as a value": lambda store: store.put_record("s", "k", b"x"),
    "a set as a value": lambda store: store.put_record("s", "k", {1}),
    "half a pair as a value": lambda store: store.put_record("s", "k", {"text": HALF}),
    "a text as a version": lambda store: store.put_record("s", "k", 1, expect="1"),  # type: ignore[arg-type]
    "a huge number in a row": lambda store: store.append("home", [readings.added("Emma", 10**30)]),
}


@pytest.mark.parametrize("write", WRITTEN.values(), ids=WRITTEN)
async def test_what_cannot_be_kept_is_refused_and_the_record_stays_whole(home: Path, write: Ask) -> None:
    async with opened(home) as store:
        await store.append("a", [kit.message()], rows=[OutboxItem("there", "text")])
        with pytest.raises(StoreError):
            await write(store)
        await store.append("a", [kit.message()])
        report = await store.verify()
        assert (report.ok, report.records) == (True, 2)


@pytest.mark.parametrize("after", ["x", -1, 1.5, HUGE, True])
async def test_changes_are_told_after_a_record(home: Path, after: Any) -> None:
    async with opened(home) as store:
        with pytest.raises(UsageError, match="the record after which changes are told cannot be"):
            store.changes(after)


NAMES = ("a", "a\0", "a\0b", "a\U0010ffff", "a\U0010ffffb", "a\ud7ff", "\ue000", "e\u0301", "\u00e9", "\U0010ffff", "x" * 100_000)


@pytest.mark.parametrize("prefix", ["", "a", "a\0", "a\U0010ffff", "\U0010ffff", "e", "\u00e9", "x" * 1000, "a\ud7ff", "nothing"])
async def test_a_prefix_finds_exactly_the_texts_that_begin_so_and_each_key_is_its_own(home: Path, prefix: str) -> None:
    """NUL, the last code point, those around the surrogates, and two normal forms of one word."""
    async with opened(home) as store:
        for number, name in enumerate(NAMES):
            await store.put_record("s", name, number, expect=0)
        found = await lookups.records(store, "s", prefix=prefix)
        assert {(record.key, record.value) for record in found} == {(name, number) for number, name in enumerate(NAMES) if name.startswith(prefix)}
        for number, name in enumerate(NAMES):
            record = await lookups.record(store, "s", name)
            assert record is not None
            assert (record.key, record.value) == (name, number)


async def test_a_value_of_megabytes_is_kept_and_compared_and_set_as_any_other(home: Path) -> None:
    async with opened(home) as store:
        large = {"text": "\0é\U0001f600" * 500_000}
        first = await store.put_record("s", "k", large, expect=0)
        second = await store.put_record("s", "k", {**large, "more": 1}, expect=first.version)
        found = await lookups.record(store, "s", "k")
        assert found == second
