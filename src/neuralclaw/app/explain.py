"""`policy explain`: what the gate would decide about a command, an address, a path, or a call, proposed or recorded. Runs nothing."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ..errors import NeuralClawError, ToolNotFoundError
from ..safety.gate import Gate
from ..sandbox.facts import SystemFacts
from ..types.actions import Action, Origin, Verdict
from ..types.entries import Entry
from ..types.events import ToolStarted
from ..types.judging import Power, Risk, Trust
from ..types.messages import ToolCall
from ..types.tools import ToolSpec, Touch
from .parts import Parts, read_command

TARGETS = ("command", "url", "path", "tool", "call_id")
BY_OP = {"read": "read_file", "list": "list_files", "write": "write_file", "delete": "delete_file"}
"""The tool that stands for an operation on a path."""
FETCH = ToolSpec(
    name="web_fetch",
    description="Fetch an address.",
    input_schema={},
    risk=Risk.LOW,
    powers=(Power.NETWORK,),
    touches=(Touch("url", "url"),),
    source="external",
)


class Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What may be asked, as in INTERFACE.md. `resolve`: one list of addresses for each look-up of a host, instead of DNS."""

    workspace: str
    trust: Trust = Trust.LOW
    command: str | None = None
    url: str | None = None
    path: str | None = None
    op: str | None = None
    tool: str | None = None
    args: dict[str, Any] = msgspec.field(default_factory=dict)
    call_id: str | None = None
    resolve: dict[str, list[list[str]]] = msgspec.field(default_factory=dict)
    soul: str = ""
    origin: str = "program"
    channel: str = ""
    label: list[str] = msgspec.field(default_factory=list)


class Answered:
    """A resolver with given answers: the first list of a host for the first look-up, and so on; `host` stands for any host."""

    def __init__(self, answers: Mapping[str, Sequence[Sequence[str]]]) -> None:
        self._answers = {host.lower(): list(lists) for host, lists in answers.items()}

    async def __call__(self, host: str) -> Sequence[str]:
        lists = self._answers.get(host.lower()) or self._answers.get("host")
        if not lists:
            return ()
        return lists.pop(0) if len(lists) > 1 else lists[0]


async def explain(parts: Parts, asked: Mapping[str, Any]) -> Verdict:
    """The verdict. Raises `NeuralClawError` for a question that names nothing, or something that is not there."""
    try:
        question = msgspec.convert(dict(asked), Asked)
    except msgspec.ValidationError as error:
        raise NeuralClawError(f"that cannot be explained: {error}") from error
    action = await _action(parts, question)
    standing = await parts.store.grants("", action.workspace)
    if not question.resolve:
        return await parts.gate.judge(action, standing)
    facts = SystemFacts(parts.policy, lambda: parts.sandbox.name, parts.loaded.env.get("PATH", ""), Answered(question.resolve))
    return await Gate(parts.policy, facts, parts.clock, read_command).judge(action, standing)


async def _action(parts: Parts, asked: Asked) -> Action:
    """The call that stands for what is asked."""
    if asked.call_id is not None:
        asked = await _recorded(parts, asked, asked.call_id)
    if asked.command is not None:
        spec, arguments = _tool(parts, "terminal"), {"command": asked.command}
    elif asked.url is not None:
        return _made(asked, FETCH, {"url": asked.url})
    elif asked.path is not None:
        if asked.op not in BY_OP:
            raise NeuralClawError(f"--path wants --op, one of {', '.join(BY_OP)}")
        spec, arguments = _tool(parts, BY_OP[asked.op]), {"path": asked.path}
        return _made(asked, spec, arguments)
    elif asked.tool is not None:
        spec, arguments = _tool(parts, asked.tool), asked.args
    else:
        raise NeuralClawError(f"nothing to explain: give one of {', '.join(TARGETS)}")
    return _made(asked, spec, parts.tools.prepare(spec.name, arguments))


def _tool(parts: Parts, name: str) -> ToolSpec:
    spec = parts.tools.find(name)
    if spec is None:
        raise ToolNotFoundError(f"there is no tool named {name!r}", hint="neuralclaw tools list")
    return spec


def _made(asked: Asked, spec: ToolSpec, arguments: dict[str, Any]) -> Action:
    if asked.origin not in ("owner", "program", "schedule", "agent"):
        raise NeuralClawError(f"{asked.origin!r} is no origin", hint="owner, program, schedule or agent")
    return Action(
        session="explain",
        turn=0,
        call_id="explain",
        spec=spec,
        arguments=arguments,
        workspace=os.path.realpath(asked.workspace),
        trust=asked.trust,
        origin=Origin(who=asked.origin, channel=asked.channel),  # type: ignore[arg-type]  # checked above
        soul=asked.soul,
        labels=frozenset(asked.label),
    )


async def _recorded(parts: Parts, asked: Asked, call_id: str) -> Asked:
    """The recorded call of that id, of the newest session that has one, as a question about its tool and arguments."""
    for row in await parts.store.sessions():
        if not await parts.store.known_calls(row.session, [call_id]):
            continue
        call = _call(await parts.store.read(row.session, kinds=("tool.started", "message")), call_id)
        if call is not None:
            return msgspec.structs.replace(asked, tool=call.name, args=call.arguments, workspace=row.workspace or asked.workspace)
    raise NeuralClawError(f"no recorded call has the id {call_id}", hint="neuralclaw sessions show SESSION names its calls")


def _call(entries: Sequence[Entry], call_id: str) -> ToolCall | None:
    """The call as it ran, else as it was proposed."""
    proposed = None
    for entry in entries:
        body = entry.body
        if isinstance(body, ToolStarted) and body.call_id == call_id:
            return ToolCall(call_id, body.name, body.arguments)
        for call in getattr(body, "tool_calls", ()):
            proposed = call if call.id == call_id else proposed
    return proposed
