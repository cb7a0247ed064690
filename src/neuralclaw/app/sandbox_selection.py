"""The sandbox that the settings ask for; one asked for by name must be able to start, before the first turn."""

import os
from collections.abc import Callable, Mapping
from typing import Any

import anyio.to_thread

from .. import config
from ..errors import ConfigError
from ..plugins import load

KEY = "tools.terminal.sandbox"


def sandbox_of(loaded: config.LoadedSettings) -> Any:
    """The sandbox under these settings; nothing is tried yet."""
    env = loaded.env
    return load("sandbox")(loaded.settings.tools.terminal.sandbox, path_env=env.get("PATH", ""), hidden=(*hidden_paths(loaded.home, env), *loaded.hidden))


async def refuse_unconfined(loaded: config.LoadedSettings, sandbox: Callable[[], Any], *, kept: str = "") -> None:
    """Raises `ConfigError`, with the command that mends it, when the sandbox asked for by name cannot start. `auto` and `process` always can.

    `sandbox` gives it, in a thread, and its trial runs once. `kept`: what the error says of what was not done.
    """
    preferred = loaded.settings.tools.terminal.sandbox
    if preferred not in ("container", "bubblewrap"):
        return
    trial = await anyio.to_thread.run_sync(lambda: sandbox().problem())
    if trial is not None:
        weaker = "neuralclaw config set tools.terminal.sandbox auto"
        mends = weaker if trial.fix in (None, weaker) else f"{trial.fix}, or: {weaker}"
        text = f"{loaded.origin(KEY)}: {KEY}: {preferred} cannot be used: {trial.text}"
        raise ConfigError(f"{text}; {kept}" if kept else text, hint=mends)


def hidden_paths(home: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """What no program sees into: the data home, and where keys of the person lie."""
    person = env.get("HOME", "")
    secrets = [os.path.join(person, name) for name in (".ssh", ".gnupg", ".aws", ".config/gcloud", ".kube", ".docker", ".netrc")] if person else []  # noqa: PTH118
    return (os.path.realpath(home), *(os.path.realpath(path) for path in secrets))
