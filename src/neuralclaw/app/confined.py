"""The sandbox that the settings ask for by name must be able to start, before the first turn."""

import anyio.to_thread

from ..errors import ConfigError
from .parts import Parts

KEY = "tools.terminal.sandbox"


async def refuse_unconfined(parts: Parts) -> None:
    """Raises `ConfigError`, with the command that mends it, when the sandbox asked for by name cannot start. `auto` and `process` always can."""
    preferred = parts.loaded.settings.tools.terminal.sandbox
    if preferred not in ("container", "bubblewrap"):
        return
    trial = await anyio.to_thread.run_sync(lambda: parts.sandbox.real.problem())
    if trial is not None:
        weaker = "neuralclaw config set tools.terminal.sandbox auto"
        mends = weaker if trial.fix in (None, weaker) else f"{trial.fix}, or: {weaker}"
        text = f"{parts.loaded.origin(KEY)}: {KEY}: {preferred} cannot be used: {trial.text}; nothing was run"
        raise ConfigError(text, hint=mends)
