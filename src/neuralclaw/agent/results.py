"""The one end of each call, as values: a result shortened for the model and kept whole, a refusal, an error, "not run".

Nothing here writes: `agent.toolcalls` does.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from ..errors import NeuralClawError
from ..ports import Redaction
from ..types.actions import Action
from ..types.content import text_of
from ..types.cut_texts import cut_text
from ..types.entries import blob_digest, detached
from ..types.events import DecisionMade, ToolFinished
from ..types.exact_texts import exact
from ..types.labels import AGENT, NONE, Labels, external, is_external, join
from ..types.messages import ContentPart, ImageContent
from ..types.questions import Answer, Question
from ..types.records import StoredResult
from ..types.risk import Decision, Power
from ..types.tools import LinkOrigin, ToolResult, ToolSpec
from ..types.verdicts import UNFIT_RULES, RuleMatch, Verdict
from .redaction import redacted, redacted_output
from .state import REFUSERS, CallState

MAY_HAVE_HAPPENED = "may have happened: the program stopped while this call ran; it was not run again. Check before you repeat it."

HOLDS_A_MARK = (
    "this call is not run: {} in its arguments stands in place of a secret that no model is given, and the mark would be written or sent in its place. "
    "To keep the secret of a file, change other lines of it with edit_file. A command gets a stored secret as secret:NAME in env_vars, a request in headers. "
    "To have a value written that is not stored, the person stores it first with: neuralclaw secrets set NAME"
)
"""Why a call that writes, executes or sends is not run whose arguments had a secret taken out."""

ASKED_AGAIN = "the safety check asks again what was answered with a yes, so the call is refused"
"""Why a call is refused whose question the gate repeats after a yes."""

AFTER_REFUSAL = "[Do not try to get the same done another way. Do what can be done without it, then say what was not done and why.]"
"""What the model reads behind a refusal."""
AFTER_NO = "[Where the person said what to do instead, do that. Else go on without it, and say what was not done.]"
"""What the model reads behind a person's no."""


class Outcome(msgspec.Struct, frozen=True):
    """A call that ran and what it gave back; `ms` is how long it took."""

    call: CallState
    action: Action
    result: ToolResult
    ms: int = 0
    labels: Labels = NONE
    """What its grant adds to the labels of the result."""
    private: bool = True
    links: LinkOrigin = "none"

    @property
    def spec(self) -> ToolSpec:
        return self.action.spec


class CallEnd(msgspec.Struct, frozen=True):
    """How a call ends: the entries of one transaction, with the rows and bytes beside them. `labels` join those of the session."""

    entries: tuple[DecisionMade | ToolFinished, ...]
    labels: Labels = AGENT
    rows: tuple[StoredResult, ...] = ()
    blobs: tuple[bytes, ...] = ()


class ResultFrame(msgspec.Struct, frozen=True):
    """What every result of a turn is held to: without secrets, at most `chars` characters for the model; `reader` is the tool that shows the rest."""

    redaction: Redaction
    chars: int
    reader: ToolSpec | None = None


def finished(outcome: Outcome, frame: ResultFrame) -> CallEnd:
    """The end of a call that ran."""
    spec = outcome.spec
    clean = redacted_output if Power.EXECUTE in spec.powers else redacted
    result = clean(outcome.result, frame.redaction)  # before it is cut: half a secret is none that is found
    whole = model_text(result)
    limit = min(frame.chars, spec.max_chars or frame.chars)
    fitting = fit(outcome.result, whole, limit, spec)
    content = shorten(whole, fitting.chars, spec)
    metadata, left_out = bounded(result.metadata, limit)
    parts, pictures = kept_parts(result.parts, limit)
    body = ToolFinished(
        call_id=outcome.call.call.id,
        name=spec.name,
        ok=result.ok,
        content=content,
        error=result.error,
        metadata=metadata,
        metadata_digest=blob_digest(left_out) if left_out else "",
        duration_ms=outcome.ms,
        truncated=content is not whole,
        parts=parts,
        changes=result.changes,
        note=note_of(outcome, frame.reader, result.note, whole, fitting),
        first_line=fitting.first_line,
        line_count=fitting.line_count,
        child=result.child,
        usage=result.usage,
        values_from=result.values_from,
        private=outcome.private,
        links=outcome.links,
    )
    rows = (StoredResult(outcome.call.call.id, whole),) if body.truncated else ()
    read = NONE if spec.gives_values else outcome.labels
    return CallEnd((body,), join(labels_of(result, spec), read), rows, (*pictures, *([left_out] if left_out else [])))


def model_text(result: ToolResult) -> str:
    """What the model reads of a result: `ERROR: …` for a failure, `(no output)` for a silent success."""
    content = result.content or text_of(result.parts)
    if result.ok:
        return content or "(no output)"
    if content:
        return content
    return f"ERROR: {result.error or 'the tool failed and said nothing'}"


def shorten(text: str, limit: int, spec: ToolSpec) -> str:
    """The text itself when it fits, else `limit` characters of it and, on a line of its own, the notice of row X5."""
    if len(text) <= limit:
        return text
    begin = begin_of(limit, spec)
    shown = text[:begin]
    if begin < limit:
        left = text[begin : len(text) - (limit - begin)]
        shown += f"\n[… {len(left):,} characters in {left.count(chr(10)) + 1:,} lines are left out here …]\n{text[len(text) - (limit - begin) :]}"
    return f"{shown}\n[OUTPUT TRUNCATED: Showing {limit:,} of {len(text):,} characters from {spec.name}]"


def begin_of(limit: int, spec: ToolSpec) -> int:
    """How many characters of the beginning are kept: of a log a quarter, because its end says what went wrong."""
    return limit // 4 if spec.keep == "ends" else limit


class Fitting(msgspec.Struct, frozen=True):
    """How much of a text the model reads: `chars` of it, of which `line_count` lines stand behind their numbers from `first_line` on (0: none does).

    `within`: the last of these lines may be cut.
    """

    chars: int
    first_line: int = 0
    line_count: int = 0
    within: bool = True


def fit(result: ToolResult, whole: str, limit: int, spec: ToolSpec) -> Fitting:
    """At most `limit` characters of the text; with the numbers of its lines at most a quarter more, else so many whole lines as fit."""
    numbered = result.first_line and result.content and spec.keep != "ends"
    if not numbered or whole.count("\n") != result.content.count("\n"):  # a secret was taken out over lines: their numbers are not known
        return Fitting(limit)
    room, at = limit + limit // 4, 0
    for count in range(result.line_count):
        end = (whole.find("\n", at) + 1) or len(whole)
        room -= len(str(result.first_line + count)) + 1
        if count and min(end, limit) > room:
            return Fitting(at - 1, result.first_line, count, within=False)
        if end > limit:
            return Fitting(limit, result.first_line, count + 1)
        at = end
    return Fitting(limit, result.first_line, result.line_count)


def note_of(outcome: Outcome, reader: ToolSpec | None, note: str, whole: str, fitting: Fitting) -> str:
    """What stands behind the result for the model: the tool's own note, and of one that was shortened the call that shows the rest.

    The tool's note is left out where it says how to go on behind what is left out.
    """
    if len(whole) <= fitting.chars:
        return note
    call, spec = outcome.call.call, outcome.spec
    last = fitting.first_line + fitting.line_count - 1
    if fitting.line_count > 1 and "offset" in spec.input_schema.get("properties", {}):
        if fitting.within:
            return f"[cut off within line {last}; go on with {spec.name} and offset={last}]"
        return f"[cut off after line {last}; go on with {spec.name} and offset={last + 1}]"
    if reader is None or "call_id" not in reader.input_schema.get("properties", {}):  # it was left out, or is a program's own of that name
        return note
    rest = f'[to see what was left out: read_result with call_id="{call.id}", offset={begin_of(fitting.chars, spec)}]'
    return f"{note}\n{rest}" if note else rest


def bounded(metadata: dict[str, Any], limit: int) -> tuple[dict[str, Any], bytes]:
    """The metadata with at most about `limit` characters of JSON, and the whole as JSON where something was left out, else b"".

    The largest values are left out first; a text is cut instead.
    """
    whole = msgspec.json.encode(metadata)
    if len(whole) <= limit:
        return metadata, b""
    sizes = {name: len(msgspec.json.encode(value)) for name, value in metadata.items()}
    room, kept = limit, dict[str, Any]()
    for name in sorted(sizes, key=lambda name: (sizes[name], name)):
        value = metadata[name]
        if len(name) + sizes[name] + 4 <= room:
            kept[name] = value
        elif isinstance(value, str) and room > len(name) + 64:
            kept[name] = value[: (room - len(name) - 8) // 6] + "…"  # a character takes up to six of JSON
        else:
            continue
        room -= len(name) + len(msgspec.json.encode(kept[name])) + 4
    return {name: kept[name] for name in metadata if name in kept}, whole


def kept_parts(parts: Sequence[ContentPart], limit: int) -> tuple[tuple[ContentPart, ...], list[bytes]]:
    """The parts as the entry has them, texts and values within `limit` characters in all, and the bytes of their pictures."""
    kept: list[ContentPart] = []
    pictures = []
    for part in parts:
        if isinstance(part, ImageContent):
            kept.append(ImageContent(detached(part.image)))
            pictures += [part.image.data] if part.image.data else []
        elif (size := len(msgspec.json.encode(part))) <= limit:
            kept.append(part)
            limit -= size
    return tuple(kept), pictures


def labels_of(result: ToolResult, spec: ToolSpec) -> Labels:
    """Where the result came from: what the tool says of it, else the tool itself. Without a word of the tool it is private."""
    named = is_external(result.labels) if spec.source == "external" else bool(result.labels)
    source = NONE if named else external(f"tool/{spec.name}") if spec.source == "external" else AGENT
    return join(result.labels, source, ("private",) if not result.labels else NONE)


def failed(call: CallState, text: str) -> CallEnd:
    """The end of a call that could not even be judged: its arguments do not fit."""
    return CallEnd((_error(call, text),))


def unknown(call: CallState, names: Sequence[str]) -> CallEnd:
    """The end of a call of a tool that is not there. It says which are near to it in name, and which there are."""
    import difflib  # costs start-up time, and few calls come here

    name = call.call.name
    near = difflib.get_close_matches(name.lower(), names, 3, 0.5)
    meant = f"; did you mean {' or '.join(near)}?" if near else ";"
    return failed(call, f"there is no tool named {cut_text(name, 80)!r}{meant} the tools are: {', '.join(sorted(names))}")


class CallRefusal(msgspec.Struct, frozen=True):
    """Who or what kept a call from running: `by` policy, nobody, or a person, with the person's words; `summary` is what was asked about."""

    by: str
    text: str = ""
    summary: str = ""


def forbidden(call: CallState, name: str, verdict: Verdict) -> CallEnd:
    """The end of a call of the tool `name` that policy forbids. Where only its arguments do not fit it is an error, as other such arguments are."""
    forbidding = [rule for rule in verdict.rules if rule.decision is Decision.FORBID]
    if forbidding and call.started is None and all(rule.id in UNFIT_RULES for rule in forbidding):
        return failed(call, "; ".join(rule.reason for rule in forbidding))
    return _refused(call, name, verdict, CallRefusal("policy"))


def asked_again(call: CallState, name: str, question: Question) -> CallEnd:
    """The end of a call of the tool `name` for which the gate does not take the yes that is on record."""
    assert question.verdict is not None, "the gate's questions carry its verdict"
    rule = RuleMatch("gate.asked_again", Decision.FORBID, ASKED_AGAIN)
    return forbidden(call, name, msgspec.structs.replace(question.verdict, decision=Decision.FORBID, rules=(rule, *question.verdict.rules), auto=False))


def refused(call: CallState, name: str, question: Question, answer: Answer) -> CallEnd:
    """The end of a call of the tool `name` that nobody could be asked about, or that a person said no to."""
    assert question.verdict is not None, "the gate's questions carry its verdict"
    return _refused(call, name, question.verdict, CallRefusal(answer.by, answer.text or "", question.summary))


def _refused(call: CallState, name: str, verdict: Verdict, no: CallRefusal) -> CallEnd:
    by, text = no.by, refusal_text(verdict, no)
    if call.started is not None:  # it began in an earlier run: that stays on record, only its repetition is refused
        return CallEnd((_error(call, f"{MAY_HAVE_HAPPENED} ({text})", name=name),))
    reasons = (no.text, *verdict.reasons) if by == "nobody" and no.text else verdict.reasons
    decision = DecisionMade(
        call_id=call.call.id,
        name=name,
        decision=verdict.decision,
        risk=verdict.risk,
        tier=verdict.tier,
        reasons=reasons,
        by=by,
        rules=verdict.rule_ids,
        policy=verdict.policy,
    )
    body = _error(call, text, name=name, refused=verdict.decision if by in REFUSERS else None)
    if by in REFUSERS:
        body = msgspec.structs.replace(body, note=AFTER_REFUSAL)
    else:
        body = msgspec.structs.replace(body, note=AFTER_NO, metadata={"no_by": by} | ({"no_text": no.text} if no.text else {}))
    return CallEnd((decision, body))


def refusal_text(verdict: Verdict, no: CallRefusal) -> str:
    """What the model reads, and a person too: no character in it is hidden."""
    return exact(_refusal_text(verdict, no))


def _refusal_text(verdict: Verdict, no: CallRefusal) -> str:
    why = "; ".join(verdict.reasons) or "no rule allows it"
    instead = next((f" Instead: {r.alternative}" for r in verdict.rules if r.decision is verdict.decision and r.alternative), "")
    if verdict.decision is Decision.FORBID:
        return f"forbidden by policy: {why}.{instead}"
    what = (no.summary or why).removesuffix(".")
    if no.by == "nobody" and no.text:
        return f"refused: {no.text}: {what}.{instead}"
    if no.by == "nobody":
        return f"refused: it needs approval, and no one can be asked: {what}.{instead}"
    if no.by == "program":
        return f"not run: a program answered no, with the words: {no.text}" if no.text else f"not run: a program answered no: {what}."
    if no.text:
        return f"not run: a person said no to it, with the words: {no.text}"
    if no.by == "owner":
        return "not run: the person said no"
    return f"not run: {_NOT_ANSWERED.get(no.by) or f'answered no by {no.by}: {what}'}."


_NOT_ANSWERED = {
    "withdrawn": "the question was withdrawn by a new message",
    "expired": "nobody answered the question in time",
    "cancelled": "the question was not needed any more",
}
"""Why a question got no answer of a person, by who closed it."""


def not_run(calls: Sequence[CallState], why: str) -> CallEnd:
    """The end of calls that will not run any more; one that had begun may have done its work in part."""
    return CallEnd(tuple(_stopped(call, why) for call in calls))


def error_text(error: NeuralClawError) -> str:
    """An error as the model reads it: what happened, then what to do."""
    if not error.hint:
        return error.text
    return f"{error.text.removesuffix('.')}{'.' if error.hint[0].isupper() else ';'} {error.hint}"


def left(call: CallState, answer: Answer) -> CallEnd:
    """The end of a `once` call that began in an earlier run and that nobody said to repeat."""
    if not answer.text:
        return CallEnd((_error(call, MAY_HAVE_HAPPENED, bare=True),))
    said = f" ({answer.text})" if answer.by == "nobody" else f" The person says: {answer.text}"
    return CallEnd((_error(call, f"{MAY_HAVE_HAPPENED}{said}", bare=True),))


def _stopped(call: CallState, why: str) -> ToolFinished:
    text = f"not run: {why}" if call.started is None else f"stopped: {why}; it had begun and may have done part of its work"
    return msgspec.structs.replace(_error(call, text), metadata={"stopped": True})


def _error(call: CallState, text: str, *, name: str = "", refused: Decision | None = None, bare: bool = False) -> ToolFinished:
    content = text if bare else f"ERROR: {text}"
    return ToolFinished(call_id=call.call.id, name=name or call.call.name, ok=False, content=content, error=text, refused=refused, private=False)
