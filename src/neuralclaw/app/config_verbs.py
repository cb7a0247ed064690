"""The verbs about the configuration. They read it anew each time, so that they work where no agent can be opened because of it."""

from collections.abc import Mapping
from typing import Any

import anyio.to_thread
import msgspec

from .. import config
from ..agent.redaction import redacted
from ..errors import UsageError
from ..plugins import load
from ..secrets import Redactor
from ..types.hooks import idle_names
from ..types.named_tools import idle_rules
from .capabilities import Capabilities, capabilities_of_home
from .sandbox_selection import refuse_unconfined, sandbox_of
from .secret_store.stored import stored_secrets
from .settings_loading import effective_settings, failed_examples


class ConfigVerbs:
    """What can be asked of the configuration of one home, and the setting of a key."""

    def __init__(self, asked: config.SettingsRequest) -> None:
        self._asked = asked

    def loaded(self) -> config.LoadedSettings:
        """The settings in effect now. Raises `ConfigError`."""
        return effective_settings(self._asked)

    async def show(self) -> dict[str, Any]:
        """Every key with its effective value, secrets masked, also one that stands where none belongs, and where that comes from."""
        loaded = self.loaded()
        shown = {value.key: {"value": value.value, "origin": value.origin} for value in loaded.values}
        return redacted(shown, Redactor(config.secret_values(loaded)))

    async def check(self) -> dict[str, Any]:
        """Whether a turn can begin under this configuration. Raises `ConfigError` that names every problem with file, line and key."""
        loaded = self.loaded()
        loaded.check_sections()
        await refuse_unconfined(loaded, lambda: sandbox_of(loaded))
        return {"ok": True, "file": loaded.file, "notices": [*loaded.notices, *await _of_hooks(loaded), *_of_rules(loaded)]}

    async def path(self) -> dict[str, Any]:
        """The file that is read, or would be; works for one that cannot be read too."""
        home, _ = config.data_directories(self._asked.home, self._asked.environ)
        file, exists = config.target(self._asked.home, self._asked.environ)
        return {"file": file, "exists": exists, "home": home}

    async def schema(self) -> dict[str, Any]:
        """The JSON Schema of the configuration."""
        return config.schema(config.with_sections(self._sections()))

    async def example(self) -> dict[str, Any]:
        """A `.env` with every variable that is read."""
        return {"text": load("config.example")(load("config.services")(load("provider.known")), self._sections())}

    def _sections(self) -> Mapping[str, type[msgspec.Struct]]:
        """The sections of the capabilities that are enabled, also where the configuration has problems elsewhere."""
        return capabilities_of_home(self._asked).sections

    async def set(self, *, key: str, value: Any) -> dict[str, Any]:
        """Set a key in the configuration file; text is read as YAML. It holds from the next start. Raises `ConfigError`, with nothing changed."""
        if not isinstance(key, str):
            raise UsageError(f"key cannot be {key!r:.80}; nothing was changed", hint="key is a text such as llm.temperature")
        done = await anyio.to_thread.run_sync(
            lambda: load("config.set")(
                self._asked, key, value, load("config.checked")(lambda: load("provider.known"), Capabilities.load, stored_secrets, failed_examples)
            )
        )
        part = key.partition(".")[0]
        told = await _of_hooks(self.loaded()) if part == "hooks" else _of_rules(self.loaded()) if part == "safety" else []
        return {**done._asdict(), "notices": [*done.notices, *told]}


def _of_rules(loaded: config.LoadedSettings) -> list[str]:
    """Rules for tools that are not built in. Those of capabilities are known where a turn can begin."""
    return list(idle_rules(loaded.settings.safety.rules, config.BUILT_IN_TOOLS)) if not loaded.settings.capabilities.enabled else []


async def _of_hooks(loaded: config.LoadedSettings) -> list[str]:
    """What the person should know of the hooks: those that would block as they stand, and those that would run for no call."""
    hooks = loaded.settings.hooks
    if not hooks:
        return []
    found: list[str] = await anyio.to_thread.run_sync(load("hooks.notices"), hooks, loaded.env.get("HOME", ""))
    return [*found, *idle_names(hooks, config.BUILT_IN_TOOLS)]
