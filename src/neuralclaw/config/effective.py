"""The settings that hold, checked as a whole: they fit, each service is known, and what has no effect yet is said."""

from collections.abc import Callable, Collection

from ..errors import ConfigError
from .directories import data_directories
from .document import LayerSource, Node, node_of
from .load import LoadedSettings, SettingsRequest, StoredOf, load, nothing_stored, sentence
from .sections import ExtensionsOf, TreeReading, no_extensions
from .semantics import check
from .services import service_problems
from .setting_support import unkept
from .settings import Settings


def effective(
    asked: SettingsRequest, known: Callable[[], Collection[str]], extensions: ExtensionsOf = no_extensions, stored: StoredOf = nothing_stored
) -> LoadedSettings:
    """A whole `Settings` value, or what files and environment say with `settings` on top.

    `extensions` loads the capabilities that are enabled, `stored` opens the secret store. `known` names the services
    that are built in; it is asked only where the settings name one. Raises `ConfigError`.
    """
    home, environ, settings = asked
    loaded = (
        _given(settings, asked, extensions, stored)
        if isinstance(settings, Settings)
        else load(home=home, environ=environ, overrides=settings, extensions=extensions, stored=stored)
    )
    if problems := service_problems(loaded, known):
        raise ConfigError(sentence(problems))
    loaded.asked = asked
    if text := unkept(loaded):
        loaded.notices = (*loaded.notices, text)
    return loaded


def _given(settings: Settings, asked: SettingsRequest, extensions: ExtensionsOf, stored: StoredOf) -> LoadedSettings:
    """A value that a program made itself: its parts fit their types, what needs more than one of them is checked here."""
    problems = check(settings, {}, {}, home=asked.environ.get("HOME", ""))
    if problems:
        raise ConfigError(sentence(problems))
    folder, _ = data_directories(asked.home, asked.environ)
    environ = {name: value for name, value in asked.environ.items() if value}
    kept = stored(folder, environ)
    loaded = LoadedSettings(settings, folder, {**kept, **environ})
    loaded.stored = kept
    tree = Node({"capabilities": node_of({"enabled": settings.capabilities.enabled}, LayerSource("settings", "settings"))}, LayerSource("settings", "settings"))
    read = TreeReading(tree, loaded.env, extensions, [])
    loaded.notices, loaded.extensions, loaded.sections = tuple(read.notices), read.extensions, read.sections
    return loaded
