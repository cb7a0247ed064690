"""Values of the commands about the record, as people read them: lines with their styles, or a row in other words."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ...channels.command_hints import typed
from ...channels.question_prompts import about, answered_elsewhere, heading, why
from ...channels.screen import exact
from ...channels.value_text import field_lines, local, value_text
from ...types.entries import rfc3339
from ...types.events import ApprovalRequested, ApprovalResolved
from .anchoring import anchor_sentence, bad_place, next_step, uncompared

Lines = list[tuple[str, str]]


def session_lines(shown: Mapping[str, Any]) -> Lines:
    """The fields of a session, and a line for each event."""
    fields = {name: value for name, value in value_text(shown).items() if name != "events" and value not in (None, [], "")}
    return [(line, "") for line in (*field_lines(fields), *map(event_line, shown["events"]))]


def event_line(event: Mapping[str, Any]) -> str:
    """One event on one line; a text of several lines goes on indented."""
    told = event["sentence"].rstrip("\n").replace("\n", "\n    ")
    return "  ".join((f"{event.get('entry', '-')}", f"turn {event['turn']}", event["time"], event["type"], told))


def cancelled_lines(stopped: Mapping[str, Any]) -> Lines:
    """What became of a cancel."""
    turn = f"turn {stopped['turn']} of {stopped['session']}"
    if not stopped["cancelled"]:
        told = f"nothing runs in {stopped['session']}"
    elif stopped["ended"]:
        told = f"cancelled {turn}"
    elif stopped["holder"]:
        told = f"{turn} was asked to stop; {stopped['holder']} has not ended it yet"
    else:
        told = typed(f"{turn} is cancelled and ends when the session is resumed: neuralclaw run --resume {stopped['session']}")
    return [(told, "")]


def exported_text(exported: Any) -> str | None:
    """Where a session was written to; None for the session itself."""
    if not isinstance(exported, Mapping) or "output" not in exported:
        return None
    return exact(f"wrote {exported['entries']} entries of {exported['session']} to {exported['output']}")


def deleted_lines(deleted: Mapping[str, Any]) -> Lines:
    """What was erased, and what is left of the session's surroundings."""
    lines: Lines = [(exact(f"deleted {deleted['session']}: {deleted['entries']} entries are erased"), "")]
    if deleted["children"]:
        lines.append((exact(f"kept, since they are sessions of their own that worked for it: {', '.join(deleted['children'])}"), ""))
    return lines


def renamed_lines(renamed: Mapping[str, Any]) -> Lines:
    """The title that a session has now."""
    if renamed["title"] == renamed["before"]:
        return [(exact(f"{renamed['session']} has this title already: {renamed['title']}"), "")]
    return [(exact(f"{renamed['session']} is called {renamed['title']}"), "")]


def forked_lines(done: Mapping[str, Any]) -> Lines:
    """The session that was made."""
    return [(exact(f"{done['session']} goes on from the end of turn {done['turn']} of {done['source']}"), "")]


def imported_lines(done: Mapping[str, Any]) -> Lines:
    """The session that was made of a file."""
    turns = f"{done['turns']} turn{'' if done['turns'] == 1 else 's'}"
    return [(exact(f"{done['session']}: {turns} imported from {done['file']}, {done['entries']} of its {done['exported']} entries"), "")]


def compacted_lines(done: Mapping[str, Any]) -> Lines:
    """What was summarised, or would be."""
    count, name = done["messages"], done["session"]
    if not count:
        return [(exact(f"{name}: there is nothing to summarise before its newest turn ({done['tokens_before']:,} tokens)"), "")]
    if done["preview"]:
        head = f"{name}: {count} messages before the newest turn would be summarised; the conversation has about {done['tokens_before']:,} tokens"
        return [(exact(head), "bold"), *((exact(f"  {line}"), "") for text in done["leaving"] for line in text.splitlines())]
    tokens = f"about {done['tokens_before']:,} tokens before, {done['tokens_after']:,} now"
    by = f"by {done['model']}" if done["model"] else "as an extract"
    head = f"{name}: {count} messages were summarised {by}; {tokens}. The originals are kept."
    return [(exact(head), "bold"), *((exact(f"  {line}"), "") for line in done["summary"].splitlines())]


def waiting_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A question that waits, on one line."""
    return {**row, "question": exact(row["summary"] or f"{row['action']['tool']} {row['action']['show']}")}


def question_lines(question: Mapping[str, Any]) -> Lines:
    """A question with the exact command or change, and how it is or was answered."""
    asked, answer = msgspec.convert({**question, "type": "approval.requested"}, ApprovalRequested), question["answer"]
    lines: Lines = [(heading(asked), "bold")]
    for text in (asked.action.show, (asked.action.diff or "").rstrip("\n")):
        lines += [(f"    {line}".rstrip(), "") for line in exact(text).split("\n")] if text else []
    place = f"session {question['session']}, turn {question['turn']}, since {local(question['since'])}, until {local(asked.expires or '')}"
    lines += [(f"  {line}", "") for line in (*about(asked), place, *why(asked))]
    if answer is None:
        last = typed(f"  answer with: neuralclaw approvals answer {asked.approval_id} {'|'.join(asked.choices)}")
    else:
        last = f"  {answered_elsewhere(msgspec.convert(answer, ApprovalResolved))}"
    return [*lines, (last, "")]


def answered_lines(done: Mapping[str, Any]) -> Lines:
    """Who goes on with the session now."""
    if done["holder"]:
        return [(f"answered; {done['holder']} continues the turn", "")]
    return [(typed(f"answered; no process is running this session; continue with:\nneuralclaw run --resume {done['session']}"), "")]


def grant_lines(rows: list[dict[str, Any]]) -> Lines:
    """Each standing answer in two lines."""
    lines: Lines = []
    for row in rows:
        lines.append((exact(f"{row['grant_id']}  {row['covers']}"), "bold"))
        lines.append(
            (exact(f"            {row['lasts']}, session {row['session']}, workspace {row['workspace']}, by {row['by']}, since {local(row['since'])}"), "")
        )
        if row["uses"] is not None:
            spent = ", so it covers nothing more" if row["used"] >= row["uses"] else ""
            lines.append((f"            used {row['used']} of {row['uses']}{spent}", ""))
        if row["definition"]:
            lines.append((typed(f"            for the definition {row['definition']} of {row['tool']}; now: neuralclaw tools show {row['tool']}"), ""))
    return lines


def given_lines(grant: Mapping[str, Any]) -> Lines:
    """What was given, and how it is taken back."""
    return [(exact(f"gave {grant['grant_id']}: {grant['covers']}"), ""), (typed(f"take it back with: neuralclaw grants revoke {grant['grant_id']}"), "")]


def revoked_lines(grant: Mapping[str, Any]) -> Lines:
    """What was taken back."""
    return [(exact(f"revoked {grant['grant_id']}, which covered {grant['covers']}"), "")]


def verified_lines(report: Mapping[str, Any]) -> Lines:
    """Whether the record is whole, and what is the first that is not."""
    bad, anchor = report["bad"], report["anchor"]
    lines: Lines = []
    if report["ok"]:
        elsewhere = any(one["ok"] and one["record"] for one in report["anchors"])
        anchored = "anchored" if anchor is not None or elsewhere else "not anchored, so a cut of its end would not be found"
        lines.append((f"whole: {report['records']} records, {report['erased']} erased, head {report['head'][:16]}, {anchored}", ""))
    elif bad is not None:
        lines.append((typed(f"NOT WHOLE: {bad_place(bad)}: {bad['why']}; {next_step(bad)}"), ""))
    for one in (anchor, *report["anchors"]):
        if one is not None and not one["ok"]:
            lines.append((typed(f"NOT AS ANCHORED in {one['place']}: {anchor_sentence(one['record'], one['why'])}"), ""))
        elif one is not None and one["note"]:
            lines.append((f"{'anchored in ' if one['record'] else ''}{one['place']}: {one['note']}", ""))
    return [*lines, *((f"not compared: {uncompared(one)}", "") for one in report["unchecked"])]


def decided_lines(shown: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Lines | None:
    """What decided about a call, and who answered; None for a list of records."""
    if not isinstance(shown, Mapping):
        return None
    what = {"allow": "allowed", "ask": "stopped: it needs a person", "forbid": "forbidden", "": "never judged"}[shown["decision"]]
    lines: Lines = [(exact(f"{shown['call_id']}: {shown['tool']} was {what}, by {shown['by'] or 'nobody'}, {local(shown['time'])}"), "bold")]
    policy = {True: "today's", False: "not today's", None: "not on record" if not shown["policy"] else "not compared with today's"}[shown["policy_now"]]
    came = " ".join(filter(None, (shown["origin"], f"through {shown['channel']}" if shown["channel"] else "", shown["sender"])))
    fields = {
        "reasons": "; ".join(shown["reasons"]) or "no rule was against it",
        "rules": ", ".join(shown["rules"]),
        "risk": f"{shown['risk']}, tier {shown['tier']}" if shown["risk"] else "",
        "labels": ", ".join(shown["labels"]) or "none",
        "policy": f"{shown['policy'][:16]} ({policy}){_policy_words(shown['policy_text'])}" if shown["policy"] else policy,
        "trust": f"{shown['trust']}, approvals {shown['approvals']}",
        "message": came,
        "place": f"session {shown['session']}, turn {shown['turn']}, record {shown['record']}, workspace {shown['workspace']}",
        "work": f"done by the session {shown['child']}" if shown["child"] else "",
        "standing": ", ".join(shown["standing"]),
        "others": f"{', '.join(shown['others'])}: later calls to which the model gave the same id" if shown["others"] else "",
    }
    lines += [(exact(f"  {name:<9} {value}"), "") for name, value in fields.items() if value]
    for word, answer in [*(("question", one) for one in shown["answers"]), *(("given", one) for one in shown["given"])]:
        where = "".join(f", {by} {answer[name]}" for name, by in (("channel", "through"), ("process", "in")) if answer[name])
        said = f"{answer['decision'] or 'no answer'} by {answer['by']}, {local(answer['answered'])}{where}" if answer["answered"] else "waits for an answer"
        covers = f"; it covers {answer['covers']}" if answer["covers"] else ""
        lines.append((exact(f"  {word:<9} {answer['approval_id']}, asked {local(answer['asked'])}: {said}{covers}"), ""))
    return lines


def _policy_words(policy: Mapping[str, Any] | None) -> str:
    """The main points of a policy, in words; all of it is in the JSON value."""
    if policy is None:
        return "; its text was not kept"
    asks = ", ".join(policy.get("require_confirmation_for", ())) or "no risk"
    owner = "".join(f", {rule.get('id')}: {rule.get('decision')}" for rule in policy.get("rules", ()))
    return f": level {policy.get('default_permission_level')}, asks for {asks}, programs off the list: {policy.get('unlisted_commands')}{owner}"


def anchored_lines(anchor: Mapping[str, Any]) -> Lines:
    """Where a home is anchored now, or whether it is as a mark says."""
    if not anchor["ok"]:
        return [(typed(f"NOT AS THE TEXT SAYS: {anchor_sentence(anchor['record'], anchor['why'])}"), "")]
    if anchor["place"] == "the text":
        return [(f"as the text says: record {anchor['record']} is the one that was sent", "")]
    return [(f"anchored: record {anchor['record']}, in {anchor['place']}", "")]


def header_row(record: Mapping[str, Any]) -> dict[str, Any]:
    """A header of the record with its time, and a word where its body was erased; what decided about a call as it is."""
    if "call_id" in record:
        return dict(record)
    row = {name: record[name] for name in ("record", "session", "entry", "turn", "kind", "time", "digest")}
    return row | {"time": rfc3339(record["time"]), "erased": "erased" if record["erased"] else ""}
