"""The sandbox that the settings ask for; one asked for by name must be able to start, before the first turn."""

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

import anyio.to_thread

from .. import config
from ..config.translate import real
from ..errors import ConfigError
from ..plugins import load
from ..sandbox.container.sockets import engine_socket
from ..sandbox.own_code import trusted_path

KEY = "tools.terminal.sandbox"


def sandbox_of(loaded: config.LoadedSettings, *, making: Iterable[str] = ()) -> Any:
    """The sandbox under these settings; nothing is tried yet. `making`: directories of the agent's own that are made where the one around them is there: what
    is not there cannot be hidden, and a command could make it."""
    env = loaded.env
    for path in making:
        with suppress(OSError):
            os.mkdir(path, 0o700)  # noqa: PTH102
    person = os.path.realpath(env["HOME"]) if os.path.isabs(env.get("HOME", "")) else ""  # noqa: PTH117
    hidden = (*hidden_paths(loaded.home, env), *loaded.hidden)
    terminal = loaded.settings.tools.terminal

    def container() -> Any:
        given = terminal.container
        options = load("sandbox.container_options")(
            image=terminal.docker_image,
            cpus=given.cpus,
            memory_mb=given.memory_mb,
            pids=given.pids,
            tmpfs_mb=given.tmpfs_mb,
            read_only=given.workspace == "ro",
            idle_seconds=given.idle_seconds,
            data_home=loaded.home,
        )
        return load("sandbox.container")(options, env=env, hidden=hidden, home=person)

    writable = tuple(real(path, person) for path in loaded.settings.tools.filesystem.allowed_paths)
    path = trusted_path(env.get("PATH", ""), (*writable, *_current_directory()))
    return load("sandbox")(terminal.sandbox, path_env=path, hidden=hidden, home=person, container=container if engine_socket(env) else None)


def _current_directory() -> tuple[str, ...]:
    """Where commands may write; none where it was deleted."""
    try:
        return (os.getcwd(),)  # noqa: PTH109
    except FileNotFoundError:
        return ()


async def refuse_unconfined(loaded: config.LoadedSettings, sandbox: Callable[[], Any], *, kept: str = "") -> None:
    """Raises `ConfigError`, with the command that mends it, when the sandbox asked for by name cannot start. `auto` and `process` always can.

    `sandbox` gives it, in a thread, and its trial runs once. `kept`: what the error says of what was not done.
    """
    preferred = loaded.settings.tools.terminal.sandbox
    if preferred not in ("container", "bubblewrap", "landlock"):
        return
    trial = await anyio.to_thread.run_sync(lambda: sandbox().problem())
    if trial is not None:
        weaker = "neuralclaw config set tools.terminal.sandbox auto"
        mends = weaker if trial.fix in (None, weaker) else f"{trial.fix}, or: {weaker}"
        text = f"{loaded.origin(KEY)}: {KEY}: {preferred} cannot be used: {trial.text}"
        raise ConfigError(f"{text}; {kept}" if kept else text, hint=mends)


def hidden_paths(home: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """What no program sees into: the agent's own data, and where keys of the person lie."""
    person = env.get("HOME", "")
    secrets = [os.path.join(person, name) for name in (".ssh", ".gnupg", ".aws", ".config/gcloud", ".kube", ".docker", ".netrc")] if person else []  # noqa: PTH118
    return (*config.data_places(home, env), *(os.path.realpath(path) for path in secrets))
