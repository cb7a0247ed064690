"""What a second process does: `python -m tests.store.process VERB HOME …`. Says `ready`, waits for a line, does it, prints what came."""

import multiprocessing
import os
import resource
import signal
import sqlite3
import sys
from pathlib import Path

import anyio

from neuralclaw import lookups
from neuralclaw.errors import NeuralClawError
from neuralclaw.store import SqliteStore
from neuralclaw.types.records import RecordConflict

from . import kit, readings


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def ready() -> None:
    say("ready")
    sys.stdin.readline()


async def append(home: str, session: str, count: str) -> None:
    """So many entries, one after the other."""
    async with kit.opened(Path(home)) as store:
        ready()
        for i in range(int(count)):
            await store.append(session, [kit.message(f"{session} {i}")])


async def forever(home: str, session: str) -> None:
    """Entries under the session's lease until killed; the number of each that was acknowledged is printed."""
    async with kit.opened(Path(home)) as store:
        lease = await store.acquire(f"session:{session}")
        assert lease is not None
        await lookups.start_turn(store, lease, session, 1)
        ready()
        while True:
            (entry,) = await store.append(session, [kit.message("x" * 500)], lease=lease)
            say(entry.header.record)


async def answer(home: str, session: str, question: str, decision: str) -> None:
    async with kit.opened(Path(home)) as store:
        ready()
        try:
            await store.append(session, [kit.answered(question, decision)])
            say("taken")
        except NeuralClawError as error:
            say(error.kind)


async def count(home: str, times: str) -> None:
    """Add one to a record so many times, by compare-and-set; the values that it wrote are printed."""
    async with kit.opened(Path(home)) as store:
        ready()
        for _ in range(int(times)):
            while True:
                found = await lookups.record(store, "s", "count")
                try:
                    record = await store.put_record("s", "count", found.value + 1 if found else 1, expect=found.version if found else 0)
                except RecordConflict:
                    continue
                break
            say(record.value)


async def versions(home: str, version: str) -> None:
    """Append, read, rebuild and erase with one version of a capability's table, opening the home several times."""
    table = readings.counted(int(version))
    ready()
    for _ in range(3):
        async with kit.opened(Path(home), codec=readings.CODEC, tables=[table]) as store:
            for i in range(10):
                entries = await store.append("home", [readings.added(f"book {i % 4}")])
                for row in await store.rows("reading_books"):
                    if set(row) != set(table.columns):
                        say(row)
                if i == 5:
                    await store.rebuild()
                if i == 7:
                    await store.erase("home", [entries[0].entry], "owner")


async def upkeep(home: str, what: str) -> None:
    """A rebuild or an erasure that stands still in its middle: derived rows are deleted, and some are written again."""
    async with kit.opened(Path(home)) as store:
        ready()
        assert store._writer is not None
        written = 0

        def stand_still(statement: str) -> None:
            nonlocal written
            written += statement.startswith("INSERT OR REPLACE INTO usage")
            if written == 2:
                say("midway")
                sys.stdin.readline()

        store._writer._tables.connection.set_trace_callback(stand_still)
        await (store.rebuild() if what == "rebuild" else store.erase("work", None, "owner"))


def live_on() -> None:
    """What a forked child does, until it is killed; its parent's ends of the pipes are not its own."""
    os.close(0)
    os.close(1)
    signal.pause()


async def fork(home: str) -> None:
    """Takes a lease and forks a child that lives on; says who the child is."""
    async with kit.opened(Path(home)) as store:
        assert await store.acquire("session:work") is not None
        child = multiprocessing.get_context("fork").Process(target=live_on)
        child.start()
        say(child.pid)
        ready()


async def lock(home: str) -> None:
    """A stranger that keeps the database locked."""
    c = sqlite3.connect(Path(home) / "neuralclaw.db", isolation_level=None)
    c.execute("BEGIN IMMEDIATE")
    ready()


async def look(home: str) -> None:
    """Read everything of a home that cannot be written."""
    store = await SqliteStore.open(home, clock=kit.RealClock(), readonly=True)
    report = await store.verify()
    say(len(await store.sessions()), report.ok, report.records)
    await store.aclose()


async def write(home: str) -> None:
    try:
        async with kit.opened(Path(home)) as store:
            await store.append("work", [kit.message()])
    except NeuralClawError as error:
        say(error.kind, "|", error.text, "|", error.hint)


async def tight(home: str, kilobytes: str) -> None:
    """Append until no file may grow any more, then again with room."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    async with kit.opened(Path(home)) as store:
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(kilobytes) * 1024, hard))
        await fill(store)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        await store.append("work", [kit.message("room again")])
        say("again")


async def full(home: str) -> None:
    """The same on a small file system, where a file takes the space; reading works meanwhile."""
    ballast = Path(home) / "ballast"
    async with kit.opened(Path(home)) as store:
        await store.append("work", [kit.message("first")])
        with ballast.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"\0" * 4096)
            except OSError:
                pass
        await fill(store)
        reader = await SqliteStore.open(home, clock=kit.RealClock(), readonly=True)
        say((await reader.verify()).ok)
        await reader.aclose()
        ballast.unlink()
        await store.append("work", [kit.message("room again")])
        say("again", (await store.verify()).ok)


async def fill(store: SqliteStore) -> None:
    count = 0
    try:
        for _ in range(2000):
            await store.append("work", [kit.message("x" * 4000)])
            count += 1
    except NeuralClawError as error:
        say(error.kind, "|", error.text, "|", error.hint)
    say(count, len(await store.read("work")))


if __name__ == "__main__":
    anyio.run(globals()[sys.argv[1]], *sys.argv[2:])
