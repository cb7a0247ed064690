"""`audit verify` over a home of many records, against the bare SHA-256 of the same records, in one run.

Two bases are printed. *Digests*: each record is read from the database, and the two digests that it stands under are computed, with nothing else done: the
keyed digest of its body and the link of its header. *Bodies*: each body is read, and one plain SHA-256 of it is computed. Verification computes the two
digests, decodes every body, folds all of them, compares every table, and has SQLite compare every index.

Times are of the processor, so that what else the machine does does not count.

    python benchmarks/audit_verify.py [RECORDS]
"""

import argparse
import asyncio
import hashlib
import hmac
import resource
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

from neuralclaw.store.derived_tables import DerivedTables
from neuralclaw.store.sqlite import SqliteStore
from neuralclaw.store.verify import verify
from neuralclaw.types import events as ev
from neuralclaw.types.entries import Draft
from neuralclaw.types.labels import OWNER
from neuralclaw.types.messages import ToolCall, Usage
from neuralclaw.types.options import TurnOptions
from neuralclaw.types.records import NewSession
from neuralclaw.types.risk import Decision, Effect, Risk, Tier

TURNS = 5
"""Turns of a session."""
RECORDS = 12
"""Records of a turn with two calls."""


class _Clock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def turn(session: str, number: int) -> list[Draft]:
    """A turn with two calls, its texts as long as they usually are."""
    options = TurnOptions(model="offline:offline", workspace="/w")
    usage = Usage(input=2000, cached=1500, output=80, usd=0.001)
    drafts: list[ev.Body] = [
        ev.TurnStarted(text="look here", model="offline:offline", soul="", origin="program", options=options, inbound=(number - 1) * RECORDS + 1),
    ]
    for call in (f"{session}-{number}-a", f"{session}-{number}-b"):
        arguments = {"path": f"src/{call}.py", "pattern": "def .*"}
        drafts += [
            ev.Message(text="", tool_calls=(ToolCall(id=call, name="grep", arguments=arguments),), stop="tools", model="offline:offline", usage=usage),
            ev.DecisionMade(call_id=call, name="grep", decision=Decision.ALLOW, risk=Risk.LOW, tier=Tier.READ, reasons=("only reads",), hash="0" * 64),
            ev.ToolStarted(call_id=call, name="grep", arguments=arguments, risk=Risk.LOW, tier=Tier.READ, effect=Effect.PURE),
            ev.ToolFinished(call_id=call, name="grep", ok=True, content="src/a.py:12: def answer() -> int:\n" * 12, duration_ms=3),
        ]
    drafts += [ev.Message(text="There are three of them. " * 8, stop="end", model="offline:offline", usage=usage, seen=9)]
    drafts += [ev.TurnFinished(status="done", text="There are three of them. " * 8, usage=usage, model="offline:offline")]
    return [Draft(number, ev.Inbound(text="look into the files here", key="", by="owner"), OWNER), *(Draft(number, body) for body in drafts)]


async def fill(home: str, records: int) -> None:
    store = await SqliteStore.open(home, clock=_Clock())
    written = session = 0
    while written < records:
        session += 1
        name = f"s{session:06d}"
        for number in range(1, TURNS + 1):
            rows = [NewSession(origin="owner", workspace="/w", title="look into the files")] if number == 1 else []
            written += len(await store.append(name, turn(name, number), rows=rows))
    await store.aclose()


def bare(c: sqlite3.Connection) -> float:
    """Seconds of the processor for reading all records and computing their digests."""
    began = time.process_time()
    sql = (
        "SELECT e.record, e.session, e.entry, e.turn, e.kind, e.version, e.time, e.labels, e.digest, e.hash, b.key, b.data FROM entries e"
        " JOIN bodies b ON b.record = e.record WHERE e.record > ? ORDER BY e.record LIMIT 500"
    )
    after, previous = 0, "0" * 64
    while rows := c.execute(sql, (after,)).fetchall():
        for record, session, entry, of, kind, version, moment, labels, digest, link, key, data in rows:
            hmac.digest(key, data, "sha256")
            text = f'{previous}\n[{record},"{session}",{entry},{of},"{kind}",{version},{moment},{labels},"{digest.hex()}"]'
            previous = hashlib.sha256(text.encode()).hexdigest()
            assert previous == link.hex()
            after = record
    return time.process_time() - began


def bodies(c: sqlite3.Connection) -> float:
    """Seconds of the processor for reading all bodies and computing one SHA-256 of each."""
    began = time.process_time()
    for (data,) in c.execute("SELECT data FROM bodies ORDER BY record"):
        hashlib.sha256(data).digest()
    return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("records", nargs="?", type=int, default=100_000)
    parser.add_argument("--home", help="a home that was filled before, or is filled now and kept")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = asked.home or folder
        if not (Path(home) / "neuralclaw.db").exists():
            asyncio.run(fill(home, asked.records))
        c = sqlite3.connect(f"file:{home}/neuralclaw.db?mode=ro", uri=True, isolation_level=None)
        hashed, plain = bare(c), bodies(c)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = time.process_time()
        report = verify(c, DerivedTables())
        took = time.process_time() - began
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        least, plain = min(hashed, bare(c)), min(plain, bodies(c))
        if not report.ok:
            sys.exit(f"not whole: {report.bad}")
        sys.stdout.write(
            f"{report.records:,} records: verified in {took:.2f} s; read and both digests {least:.2f} s, ratio {took / least:.2f};"
            f" read and one SHA-256 of each body {plain:.2f} s, ratio {took / plain:.2f};"
            f" memory {before / 1024:.0f} MB before, at most {after / 1024:.0f} MB\n"
        )


if __name__ == "__main__":
    main()
