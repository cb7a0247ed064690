"""Whether many processes on one home keep out of each other's way: 5,000 sessions over 8 real processes, and no call with two results.

    python benchmarks/many_processes.py

Each session has one turn: a call of a tool whose effect is `once` (it appends a line to a file) and an answer. All of a process's sessions begin
together, and so do the processes. Afterwards the record is read: one result for each call, one end for each turn, each effect once, and the whole
record verifies. Anything else is named, and the exit code is 1. `alone`: one process with as many sessions as each of the many had.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio

from neuralclaw import Agent, tool
from neuralclaw.app.clock import SystemClock
from neuralclaw.store import SqliteStore
from neuralclaw.testing import FunctionProvider, Reply
from neuralclaw.types.entries import Entry
from neuralclaw.types.events import ToolFinished, TurnFinished
from neuralclaw.types.messages import Request, ToolMessage
from neuralclaw.types.tools import ToolContext

ONCE = ("tool.started", "tool.finished", "turn.finished")
"""Kinds of which a session of one turn with one call has one entry each."""


class TimedStore(SqliteStore):
    """The store, which notes how long its slowest append took."""

    slowest = 0.0

    async def append(self, *words: Any, **named: Any) -> list[Entry]:
        began = time.perf_counter()
        try:
            return await super().append(*words, **named)
        finally:
            TimedStore.slowest = max(TimedStore.slowest, time.perf_counter() - began)


async def think(request: Request) -> Reply:
    if isinstance(request.messages[-1], ToolMessage):
        return Reply("It is counted.")
    return Reply(tool_calls=[{"name": "count", "arguments": {}}])


async def work(home: str, effects: str, number: int, sessions: int) -> None:
    """One process's part: says `ready`, waits for a line, runs its sessions, prints its figures."""
    file = os.open(effects, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    @tool(risk="LOW", effect="once")
    async def count(ctx: ToolContext) -> str:
        "Count this session."
        os.write(file, f"{ctx.session}\n".encode())
        return "counted"

    folder = str(Path(home).parent)
    async with Agent.open(home=home, workspace=folder, provider=FunctionProvider(think), tools=[count], environ={"HOME": folder}) as agent:
        agent._home.store.__class__ = TimedStore
        print("ready", flush=True)
        sys.stdin.readline()
        began = time.perf_counter()
        async with anyio.create_task_group() as tasks:
            for n in range(sessions):
                tasks.start_soon(ask, agent, f"p{number}-{n}")
        took = time.perf_counter() - began
    print(json.dumps({"seconds": took, "slowest_append_ms": TimedStore.slowest * 1000}))


async def ask(agent: Agent, session: str) -> None:
    end = await agent.ask("Count this session.", session=session)
    if (end.status, end.text) != ("done", "It is counted."):
        print(f"{session}: {end}", file=sys.stderr)


def run(home: str, effects: str, processes: int, sessions: int) -> dict[str, float]:
    """All processes at once: seconds until the last one is done, sessions a second, the slowest append of all."""
    command = [sys.executable, __file__, "--sessions", str(sessions), "--home", home, "--worker"]
    workers = [subprocess.Popen([*command, str(n), effects], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for n in range(processes)]
    try:
        if any(line(worker) != "ready\n" for worker in workers):
            raise SystemExit("a process could not open the home")
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()
        found = [json.loads(line(worker) or "{}") for worker in workers]
    finally:
        for worker in workers:
            worker.communicate()
    if not all(found):
        raise SystemExit("a process ended before its sessions did")
    took = max(f["seconds"] for f in found)
    slowest = max(f["slowest_append_ms"] for f in found)
    return {"seconds": took, "sessions_per_second": processes * sessions / took, "slowest_append_ms": slowest}


def line(worker: "subprocess.Popen[str]") -> str:
    assert worker.stdout is not None
    return worker.stdout.readline()


async def wrong(home: str, ran: Counter[str], expected: Sequence[str]) -> list[str]:
    """What is not as it must be, each in a line. `ran`: how often each session's effect happened."""
    found = []
    async with await SqliteStore.open(home, clock=SystemClock(), readonly=True) as store:
        rows = {row.session: row for row in await store.sessions()}
        if set(rows) != set(expected):
            found.append(f"{len(rows)} sessions, not {len(expected)}")
        for session in expected:
            entries = await store.read(session)
            kinds = Counter(entry.header.kind for entry in entries)
            bodies = [entry.body for entry in entries]
            good = all(body.ok for body in bodies if isinstance(body, ToolFinished)) and all(b.status == "done" for b in bodies if isinstance(b, TurnFinished))
            if any(kinds[kind] != 1 for kind in ONCE) or ran[session] != 1 or not good or rows[session].state != "idle":
                found.append(f"{session}: {dict(kinds)}, ran {ran[session]} times, state {rows[session].state}")
        if ran.total() != len(expected):
            found.append(f"{ran.total()} effects, not {len(expected)}")
        report = await store.verify()
        if not report.ok:
            found.append(f"the record does not verify: {report}")
    return found


def measure(home: str, processes: int, sessions: int) -> dict[str, Any]:
    """The figures of one run on a fresh home, and what was wrong."""
    effects = Path(f"{home}.effects")
    effects.touch()
    found = run(home, str(effects), processes, sessions)
    expected = [f"p{process}-{n}" for process in range(processes) for n in range(sessions)]
    return {**found, "processes": processes, "sessions": len(expected), "wrong": anyio.run(wrong, home, Counter(effects.read_text().split()), expected)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--sessions", type=int, default=625, help="sessions of each process")
    parser.add_argument("--home", help="an empty place for the home, which is kept; nothing runs alone then")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        anyio.run(work, options.home, options.worker[1], int(options.worker[0]), options.sessions)
        return
    with tempfile.TemporaryDirectory() as folder:
        found = {} if options.home else {"alone": measure(f"{folder}/alone", 1, options.sessions)}
        found["together"] = measure(options.home or f"{folder}/together", options.processes, options.sessions)
    if options.json:
        print(json.dumps(found))
    for name, f in found.items() if not options.json else ():
        rate, slowest = f["sessions_per_second"], f["slowest_append_ms"]
        print(f"{name:10} {f['sessions']:6} sessions {f['seconds']:7.1f} s {rate:7.0f} a second, slowest append {slowest:7.0f} ms")
    problems = [problem for f in found.values() for problem in f["wrong"]]
    print("\n".join(problems[:20]) or "every call has one result, every effect happened once, the record verifies", file=sys.stderr)
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
