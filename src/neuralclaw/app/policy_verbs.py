"""The verbs about what is allowed. They run nothing, and need neither a turn nor a home that can be written."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, Any

import anyio
import msgspec

from ..capability import TurnContext
from ..config import BUILT_IN_TOOLS, process_environment
from ..plugins import load
from ..ports import VerbCaller
from ..types.named_tools import idle_rules
from ..types.options import TurnOptions
from ..types.risk import Trust
from .capabilities import capabilities_of
from .home import Home
from .option_checks import real_directory, trust_of
from .settings_loading import failed_examples, load_settings
from .toolbox import Toolbox
from .verb_calls import VerbDesk, VerbFunction

Count = Annotated[int, msgspec.Meta(ge=1)]
Samples = Annotated[int, msgspec.Meta(ge=0, le=1_000)]


class PolicyVerbs:
    """The verbs of `policy` in a home; `workspace` and `trust` count where a question names none."""

    def __init__(self, home: Home, workspace: str, trust: Trust) -> None:
        self._home, self._workspace, self._trust = home, workspace, trust

    def table(self) -> dict[str, VerbFunction]:
        verbs = (self.explain, self.rules, self.check, self.simulate, self.suggest)
        return {f"policy.{verb.__name__}": verb for verb in verbs}

    async def explain(self, **asked: Any) -> dict[str, Any]:
        """What the gate would decide about a command, address, path or call, and why. Runs nothing."""
        verdict = await load("explain")(self._home, asked, workspace=self._workspace, trust=self._trust)
        told: dict[str, Any] = msgspec.to_builtins(verdict, str_keys=True)
        del told["policy"]  # the one in force now, which the person asks about
        return told

    async def rules(self) -> list[dict[str, Any]]:
        """The rules in force: the owner's, then the built-in ones."""
        shown: list[dict[str, Any]] = load("rules")(self._home.policy)
        return shown

    async def check(self, *, file: str) -> dict[str, Any]:
        """Whether a policy file (a YAML or JSON list of rules, or a whole configuration) can be used. Raises `UsageError` when there is none."""
        found, errors = load("policy_file")(file, failed_examples, self._home.loaded.env.get("HOME", ""))
        tools = await self._home.turn_tools(TurnContext(session="", options=TurnOptions(model="", workspace=self._home.loaded.home)))
        known = BUILT_IN_TOOLS | {name for spec in tools.tools() for name in (spec.name, *spec.aliases)}
        return {"ok": not errors, "errors": errors, "notices": list(idle_rules(found.settings.safety.rules, known)) if found is not None else []}

    async def simulate(
        self, *, file: str, add: bool = False, session: str | None = None, since: str | None = None, limit: Count | None = None, samples: Samples = 5
    ) -> dict[str, Any]:
        """What the policy of a file would decide otherwise about the actions on record: newly allowed, asked, forbidden, with samples. Runs and writes nothing.

        The file stands in place of the rules in force (with `add`: behind them). `session`, `since` and `limit` (the newest ones) choose the actions.
        """
        chosen = load("policy.selection")(self._home, session, since, limit)
        found: dict[str, Any] = await load("policy.simulate")(self._home, file, chosen, add=add, samples=samples)
        return found

    async def suggest(self, *, session: str | None = None, since: str | None = None, limit: Count | None = None, least: Count = 3) -> dict[str, Any]:
        """Narrow rules and grants that would have spared the questions that a person answered with yes, at least `least` times each. Applies nothing."""
        chosen = load("policy.selection")(self._home, session, since, limit)
        found: dict[str, Any] = await load("policy.suggest")(self._home, chosen, least=least)
        return found


@asynccontextmanager
async def policy_desk(
    home: str | None = None, *, workspace: str | None = None, trust: str | None = None, environ: Mapping[str, str] | None = None
) -> AsyncIterator[VerbCaller]:
    """The policy verbs of a home that is opened for reading alone. Where capabilities bring tools, with the desk that their code may want."""
    loaded = load_settings(home, process_environment.environ if environ is None else environ, None)
    if any(one.tools is not None for one in capabilities_of(loaded).bringing("tools")):
        async with load("open.client")(home=home, workspace=workspace, trust=trust, environ=environ, readonly=True, thinks=False) as client:
            yield client.desk
        return
    level = trust_of(trust if trust is not None else loaded.settings.agent.default_trust_level)
    directory = real_directory(workspace)
    opened = await Home.open(loaded, provider=None, tools=Toolbox(), readonly=True)
    try:
        yield VerbDesk(PolicyVerbs(opened, directory, level).table())
    finally:
        with anyio.CancelScope(shield=True):
            await opened.aclose()
