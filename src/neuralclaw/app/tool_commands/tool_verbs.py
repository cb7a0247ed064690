"""The verbs about tools: which a turn would have, the verdict on a call, and the call itself."""

from collections.abc import Sequence
from typing import Any

import msgspec

from ... import lookups
from ...capability import TurnContext
from ...errors import AgentError, ToolNotFoundError
from ...ports import Desk, Store, Toolset
from ...types.actions import Action, Origin
from ...types.events import ToolFinished
from ...types.labels import NONE
from ...types.options import ApprovalsMode, TurnOptions
from ...types.tools import ToolSpec
from ..capability_context import OpenHome
from ..capability_tools import ToolProblem
from ..defaults import turn_options
from ..option_checks import new_session
from ..tool_call_turns import call_of, called, spelled


class ToolVerbs:
    """The verbs of one client; `defaults` are the options of its turns."""

    def __init__(self, home: OpenHome, store: Store, desk: Desk, defaults: TurnOptions) -> None:
        self._home, self._store, self._desk, self._defaults = home, store, desk, defaults

    async def list(self) -> tuple[list[dict[str, Any]], Sequence[ToolProblem]]:
        """The tools that a turn would have, and what of those of capabilities cannot be used."""
        tools, problems = await self._tools()
        return [_plain(spec) for spec in tools.tools()], problems

    async def show(self, name: str) -> dict[str, Any]:
        """One tool, by its name or alias. `definition`: what a standing answer may be bound to. Raises `ToolNotFoundError`."""
        spec = _spec(*await self._tools(), name)
        return _plain(spec) | {"definition": spec.digest}

    async def judge(self, name: str, arguments: dict[str, Any], session: str | None, trust: str | None) -> dict[str, Any]:
        """The verdict on a call; nothing is run. Raises `UsageError` as the call itself does."""
        tools, problems = await self._tools(session or "")
        spec = _spec(tools, problems, name)
        spelled(spec.name, arguments)
        row = await lookups.session(self._store, session) if session is not None else None
        action = Action(
            session="explain",
            turn=0,
            call_id="explain",
            spec=spec,
            arguments=tools.prepare(spec.name, arguments),
            workspace=self._defaults.workspace,
            trust=turn_options(self._defaults, {"trust": trust}).trust,
            origin=Origin(),
            labels=row.labels if row is not None else NONE,
        )
        told = _plain(await self._home.gate.judge(action, await self._store.grants(session or "", self._defaults.workspace)))
        del told["policy"]  # as in policy explain
        return told

    async def call(self, name: str, arguments: dict[str, Any], session: str | None, approvals: ApprovalsMode | None, trust: str | None) -> dict[str, Any]:
        """The `tool.finished` object of a call through the whole pipeline."""
        spec = _spec(*await self._tools(session or ""), name)
        message = call_of(spec.name, arguments, turn_options(self._defaults, {"approvals": approvals, "trust": trust, "tools": (spec.name,)}))
        async with called(self._desk, new_session(session) if session is not None else None, message) as events:
            finished = [event async for event in events if isinstance(event.body, ToolFinished)]
        if not finished:
            raise AgentError("the call ended without a result; what was recorded is kept", hint="neuralclaw sessions show tools")
        return finished[-1].to_dict()

    async def _tools(self, session: str = "") -> tuple[Toolset, Sequence[ToolProblem]]:
        """The tools that a turn of this session would have, and what of those of capabilities cannot be used."""
        return await self._home.tools_and_problems(TurnContext(session=session, options=self._defaults))


def _spec(tools: Toolset, problems: Sequence[ToolProblem], name: str) -> ToolSpec:
    """The tool of that name. Raises `ToolNotFoundError`, which names the tools of capabilities that cannot be used: it may be one of them."""
    spec = tools.find(name)
    if spec is None:
        told = "; ".join([f"there is no tool named {name!r}", *(problem.text for problem in problems)])
        raise ToolNotFoundError(told, hint="neuralclaw tools list")
    return spec


def _plain(value: Any) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(value, str_keys=True)
    return plain
