"""One sentence for each kind of event."""

from typing import cast, get_args

import msgspec
import pytest

from neuralclaw.types.events import (
    AnyBody,
    ApprovalRequested,
    ApprovalResolved,
    Body,
    Cancel,
    Compaction,
    Debug,
    DecisionMade,
    Erased,
    ErrorEvent,
    GrantGiven,
    GrantRevoked,
    GrantUsed,
    HookRan,
    Inbound,
    LimitHit,
    Message,
    Nudge,
    ReasoningDelta,
    RetryEvent,
    SessionForked,
    SessionImported,
    SessionRenamed,
    StatusEvent,
    TextDelta,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    Unreadable,
)
from neuralclaw.types.messages import ToolCall, Usage
from neuralclaw.types.options import TurnOptions
from neuralclaw.types.questions import Shown
from neuralclaw.types.risk import Decision, Risk, Tier
from neuralclaw.types.sentences import sentence

CALL = {"call_id": "c1", "name": "read_file"}
TOLD: list[tuple[Body, str]] = [
    (Inbound(text="hello", key="k", by="owner"), "the owner says: hello"),
    (Inbound(text="a\nb\n", key="k", by="program", queued=True), "a program says, for the end of the turn:\na\nb"),
    (Cancel(by="owner"), "the owner stops the turn"),
    (Cancel(by="program", message=3), "a program withdraws the message of entry 3"),
    (SessionForked(source="work", turn=3, entry=20, by="owner"), "the owner forks the session work at the end of turn 3"),
    (
        SessionImported(file="/f.json", digest="0" * 64, source="work", turn=3, entries=4, exported=9, began="", ended="", by="owner"),
        "the owner imports the session work up to the end of turn 3: /f.json",
    ),
    (Erased(entries=(3, 4), by="owner"), "the owner erased entries 3, 4"),
    (Message(text="6 * 7 is 42", stop="end", model="p:m", usage=Usage()), "p:m answers: 6 * 7 is 42"),
    (Message(text="", stop="tools", model="p:m", usage=Usage(), tool_calls=(ToolCall(id="c", name="calculate", arguments={}),)), "p:m wants to call calculate"),
    (Message(text="so f", stop="length", model="p:m", usage=Usage()), "p:m answers, cut off by the limit of its output: so f"),
    (Compaction(text="The oldest 20 messages were summarised.", reason="messages"), "The oldest 20 messages were summarised."),
    (Nudge(text="Go on."), "the model is told: Go on."),
    (
        DecisionMade(**CALL, decision=Decision.FORBID, risk=Risk.HIGH, tier=Tier.READ, reasons=("it is secret",)),
        "read_file is judged: forbid, risk HIGH: it is secret",
    ),
    (DecisionMade(**CALL, decision=Decision.ALLOW, risk=Risk.HIGH, tier=Tier.READ, by="auto"), "approved by --approvals auto: read_file"),
    (ToolFinished(**CALL, ok=True, content="a\nb\n"), "read_file ended well:\na\nb"),
    (ToolFinished(**CALL, ok=False, content="ERROR: gone", error="gone"), "read_file failed: gone"),
    (ToolFinished(**CALL, ok=False, content="", error="stopped: cancelled", metadata={"stopped": "cancelled"}), "read_file: stopped: cancelled"),
    (ToolFinished(**CALL, ok=False, content="ERROR: no", error="no", refused=Decision.ASK), "read_file was not run: no"),
    (
        ApprovalRequested(approval_id="q1", action=Shown(tool="terminal", show="make"), expires="2026-01-01T00:00:00Z", choices=("once", "no")),
        "question q1 is asked: terminal wants to run: make (once, no)",
    ),
    (ApprovalResolved(approval_id="q1", decision="no", by="owner", text="not there"), "question q1: answered: no, with the words: not there"),
    (ApprovalResolved(approval_id="q1", decision="no", by="telegram"), "question q1: answered by telegram: no"),
    (Erased(entries=(1, 2), by="owner", deleted=True), "the owner deleted the session: 2 entries were erased"),
    (SessionRenamed(title="The boiler", by="owner"), "the owner names the session: The boiler"),
    (GrantRevoked(grant_id="q1", by="owner"), "the owner takes back the grant q1"),
    (GrantGiven(grant_id="q1", by="owner", covers="all", scopes=(), workspace="/w"), "the owner gives the grant q1: all"),
    (
        HookRan(hook="guard", event="before_tool", run_id="r", outcome="blocked", blocks=True, reason="not on main"),
        "the hook guard (before_tool) blocks: not on main",
    ),
    (GrantUsed(grant_id="q1", session="s", turn=1, call_id="c"), "the grant q1 is used in s"),
    (LimitHit(kind="time", text="300 s are over"), "300 s are over"),
    (ErrorEvent(kind="LLMError", text="it is busy", hint="wait"), "LLMError: it is busy (wait)"),
    (RetryEvent(attempt=1, wait_ms=1500, reason="It is busy.", model="p:m", discard=False), "It is busy. Retrying… (after attempt 1, in 1.5 s)"),
    (TurnFinished(status="timed_out", text="so far"), "the turn ended, timed out: so far"),
    (TurnFinished(status="needs_approval", text="", waiting=("q1", "q2")), "the turn waits for an answer to q1, q2"),
    (TextDelta(text="x"), "x"),
    (ReasoningDelta(text="x"), "x"),
    (ToolOutput(call_id="c1", text="x"), "x"),
    (StatusEvent(text="x"), "x"),
    (Debug(text="x"), "x"),
    (
        Unreadable(kind="reading.added", version=2, why="unknown", text="…", data={"url": "x"}),
        'reading.added version 2, which this program does not know: {"url":"x"}',
    ),
    (Unreadable(kind="message", version=1, why="damaged", text="entry 3 cannot be read"), "entry 3 cannot be read"),
]


@pytest.mark.parametrize(("body", "told"), TOLD, ids=lambda value: value.type if isinstance(value, Body) else "")
def test_an_event_is_told_in_one_sentence(body: Body, told: str) -> None:
    assert sentence(body) == told


def test_the_begin_of_a_turn_and_of_a_call_are_told() -> None:
    options = msgspec.convert({"model": "p:m", "workspace": "/w"}, TurnOptions)
    started = TurnStarted(text="x", model="p:m", soul="", origin="owner", options=options, inbound=1)
    assert sentence(started) == "the turn begins with p:m"
    call = {"call_id": "c", "name": "t", "arguments": {"a": 1}, "risk": "LOW", "tier": "read", "effect": "pure", "attempt": 2}
    assert sentence(msgspec.convert(call, ToolStarted)) == 't begins, attempt 2: {"a":1}'


def test_every_kind_is_told() -> None:
    kinds = {kind for part in get_args(AnyBody) for kind in (get_args(part) or (part,))}
    assert {type(body) for body, _ in TOLD} | {TurnStarted, ToolStarted} == kinds


class Added(Body, frozen=True, kw_only=True, tag="reading.added"):
    url: str


def test_a_kind_of_a_capability_is_told_by_its_own_sentence() -> None:
    assert sentence(Added(url="x"), {"reading.added": lambda body: f"added {cast(Added, body).url}"}) == "added x"
