"""What one append to the journal costs, as ratios to a bare SQLite insert: `python benchmarks/store_append.py`.

The bare insert is what it is compared with: the same number of bytes in one row of one table, WAL, `synchronous=NORMAL`, one
transaction each, no chain, no digest, no thread. An append holds header, chain, body under a keyed digest and derived rows.
"""

import sqlite3
import sys
import tempfile
import time
from pathlib import Path

import anyio

from neuralclaw.app.clock import SystemClock
from neuralclaw.store import SqliteStore
from neuralclaw.types.codec import BUILT_IN
from neuralclaw.types.entries import Draft
from neuralclaw.types.events import Message
from neuralclaw.types.messages import Usage

ALONE = 2000
TURNS = 1000
STEPS = 9
"""Appends of one turn of two model calls and one tool call."""
ROUNDS = 3

DRAFT = Draft(1, Message(text="x" * 200, stop="end", model="m", usage=Usage(10, 0, 5, 0.01), seen=1), frozenset({"own"}))


def bare(directory: Path) -> float:
    """Seconds of one bare insert."""
    c = sqlite3.connect(directory / "bare.db", isolation_level=None)
    c.execute("PRAGMA journal_mode = WAL")
    c.execute("PRAGMA synchronous = NORMAL")
    c.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, data BLOB)")
    data = BUILT_IN.encode(DRAFT.body)
    start = time.perf_counter()
    for _ in range(ALONE):
        c.execute("INSERT INTO t (data) VALUES (?)", (data,))
    taken = (time.perf_counter() - start) / ALONE
    c.close()
    return taken


async def alone(store: SqliteStore, session: str) -> float:
    """Seconds of one append when nobody else writes."""
    start = time.perf_counter()
    for _ in range(ALONE):
        await store.append(session, [DRAFT])
    return (time.perf_counter() - start) / ALONE


async def together(store: SqliteStore, name: str) -> tuple[float, float]:
    """Seconds of the clock and of the processor for one append of a thousand turns at once."""

    async def turn(session: str) -> None:
        for _ in range(STEPS):
            await store.append(session, [DRAFT])

    start, busy = time.perf_counter(), time.process_time()
    async with anyio.create_task_group() as group:
        for i in range(TURNS):
            group.start_soon(turn, f"{name}{i}")
    return (time.perf_counter() - start) / TURNS / STEPS, (time.process_time() - busy) / TURNS / STEPS


async def barriers(store: SqliteStore) -> float:
    """Seconds of one append with a barrier behind it, alone."""
    start = time.perf_counter()
    for _ in range(50):
        await store.append("barrier", [DRAFT])
        await store.barrier()
    return (time.perf_counter() - start) / 50


async def main(place: str) -> None:
    with tempfile.TemporaryDirectory(dir=place) as directory:
        insert = bare(Path(directory))
        store = await SqliteStore.open(f"{directory}/home", clock=SystemClock())
        try:
            one = min([await alone(store, f"alone{i}") for i in range(ROUNDS)])
            late = await alone(store, "alone0")
            many = [await together(store, f"t{i}-") for i in range(ROUNDS)]
            wall, busy = min(w for w, _ in many), min(b for _, b in many)
            synced = await barriers(store)
            good = (await store.verify()).ok
        finally:
            await store.aclose()
    line("a bare insert", insert, insert)
    line("an append, alone", one, insert)
    line(f"an append, alone, after {ALONE} others of its session", late, insert)
    line(f"an append, {TURNS} turns at once", wall, insert)
    line(f"an append, {TURNS} turns at once, processor time", busy, insert)
    line("an append and a barrier, alone", synced, insert)
    print("the record verifies" if good else "THE RECORD DOES NOT VERIFY")


def line(what: str, seconds: float, unit: float) -> None:
    print(f"{what:60} {seconds * 1e6:9.1f} µs {seconds / unit:8.2f} x")


if __name__ == "__main__":
    anyio.run(main, sys.argv[1] if len(sys.argv) > 1 else tempfile.gettempdir())
