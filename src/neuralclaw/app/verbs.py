"""The table of verbs: every command of the desk under its name. Command line, slash commands, pages and Python render the same values."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from ..capability import TurnContext
from ..errors import UsageError
from ..plugins import load
from ..types.options import TurnOptions
from .capabilities import ClientCapabilities
from .capability_tools import ToolProblem
from .config_verbs import ConfigVerbs
from .home import Home
from .policy_verbs import PolicyVerbs
from .verb_calls import VerbFunction


class AgentVerbs(NamedTuple):
    """The verbs of a client that no capability brings. `reading`: those that write nothing of the record; `writing`: the others."""

    reading: dict[str, VerbFunction]
    writing: dict[str, VerbFunction]


def agent_verbs(home: Home, defaults: TurnOptions, given: ClientCapabilities) -> AgentVerbs:
    """The verbs of a client; `defaults` are the options of its turns, `given` what capabilities bring."""
    verbs, config = Verbs(home, defaults, given), ConfigVerbs(home.loaded.asked)
    reading: dict[str, VerbFunction] = {
        **PolicyVerbs(home, defaults.workspace, defaults.trust).table(),
        "config.show": config.show,
        "config.check": config.check,
        "config.path": config.path,
        "config.schema": config.schema,
        "config.example": config.example,
        "instructions.list": verbs.instructions,
        "status": verbs.status,
    }
    return AgentVerbs(reading, {"config.set": config.set, "doctor": verbs.doctor})


class Verbs:
    """The verbs that need more than the record."""

    def __init__(self, home: Home, defaults: TurnOptions, given: ClientCapabilities) -> None:
        self._home, self._defaults, self._given = home, defaults, given

    async def _tool_problems(self) -> Sequence[ToolProblem]:
        return await self._home.tool_problems(TurnContext(session="", options=self._defaults))

    async def instructions(self) -> list[dict[str, Any]]:
        """The `AGENTS.md` files that a turn in the workspace begins with, the nearest last; none where they are switched off.

        `used` is for a model with a large window.
        """
        source = self._home.instructions
        return [] if source is None else [as_dict(file) for file in (await source.read(self._defaults.workspace)).files]

    async def doctor(self, *, rebuild: bool = False, call: bool = False, prove: bool = False, needed: bool = False) -> list[dict[str, Any]]:
        """What works here, what is missing and how to get it. `call`: the models are called once for real. `prove`: in place of that, live checks of what is
        promised, in homes of their own. Raises `UsageError` for `prove` with one of the others.

        `needed`: each check also says whether the agent needs it.
        """
        if prove and (rebuild or call):
            raise UsageError("prove goes with neither rebuild nor call; nothing was done")
        if rebuild:
            await self._home.store.rebuild()
        checks: list[dict[str, Any]]
        if prove:
            checks = await load("doctor.prove")(self._home.loaded)
        else:
            checks = await load("doctor")(self._home, self._given, rebuilt=rebuild, call=call)
            checks += [as_dict(problem.check()) for problem in await self._tool_problems()]
        shown = [check | {"fix": None} if check["ok"] else check for check in checks]
        return shown if needed else [{name: value for name, value in check.items() if name != "needed"} for check in shown]

    async def status(self, *, session: str | None = None) -> dict[str, Any]:
        """How things stand here: what `/status` of the chat tells."""
        shown: dict[str, Any] = await load("status")(self._home, self._defaults).show(session=session)
        return shown


def as_dict(value: Any) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(value, str_keys=True)
    return plain
