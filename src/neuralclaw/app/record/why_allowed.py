"""Why a call was allowed, or was not: what the record says of its decision."""

from collections.abc import Sequence
from typing import Any

import msgspec

from ... import lookups
from ...errors import UsageError
from ...ports import Store
from ...types.entries import Entry, rfc3339
from ...types.events import ApprovalRequested, ApprovalResolved, DecisionMade, GrantRevoked, Inbound, ToolFinished, TurnStarted

KINDS = ("inbound", "turn.started", "decision", "approval.requested", "approval.resolved", "tool.finished")


class CallAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A question about the call, and its answer. `covers`: what a yes for the session or for ever covers, in words, "" where it covers this call alone.

    `decision` and `by` are "" and `answered` None while it waits; times are RFC 3339. `process` took the answer, through `channel`; "" where the record
    does not tell.
    """

    approval_id: str
    asked: str
    reasons: tuple[str, ...]
    decision: str
    by: str
    answered: str | None
    covers: str
    process: str
    channel: str


class CallDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What decided about a call, as it is on record. `decision`: "" where the call ended before it was judged.

    `rules`: the ids of the rules that matched, strictest first. `labels` are those that the turn had at that moment. `policy`: the digest of the policy
    then; `policy_now`: whether it is today's, `policy_text`: that policy, None where it was not kept. `origin`, `channel`, `sender`: where the message
    came from that began the turn. `standing`: grants for this tool that were in force then, `given`: the answers that gave them.
    `child`: the session that did the work of the call, "" where none did. `others`: ids of other calls of the session that were given the same id by the
    model, and therefore a longer one here.
    """

    call_id: str
    session: str
    turn: int
    record: int
    time: str
    tool: str
    decision: str
    risk: str
    tier: str
    reasons: tuple[str, ...]
    rules: tuple[str, ...]
    by: str
    labels: tuple[str, ...]
    policy: str
    policy_now: bool | None
    policy_text: dict[str, Any] | None
    trust: str
    approvals: str
    workspace: str
    origin: str
    channel: str
    sender: str
    answers: tuple[CallAnswer, ...]
    standing: tuple[str, ...]
    given: tuple[CallAnswer, ...] = ()
    child: str = ""
    others: tuple[str, ...] = ()


async def explain_call(store: Store, call_id: str, session: str | None, policy: str = "") -> CallDecision:
    """What decided about the call of that id. `policy`: the digest of today's; "": that of the turn that began last.

    Raises `UsageError` where there is none, or one in several sessions.
    """
    name = await lookups.resolve(store, session) if session is not None else None
    rows = await store.rows("calls", {"call_id": call_id} | ({"session": name} if name is not None else {}))
    if len(rows) != 1:
        found = f"the call {call_id} is in {len(rows)} sessions" if rows else f"there is no call {call_id}"
        hint = f"neuralclaw audit show {call_id} --session {rows[0]['session']}" if rows else "neuralclaw sessions show ID --json names the calls of a session"
        raise UsageError(found, hint=hint)
    (row,) = rows
    ((made,),) = [[e for e in await store.read(row["session"]) if e.header.record == row["record"]]]
    entries = await store.read(row["session"], from_turn=made.turn, kinds=KINDS)
    entries = [entry for entry in entries if entry.turn == made.turn]
    given = await _standing(store, made, call_id, entries)
    told = _told(made, call_id, entries, given, policy or await _newest_policy(store))
    others = [other["call_id"] for other in await store.rows("calls", {"session": row["session"]}, order=("record",)) if _is_same(other["call_id"], call_id)]
    return msgspec.structs.replace(told, policy_text=await _policy_text(store, entries, told.policy), others=tuple(others))


def _is_same(longer: str, call_id: str) -> bool:
    """Whether `loop.unique_ids` made the longer id of this one."""
    return longer.startswith(f"{call_id}-") and longer[len(call_id) + 1 :].replace(".", "").isdecimal()


def policy_of(started: TurnStarted | None, decision: DecisionMade | None) -> str:
    """The digest of the policy that a decision was made under; of an older one, that its turn began with."""
    of_turn = started.digests.get("policy", "") if started is not None else ""
    return decision.policy or of_turn if decision is not None else of_turn


async def _newest_policy(store: Store) -> str:
    """The policy of the turn that began last, "" where none did."""
    rows = [row for row in await store.rows("turns", order=("started",), descending=True, limit=1) if row["started"]]
    entries = await store.read(rows[0]["session"], from_turn=rows[0]["turn"], kinds=("turn.started",)) if rows else []
    return next((e.body.digests.get("policy", "") for e in entries if isinstance(e.body, TurnStarted)), "")


async def _policy_text(store: Store, entries: Sequence[Entry], policy: str) -> dict[str, Any] | None:
    """The text of that policy, where a turn kept it. A secret in it is taken out, and its digest is then another one."""
    kept = [
        e.body.stored["policy"] for e in entries if isinstance(e.body, TurnStarted) and "policy" in e.body.stored and e.body.digests.get("policy") == policy
    ]
    found = await lookups.blobs(store, [kept[-1] if kept else policy]) if policy else {}
    try:
        text: dict[str, Any] | None = next((msgspec.json.decode(data) for data in found.values()), None)
    except ValueError:
        return None
    return text


def _told(made: Entry, call_id: str, entries: Sequence[Entry], given: tuple[CallAnswer, ...], policy: str) -> CallDecision:
    decided = [(e, e.body) for e in entries if isinstance(e.body, DecisionMade) and e.body.call_id == call_id]
    place, decision = decided[-1] if decided else (made, None)
    before = [e.body for e in entries if e.header.record < place.header.record]
    started = next((body for body in reversed(before) if isinstance(body, TurnStarted)), None)
    inbound = next((e.body for e in entries if isinstance(e.body, Inbound) and started is not None and e.entry == started.inbound), None)
    digest = policy_of(started, decision)
    options = started.options if started is not None else None
    return CallDecision(
        call_id=call_id,
        session=made.header.session,
        turn=made.turn,
        record=place.header.record,
        time=rfc3339(place.header.time),
        tool=decision.name if decision is not None else _tool(made, call_id),
        decision=decision.decision if decision is not None else "",
        risk=decision.risk if decision is not None else "",
        tier=decision.tier if decision is not None else "",
        reasons=decision.reasons if decision is not None else (),
        rules=decision.rules if decision is not None else (),
        by=decision.by if decision is not None else "",
        labels=place.header.labels,
        policy=digest,
        policy_now=digest == policy if digest and policy else None,
        policy_text=None,
        trust=options.trust if options is not None else "",
        approvals=options.approvals if options is not None else "",
        workspace=options.workspace if options is not None else "",
        origin=started.origin if started is not None else "",
        channel=inbound.channel if inbound is not None else "",
        sender=inbound.sender if inbound is not None else "",
        answers=_answers(call_id, entries),
        standing=tuple(answer.approval_id for answer in given),
        given=given,
        child=next((e.body.child for e in entries if isinstance(e.body, ToolFinished) and e.body.call_id == call_id), ""),
    )


def _tool(made: Entry, call_id: str) -> str:
    return next((call.name for call in getattr(made.body, "tool_calls", ()) if call.id == call_id), "")


def _answers(call_id: str, entries: Sequence[Entry]) -> tuple[CallAnswer, ...]:
    answered = {e.body.approval_id: e for e in entries if isinstance(e.body, ApprovalResolved)}
    asked = [(e, e.body) for e in entries if isinstance(e.body, ApprovalRequested) and e.body.call_id == call_id]
    return tuple(_answer(entry, body, answered.get(body.approval_id)) for entry, body in asked)


def _answer(entry: Entry, asked: ApprovalRequested, resolved: Entry | None) -> CallAnswer:
    answer = resolved.body if resolved is not None and isinstance(resolved.body, ApprovalResolved) else None
    decision = (answer.decision or "") if answer is not None else ""
    return CallAnswer(
        approval_id=asked.approval_id,
        asked=rfc3339(entry.header.time),
        reasons=asked.reasons,
        decision=decision,
        by=answer.by if answer is not None else "",
        answered=rfc3339(resolved.header.time) if resolved is not None else None,
        process=answer.process if answer is not None else "",
        channel=answer.channel if answer is not None else "",
        covers=getattr(asked.covers, decision, None) or "" if decision in ("session", "always") else "",
    )


async def _standing(store: Store, made: Entry, call_id: str, entries: Sequence[Entry]) -> tuple[CallAnswer, ...]:
    """The answers that are grants for the call's tool that were given before and not taken back before."""
    moment = next((e.header.record for e in entries if isinstance(e.body, DecisionMade) and e.body.call_id == call_id), made.header.record)
    questions = await store.questions(open_only=False)
    tool = _tool(made, call_id)
    workspace = next((e.body.options.workspace for e in entries if isinstance(e.body, TurnStarted)), "")
    found = []
    for one in questions:
        asked, answer = one.question, one.answer
        if answer is None or asked.action.tool != tool or answer.decision not in ("session", "always"):
            continue
        if one.session == made.header.session if answer.decision == "session" else asked.workspace == workspace:
            given = await store.rows("questions", {"id": asked.approval_id})
            if given and (given[0]["answer"] or moment) < moment and not await _revoked(store, one.session, asked.approval_id, moment):
                told = await store.read(one.session, kinds=("approval.requested", "approval.resolved"))
                place = next((e for e in told if e.header.record == given[0]["record"]), None)
                resolved = next((e for e in told if e.header.record == given[0]["answer"]), None)
                if place is not None and isinstance(place.body, ApprovalRequested):
                    found.append(_answer(place, place.body, resolved))
    return tuple(found)


async def _revoked(store: Store, session: str, grant_id: str, moment: int) -> bool:
    revoked = await store.read(session, kinds=("grant.revoked",))
    return any(isinstance(e.body, GrantRevoked) and e.body.grant_id == grant_id and e.header.record < moment for e in revoked)
