"""Values of the commands about the record, as people read them: lines with their styles, or a row in other words."""

from collections.abc import Mapping
from typing import Any

import msgspec

from ...channels.command_hints import typed
from ...channels.question_prompts import about, answered_elsewhere, heading, why
from ...channels.screen import exact
from ...channels.value_text import field_lines, local, value_text
from ...types.entries import rfc3339
from ...types.events import ApprovalRequested, ApprovalResolved

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
        lines.append((exact(f"            {row['lasts']}, session {row['session']}, workspace {row['workspace']}, by {row['by']}, {row['since']}"), ""))
        if row["definition"]:
            lines.append((typed(f"            for the definition {row['definition']} of {row['tool']}; now: neuralclaw tools show {row['tool']}"), ""))
    return lines


def revoked_lines(grant: Mapping[str, Any]) -> Lines:
    """What was taken back."""
    return [(exact(f"revoked {grant['grant_id']}, which covered {grant['covers']}"), "")]


def verified_lines(report: Mapping[str, Any]) -> Lines:
    """Whether the record is whole, and what is the first that is not."""
    if report["ok"]:
        return [(f"whole: {report['records']} records, {report['erased']} erased, head {report['head'][:16]}", "")]
    bad = report["bad"]
    return [(f"NOT WHOLE: record {bad['record']} of session {bad['session']}: {bad['why']}", "")]


def header_row(record: Mapping[str, Any]) -> dict[str, Any]:
    """A header of the record with its time, and a word where its body was erased."""
    return {**record, "time": rfc3339(record["time"]), "erased": "erased" if record["erased"] else ""}
