"""`hooks test`: one run of one hook that is part of no turn, with a sample of its event or with a recorded call. Nothing of it is recorded."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ... import lookups
from ...agent import hook_inputs
from ...agent.redaction import redacted
from ...capability import TurnContext
from ...config import secret_values
from ...errors import ToolValidationError, UsageError
from ...ports import Toolset
from ...secrets import Redactor
from ...types.actions import Action, Origin
from ...types.entries import Entry
from ...types.events import ApprovalRequested, ApprovalResolved, ToolFinished, ToolStarted
from ...types.hooks import TURN_EVENTS, HookDefinition, HookInput, HookSubject, HookTrial
from ...types.questions import Answer
from ...types.risk import Decision
from ...types.tools import ToolSpec
from ...types.verdicts import Verdict
from ..capability_context import BuiltInContext
from ..explain import RecordedCall, recorded_call
from .hook_programs import HookPrograms, matches, named

SAMPLES: Sequence[tuple[str, dict[str, Any]]] = (
    ("write_file", {"path": "sample.txt", "content": "sample"}),
    ("terminal", {"command": "ls"}),
    ("read_file", {"path": "sample.txt"}),
    ("delete_file", {"path": "sample.txt"}),
    ("terminal", {"command": "curl https://example.com/"}),
    ("web_fetch", {"url": "https://example.com/"}),
    ("terminal", {"command": "sudo ls"}),
)
"""Calls of which the first that a hook is for stands for all that it is for."""
OF_TYPE: Mapping[str, Any] = {"string": "sample", "integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
BLOCKED = {
    "before_turn": "the turn would end as denied before a model is asked",
    "after_turn": "the answer would be kept back, and the turn would end as denied",
    "before_tool": "the call would not run, and nobody would be asked about it",
    "after_tool": "the call would have run, and its result would be kept back from the model and the record",
    "before_approval": "nobody would be asked, and the call would be refused",
    "after_approval": "a yes would not count",
}


class _Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What the hook is told of: a call, judged as it is now, and the entries about it; or a turn."""

    action: Action
    verdict: Verdict
    entries: Sequence[Entry] = ()
    session: str = "sample"
    turn: int = 1


async def try_hook(context: BuiltInContext, name: str, call: str | None) -> HookTrial:
    """Run the hook of that name. Raises `UsageError`."""
    hooks = named(context.loaded.settings.hooks)
    hook = next((one for one in hooks if one.name == name), None)
    if hook is None:
        names = ", ".join(one.name for one in hooks)
        raise UsageError(f"there is no hook {name!r:.80}; nothing was run", hint=f"there are {names}" if names else "docs/hooks.md says how to set one")
    origin = Origin(who=context.who)
    if hook.event in TURN_EVENTS:
        if call is not None:
            raise UsageError(f"the hook {name} runs around turns and is told of no call; nothing was run", hint=f"neuralclaw hooks test {name}")
        told: HookInput = {"prompt": "sample"} if hook.event == "before_turn" else {"status": "done", "text": "sample"}
        return await _run(context, hook, hook_inputs.whole_input(hook, told, session="sample", turn=1, workspace=context.workspace, origin=origin))
    subject = await _sample(context, hook) if call is None else await _recorded(context, call)
    told = hook_inputs.of_call(subject.action.spec.name, subject.action.arguments, subject.action.call_id) | await _of_event(context, hook, subject)
    place = subject.action
    whole = hook_inputs.whole_input(hook, told, session=subject.session, turn=subject.turn, workspace=place.workspace, origin=place.origin)
    if why := _not_for(hook, subject):
        return HookTrial(hook=hook.name, event=hook.event, told=_clean(context, whole), would=f"it would not run, and was not run: {why}")
    return await _run(context, hook, whole)


def _not_for(hook: HookDefinition, subject: _Subject) -> str:
    """Why a turn would not run the hook for this call, "" where it would."""
    spec = subject.action.spec
    powers = spec.powers if hook.event == "after_tool" else subject.verdict.powers
    if not matches(hook, HookSubject(event=hook.event, tools=(spec.name, *spec.aliases), powers=powers)):
        has = ", ".join(str(one) for one in powers) or "no power"
        return f"it is for other tools or powers than {spec.name}, which has {has}"
    if hook.event != "after_tool" and subject.verdict.decision is Decision.FORBID:
        return "the call is forbidden, and reaches no hook"
    if hook.event.endswith("approval") and subject.verdict.decision is not Decision.ASK and not _bodies(subject, ApprovalRequested):
        return "nobody is asked about this call"
    return ""


def _clean(context: BuiltInContext, told: HookInput) -> HookInput:
    clean: HookInput = redacted(told, Redactor(secret_values(context.loaded)))
    return clean


async def _run(context: BuiltInContext, hook: HookDefinition, whole: HookInput) -> HookTrial:
    clean = _clean(context, whole)
    clean |= {"run_id": hook_inputs.run_id_of(hook, clean)}
    result = await HookPrograms(context.loaded.settings.hooks, context.loaded.env).run(hook, clean)
    would = BLOCKED[hook.event] if result.blocks else "nothing would be blocked"
    if result.outcome == "failed":
        would = f"this is a failure, and on_failure is {hook.on_failure}: {would}" if result.exit_code is not None else would
    ended = _clean(context, msgspec.structs.asdict(result))
    return HookTrial(hook=hook.name, event=hook.event, told=clean, would=would, **ended)


async def _tools(context: BuiltInContext) -> Toolset:
    return (await context.home.tools_and_problems(TurnContext(session="", options=context.defaults.turn)))[0]


async def _sample(context: BuiltInContext, hook: HookDefinition) -> _Subject:
    """The first sample that the hook is for; where there is none, the first of all."""
    tools, first = await _tools(context), None
    for spec, arguments in _calls(tools):
        action = Action(session="sample", turn=1, call_id="sample", spec=spec, arguments=arguments, workspace=context.workspace, origin=Origin(who=context.who))
        subject = _Subject(action=action, verdict=await context.home.gate.judge(action))
        if not _not_for(hook, subject):
            return subject
        first = first or subject
    if first is None:
        raise UsageError("there is no tool to make a sample of; nothing was run", hint=f"neuralclaw hooks test {hook.name} --recorded SESSION/CALL_ID")
    return first


def _calls(tools: Toolset) -> Iterator[tuple[ToolSpec, dict[str, Any]]]:
    """Samples of calls: those of `SAMPLES`, then one of each other tool, made by its schema."""
    for name, arguments in SAMPLES:
        if (spec := tools.find(name)) is not None:
            yield spec, tools.prepare(spec.name, dict(arguments))
    known = {name for name, _ in SAMPLES}
    for spec in tools.tools():
        if spec.name in known:
            continue
        properties = spec.input_schema.get("properties", {})
        made = {name: OF_TYPE.get(str(properties.get(name, {}).get("type")), "sample") for name in spec.input_schema.get("required", ())}
        try:
            yield spec, tools.prepare(spec.name, made)
        except ToolValidationError:
            yield spec, made


async def _recorded(context: BuiltInContext, name: str) -> _Subject:
    """A call of the record, judged as it is now."""
    found: RecordedCall = await recorded_call(context.store, name)
    tools = await _tools(context)
    spec = tools.find(found.call.name)
    if spec is None:
        raise UsageError(f"the tool {found.call.name} of the call {name} is not there any more; nothing was run", hint="neuralclaw tools list")
    kinds = ("tool.started", "tool.finished", "approval.requested", "approval.resolved", "message")
    entries = [entry for entry in await context.store.read(found.session, kinds=kinds) if _is_about(entry, found.call.id)]
    asked = {entry.body.approval_id for entry in entries if isinstance(entry.body, ApprovalRequested)}
    resolved = await context.store.read(found.session, kinds=("approval.resolved",))
    entries += [entry for entry in resolved if isinstance(entry.body, ApprovalResolved) and entry.body.approval_id in asked]
    options = found.options
    action = Action(
        session=found.session,
        turn=entries[0].turn if entries else 1,
        call_id=found.call.id,
        spec=spec,
        arguments=tools.prepare(spec.name, found.call.arguments),
        workspace=options.workspace if options is not None else context.workspace,
        trust=options.trust if options is not None else context.defaults.turn.trust,
        origin=options.origin if options is not None else Origin(who=context.who),
        labels=found.around.labels if found.around is not None else frozenset(),
    )
    verdict = await context.home.gate.judge(action)
    return _Subject(action=action, verdict=verdict, entries=entries, session=found.session, turn=action.turn)


def _is_about(entry: Entry, call_id: str) -> bool:
    body = entry.body
    return getattr(body, "call_id", None) == call_id or any(call.id == call_id for call in getattr(body, "tool_calls", ()))


def _bodies(subject: _Subject, kind: type) -> list[Any]:
    return [entry.body for entry in subject.entries if isinstance(entry.body, kind)]


async def _of_event(context: BuiltInContext, hook: HookDefinition, subject: _Subject) -> HookInput:
    """What the event tells besides the call: from the record where it has it, else a sample."""
    started = _bodies(subject, ToolStarted)
    attempt = started[-1].attempt if started else 1
    if hook.event == "before_tool":
        return hook_inputs.of_verdict(subject.verdict, attempt)
    if hook.event == "after_tool":
        return await _of_result(context, subject, attempt)
    asked, answered = _bodies(subject, ApprovalRequested), _bodies(subject, ApprovalResolved)
    if hook.event == "before_approval":
        if asked:
            return hook_inputs.of_question(asked[-1].summary, asked[-1].reasons, asked[-1].risk, asked[-1].tier)
        verdict = subject.verdict
        return hook_inputs.of_question(f"{subject.action.spec.name} would run", verdict.reasons, verdict.risk, verdict.tier)
    said = answered[-1] if answered else None
    return hook_inputs.of_answer(
        Answer(
            approval_id=said.approval_id if said is not None else "sample",
            decision=said.decision if said is not None else "once",
            by=said.by if said is not None else "owner",
        )
    )


async def _of_result(context: BuiltInContext, subject: _Subject, attempt: int) -> HookInput:
    """The result on record, whole where it was shortened; a sample where nothing is asked of the record."""
    if subject.session == "sample":
        return hook_inputs.of_result(ok=True, content="sample", error=None, attempt=attempt)
    finished = [body for body in _bodies(subject, ToolFinished) if body.refused is None]
    if not finished:
        raise UsageError(f"the call {subject.action.call_id} has no result on record; nothing was run", hint="neuralclaw sessions show SESSION names its calls")
    body = finished[-1]
    kept = await lookups.result(context.store, subject.session, body.call_id) if body.truncated else None
    return hook_inputs.of_result(ok=body.ok, content=body.content if kept is None else kept, error=body.error, attempt=attempt)


def trial_lines(value: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What people read of a trial."""
    told = msgspec.json.format(msgspec.json.encode(value["told"]), indent=2).decode()
    lines = [(f"{value['hook']} ({value['event']}) is told:", "bold"), *((line, "") for line in told.splitlines())]
    if value["outcome"]:
        code = "no exit code" if value["exit_code"] is None else f"exit code {value['exit_code']}"
        reason = f": {value['reason']}" if value["reason"] and value["reason"] != code else ""
        lines.append((f"It {value['outcome']} with {code} after {value['duration_ms']} ms{reason}", "yellow" if value["blocks"] else ""))
    return [*lines, (f"In a turn: {value['would']}.", "bold")]
