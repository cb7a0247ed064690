"""How things stand for whoever sits here: what `/status` of the chat and its first line tell."""

from typing import Any

import anyio.to_thread

from .. import lookups
from ..errors import NeuralClawError, SessionNotFound
from ..types.options import TurnOptions
from .home import Home

_NO_SANDBOX = "Commands run without confinement here: they can read all your files and use the network."


class Status:
    """The verbs behind it. `defaults`: what turns run under unless they say otherwise."""

    def __init__(self, home: Home, defaults: TurnOptions) -> None:
        self._home, self._defaults = home, defaults

    async def show(self, *, session: str | None = None) -> dict[str, Any]:
        """The session's state and turns (`state` null: it has none yet), what its next turn runs under, and what waits in the home."""
        try:
            row = await lookups.find_session(self._home.store, session) if session else None
        except SessionNotFound:
            row = None
        rows = await self._home.store.sessions(unfinished=True)
        return {
            "session": row.session if row else session,
            "title": row.title if row else None,
            "state": row.state if row else None,
            "turns": row.turns if row else 0,
            **self.place(),
            **await self.sandbox(),
            "instructions": await self.instructions(),
            "unfinished": sum(1 for one in rows if one.state in ("unfinished", "set_aside") and (row is None or one.session != row.session)),
        }

    async def instructions(self) -> list[str]:
        """The `AGENTS.md` files that a turn here begins with, the nearest last."""
        source = self._home.instructions
        return [] if source is None else [file.path for file in (await source.read(self._defaults.workspace)).files if file.used]

    def place(self) -> dict[str, Any]:
        """Where it works, and how freely."""
        workspace = self._defaults.workspace
        writable = workspace not in self._home.policy.protected_paths
        return {"workspace": workspace, "writable": writable, "trust": str(self._defaults.trust), "approvals": self._defaults.approvals}

    async def sandbox(self) -> dict[str, Any]:
        """What confines commands: `sandbox` null where it cannot start; `warning` "" where they are confined. Looks the first time, in a worker thread."""
        try:
            name, warning = await anyio.to_thread.run_sync(self._confinement)
        except NeuralClawError as error:
            name, warning = None, ". To fix it: ".join(filter(None, (error.text.removesuffix("."), error.hint)))
        return {"sandbox": name, "warning": warning}

    def _confinement(self) -> tuple[str, str]:
        name = str(self._home.sandbox.name)
        if name != "process":
            return name, ""
        if self._home.loaded.settings.tools.terminal.sandbox == "process":
            return name, f"{_NO_SANDBOX} tools.terminal.sandbox is process: auto confines them where bubblewrap or Landlock works."
        trials = {one.check: one for one in self._home.sandbox.real.trials()}
        bubblewrap, landlock = trials["sandbox.bubblewrap"], trials["sandbox.landlock"]
        why = f"Bubblewrap or Landlock would confine them, but {bubblewrap.text}, and {landlock.text}."
        return name, " ".join(filter(None, (_NO_SANDBOX, why, _mending(bubblewrap.fix))))


def _mending(fix: str | None) -> str:
    """What would confine commands, as a sentence: a fix is a command, or a sentence already."""
    return f"To confine them: {fix}" if fix and not fix[0].isupper() else fix or ""
