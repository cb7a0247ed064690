"""A byte of the database is another one: what is shown is as it was, or `audit verify` says that the record is not whole, or one clear error does."""

import random
from pathlib import Path
from typing import Any

import pytest

from neuralclaw.errors import StoreError
from neuralclaw.store import SqliteStore

from ..store import kit, readings
from ..store.test_tampering import fill

pytestmark = [pytest.mark.anyio, pytest.mark.full]

FLIPS = 5000
"""Bytes that are changed, for each seed."""


async def opened(home: Path) -> SqliteStore:
    return await SqliteStore.open(str(home), clock=kit.RealClock(), readonly=True, codec=readings.CODEC, tables=[readings.BOOKS])


async def shown(home: Path) -> list[Any]:
    """What a person can be shown of the home."""
    store = await opened(home)
    try:
        rows = await store.sessions()
        return [rows, *[await store.read(row.session) for row in rows], await store.questions(open_only=False), await store.grants()]
    finally:
        await store.aclose()


async def told_of(home: Path) -> bool:
    """Whether `audit verify` says that something is wrong."""
    store = await opened(home)
    try:
        return not (await store.verify()).ok
    except StoreError:
        return True
    finally:
        await store.aclose()


@pytest.mark.invariant("audit.tampering-found")
@pytest.mark.parametrize("seed", [1, 2])
async def test_no_changed_byte_changes_what_is_shown_unsaid_and_none_raises_another_error(home: Path, fast: Path, seed: int) -> None:
    await fill(home)
    raw = kit.raw(home)
    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    raw.close()
    data, chance = (home / "neuralclaw.db").read_bytes(), random.Random(seed)
    before, told = await shown(home), 0
    for _ in range(FLIPS):
        place = chance.randrange(len(data))
        other = chance.choice([chance.randrange(256), data[place] ^ (1 << chance.randrange(8))])
        changed = data[:place] + bytes([other]) + data[place + 1 :]
        (fast / "neuralclaw.db").write_bytes(changed)
        try:
            same = await shown(fast) == before
        except StoreError:
            told += 1
            continue
        assert same or await told_of(fast), (place, other)
        told += not same
    assert told > FLIPS // 50
