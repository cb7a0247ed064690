"""The table of verbs: every command of the desk under its name. Command line, slash commands, pages and Python render the same values."""

from typing import Any, Literal

import msgspec

from .. import lookups
from ..capability import TurnContext
from ..errors import AgentError, ToolNotFoundError
from ..plugins import load
from ..ports import Desk, Toolset
from ..runtime.desk import SessionDesk, VerbFunction
from ..runtime.record_verbs import answering_verbs, reading_verbs
from ..types.actions import Action, Origin
from ..types.events import ToolFinished
from ..types.labels import NONE
from ..types.options import ApprovalsMode, TurnOptions
from ..types.risk import Trust
from ..types.tools import ToolSpec
from .capabilities import ClientCapabilities
from .capability_tools import ToolProblem
from .config_verbs import config_verbs
from .defaults import turn_options
from .home import Home
from .option_checks import RESERVED, new_session
from .policy_verbs import PolicyVerbs
from .tool_call_turns import call_of, called


def agent_verbs(home: Home, desk: SessionDesk, defaults: TurnOptions, given: ClientCapabilities) -> dict[str, VerbFunction]:
    """The verbs of a client; `defaults` are the options of its turns, `given` what capabilities bring."""
    verbs = Verbs(home, desk, defaults, given)
    return {
        **reading_verbs(home.store, defaults.workspace, left_out=RESERVED, told=given.capabilities.sentence_of),
        **PolicyVerbs(home, defaults.workspace, defaults.trust).table(),
        **answering_verbs(home.store, desk, defaults.origin.who),
        "tools.list": verbs.tools,
        "tools.show": verbs.tool,
        "tools.call": verbs.call,
        **config_verbs(home.loaded.asked),
        "instructions.list": verbs.instructions,
        "doctor": verbs.doctor,
        "status": verbs.status,
        **given.verbs(),
    }


class Verbs:
    """The verbs that need more than the record."""

    def __init__(self, home: Home, desk: Desk, defaults: TurnOptions, given: ClientCapabilities) -> None:
        self._home, self._desk, self._defaults, self._given = home, desk, defaults, given

    async def tools(self) -> list[dict[str, Any]]:
        found = (await self._tools()).tools()
        for problem in await self._tool_problems():
            self._given.tell(problem.notice)
        return [as_dict(spec) for spec in found]

    async def _tool_problems(self) -> list[ToolProblem]:
        return await self._home.tool_problems(TurnContext(session="", options=self._defaults))

    async def tool(self, *, name: str) -> dict[str, Any]:
        return as_dict(await self._spec(name))

    async def _tools(self, session: str = "") -> Toolset:
        """The tools that a turn of this session would have."""
        return await self._home.turn_tools(TurnContext(session=session, options=self._defaults))

    async def call(
        self,
        *,
        name: str,
        arguments: dict[str, Any],
        session: str | None = None,
        dry_run: bool = False,
        approvals: ApprovalsMode | None = None,
        trust: Literal["low", "medium", "high"] | None = None,
    ) -> dict[str, Any]:
        """Call one tool through the whole pipeline: the `tool.finished` object. `dry_run`: the verdict, nothing is run.

        `approvals`, `trust`: in place of the agent's own.
        """
        tools = await self._tools(session or "")
        spec = _spec(tools, name)
        options = turn_options(self._defaults, {"approvals": approvals, "trust": trust})
        if dry_run:
            prepared = tools.prepare(spec.name, arguments)
            row = await lookups.session(self._home.store, session) if session is not None else None
            action = self._action(spec, prepared, options.trust)
            action = msgspec.structs.replace(action, labels=row.labels if row is not None else NONE)
            return as_dict(await self._home.gate.judge(action, await self._home.store.grants(session or "", self._defaults.workspace)))
        name_of_session = new_session(session) if session is not None else None
        async with called(self._desk, name_of_session, call_of(spec.name, arguments, options)) as events:
            finished = [event async for event in events if isinstance(event.body, ToolFinished)]
        if not finished:
            raise AgentError("the call ended without a result; what was recorded is kept", hint="neuralclaw sessions show tools")
        return finished[-1].to_dict()

    async def _spec(self, name: str) -> ToolSpec:
        return _spec(await self._tools(), name)

    def _action(self, spec: ToolSpec, arguments: dict[str, Any], trust: Trust) -> Action:
        return Action(
            session="explain", turn=0, call_id="explain", spec=spec, arguments=arguments, workspace=self._defaults.workspace, trust=trust, origin=Origin()
        )

    async def instructions(self) -> list[dict[str, Any]]:
        """The `AGENTS.md` files that a turn in the workspace begins with, the nearest last; none where they are switched off.

        `used` is for a model with a large window.
        """
        source = self._home.instructions
        return [] if source is None else [as_dict(file) for file in (await source.read(self._defaults.workspace)).files]

    async def doctor(self, *, rebuild: bool = False, call: bool = False, needed: bool = False) -> list[dict[str, Any]]:
        """What works here, what is missing and how to get it. `call`: the models are called once for real.

        `needed`: each check also says whether the agent needs it.
        """
        if rebuild:
            await self._home.store.rebuild()
        checks: list[dict[str, Any]] = await load("doctor")(self._home, self._given, rebuilt=rebuild, call=call)
        checks += [as_dict(problem.check()) for problem in await self._tool_problems()]
        shown = [check | {"fix": None} if check["ok"] else check for check in checks]
        return shown if needed else [{name: value for name, value in check.items() if name != "needed"} for check in shown]

    async def status(self, *, session: str | None = None) -> dict[str, Any]:
        """How things stand here: what `/status` of the chat tells."""
        shown: dict[str, Any] = await load("status")(self._home, self._defaults).show(session=session)
        return shown


def _spec(tools: Toolset, name: str) -> ToolSpec:
    spec = tools.find(name)
    if spec is None:
        raise ToolNotFoundError(f"there is no tool named {name!r}", hint="neuralclaw tools list")
    return spec


def as_dict(value: Any) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(value, str_keys=True)
    return plain
