"""Web addresses: which may be fetched, and which network addresses are never connected to (row M6)."""

from functools import cache
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import ipaddress

REFUSED = (
    ("0.0.0.0/8", "this host"),
    ("10.0.0.0/8", "a private network"),
    ("100.64.0.0/10", "a carrier's private network"),
    ("127.0.0.0/8", "this machine"),
    ("169.254.0.0/16", "a link-local or cloud metadata address"),
    ("172.16.0.0/12", "a private network"),
    ("192.0.0.0/24", "a reserved network"),
    ("192.0.2.0/24", "a documentation network"),
    ("192.88.99.0/24", "a 6to4 relay"),
    ("192.168.0.0/16", "a private network"),
    ("198.18.0.0/15", "a benchmark network"),
    ("198.51.100.0/24", "a documentation network"),
    ("203.0.113.0/24", "a documentation network"),
    ("224.0.0.0/4", "a multicast address"),
    ("240.0.0.0/4", "a reserved network"),
    ("::/96", "an embedded IPv4 address"),
    ("::ffff:0:0/96", "a mapped IPv4 address"),
    ("64:ff9b::/96", "a translated IPv4 address"),
    ("64:ff9b:1::/48", "a translated IPv4 address"),
    ("100::/64", "a discard-only network"),
    ("2001::/23", "a special-purpose network (Teredo and others)"),
    ("2001:db8::/32", "a documentation network"),
    ("2002::/16", "a 6to4 address"),
    ("3fff::/20", "a documentation network"),
    ("5f00::/16", "a segment-routing network"),
    ("fc00::/7", "a private network"),
    ("fe80::/10", "a link-local address"),
    ("fec0::/10", "a site-local address"),
    ("ff00::/8", "a multicast address"),
)
"""IANA special-purpose address registries, plus the ranges row M6 names."""


@cache
def _networks() -> "tuple[tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, str], ...]":
    import ipaddress

    return tuple((ipaddress.ip_network(network), what) for network, what in REFUSED)


LONGEST_HOST = 255


class Url(msgspec.Struct, frozen=True):
    """A parsed address. `problem` says why it is refused without a look-up; `literal` is the host when it is a network address itself."""

    text: str
    host: str = ""
    port: int | None = None
    literal: str | None = None
    problem: str | None = None


def parse(text: str) -> Url:
    """The parts of a web address that the gate judges. Never raises."""
    if any(ord(c) <= 32 or ord(c) == 127 for c in text) or "\\" in text:
        return Url(text, problem="it holds spaces, control characters or backslashes")
    from urllib.parse import urlsplit  # costs start-up time, and few calls name an address

    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return Url(text, problem="it is not a valid address")
    if parts.scheme.lower() not in ("http", "https"):
        return Url(text, host, port, problem="only http and https are fetched")
    if len(host) > LONGEST_HOST:
        return Url(text, problem="its host is longer than a name can be")
    if not host or "%" in host:
        return Url(text, host, port, problem="it names no host")
    if parts.username is not None or parts.password is not None:
        return Url(text, host, port, problem="it carries a user name or password")
    return _named(text, host.rstrip(".").lower(), port)


def _named(text: str, host: str, port: int | None) -> Url:
    import ipaddress  # costs start-up time, and few calls name an address

    try:
        return Url(text, host, port, literal=str(ipaddress.ip_address(host)))
    except ValueError:
        pass
    if host == "localhost" or host.endswith((".localhost", ".local", ".internal")):
        return Url(text, host, port, problem=f"{host} is a name of this machine or its own network")
    last = host.rsplit(".", 1)[-1]
    if last.isdigit() or last.startswith("0x") or ":" in host:
        return Url(text, host, port, problem=f"{host} is an unusual spelling of a network address")
    try:
        host.encode("idna")
    except UnicodeError:
        return Url(text, host, port, problem=f"{host} is not a valid host name")
    return Url(text, host, port)


def refusal(address: str) -> str | None:
    """What kind of place a network address is that must not be connected to, or None when it is a public one."""
    import ipaddress

    try:
        parsed = ipaddress.ip_address(address.split("%", 1)[0])
    except ValueError:
        return "no network address"
    if "%" in address:
        return "a link-local address"
    for network, what in _networks():
        if parsed.version == network.version and parsed in network:
            return what
    return None if parsed.is_global else "not a public address"
