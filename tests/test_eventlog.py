"""The log as a reader of events: each entry once, whichever way it is heard of, and a memory that does not grow with the sessions."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from neuralclaw.app.eventlog import EventLog
from neuralclaw.log import LogWriter
from neuralclaw.types.entries import Entry, Header
from neuralclaw.types.events import (
    ApprovalRequested,
    ApprovalResolved,
    Body,
    DecisionMade,
    GrantRevoked,
    Inbound,
    LimitHit,
    Message,
    Nudge,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from neuralclaw.types.messages import ToolCall, Usage
from neuralclaw.types.options import TurnOptions
from neuralclaw.types.questions import Shown
from neuralclaw.types.risk import Decision, Effect, Risk, Tier

pytestmark = pytest.mark.full


def entry(session: str, number: int, body: Body) -> Entry:
    header = Header(record=number, session=session, entry=number, turn=1, kind="", version=1, time=number * 7_000, labels=(), digest="", hash="")
    return Entry(header, body)


def decided(call_id: str, by: str = "policy") -> DecisionMade:
    return DecisionMade(call_id=call_id, name="echo", decision=Decision.ALLOW, risk=Risk.LOW, tier=Tier.READ, by=by)


def done(call_id: str) -> ToolFinished:
    return ToolFinished(call_id=call_id, name="echo", ok=True, content="")


def book(tmp_path: Path, level: str = "INFO") -> LogWriter:
    opened = LogWriter(str(tmp_path / "logs"), level=level, max_bytes=100_000_000, backups=1, redact=str)
    opened.open(whole_process=False)
    return opened


def lines(kept: LogWriter) -> list[dict[str, Any]]:
    kept.close()
    return [json.loads(line) for line in Path(kept.path).read_bytes().splitlines()]


def test_memory_does_not_grow_with_sessions_and_calls_that_are_over(tmp_path: Path) -> None:
    kept = book(tmp_path, "CRITICAL")
    now = ""
    log = EventLog(kept, lambda session: session == now)

    def drive(numbers: range) -> int:
        nonlocal now
        for number in numbers:
            now = f"session {number}"
            calls = [entry(now, at, decided(f"call {number} {at}")) for at in range(1, 6)]  # none of them is ever finished
            log.entries([*calls, entry(now, 6, TurnFinished(status="cancelled", text=""))])
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        drive(range(2_000))
        before = drive(range(2_000, 2_100))
        grown = drive(range(2_100, 8_000)) - before
    finally:
        tracemalloc.stop()
    kept.close()
    assert grown < 200_000


def test_what_is_heard_of_twice_is_told_once_while_many_sessions_run(tmp_path: Path) -> None:
    kept = book(tmp_path)
    log = EventLog(kept, lambda session: True)
    for session in map(str, range(EventLog.REMEMBERED + 500)):
        log.entries([entry(session, 1, LimitHit(kind="time", text=session))])
    for session in map(str, range(EventLog.REMEMBERED + 500)):
        log.entries([entry(session, 1, LimitHit(kind="time", text=session))])
    assert [line["message"] for line in lines(kept)] == [str(number) for number in range(EventLog.REMEMBERED + 500)]


def test_a_decision_belongs_to_the_call_of_its_session(tmp_path: Path) -> None:
    kept = book(tmp_path)
    log = EventLog(kept, lambda session: True)
    log.entries([entry("a", 1, decided("call_1", by="policy")), entry("b", 1, decided("call_1", by="owner"))])
    log.entries([entry("a", 2, done("call_1")), entry("b", 2, done("call_1"))])
    assert [(line["session"], line["by"], line["ms"]) for line in lines(kept)] == [("a", "policy", 0), ("b", "owner", 0)]


CONTENTS: list[Body] = [
    Inbound(text="4711", key="k", by="owner"),
    TurnStarted(text="4711", model="p:m", soul="", origin="owner", options=TurnOptions(model="p:m", workspace="/w"), inbound=1),
    Message(text="4711", stop="tools", model="p:m", usage=Usage(), tool_calls=(ToolCall("c", "echo", {"text": "4711"}),), reasoning="4711"),
    Nudge(text="4711"),
    DecisionMade(call_id="c", name="echo", decision=Decision.ALLOW, risk=Risk.LOW, tier=Tier.READ, reasons=("4711",)),
    ApprovalRequested(approval_id="q", action=Shown(tool="echo", show="4711", diff="4711"), summary="4711", reasons=("4711",), expires="2026-01-01T00:00:00Z"),
    ApprovalResolved(approval_id="q", decision="no", by="owner", text="4711"),
    ToolStarted(call_id="c", name="echo", arguments={"text": "4711"}, risk=Risk.LOW, tier=Tier.READ, effect=Effect.PURE),
    ToolFinished(call_id="c", name="echo", ok=True, content="4711", metadata={"stdout": "4711"}),
    ToolFinished(call_id="d", name="echo", ok=False, content="4711", error="4711", metadata={"kind": "ToolExecutionError"}),
    TurnFinished(status="done", text="4711", data="4711"),
]


def test_no_contents_stand_in_the_log_at_info_and_every_kind_with_them_has_a_line(tmp_path: Path) -> None:
    kept = book(tmp_path)
    EventLog(kept, lambda session: True).entries([entry("s", at, body) for at, body in enumerate(CONTENTS, 1)])
    told = lines(kept)
    assert "4711" not in json.dumps(told)
    assert [line["event"] for line in told] == [
        "turn.started",
        "message",
        "approval.requested",
        "approval.resolved",
        "tool.finished",
        "tool.finished",
        "turn.finished",
    ]
    assert [line["message"] for line in told][2:5] == ["question q is asked", "question q: answered: no", "echo ended well"]


class PageAdded(Body, frozen=True, kw_only=True, tag="reading_list.added"):
    url: str


def _written(tmp_path: Path, level: str) -> list[tuple[str, str]]:
    kept = book(tmp_path, level)
    log = EventLog(kept, lambda session: True, lambda body: f"the page {getattr(body, 'url', '')} is added")
    log.entries(
        [entry("s", 1, Inbound(text="words", key="k", by="owner")), entry("s", 2, PageAdded(url="u")), entry("s", 3, GrantRevoked(grant_id="g", by="owner"))]
    )
    return [(line["level"], line["message"]) for line in lines(kept)]


def test_kinds_of_capabilities_and_revoked_grants_are_logged_and_contents_at_debug_alone(tmp_path: Path) -> None:
    revoked = ("INFO", "the owner takes back the grant g")
    assert _written(tmp_path / "info", "INFO") == [("INFO", "reading_list.added"), revoked]
    assert _written(tmp_path / "debug", "DEBUG") == [
        ("DEBUG", "the owner says: words"),
        ("INFO", "reading_list.added"),
        ("DEBUG", "the page u is added"),
        revoked,
    ]
