"""Entries that cannot be read: they are stepped over, and nobody else is harmed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from neuralclaw import lookups
from neuralclaw.errors import StoreError
from neuralclaw.types import events as ev
from neuralclaw.types.codec import BUILT_IN
from neuralclaw.types.entries import Draft, Entry, event_of
from neuralclaw.types.options import Limits, TurnOptions
from neuralclaw.types.records import BadRecord, StoredResult
from neuralclaw.types.risk import Effect, Risk, Tier

from . import kit

pytestmark = pytest.mark.anyio

DAMAGES = {
    "no UTF-8": b'{"type":"message","text":"\xff"}',
    "no JSON": b"{",
    "empty": b"",
    "wrong types": b'{"type":"message","text":5,"stop":"end","model":"m","usage":{}}',
    "another kind": b'{"type":"nudge","text":"go on"}',
    "too deep": b"[" * 100_000,
    "no object": b"null",
}


def unreadable(entries: list[Entry]) -> dict[int, str]:
    return {e.entry: e.body.why for e in entries if isinstance(e.body, ev.Unreadable)}


@pytest.mark.parametrize("data", DAMAGES.values(), ids=DAMAGES.keys())
async def test_a_damaged_body_stands_in_its_place_and_all_else_is_read(home: Path, data: bytes) -> None:
    async with kit.opened(home) as store:
        await store.append("a", [kit.inbound(), kit.started(), kit.message(), kit.finished()])
        await store.append("b", [kit.inbound()])
    kit.damage(home, 3, data)
    async with kit.opened(home) as store:
        entries = await store.read("a")
        assert unreadable(entries) == {3: "damaged"}
        body = entries[2].body
        assert isinstance(body, ev.Unreadable)
        assert (body.kind, body.version, body.data) == ("message", 1, None)
        assert body.text == "entry 3 of session a is damaged: what is recorded of it is no message"
        event = event_of(entries[2])
        assert event is not None
        assert event.to_dict()["type"] == "unreadable"
        assert {r.session for r in await store.sessions()} == {"a", "b"}
        await store.append("a", [kit.inbound(turn=None)])
        await store.rebuild()
        await store.erase("a", [1], "owner")
        assert unreadable(await store.read("a")) == {3: "damaged"}
        batches = store.changes(0)
        seen: list[Entry] = []
        with anyio.fail_after(5):
            while len(seen) < 7:
                seen += await anext(batches)
        assert unreadable([e for e in seen if e.header.session == "a"]) == {3: "damaged"}


@pytest.mark.parametrize(
    ("columns", "data", "shown"),
    [({"kind": "mood"}, b'{"type":"mood","of":[1]}', {"type": "mood", "of": [1]}), ({"version": 2}, b'{"a":1}', {"a": 1}), ({"version": 0}, b"\xff", None)],
    ids=["kind", "version", "no JSON"],
)
async def test_what_a_newer_program_wrote_is_shown_as_it_is_and_is_good(home: Path, columns: dict[str, Any], data: bytes, shown: Any) -> None:
    async with kit.opened(home) as store:
        await store.append("a", [kit.inbound(), kit.started(), kit.message(), kit.finished()])
    kit.rewrite(home, 3, data, **columns)
    async with kit.opened(home) as store:
        body = (await store.read("a"))[2].body
        assert isinstance(body, ev.Unreadable)
        assert (body.why, body.data) == ("unknown", shown)
        assert body.text.startswith("entry 3 of session a cannot be read: this program does not know ")
        assert (await store.verify()).ok
        await store.append("a", [kit.message()])
        await store.rebuild()
        assert (await store.verify()).ok


async def test_a_follower_meets_what_cannot_be_read_as_it_is_written(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("a", [kit.message()] * 3)
        kit.damage(home, 2)
        batches = store.changes(0)
        with anyio.fail_after(5):
            assert unreadable(list(await anext(batches))) == {2: "damaged"}
        (entry,) = await store.append("b", [kit.message()])
        with anyio.fail_after(5):
            assert await anext(batches) == [entry]


@pytest.mark.invariant("audit.tampering-found")
async def test_verifying_names_a_body_that_was_written_so_and_is_none_of_its_kind(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("a", [kit.inbound(), kit.message(), kit.message()])
    kit.rewrite(home, 2, b"{}")
    async with kit.opened(home) as store:
        assert (await store.verify()).bad == BadRecord(2, "a", "damaged")


async def test_a_damaged_question_is_not_shown_and_its_session_can_be_used(home: Path) -> None:
    scope = {"kind": "program", "value": "git push", "tool": "terminal"}
    async with kit.opened(home) as store:
        await store.append("a", [kit.inbound(), kit.started(), kit.asked("Q1", scopes=(scope,)), kit.asked("Q2", scopes=(scope,))])
        await store.append("a", [kit.finished(waiting=("Q1",))])
        await store.append("b", [kit.asked("Q3")])
        kit.damage(home, 3)
        assert [q.question.approval_id for q in await store.questions()] == ["Q2", "Q3"]
        assert await lookups.question(store, "Q1") is None
        found = await lookups.question(store, "Q2")
        assert found is not None
        assert (found.session, found.turn, found.answer) == ("a", 1, None)
        row = await lookups.session(store, "a")
        assert row is not None
        assert row.state == "unfinished", "nobody can answer it"
        await store.append("a", [kit.answered("Q1", "always")])
        assert await store.grants("a", "/w") == []
        await store.append("a", [kit.answered("Q2", "always")])
        assert [g.grant_id for g in await store.grants("a", "/w")] == ["Q2"]
        kit.damage(home, 8)  # the answer
        assert await store.grants("a", "/w") == [], "an answer that cannot be read is no yes"
        assert [(q.question.approval_id, q.answer) for q in await store.questions(session="a", open_only=False)] == [
            ("Q2", ev.ApprovalResolved(approval_id="Q2", decision="no", by="unreadable"))
        ]
        await store.rebuild()
        assert [q.question.approval_id for q in await store.questions()] == ["Q3"]
        await store.append("a", [kit.message()])


HEADERS: dict[str, tuple[str, object]] = {
    "labels that are no JSON": ("labels", "x"),
    "labels of another type": ("labels", "[1]"),
    "a kind that is no UTF-8": ("kind", b"\xff"),
    "labels that are no UTF-8": ("labels", b'["\xff"]'),
    "a time beyond all years": ("time", 2**62),
    "a time before all years": ("time", -(2**62)),
    "a turn beyond all turns": ("turn", 2**62),
}


@pytest.mark.parametrize(("column", "value"), HEADERS.values(), ids=HEADERS.keys())
async def test_a_damaged_header_harms_no_other_entry(home: Path, column: str, value: object) -> None:
    async with kit.opened(home) as store:
        await store.append("a", [kit.inbound(), kit.started(), kit.asked("Q1"), kit.message()])
        await store.append("b", [kit.inbound(), kit.asked("Q2")])
    c = kit.raw(home)
    what = "CAST(? AS TEXT)" if isinstance(value, bytes) else "?"
    c.execute(f"UPDATE entries SET {column} = {what} WHERE record = 3", (value,))
    c.close()
    for readonly in (True, False):
        async with kit.opened(home, readonly=readonly) as store:
            assert [e.entry for e in await store.read("a")] == [1, 2, 3, 4]
            assert all(event_of(e) for e in await store.read("a"))
            assert {r.session for r in await store.sessions()} == {"a", "b"}
            assert "Q2" in [q.question.approval_id for q in await store.questions()]
            report = await store.verify()
            assert report.bad is not None
            assert (report.bad.record, report.bad.why) == (3, "hash")
            batches = store.changes(0)
            with anyio.fail_after(5):
                assert [e.header.record for e in await anext(batches)] == [1, 2, 3, 4, 5, 6]
    async with kit.opened(home) as store:
        await store.rebuild()
        await store.erase("b", None, "owner")
        await store.append("a", [kit.message()])
        assert len(await store.sessions()) == 2


async def test_a_damaged_result_is_not_shown_as_if_it_were_good(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("a", [kit.tool_finished("c1"), kit.tool_finished("c2")], rows=[StoredResult("c1", "the whole text"), StoredResult("c2", "another")])
        for data in (b"the whole lie", b"\xff"):
            kit.raw(home).execute("UPDATE results SET data = ? WHERE call_id = 'c1'", (data,))
            assert await lookups.result(store, "a", "c1") is None
        assert await lookups.result(store, "a", "c2") == "another"


def count(home: Path, table: str) -> int:
    number: int = kit.raw(home).execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    return number


async def test_a_rebuild_keeps_what_only_derived_rows_know_of_a_damaged_body(home: Path) -> None:
    async with kit.opened(home) as store:
        await kit.a_life(store)
        before = {table: count(home, table) for table in ("usage", "calls", "questions", "turns", "inbox")}
        spent = (await store.sessions())[0]
        for record in range(1, 14):
            kit.damage(home, record)
        await store.rebuild()
        assert {table: count(home, table) for table in before} == before
        row = (await store.sessions())[0]
        assert (row.entries, row.turns, row.last_turn, row.pending, row.usd) == (spent.entries, spent.turns, spent.last_turn, spent.pending, spent.usd)
        assert kit.raw(home).execute("SELECT status FROM turns ORDER BY turn").fetchall() == [("done",), (None,)]


async def test_a_message_is_not_begun_again_when_the_start_of_its_turn_is_erased(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("a", [kit.inbound(queued=True), kit.started(), kit.message(seen=1), kit.finished()])
        await store.erase("a", [2], "owner")
        row = await lookups.session(store, "a")
        assert row is not None
        assert (row.pending, row.state) == (False, "idle")


async def test_a_turn_waits_on_for_its_person_though_its_end_is_erased_or_damaged(home: Path) -> None:
    async with kit.opened(home) as store:
        for session in ("a", "b"):
            await store.append(session, [kit.inbound(), kit.started(), kit.asked(f"{session}-Q"), kit.finished(waiting=(f"{session}-Q",))])
        await store.erase("a", [4], "owner")
        kit.damage(home, 8)
        await store.rebuild()
        assert {(r.session, r.state, r.open_turn) for r in await store.sessions()} == {("a", "waiting", 1), ("b", "waiting", 1)}


async def test_labels_that_are_no_text_are_refused(home: Path) -> None:
    async with kit.opened(home) as store:
        for label in (5, "\ud800"):
            with pytest.raises(StoreError, match="cannot be written"):
                await store.append("a", [Draft(1, kit.message().body, frozenset({label}))])  # type: ignore[arg-type]
        assert await store.read("a") == []


WRONG: dict[str, Callable[[], ev.Durable]] = {
    "a number for a text": lambda: ev.Nudge(text=5),  # type: ignore[arg-type]
    "no number": lambda: ev.RetryEvent(attempt=1, wait_ms=float("nan"), reason="", model="", discard=False),  # type: ignore[arg-type]
    "a limit out of bounds": lambda: ev.TurnStarted(
        text="", model="m", soul="", origin="owner", options=TurnOptions(model="m", workspace="/w", limits=Limits(iterations=0)), inbound=1
    ),
    "too deep": lambda: ev.ToolStarted(call_id="c", name="n", arguments=deep(), risk=Risk.LOW, tier=Tier.READ, effect=Effect.PURE),
}


def deep() -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(5000):
        value = {"a": value}
    return value


@pytest.mark.parametrize("body", WRONG.values(), ids=WRONG.keys())
async def test_what_could_not_be_read_back_is_not_written(home: Path, body: Callable[[], ev.Durable]) -> None:
    async with kit.opened(home) as store:
        refused: list[str] = []

        async def one(session: str, draft: Draft) -> None:
            try:
                await store.append(session, [kit.message(), draft])
            except StoreError as error:
                refused.append(error.text)

        async with anyio.create_task_group() as group:
            for session in ("a", "b", "c"):
                group.start_soon(one, session, Draft(1, body()) if session == "b" else kit.message())
        assert len(refused) == 1
        assert "nothing of it was recorded" in refused[0]
        assert await store.read("b") == []
        report = await store.verify()
        assert (report.ok, report.records) == (True, 4)


async def test_what_append_gives_back_is_what_a_reader_finds(home: Path) -> None:
    arguments: dict[Any, Any] = {1: (2, float("inf")), "set": {3}}
    body = ev.ToolStarted(call_id="c", name="n", arguments=arguments, risk=Risk.LOW, tier=Tier.READ, effect=Effect.PURE)
    async with kit.opened(home) as store:
        written = await store.append("a", [Draft(1, body)])
        assert written[0].body != body
        assert await store.read("a") == written


OLD = """
inbound {"type":"inbound","text":"hi","key":"k","by":"owner","queued":false,"images":[{"media_type":"image/png","data":"cG5n","name":"a.png"}],"options":null,"reply_to":null}
cancel {"type":"cancel","by":"owner"}
turn.started {"type":"turn.started","text":"hi","images":[],"model":"p:m","soul":"","origin":"owner","options":{"model":"p:m","workspace":"/w"},"inbound":1,"digests":{}}
message {"type":"message","text":"x","tool_calls":[{"id":"c1","name":"echo","arguments":{"a":1},"error":null}],"stop":"tools","model":"m","usage":{"input":1},"seen":1}
tool.started {"type":"tool.started","call_id":"c1","name":"echo","arguments":{"a":1},"risk":"LOW","tier":"read","effect":"pure","before":{}}
tool.finished {"type":"tool.finished","call_id":"c1","name":"echo","ok":true,"content":"x","error":null,"metadata":{"a":[1]},"duration_ms":0,"truncated":false}
approval.requested {"type":"approval.requested","approval_id":"Q1","call_id":"c1","action":{"tool":"terminal","show":"ls","diff":null},"risk":"HIGH","tier":"execute","expires":"2030-01-01T00:00:00Z","hash":"0"}
approval.resolved {"type":"approval.resolved","approval_id":"Q1","decision":"once","by":"owner","value":null}
turn.finished {"type":"turn.finished","status":"done","text":"x","data":null,"model":"","usage":{"input":0,"cached":0,"output":0,"usd":null},"waiting":[],"error":null}
erased {"type":"erased","entries":[1],"by":"o"}
"""  # noqa: E501


@pytest.mark.parametrize("line", OLD.strip().splitlines(), ids=lambda line: line.split()[0])
def test_bodies_of_earlier_versions_are_read(line: str) -> None:
    kind, _, data = line.partition(" ")
    assert BUILT_IN.decode(kind, 1, data.encode()).type == kind
