"""The verbs about what is allowed. They run nothing, and need neither a turn nor a home that can be written."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec

from ..config import process_environment
from ..plugins import load
from ..ports import VerbCaller
from ..types.risk import Trust
from .capabilities import capabilities_of
from .home import Home
from .option_checks import real_directory, trust_of
from .settings_loading import failed_examples, load_settings
from .toolbox import Toolbox
from .verb_calls import VerbDesk, VerbFunction


class PolicyVerbs:
    """`policy explain`, `rules` and `check` of a home; `workspace` and `trust` count where a question names none."""

    def __init__(self, home: Home, workspace: str, trust: Trust) -> None:
        self._home, self._workspace, self._trust = home, workspace, trust

    def table(self) -> dict[str, VerbFunction]:
        return {"policy.explain": self.explain, "policy.rules": self.rules, "policy.check": self.check}

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
        errors: list[str] = load("policy_file")(file, failed_examples, self._home.loaded.env.get("HOME", ""))
        return {"ok": not errors, "errors": errors}


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
