"""The values of a configuration that must never be shown, by the same rules by which `config show` masks them."""

import os
import re
from collections.abc import Iterator

from ..types.shown_addresses import address_secrets
from .describe import is_secret, names_secret
from .load import LoadedSettings, flat
from .sections import written_values

_ADDRESSES = ("_URL", "_URI", "_HOST", "_ENDPOINT", "_PROXY", "_DSN")
"""How variables end that hold an address."""
_STRONG = ("TOKEN", "SECRET", "PASSWORD", "PASSPHRASE", "PASSWD", "PWD", "SIG", "SIGNATURE", *(f"{word}{by}KEY" for word in (
    "API", "SECRET", "ACCESS", "PRIVATE", "AUTH", "APP", "MASTER", "ENCRYPTION", "SIGNING", "SESSION", "LICENSE") for by in ("", "_", "-")))  # fmt: skip
"""How names end whose value is a secret also where it is made of words."""
_WEAK = ("KEY", "PASS", "AUTH", "CODE", "CREDENTIAL", "CREDENTIALS", "SAS", "JWT")
"""The same, but for words: `SORT_KEY=created_at`."""
_WORDS = re.compile("[A-Za-z][a-z]{2,15}(?:[-_. ][A-Za-z]?[a-z]{1,15}){0,2}|[A-Z]{3,16}(?:[-_][A-Z]{2,16}){0,2}")
"""At most three words of letters."""
_PARTS = "(?:[A-Z]?[a-z]{2,}+|[A-Z]{2,}+)++"
_NAMES = re.compile(f"(?:{_PARTS}|[0-9]{{1,4}})[0-9]{{0,2}}(?:[^A-Za-z0-9]+(?:{_PARTS}|[A-Za-z]|[0-9]{{1,4}})[0-9]{{0,2}})*")
"""Words and numbers, as values of settings are: `utf-8-sig`, `SCRAM-SHA-256`, `Cluster0`."""
_MIXED = re.compile("(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z])|(?=.*[A-Za-z])(?:.*[0-9]){3}|(?=.*[a-z])(?=.*[A-Z]).{16}", re.DOTALL)
"""As chance mixes letters and digits."""


def _tells(name: str, value: str) -> bool:
    """Whether the value of a variable, or of a part of an address's query, is secret by its name or by how it looks: what is none would be taken out of every
    text that has the word."""
    name = name.upper()
    if name.endswith(_STRONG):
        return True
    if name.endswith(_WEAK):
        return not _WORDS.fullmatch(value)
    return not _is_path(value) and not _NAMES.fullmatch(value) and _MIXED.match(value) is not None


def _address_secrets(address: str) -> list[str]:
    """What is looked for of an address: its password, and of its query and fragment what tells."""
    return address_secrets(address, _tells)


def secret_values(loaded: LoadedSettings) -> list[tuple[str, str]]:
    """(name, value) of every secret: stored ones, variables by their name, settings by their key, and what is secret in an address."""
    found = [*loaded.stored.items(), *((name, word) for name, value in loaded.stored.items() for word in _address_secrets(value))]
    found += [(name, value) for name, value in loaded.env.items() if names_secret(name) and _tells(name, value) and not _is_path(value)]
    found += [(name, word) for name, value in loaded.env.items() if name.upper().endswith(_ADDRESSES) for word in _address_secrets(value)]
    others = (one for name, node in loaded.others.items() for one in written_values(node, name, loaded.env))
    for key, value in (*flat(loaded.settings, ""), *others):
        if is_secret(key):
            found += [(key, text) for text in _texts(value)]
        else:
            found += [(key, word) for text in _texts(value) for word in _address_secrets(text)]
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
