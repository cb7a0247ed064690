"""Tables that capabilities derive from entries: kept in their transactions, made anew when they change, emptied of what is erased."""

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from neuralclaw.errors import ConfigError, StoreError
from neuralclaw.store import SqliteStore
from neuralclaw.store.schema import BUILT_IN_TABLES
from neuralclaw.types.codec import Codec
from neuralclaw.types.entries import Entry

from . import kit, readings

pytestmark = pytest.mark.anyio


def opened(home: Path, *tables: Any, **options: Any) -> Any:
    return kit.opened(home, codec=readings.CODEC, tables=tables or (readings.BOOKS,), **options)


async def titles(store: SqliteStore, **where: Any) -> list[str]:
    return [row["title"] for row in await store.rows("reading_books", where, order=("title",))]


async def no_fold(entry: Entry, rows: Any) -> None:
    """What cannot run in a transaction."""


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"name": "usage"}, "like the built-in table usage"),
        ({"name": "entries"}, "like the built-in table entries"),
        ({"name": "derived_tables"}, "like the built-in table derived_tables"),
        ({"columns": {f"c{i}": "text" for i in range(3000)}, "key": ("c0",), "indexes": ()}, "has 3,000 columns; it may have 1,000"),
        ({"name": "reading books"}, "cannot have the name 'reading books' in it"),
        ({"name": "x;DROP TABLE entries"}, "not of the form"),
        ({"columns": {"title": "text", 'a" TEXT, "b': "text"}}, "not of the form"),
        ({"columns": {"title": "varchar"}, "indexes": ()}, "has the type 'varchar'"),
        ({"key": ()}, "has no key"),
        ({"fold": no_fold}, "the fold of the table reading_books of a capability is an async function"),
        ({"key": ("author",)}, "the key of the table reading_books names author, which is not a column of it"),
        ({"key": ("title", "title")}, "or one twice"),
        ({"indexes": (("author",),)}, "the index of the table reading_books names author"),
        ({"indexes": ((),)}, "names no column"),
        ({"kinds": ("reading.lent",)}, "is derived from reading.lent, which is not a kind of event that this program records"),
    ],
)
async def test_a_table_that_could_not_be_kept_is_refused_before_anything_is_made(home: Path, changed: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        await SqliteStore.open(str(home), clock=kit.RealClock(), codec=readings.CODEC, tables=[readings.table(**changed)])
    assert said in caught.value.text
    assert not (home / "neuralclaw.db").exists()


async def test_two_tables_of_one_name_are_refused(home: Path) -> None:
    with pytest.raises(ConfigError, match="two capabilities have a table called reading_books"):
        await SqliteStore.open(str(home), clock=kit.RealClock(), codec=readings.CODEC, tables=[readings.BOOKS, readings.table(version=2)])


async def test_entries_are_folded_in_their_transaction(home: Path) -> None:
    async with opened(home) as store:
        await store.append("home", [readings.added("Emma", 474), readings.added("Ulysses", 730), readings.finished("Emma")])
        await store.append("a", [kit.inbound(), readings.finished("Dubliners")])
        assert await titles(store) == ["Emma", "Ulysses"]
        assert await titles(store, finished=None) == ["Ulysses"]
        assert await titles(store, title=["Ulysses", "Dubliners"]) == ["Ulysses"]
        assert [row["pages"] for row in await store.rows("reading_books", order=("pages",), descending=True, limit=1)] == [730]
    async with opened(home, readonly=True) as store:
        assert await titles(store) == ["Emma", "Ulysses"]


async def test_words_of_sql_are_good_names(home: Path) -> None:
    def fold(entry: Entry, rows: Any) -> None:
        rows.put(order=entry.entry, group="g", select=1.5)
        rows.delete(order=entry.entry - 1)

    columns = {"order": "integer", "group": "text", "select": "real"}
    odd = readings.table(name="table", columns=columns, key=("order",), indexes=(("group", "select"),), fold=fold)
    async with opened(home, odd) as store:
        await store.append("home", [readings.added("Emma"), readings.added("Ulysses")])
        assert await store.rows("table") == [{"order": 2, "group": "g", "select": 1.5}]


@pytest.mark.parametrize("name", BUILT_IN_TABLES)
async def test_built_in_tables_are_read_in_the_same_way(home: Path, name: str) -> None:
    async with kit.opened(home) as store:
        await kit.a_life(store)
        await store.append("work", [kit.picture(b"png")])
        rows = await store.rows(name)
        assert rows
        key = {column: rows[0][column] for column in BUILT_IN_TABLES[name]}
        assert await store.rows(name, key) == rows[:1]


async def test_a_table_or_column_that_is_not_there_is_named(home: Path) -> None:
    async with opened(home) as store:
        for table in ("entries", "bodies", "reading", "sqlite_master"):
            with pytest.raises(StoreError, match="there is no derived table"):
                await store.rows(table)
        for more in ({"where": {"author": 1}}, {"order": ("author",)}, {"where": {"1=1 --": 1}}):
            with pytest.raises(StoreError, match="the table reading_books has no column"):
                await store.rows("reading_books", **more)


async def test_a_fold_that_raises_refuses_its_own_append_and_no_other(home: Path) -> None:
    async with opened(home) as store:
        refused: list[StoreError] = []
        await store.append("home", [readings.added("Emma")])
        before = await store.verify()

        async def bad() -> None:
            with pytest.raises(StoreError) as caught:
                await store.append("home", [readings.added("Ulysses"), readings.added("Utopia", -1)])
            refused.append(caught.value)

        async with anyio.create_task_group() as group:
            for i in range(5):
                group.start_soon(store.append, f"a{i}", [kit.message()])
                group.start_soon(bad)
                group.start_soon(store.append, "home", [readings.added(f"Book {i}")])
        assert {error.text for error in refused} == {
            "the table reading_books of a capability cannot process an entry of kind reading.added (ValueError: a book has no negative number of pages);"
            " nothing of this step was recorded"
        }
        assert await titles(store) == [*(f"Book {i}" for i in range(5)), "Emma"]
        report = await store.verify()
        assert (report.ok, report.records) == (True, before.records + 10)


@pytest.mark.parametrize(
    "values",
    [{"title": None}, {"title": "Emma", "pages": "many"}, {"title": "Emma", "author": "Austen"}, {"title": {"no": "text"}}, {"pages": 3}],
    ids=["no key", "wrong type", "no such column", "no value of SQL", "key not named"],
)
async def test_a_row_that_does_not_fit_its_table_refuses_the_append(home: Path, values: dict[str, Any]) -> None:
    async with opened(home, readings.table(fold=lambda entry, rows: rows.put(**values))) as store:
        with pytest.raises(StoreError, match="the table reading_books of a capability cannot process an entry of kind"):
            await store.append("home", [readings.added("Emma")])
        assert await store.read("home") == []
        await store.append("home", [kit.message()])


async def test_a_row_is_found_by_its_whole_key_and_nothing_else(home: Path) -> None:
    for look in ({}, {"pages": 1}, {"title": "Emma", "pages": 1}):
        async with opened(home, readings.table(fold=lambda entry, rows, look=look: rows.get(**look))) as store:
            with pytest.raises(StoreError, match="the key of the table reading_books is title"):
                await store.append("home", [readings.added("Emma")])


@pytest.mark.parametrize(
    "changed",
    [
        {"version": 2},
        {"columns": {"title": "text", "added": "integer", "pages": "integer", "finished": "text"}},
        {"indexes": ()},
        {"kinds": ("reading.added",)},
    ],
)
async def test_a_table_whose_definition_changed_is_made_anew_from_the_entries(home: Path, changed: dict[str, Any]) -> None:
    async with opened(home) as store:
        await store.append("home", [readings.added("Emma"), readings.added("Ulysses")])

    def fold(entry: Entry, rows: Any) -> None:
        rows.put(title=f"{entry.body.title} again")  # type: ignore[union-attr]

    async with opened(home, readings.table(fold=fold, **changed)) as store:
        assert await titles(store) == ["Emma again", "Ulysses again"]
    async with opened(home, readings.table(fold=lambda entry, rows: None, **changed)) as store:
        assert await titles(store) == ["Emma again", "Ulysses again"], "it is not made anew when nothing but the fold changes"
        await store.rebuild()
        assert await titles(store) == []


async def test_a_table_takes_up_what_was_written_and_erased_while_its_capability_was_away(home: Path) -> None:
    ledger = readings.table(name="reading_ledger", kinds=("message", "reading.added"), fold=lambda entry, rows: rows.put(title=str(entry.header.record)))
    async with opened(home, ledger, readings.BOOKS) as store:
        await store.append("a", [kit.message(), readings.added("Emma", turn=1)])
        await store.append("home", [readings.added("Ulysses")])
        assert await titles(store) == ["Emma", "Ulysses"]
    async with kit.opened(home) as store:
        await store.append("b", [kit.message()])
        await store.erase("a", None, "owner")
        await store.rebuild()
    left = kit.raw(home).execute("SELECT count(*) FROM capability_reading_books").fetchone()
    assert left == (0,), "what was folded from erased entries is gone at once, also where nobody can fold the others"
    async with opened(home, ledger, readings.BOOKS) as store:
        assert await titles(store) == ["Ulysses"]
        assert [row["title"] for row in await store.rows("reading_ledger", order=("title",))] == ["3", "4"]


async def test_a_capability_that_is_gone_leaves_its_table_untouched(home: Path) -> None:
    async with opened(home) as store:
        await store.append("home", [readings.added("Emma")])
    before = kit.raw(home).execute("SELECT * FROM capability_reading_books").fetchall()
    async with kit.opened(home) as store:
        await store.append("a", [kit.message()])
        await store.erase("a", None, "owner")
        await store.rebuild()
        with pytest.raises(StoreError, match="there is no derived table"):
            await store.rows("reading_books")
    assert kit.raw(home).execute("SELECT * FROM capability_reading_books").fetchall() == before


@pytest.mark.parametrize("which", [None, [1]])
async def test_what_was_folded_from_an_erased_entry_is_gone(home: Path, which: list[int] | None) -> None:
    async with opened(home) as store:
        await store.append("home", [readings.added("Emma"), readings.added("Ulysses")])
        await store.append("a", [readings.added("Dubliners", turn=1)])
        await store.erase("home", which, "owner")
        assert await titles(store) == (["Dubliners", "Ulysses"] if which else ["Dubliners"])
        await store.append("home", [readings.added("Middlemarch")])
        assert "Middlemarch" in await titles(store)
        assert (await store.verify()).ok


async def test_a_rebuild_gives_the_same_rows(home: Path) -> None:
    async with opened(home) as store:
        await store.append("home", [readings.added(f"Book {i}") for i in range(1200)])
        await store.append("home", [readings.finished("Book 7")])
        before = await store.rows("reading_books", order=("title",))
        c = kit.raw(home)
        c.execute("DELETE FROM capability_reading_books WHERE pages = 100")
        c.close()
        assert await store.rows("reading_books") == []
        await store.rebuild()
        assert await store.rows("reading_books", order=("title",)) == before
        assert len(before) == 1200


async def test_another_version_of_the_capability_beside_this_one_harms_nobody(home: Path) -> None:
    """An upgrade while an older process runs: the table belongs to who opened it last, and it takes up what the other writes."""
    wider = readings.table(columns={"title": "text", "pages": "integer", "added": "integer", "finished": "integer", "lent": "text"}, version=2)
    async with opened(home) as old:
        await old.append("home", [readings.added("Emma")])
        async with opened(home, wider) as new:
            await old.append("home", [readings.added("Ulysses")])
            assert await titles(old) == ["Emma", "Ulysses"]
            await new.append("home", [readings.added("Dubliners")])
            for store in (new, old):
                assert await titles(store) == ["Dubliners", "Emma", "Ulysses"]
            await old.erase("home", [1], "owner")
            for store in (new, old):
                assert await titles(store) == ["Dubliners", "Ulysses"]
            await new.append("home", [readings.added("Middlemarch"), readings.finished("Ulysses")])
            for store in (new, old):
                assert await titles(store) == ["Dubliners", "Middlemarch", "Ulysses"]
                assert await titles(store, finished=None) == ["Dubliners", "Middlemarch"]
            assert set((await old.rows("reading_books"))[0]) < set((await new.rows("reading_books"))[0]), "each reads its own columns"


async def test_an_error_of_another_database_that_a_fold_raises_is_the_folds(home: Path) -> None:
    """It is none of the record, which is neither damaged nor kept from being opened."""
    async with opened(home) as store:
        await store.append("home", [readings.added("Emma")])

    def fold(entry: Entry, rows: Any) -> None:
        with closing(sqlite3.connect(":memory:")) as other:
            other.execute("SELECT * FROM books")

    async with opened(home, readings.table(version=2, fold=fold)) as store:
        assert "OperationalError: no such table: books" in store.failed_tables["reading_books"]
        for refused in (store.rows("reading_books"), store.append("home", [readings.added("Ulysses")])):
            with pytest.raises(StoreError, match=r"cannot process an entry of kind reading.added .OperationalError: no such table"):
                await refused
        await store.append("a", [kit.message()])


async def test_a_fold_that_raises_on_what_is_stored_keeps_nobody_from_opening_the_home(home: Path) -> None:
    async with opened(home) as store:
        await store.append("home", [readings.added("Emma")])

    def fold(entry: Entry, rows: Any) -> None:
        raise RuntimeError("a defect")

    async with opened(home, readings.table(version=2, fold=fold)) as store:
        await store.append("a", [kit.message()])
        with pytest.raises(StoreError, match=r"cannot process an entry of kind reading.added .RuntimeError: a defect.$"):
            await store.rows("reading_books")
        with pytest.raises(StoreError, match=r"RuntimeError: a defect.; nothing of this step was recorded"):
            await store.append("home", [readings.added("Ulysses")])
        assert "RuntimeError: a defect" in store.failed_tables["reading_books"]
        await store.erase("a", None, "owner")
    async with opened(home, readings.table(version=3)) as store:
        assert await titles(store) == ["Emma"]


async def test_a_home_that_is_only_read_has_what_another_program_wrote_meanwhile(home: Path) -> None:
    async with opened(home, readonly=True) as store:
        assert await titles(store) == []
    async with kit.opened(home, codec=readings.CODEC) as store:
        await store.append("a", [kit.message()])
    async with opened(home, readonly=True) as store:
        assert await titles(store) == []
    async with kit.opened(home, codec=readings.CODEC) as other, opened(home, readonly=True) as store:
        await other.append("home", [readings.added("Emma")])
        assert await titles(store) == ["Emma"]
        await other.append("home", [readings.added("Ulysses"), readings.finished("Emma")])
        assert await titles(store) == ["Emma", "Ulysses"]
        await other.erase("home", [1], "owner")
        assert await titles(store) == ["Ulysses"]


@pytest.mark.parametrize("written", [True, False], ids=["writable", "read-only"])
async def test_a_table_that_an_upgrade_changed_is_read_before_anybody_writes(home: Path, written: bool) -> None:
    first = readings.counted()
    async with opened(home, first) as store:
        await store.append("home", [readings.added("Emma"), readings.added("Emma"), readings.finished("Emma")])
    later = readings.counted(2)
    before = (home / "neuralclaw.db").read_bytes()
    if not written:
        home.chmod(0o500)
    try:
        async with opened(home, later, readonly=True) as store:
            for _ in range(2):
                assert await store.rows("reading_books", {"title": "Emma"}) == [{"title": "Emma", "times": 3, "more2": None}]
                assert await store.rows("reading_books", {"times": [3, 4]}, order=("title",), limit=1) == [{"title": "Emma", "times": 3, "more2": None}]
            with pytest.raises(StoreError, match="has no column pages: title, times, more2"):
                await store.rows("reading_books", {"pages": 1})
    finally:
        home.chmod(0o700)
    assert (home / "neuralclaw.db").read_bytes() == before
    async with opened(home, later) as store:
        assert await store.rows("reading_books") == [{"title": "Emma", "times": 3, "more2": None}]


async def test_what_is_folded_in_memory_goes_on_from_what_is_folded_on_disk_and_takes_nothing_twice(home: Path) -> None:
    table = readings.counted()
    async with opened(home, table) as store:
        await store.append("home", [readings.added("Emma"), readings.added("Emma")])
    async with kit.opened(home, codec=readings.CODEC) as other, opened(home, table, readonly=True) as store:
        for times in (3, 4, 5):
            await other.append("home", [readings.added("Emma")])
            assert await store.rows("reading_books") == [{"title": "Emma", "times": times}]
            await other.append("a", [kit.message()])
            assert await store.rows("reading_books") == [{"title": "Emma", "times": times}]


async def test_a_rebuild_makes_every_table_that_can_be_made_and_names_the_others(home: Path) -> None:
    """A fold that raises spoils its own table alone: not the built-in ones, nor those before and behind it."""
    names = ("reading_a", "reading_books", "reading_c")
    plain = [readings.table(name=name, fold=readings.count, columns={"title": "text", "times": "integer"}, indexes=()) for name in names]
    async with opened(home, *plain) as store:
        await kit.a_life(store)
        await store.append("home", [readings.added("Emma")])
        usage = await store.rows("usage")

    def broken(entry: Entry, rows: Any) -> None:
        rows.put(title="half")
        raise RuntimeError("a defect")

    tables = [plain[0], readings.table(name=names[1], fold=broken, columns={"title": "text", "times": "integer"}, indexes=()), plain[2]]
    async with opened(home, *tables) as store:
        assert store.failed_tables == {}, "its definition did not change"
        c = kit.raw(home)
        for name in ("usage", *(f"capability_{name}" for name in names)):
            c.execute(f"DELETE FROM {name}")
        c.close()
        await store.rebuild()
        assert await store.rows("usage") == usage
        assert [await store.rows(name) for name in (names[0], names[2])] == [[{"title": "Emma", "times": 1}]] * 2
        assert list(store.failed_tables) == [names[1]]
        assert "cannot process an entry of kind reading.added (RuntimeError: a defect)" in store.failed_tables[names[1]]
        assert kit.raw(home).execute(f"SELECT count(*) FROM capability_{names[1]}").fetchone() == (0,)
    async with opened(home, *plain) as store:
        await store.rebuild()
        assert store.failed_tables == {}
        assert await store.rows(names[1]) == [{"title": "Emma", "times": 1}]


async def test_processes_with_two_versions_of_a_capability_write_read_rebuild_and_erase_at_once(home: Path) -> None:
    """Each reads the rows of its own definition, with every entry in them once; so does whoever comes later, also without writing."""
    async with kit.second("versions", str(home), "1") as one, kit.second("versions", str(home), "2") as two:
        for process in (one, two):
            assert await process.line() == "ready"
        for process in (one, two):
            await process.go()
        for process in (one, two):
            assert await process.lines() == []
    for readonly in (True, False):
        for version in (1, 2):
            async with opened(home, readings.counted(version), readonly=readonly) as store:
                there = [entry.body for entry in await store.read("home", kinds=("reading.added",)) if isinstance(entry.body, readings.Added)]
                times = {row["title"]: row["times"] for row in await store.rows("reading_books")}
                assert times == Counter(body.title for body in there)
                assert sum(times.values()) > 20
                assert (await store.verify()).ok


@pytest.mark.parametrize("titles", [("a\0", "a\0b", "a"), ("\u00e9", "e\u0301"), ("x" * 1_000_000, "x" * 1_000_001), ("\U0010ffff", "\ue000")])
async def test_a_row_has_the_very_key_that_it_was_put_under(home: Path, titles: tuple[str, ...]) -> None:
    async with opened(home, readings.counted()) as store:
        await store.append("home", [readings.added(title) for title in titles])
        for readonly in (True, False):
            table = readings.counted(2 if readonly else 1)
            async with opened(home, table, readonly=readonly) as other:
                for title in titles:
                    assert [(row["title"], row["times"]) for row in await other.rows("reading_books", {"title": title})] == [(title, 1)]


async def test_opening_a_home_whose_tables_are_as_they_are_defined_writes_nothing(home: Path) -> None:
    async with opened(home) as store:
        await store.append("home", [readings.added("Emma")])
    c = kit.raw(home)
    before = c.execute("PRAGMA data_version").fetchone()
    async with opened(home) as store:
        assert await titles(store) == ["Emma"]
        assert c.execute("PRAGMA data_version").fetchone() == before


async def test_a_table_may_be_derived_from_built_in_kinds(home: Path) -> None:
    def fold(entry: Entry, rows: Any) -> None:
        row = rows.get(model="offline") or {"count": 0}
        rows.put(model="offline", count=row["count"] + 1)

    replies = readings.table(name="replies", columns={"model": "text", "count": "integer"}, key=("model",), kinds=("message",), fold=fold, indexes=())
    async with kit.opened(home, codec=Codec(), tables=[replies]) as store:
        await kit.a_life(store)
        assert await store.rows("replies") == [{"model": "offline", "count": 3}]
        await store.erase("work", [3], "owner")
        assert await store.rows("replies") == [{"model": "offline", "count": 2}]
