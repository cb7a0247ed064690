"""Addresses as they may be shown, and what in them is secret: name and password, the query, and what stands behind `#`."""

from collections.abc import Callable
from typing import NamedTuple

SET = "[set]"
"""What stands in place of what is not shown."""


class AddressParts(NamedTuple):
    """`scheme://who@place?query#fragment`; `place` is host, port and path. Each is "" where it is not there."""

    scheme: str
    who: str
    place: str
    query: str
    fragment: str


def address_parts(address: str) -> AddressParts | None:
    """The parts of an address with a scheme; None for any other text."""
    scheme, dots, rest = address.partition("://")
    if not dots:
        return None
    rest, _, fragment = rest.partition("#")
    rest, _, query = rest.partition("?")
    authority, slash, path = rest.partition("/")
    who, _, host = authority.rpartition("@")
    return AddressParts(scheme, who, f"{host}{slash}{path}", query, fragment)


def shown_address(address: str, more: str = "") -> str:
    """The address with `[set]` in place of name, password, query and fragment; any other text as it is. `more` is put behind the path."""
    found = address_parts(address)
    if found is None:
        return f"{address}{more}"
    who = f"{SET}@" if found.who else ""
    return f"{found.scheme}://{who}{found.place}{more}{f'?{SET}' if found.query else ''}{f'#{SET}' if found.fragment else ''}"


def address_secrets(address: str, tells: Callable[[str, str], bool] = lambda name, value: True) -> list[str]:
    """What must not be told of an address: its password, the values of its query, its fragment; as written, and without percent signs. `tells`: whether a
    name and its value are secret; the name is "" where there is none, and `password` for that of the address."""
    found = address_parts(address)
    if found is None:
        return []
    values = [("password", found.who.partition(":")[2]), ("", found.fragment)]
    for pair in found.query.replace(";", "&").split("&"):
        name, is_pair, value = pair.partition("=")
        values.append((name, value) if is_pair else ("", name))
    kept = [value for name, value in values if value and not _is_plain(value) and tells(name, value)]
    if not kept:
        return []
    from urllib.parse import unquote_plus  # costs start-up time, and few addresses come here

    return list(dict.fromkeys(text for value in kept for text in (value, unquote_plus(value))))


def _is_plain(value: str) -> bool:
    """Whether it is a number, a date or a version, such as `2024-10-21-preview`: to take these out of every text would make it unreadable."""
    return not value.removesuffix("-preview").strip("0123456789.-v")


def without_address(text: str, address: str) -> str:
    """What others say of an address, without what is secret in it, from four characters on: fewer are ordinary text."""
    if address:
        text = text.replace(address, shown_address(address))
    for secret in address_secrets(address):
        if len(secret) >= 4:
            text = text.replace(secret, SET)
    return text
