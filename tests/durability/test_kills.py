"""Hundreds of processes are killed one after the other, half of them while they start or recover: no effect happens twice, every turn ends, nothing is lost."""

import sys
from collections import Counter
from pathlib import Path

import anyio
import pytest

from ..store import kit
from .disk_trace import ROOT
from .killed_turns import AT_ONCE

pytestmark = [pytest.mark.anyio, pytest.mark.full]

KILLS = 150
"""Of each seed."""


@pytest.mark.invariant("journal.finished-once")
@pytest.mark.invariant("journal.one-result")
@pytest.mark.invariant("journal.inbound-once")
@pytest.mark.parametrize("seed", [1, 2])
async def test_after_so_many_kills_every_turn_has_ended_and_no_effect_happened_twice(home: Path, seed: int) -> None:
    work, ledger = home.parent / "work", home.parent / "ledger"
    work.mkdir()
    words = ["-m", "tests.durability.killed_turns", str(home), str(work), str(ledger), str(KILLS), str(seed)]
    done = await anyio.run_process([sys.executable, *words], cwd=ROOT)
    kills, starting = map(int, done.stdout.split())
    assert (kills, starting > KILLS // 6) == (KILLS, True)
    sent = Counter(line for line in ledger.read_text().splitlines() if line.startswith("sent"))
    assert max(sent.values()) == 1
    async with kit.opened(home) as store:
        assert (await store.verify()).ok
        (row,) = [row for row in await store.sessions() if row.session == "s"]
        assert (row.state, row.turns >= AT_ONCE) == ("idle", True)
        entries = await store.read("s")
    texts = Counter(entry.body.text for entry in entries if entry.header.kind == "inbound")  # type: ignore[union-attr]
    ended = Counter(entry.turn for entry in entries if entry.header.kind == "turn.finished")
    calls = Counter(call.id for entry in entries if entry.header.kind == "message" for call in entry.body.tool_calls)  # type: ignore[union-attr]
    results = Counter(entry.body.call_id for entry in entries if entry.header.kind == "tool.finished")  # type: ignore[union-attr]
    assert max(texts.values()) == 1
    assert ended == Counter(dict.fromkeys(range(1, row.turns + 1), 1))
    assert calls == results
    started = {entry.body.arguments["number"] for entry in entries if entry.header.kind == "tool.started" and entry.body.name == "send"}  # type: ignore[union-attr]
    assert {int(line.split()[1]) for line in sent} <= started
