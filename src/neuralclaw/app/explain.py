"""`policy explain`: what the gate would decide about a command, an address, a path, or a call, proposed or recorded. Runs nothing."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from .. import lookups
from ..agent.context import KINDS, Conversation
from ..capability import TurnContext
from ..errors import ToolNotFoundError, ToolValidationError, UsageError
from ..ports import Store, Toolset
from ..safety.gate import PolicyGate
from ..sandbox.system_facts import SystemFacts
from ..types.actions import Action, Origin, Who
from ..types.entries import Entry
from ..types.events import ToolStarted, TurnStarted
from ..types.labels import NONE, Labels, join
from ..types.messages import ToolCall
from ..types.options import TurnOptions
from ..types.risk import Trust
from ..types.tools import ToolSpec
from ..types.verdicts import Verdict
from .flow.labelled_facts import LabelledFacts
from .home import Home, beside, read_command
from .option_checks import real_directory

TARGETS = ("command", "url", "path", "tool", "call_id")
CANDIDATES = 8
"""Sessions that are named where an id is not unique."""
BY_OP = {"read": "read_file", "list": "list_files", "write": "write_file", "delete": "delete_file"}
"""The tool that stands for an operation on a path."""


class ExplainRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What may be asked, as in INTERFACE.md. `resolve`: one list of addresses for each look-up of a host, instead of DNS."""

    workspace: str | None = None
    trust: Trust | None = None
    command: str | None = None
    url: str | None = None
    path: str | None = None
    op: str | None = None
    tool: str | None = None
    args: dict[str, Any] | None = None
    call_id: str | None = None
    resolve: dict[str, list[list[str]]] | None = None
    soul: str | None = None
    origin: Who | None = None
    channel: str | None = None
    label: list[str] | None = None


class CallCircumstances(msgspec.Struct, frozen=True, kw_only=True):
    """What a call is judged in: where, under what trust, for whom, and after what was read."""

    workspace: str
    trust: Trust
    who: Who = "program"
    labels: Labels = NONE
    soul: str = ""
    channel: str = ""
    present: bool = False
    read: Conversation | None = None
    """What the model had been told before it proposed a recorded call."""


class GivenResolver:
    """A resolver with given answers: the first list of a host for the first look-up, and so on; `host` stands for any host."""

    def __init__(self, answers: Mapping[str, Sequence[Sequence[str]]]) -> None:
        self._answers = {host.lower(): list(lists) for host, lists in answers.items()}

    async def __call__(self, host: str) -> Sequence[str]:
        lists = self._answers.get(host.lower()) or self._answers.get("host")
        if not lists:
            return ()
        return lists.pop(0) if len(lists) > 1 else lists[0]


async def explain(home: Home, asked: Mapping[str, Any], *, workspace: str, trust: Trust) -> Verdict:
    """The verdict on what is asked; `workspace` and `trust` count where the question and a recorded call say nothing.

    Raises `UsageError` for a question that cannot be answered: it names nothing, or something that is not there.
    """
    try:
        question = msgspec.convert(dict(asked), ExplainRequest)
    except msgspec.ValidationError as error:
        raise UsageError(f"that cannot be explained: {error}") from error
    _fits(question)
    action, session = await _action(home, question, CallCircumstances(workspace=workspace, trust=trust))
    standing = await home.store.grants(session, action.workspace)
    if question.resolve is None:
        return await home.gate.judge(action, standing)
    looked = SystemFacts(home.policy, home.loaded.env.get("PATH", ""), GivenResolver(question.resolve))
    facts = LabelledFacts(looked, home.store, home.policy.allowed_paths)
    return await PolicyGate(home.policy, facts, home.clock, read_command, beside=beside).judge(action, standing)


def _fits(asked: ExplainRequest) -> None:
    """Refuse what would not count."""
    targets = [name for name in TARGETS if getattr(asked, name) is not None]
    if len(targets) != 1:
        given = f"{' and '.join(targets)} are asked about at once" if targets else "nothing to explain"
        raise UsageError(f"{given}: give one of {', '.join(TARGETS)}", hint='neuralclaw policy explain --command "git push"')
    if not str(getattr(asked, targets[0])).strip():
        raise UsageError(f"the {targets[0].replace('_', ' ')} is empty: there is nothing to explain", hint='neuralclaw policy explain --command "git push"')
    for option, wanted in (("op", ("path",)), ("args", ("tool",)), ("resolve", ("url", "tool"))):
        if getattr(asked, option) is not None and targets[0] not in wanted:
            raise UsageError(f"--{option} goes with --{' or --'.join(wanted)}")
    if asked.path is not None and asked.op not in BY_OP:
        raise UsageError(f"--path requires --op, one of {', '.join(BY_OP)}", hint=f"neuralclaw policy explain --path {asked.path} --op read")


async def _action(home: Home, asked: ExplainRequest, around: CallCircumstances) -> tuple[Action, str]:
    """The call that stands for what is asked, and the session whose grants count."""
    session, options = "", None
    if asked.call_id is not None:
        found = await recorded_call(home.store, asked.call_id)
        asked = msgspec.structs.replace(asked, tool=found.call.name, args=found.call.arguments)
        around = found.around or around
        session, options = found.session, found.options
    around = _given(asked, around)
    if asked.url is not None:
        return made(_tool(home.tools, "web_fetch"), {"url": asked.url}, around), session
    if asked.path is not None:
        return made(_tool(home.tools, BY_OP[asked.op or ""]), {"path": asked.path}, around), session
    name, arguments = (asked.tool, asked.args or {}) if asked.tool is not None else ("terminal", {"command": asked.command})
    tools: Toolset = home.tools
    if tools.find(name) is None:  # capabilities are asked only then: none of their tools has a name of these
        options = options or TurnOptions(model="", workspace=around.workspace, trust=around.trust)
        tools = await home.turn_tools(TurnContext(session=session, options=options))
    spec = _tool(tools, name)
    try:
        return made(spec, tools.prepare(spec.name, arguments), around), session
    except ToolValidationError as error:
        raise UsageError(error.text, hint=f"neuralclaw tools show {spec.name}") from error


def _given(asked: ExplainRequest, around: CallCircumstances) -> CallCircumstances:
    """The surroundings with what the question says of them."""
    return CallCircumstances(
        workspace=around.workspace if asked.workspace is None else real_directory(asked.workspace),
        trust=asked.trust or around.trust,
        who=around.who if asked.origin is None else asked.origin,
        labels=around.labels if asked.label is None else join(around.labels, _labels(asked.label)),
        soul=around.soul if asked.soul is None else asked.soul,
        channel=around.channel if asked.channel is None else asked.channel,
        present=around.present,
        read=around.read,
    )


def _labels(given: Sequence[str]) -> Labels:
    """Labels that a question names. Raises `UsageError` for one that no content has."""
    known = ("owner", "agent", "public", "private", "secret", "external")
    for label in given:
        if label not in known and not re.fullmatch(r"external:[a-z]+(/.+)?", label):
            raise UsageError(f"{label!r} is not a label", hint=f"{', '.join(known)}, external:web/HOST, external:mcp/NAME or external:tool/NAME")
    return frozenset(given)


def _tool(tools: Toolset, name: str) -> ToolSpec:
    spec = tools.find(name)
    if spec is None:
        raise ToolNotFoundError(f"there is no tool named {name!r}", hint="neuralclaw tools list")
    return spec


def made(spec: ToolSpec, arguments: dict[str, Any], around: CallCircumstances) -> Action:
    """The action that a call of the tool is in these circumstances."""
    read = around.read or Conversation()
    return Action(
        session="explain",
        turn=0,
        call_id="explain",
        spec=spec,
        arguments=arguments,
        workspace=around.workspace,
        trust=around.trust,
        origin=Origin(who=around.who, present=around.present, channel=around.channel),
        soul=around.soul,
        labels=around.labels,
        said=read.said() if around.who != "agent" else (),
        private_results=read.links.private_texts,
        private_links=read.links.private_links,
        private_read=read.links.private_read or (around.read is not None and around.who == "agent"),
        known_links=read.links.known,
        read_values=read.read_values,
    )


class RecordedCall(msgspec.Struct, frozen=True):
    """A call of the record, and what its turn ran under. `options`: those of the turn."""

    call: ToolCall
    around: CallCircumstances | None
    options: TurnOptions | None
    session: str = ""


async def recorded_call(store: Store, name: str) -> RecordedCall:
    """The call of that id, or `SESSION/CALL_ID` where several sessions have one. Raises `UsageError`, which names the candidates."""
    session, slash, call_id = name.partition("/")
    where = {"session": (await lookups.find_session(store, session)).session, "call_id": call_id} if slash else {"call_id": name}
    call_id = where["call_id"]
    having = [row["session"] for row in await store.rows("calls", where, order=("record",), descending=True)]
    if len(having) > 1:
        named = ", ".join(f"{one}/{call_id}" for one in having[:CANDIDATES]) + (", …" if len(having) > CANDIDATES else "")
        raise UsageError(f"{len(having)} sessions have a call {call_id}: {named}", hint=f"neuralclaw policy explain {having[0]}/{call_id}")
    found = _call(await store.read(having[0], kinds=(*KINDS, "tool.started")), call_id) if having else None
    if found is None:
        raise UsageError(f"no recorded call has the id {name}", hint="neuralclaw sessions show SESSION names its calls")
    return msgspec.structs.replace(found, session=having[0])


def _call(entries: Sequence[Entry], call_id: str) -> RecordedCall | None:
    """The call as it ran, else as it was proposed."""
    started: TurnStarted | None = None
    found: RecordedCall | None = None
    read, labels = Conversation(), NONE
    for entry in entries:
        body = entry.body
        if isinstance(body, TurnStarted):
            started = body
        labels = join(labels, entry.header.labels) if found is None else labels
        proposed = [call for call in getattr(body, "tool_calls", ()) if call.id == call_id]
        ran = [ToolCall(call_id, body.name, body.arguments)] if isinstance(body, ToolStarted) and body.call_id == call_id else []
        if ran and found is not None:
            return msgspec.structs.replace(found, call=ran[0])
        for call in (*proposed, *ran):
            found = found or RecordedCall(call, circumstances(started, labels, read) if started else None, started.options if started else None)
        if found is None:
            read.apply(entry)
    return found


def circumstances(begun: TurnStarted, labels: Labels, read: Conversation) -> CallCircumstances:
    """What a call of that turn was judged in."""
    options = begun.options
    return CallCircumstances(
        workspace=options.workspace,
        trust=options.trust,
        who=options.origin.who,
        soul=options.soul,
        channel=options.origin.channel,
        present=options.origin.present,
        labels=labels,
        read=read,
    )
