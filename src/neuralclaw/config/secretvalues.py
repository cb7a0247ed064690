"""The values of a configuration that must never be shown, by the same rules by which `config show` masks them."""

import os
from collections.abc import Iterator

from .describe import is_secret, names_secret
from .load import LoadedSettings, flat
from .sections import written_values


def secret_values(loaded: LoadedSettings) -> list[tuple[str, str]]:
    """(name, value) of every secret: variables by their name, settings by their key, and the password in an address."""
    found = [(name, value) for name, value in loaded.env.items() if names_secret(name) and not _is_path(value)]
    others = (one for name, node in loaded.others.items() for one in written_values(node, name, loaded.env))
    for key, value in (*flat(loaded.settings, ""), *others):
        if is_secret(key):
            found += [(key, text) for text in _texts(value)]
        else:
            found += [(key, word) for text in _texts(value) if (word := _password(text))]
    return found


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)


def _is_path(value: str) -> bool:
    """Whether a variable such as `SSH_KEY` names a file instead of holding the key: to take paths out of every text would make it unreadable."""
    return value.startswith(("/", "~/")) and os.path.lexists(os.path.dirname(value))  # noqa: PTH120


def _password(text: str) -> str:
    """The password in `scheme://user:password@host`, or ""."""
    _, there, rest = text.partition("://")
    authority = rest.partition("/")[0]
    return authority.rpartition("@")[0].partition(":")[2] if there and "@" in authority else ""
