"""What the store's tests share: drafts, a store on a real file, second processes."""

import asyncio
import contextlib
import sqlite3
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio

from neuralclaw import lookups
from neuralclaw.store import SqliteStore
from neuralclaw.store.bodies import HEADER, header_of
from neuralclaw.types import chain
from neuralclaw.types import events as ev
from neuralclaw.types.codec import BUILT_IN as BUILT_IN
from neuralclaw.types.entries import Draft, detached
from neuralclaw.types.labels import OWNER
from neuralclaw.types.messages import Image, ToolCall, Usage
from neuralclaw.types.options import TurnOptions
from neuralclaw.types.questions import Covers, Shown
from neuralclaw.types.records import NewSession, SessionRow
from neuralclaw.types.risk import Risk, Tier

ROOT = Path(__file__).parents[2]


class RealClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


@contextlib.asynccontextmanager
async def opened(home: Path, **options: Any) -> AsyncIterator[SqliteStore]:
    anchor = options.pop("anchor", None)
    store = await SqliteStore.open(str(home), clock=options.pop("clock", RealClock()), **options)
    store.keep_anchor(anchor)
    try:
        yield store
    finally:
        await store.aclose()


def inbound(text: str = "hello", *, key: str = "", turn: int | None = 1, queued: bool = False) -> Draft:
    return Draft(turn, ev.Inbound(text=text, key=key, by="owner", queued=queued), OWNER)


def started(turn: int = 1, *, inbound: int = 1, model: str = "offline:offline") -> Draft:
    options = TurnOptions(model=model, workspace="/w")
    return Draft(turn, ev.TurnStarted(text="hello", model=model, soul="", origin="program", options=options, inbound=inbound))


def cancel(*, turn: int | None = None, message: int | None = None) -> Draft:
    return Draft(turn, ev.Cancel(by="owner", message=message))


def message(text: str = "fine", *, turn: int = 1, usd: float | None = 0.25, seen: int = 0, calls: tuple[str, ...] = ()) -> Draft:
    tool_calls = tuple(ToolCall(id=c, name="echo") for c in calls)
    usage = Usage(input=10, cached=4, output=2, usd=usd)
    return Draft(turn, ev.Message(text=text, stop="end", model="offline", usage=usage, seen=seen, tool_calls=tool_calls))


def finished(turn: int = 1, *, waiting: tuple[str, ...] = ()) -> Draft:
    status: ev.TurnStatus = "needs_approval" if waiting else "done"
    return Draft(turn, ev.TurnFinished(status=status, text="fine", waiting=waiting))


def asked(approval_id: str = "Q000000001", *, turn: int = 1, scopes: tuple[dict[str, str], ...] = (), workspace: str = "/w") -> Draft:
    body = ev.ApprovalRequested(
        approval_id=approval_id,
        call_id="c1",
        action=Shown("terminal", "git push"),
        risk=Risk.HIGH,
        tier=Tier.EXECUTE,
        expires="2030-01-01T00:00:00.000Z",
        hash="0" * 64,
        scopes=scopes,
        covers=Covers("git push: in this session only", "git push: in every session of this workspace") if scopes and workspace else Covers(),
        workspace=workspace,
    )
    return Draft(turn, body)


def answered(approval_id: str = "Q000000001", decision: Any = "once", *, turn: int = 1) -> Draft:
    return Draft(turn, ev.ApprovalResolved(approval_id=approval_id, decision=decision, by="owner"))


def tool_finished(call_id: str = "c1", *, turn: int = 1) -> Draft:
    return Draft(turn, ev.ToolFinished(call_id=call_id, name="echo", ok=True, content="short", truncated=True), frozenset({"agent", "external:web"}))


async def made(store: SqliteStore, session: str, new: NewSession) -> SessionRow:
    """A session's row without an entry, or with what was empty filled in."""
    await store.append(session, [], rows=[new])
    row = await lookups.session(store, session)
    assert row is not None
    return row


def picture(data: bytes, *, turn: int | None = 1, with_bytes: bool = True) -> Draft:
    """A message with a picture, the bytes beside it or not."""
    body = ev.Inbound(text="look", key="", by="owner", images=(detached(Image("image/png", data)),))
    return Draft(turn, body, OWNER, (data,) if with_bytes else ())


async def a_life(store: SqliteStore, session: str = "work") -> None:
    """Two turns with all that is derived from: a question answered for the session, money, calls, a message that waits."""
    await store.append(session, [inbound("tidy  up\nthe desk", key=f"{session}-1"), started()], rows=[NewSession(origin="owner", workspace="/w")])
    scope = {"kind": "program", "value": "git push", "tool": "terminal"}
    await store.append(session, [message(seen=1, calls=("c1",)), asked(f"{session}-Q1", scopes=(scope,)), finished(waiting=(f"{session}-Q1",))])
    await store.append(session, [answered(f"{session}-Q1", "session"), tool_finished(), message("done", seen=5), finished()])
    await store.append(
        session, [inbound("and now", turn=2), started(2, inbound=10), message("later", turn=2, usd=None, seen=10), inbound("psst", turn=2, queued=True)]
    )


def rewrite(home: Path, record: int, data: bytes, **columns: Any) -> None:
    """Another body for a record, as if it had been written so: digest and chain are made to fit from there on. `columns` of its header change too."""
    c = raw(home)
    key = b"k" * 32
    c.execute("UPDATE bodies SET key = ?, data = ? WHERE record = ?", (key, data, record))
    for name, value in ({"digest": chain.body_digest(key, data)} | columns).items():
        c.execute(f"UPDATE entries SET {name} = ? WHERE record = ?", (value, record))
    previous = chain.START
    for row in c.execute(f"SELECT {HEADER} FROM entries e ORDER BY e.record").fetchall():
        header = header_of(row)
        previous = chain.link(previous, header)
        c.execute("UPDATE entries SET hash = ? WHERE record = ?", (bytes.fromhex(previous), header.record))
    c.close()


def damage(home: Path, record: int, data: bytes = b"\xff no JSON") -> None:
    """Other bytes in place of a record's body."""
    c = raw(home)
    assert c.execute("UPDATE bodies SET data = ? WHERE record = ?", (data, record)).rowcount == 1
    c.close()


def raw(home: Path) -> sqlite3.Connection:
    """A stranger's connection to the file."""
    return sqlite3.connect(home / "neuralclaw.db", isolation_level=None)


class Process:
    """A second real process: `tests/store/process.py` with these words."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.pid = process.pid

    async def line(self) -> str:
        assert self.process.stdout is not None
        with anyio.fail_after(20):  # a loaded machine starts Python slowly; nothing is measured here
            return (await self.process.stdout.readline()).decode().strip()

    async def lines(self) -> list[str]:
        assert self.process.stdout is not None
        with anyio.fail_after(60):
            return (await self.process.stdout.read()).decode().splitlines()

    async def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"go\n")
        await self.process.stdin.drain()

    async def kill(self) -> None:
        self.process.kill()
        await self.process.wait()


@contextlib.asynccontextmanager
async def second(*words: str, around: tuple[str, ...] = ()) -> AsyncIterator[Process]:
    """A second process, started by the command `around` if one is given; it is gone in the end."""
    process = await asyncio.create_subprocess_exec(
        *around, sys.executable, "-m", "tests.store.process", *words, cwd=ROOT, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    try:
        yield Process(process)
    finally:
        if process.returncode is None:
            process.kill()
        assert process.stdin is not None
        process.stdin.close()
        await process.communicate()
        process._transport.close()  # type: ignore[attr-defined]
