"""The settings that hold, checked as a whole: they fit, each service is known, and what has no effect yet is said."""

from collections.abc import Callable, Collection, Mapping

from ..errors import ConfigError
from .load import LoadedSettings, SettingsRequest, load, places, sentence
from .semantics import check
from .services import service_problems
from .setting_support import unkept
from .settings import Settings


def effective(asked: SettingsRequest, known: Callable[[], Collection[str]]) -> LoadedSettings:
    """A whole `Settings` value, or what files and environment say with `settings` on top.

    `known` names the services that are built in; it is asked only where the settings name one. Raises `ConfigError`.
    """
    home, environ, settings = asked
    loaded = _given(settings, home, environ) if isinstance(settings, Settings) else load(home=home, environ=environ, overrides=settings)
    if problems := service_problems(loaded, known):
        raise ConfigError(sentence(problems))
    loaded.asked = asked
    if text := unkept(loaded):
        loaded.notices = (*loaded.notices, text)
    return loaded


def _given(settings: Settings, home: str | None, environ: Mapping[str, str]) -> LoadedSettings:
    """A value that a program made itself: its parts fit their types, what needs more than one of them is checked here."""
    problems = check(settings, {}, {})
    if problems:
        raise ConfigError(sentence(problems))
    folder, _ = places(home, environ)
    return LoadedSettings(settings, folder, {name: value for name, value in environ.items() if value})
