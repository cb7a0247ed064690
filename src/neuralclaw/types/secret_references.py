"""How a call names a stored secret: `secret:NAME` in the place of the value, which the model never has."""

import re

import msgspec

MARK = "secret:"
_REFERENCE = re.compile(r"(?P<before>(?:[A-Za-z][A-Za-z0-9-]{0,31} )?)secret:(?P<name>[A-Za-z_][A-Za-z0-9_.-]{0,127})")


class SecretReference(msgspec.Struct, frozen=True):
    """What is put in place of `secret:NAME`, or of `WORD secret:NAME` as in `Bearer secret:NAME`. `before`: the word with its space, or ""."""

    name: str
    before: str = ""


def secret_reference(text: str) -> SecretReference | None:
    """The reference that the whole of a text is; None where it is none."""
    found = _REFERENCE.fullmatch(text)
    return None if found is None else SecretReference(found["name"], found["before"])
