"""The examples of the owner's rules: who judges them is handed in, since settings know nothing of the gate."""

from collections.abc import Callable, Sequence

from ..errors import ConfigError
from .load import LoadedSettings, sentence
from .settings import Settings

ExamplesOf = Callable[[Settings, str], Sequence[tuple[str, str]]]
"""From settings and the person's home directory to the examples that do not hold, each with its key and what to do."""


def no_examples(settings: Settings, person_home: str) -> Sequence[tuple[str, str]]:
    """For those who read settings without a gate."""
    return ()


def failed_examples(loaded: LoadedSettings, examples: ExamplesOf) -> list[str]:
    """The examples that do not hold, with file and line. What judges them is asked only where a rule has any."""
    if not any(rule.match or rule.not_match for rule in loaded.settings.safety.rules):
        return []
    return [f"{loaded.place(key)}: {key}: {text}" for key, text in examples(loaded.settings, loaded.env.get("HOME", ""))]


def with_checked_examples(loaded: LoadedSettings, examples: ExamplesOf) -> LoadedSettings:
    """The settings, where every example of their rules holds. Raises `ConfigError`."""
    if failed := failed_examples(loaded, examples):
        raise ConfigError(sentence(failed))
    return loaded
