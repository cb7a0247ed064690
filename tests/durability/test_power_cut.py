"""The power fails: what was certain when an effect ran is there, whatever of the rest arrived on the disk."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from neuralclaw.testing import FunctionProvider

from ..agent.kit import agent
from ..store import kit
from . import power_turns
from .disk_trace import Disk, Step, changed, record

pytestmark = [pytest.mark.anyio, pytest.mark.full]

CUTS = 40
"""States between two syncs that are opened of each recording, besides those at a sync."""
SEED = 13


class Cut(NamedTuple):
    """One way in which the power failed: the ledger then, whether a sync was next, what the disk had for certain, and what of the rest had arrived."""

    lines: tuple[str, ...]
    at_sync: bool
    safe: dict[str, bytes]
    kept: list[Step]

    def files(self) -> dict[str, bytes]:
        """What the files have when the power is back."""
        files = dict(self.safe)
        for step in self.kept:
            changed(files, step)
        return files


class Recording:
    """One run of `power_turns`, as far as the disk is concerned."""

    def __init__(self, where: Path, *, fail_sync: int = 0) -> None:
        self.home, self.work, self.ledger = where / "home", where / "work", where / "ledger"
        self.work.mkdir(parents=True)
        self.database = [self.home / f"neuralclaw.db{end}" for end in ("", "-wal", "-journal")]
        words = ["tests.durability.power_turns", str(self.home), str(self.work), str(self.ledger)]
        self.steps = record(words, [self.home, *self.database, self.ledger], where / "trace", fail_sync=fail_sync)

    def cuts(self, chance: random.Random) -> Iterator[Cut]:
        """Ways in which the power may fail, at each step that the process made."""
        disk, lines = Disk(), list[str]()
        for step in [*self.steps, Step("sync", "")]:
            if step.file == str(self.ledger):
                lines += step.data.decode().splitlines()
                continue
            for kept in disk.cuts(chance):
                yield Cut(tuple(lines), step.what == "sync", dict(disk.safe), kept)
            disk.apply(step)

    def place(self, cut: Cut, where: Path) -> Path:
        """The home as it is found when the power is back."""
        where.mkdir(parents=True)
        files = cut.files()
        for file in self.database:
            if str(file) in files:
                (where / file.name).write_bytes(files[str(file)])
        return where


def chosen(recording: Recording) -> list[Cut]:
    """All ways at a sync, and some of the others."""
    chance = random.Random(SEED)
    cuts = list(recording.cuts(chance))
    others = [cut for cut in cuts if not cut.at_sync]
    return [cut for cut in cuts if cut.at_sync] + chance.sample(others, min(CUTS, len(others)))


async def check(home: Path, lines: tuple[str, ...]) -> None:
    """The home opens, its record is whole, and each effect of the ledger has its `tool.started`."""
    async with kit.opened(home) as store:
        report = await store.verify()
        assert report.ok, report
        started = [entry.body.arguments["number"] for entry in await store.read("s", kinds=("tool.started",)) if entry.body.name == "send"]  # type: ignore[union-attr]
        sent = [int(line.split()[1]) for line in lines if line.startswith("sent")]
        assert set(sent) <= set(started), (lines, started)
        if lines[-1:] == ("closed",):
            assert len(await store.read("s", kinds=("turn.finished",))) == power_turns.TURNS


def syncs(steps: list[Step]) -> int:
    return sum(step.what == "sync" for step in steps)


@pytest.mark.invariant("journal.started-first")
async def test_after_a_power_cut_no_effect_is_without_its_record(tmp_path: Path, fast: Path) -> None:
    recording = Recording(tmp_path / "run")
    assert syncs(recording.steps) >= power_turns.TURNS
    for number, cut in enumerate(chosen(recording)):
        await check(recording.place(cut, fast / str(number)), cut.lines)


@pytest.mark.invariant("journal.sync-failed")
@pytest.mark.parametrize("fail_sync", [5, 7, 8, 9])  # strace counts in each thread: of the two that sync, one makes the database, one writes 10 times or more
async def test_a_failed_sync_is_not_forgotten_by_the_next_one(tmp_path: Path, fast: Path, fail_sync: int) -> None:
    recording = Recording(tmp_path / "run", fail_sync=fail_sync)
    assert any(not step.ok for step in recording.steps)
    for number, cut in enumerate(chosen(recording)):
        await check(recording.place(cut, fast / str(number)), cut.lines)


async def test_after_a_power_cut_every_turn_goes_on_and_nothing_is_sent_twice(tmp_path: Path, fast: Path) -> None:
    recording = Recording(tmp_path / "run")
    ends = {cut.lines: cut for cut in recording.cuts(random.Random(SEED)) if cut.lines}
    for number, (lines, cut) in enumerate(ends.items()):
        home, ledger = recording.place(cut, fast / str(number) / "home"), fast / f"ledger-{number}"
        tools = power_turns.tools(str(ledger))
        async with agent(home, provider=FunctionProvider(power_turns.think), tools=tools, builtin=(), approvals="none", recover=True) as a:
            async with a.resume("s") as events:
                async for _ in events:
                    pass
            assert await a.do("sessions.list", unfinished=True) == []
        sent = [line for line in (*lines, *(ledger.read_text().splitlines() if ledger.exists() else ())) if line.startswith("sent")]
        assert len(sent) == len(set(sent))


async def test_a_failed_sync_of_a_process_that_has_ended_is_not_forgotten_either(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("s", [kit.message()])
    marker = home / "locks" / "unsynced-1-0000000000"
    marker.touch()
    async with kit.opened(home) as store:
        assert marker.exists()
        await store.barrier()
        assert not marker.exists()
        assert len(await store.read("s")) == 1
