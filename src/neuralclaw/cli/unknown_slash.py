"""The error for a line of the chat that begins with a slash and is no command there."""

from collections.abc import Iterable

from ..channels.command_hints import typed
from ..errors import UsageError
from ..types.suggestions import did_you_mean
from .main import built_in_nouns

_LATER = frozenset("soul personality mode mcp memory plan tasks schedule".split())
"""Commands that are promised and not there yet."""
_ALIKE = 0.75
"""How much a wrong command must be like one that there is, from 0 to 1, for that to be named."""


def no_slash_command(word: str, rest: str, commands: Iterable[str]) -> UsageError:
    """The error for `/word rest`, with what to type instead where that is known."""
    if word in _LATER:
        return UsageError(f"/{word} is not available yet", hint="/help shows what there is")
    if word in built_in_nouns():
        return UsageError(f"/{word} is no command of the chat; nothing was done", hint=typed(f"in a shell: {f'neuralclaw {word} {rest}'.strip()}"))
    return UsageError(f"there is no /{word}{did_you_mean(f'/{word}', [f'/{name}' for name in commands], alike=_ALIKE)}", hint="/help")
