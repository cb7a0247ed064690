"""Network addresses: which are never connected to, and why (row M6). Judged as numbers, however they were written."""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ipaddress

THIS_MACHINE, PRIVATE, CARRIER = "this machine", "a private network", "a carrier's private network"
RELEASABLE = frozenset({THIS_MACHINE, PRIVATE, CARRIER})
"""Kinds of places that a rule of the owner may open for one host. What serves credentials of the machine is not among them."""
METADATA = "a cloud metadata address"

REFUSED = (
    ("100.100.100.200/32", METADATA),  # Alibaba Cloud
    ("168.63.129.16/32", METADATA),  # the wire server of Azure: a public address that is not what it looks like
    ("169.254.0.0/16", "a link-local or cloud metadata address"),
    ("192.0.0.192/32", METADATA),  # Oracle Cloud
    ("fd00:ec2::/32", METADATA),  # Amazon
    ("fd20:ce::/32", METADATA),  # Google
    ("fd00:c1::a9fe:a9fe/128", METADATA),  # Oracle Cloud
    ("fd00:42::42/128", METADATA),  # Scaleway
    ("0.0.0.0/8", "this host"),
    ("10.0.0.0/8", PRIVATE),
    ("100.64.0.0/10", CARRIER),
    ("127.0.0.0/8", THIS_MACHINE),
    ("172.16.0.0/12", PRIVATE),
    ("192.0.0.0/24", "a reserved network"),
    ("192.0.2.0/24", "a documentation network"),
    ("192.88.99.0/24", "a 6to4 relay"),
    ("192.168.0.0/16", PRIVATE),
    ("198.18.0.0/15", "a benchmark network"),
    ("198.51.100.0/24", "a documentation network"),
    ("203.0.113.0/24", "a documentation network"),
    ("224.0.0.0/4", "a multicast address"),
    ("240.0.0.0/4", "a reserved network"),
    ("::1/128", THIS_MACHINE),
    ("::/96", "an embedded IPv4 address"),
    ("::ffff:0:0/96", "a mapped IPv4 address"),
    ("::ffff:0:0:0/96", "a translated IPv4 address (SIIT)"),
    ("64:ff9b::/96", "a translated IPv4 address"),
    ("64:ff9b:1::/48", "a translated IPv4 address"),
    ("100::/64", "a discard-only network"),
    ("100:0:0:1::/64", "a network that discards everything"),
    ("2001::/23", "a special-purpose network (Teredo and others)"),
    ("2001:db8::/32", "a documentation network"),
    ("2002::/16", "a 6to4 address"),
    ("3fff::/20", "a documentation network"),
    ("5f00::/16", "a segment-routing network"),
    ("fc00::/7", PRIVATE),
    ("fe80::/10", "a link-local address"),
    ("fec0::/10", "a site-local address"),
    ("ff00::/8", "a multicast address"),
)
"""IANA special-purpose address registries, the ranges row M6 names, and where clouds hand out credentials. The first that fits is named."""

GLOBAL_V6 = "2000::/3"
"""All that is given out as public IPv6 addresses (RFC 4291); the rest is reserved."""
WELL_KNOWN_NAT64 = "64:ff9b::/96"
_NAT64_MARKS = (0xC00000AA, 0xC00000AB)  # 192.0.0.170 and .171, the IPv4 addresses of ipv4only.arpa
_EMBEDDED_AT = {96: (12, 13, 14, 15), 64: (9, 10, 11, 12), 56: (7, 9, 10, 11), 48: (6, 7, 9, 10), 40: (5, 6, 7, 9), 32: (4, 5, 6, 7)}
"""Length of a translation prefix -> the bytes that hold the IPv4 address (RFC 6052)."""
_ISATAP = (0x00005EFE, 0x02005EFE)


@cache
def _networks() -> "tuple[tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, str], ...]":
    import ipaddress

    return tuple((ipaddress.ip_network(network), what) for network, what in REFUSED)


def refusal(address: str, translated: Sequence[str] = ()) -> str | None:
    """What kind of place a network address is that must not be connected to, or None when it is a public one.

    `translated`: prefixes with which this network translates IPv4 addresses.
    """
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
    if parsed.version == 4:
        return None if parsed.is_global else "not a public address"
    if parsed not in ipaddress.ip_network(GLOBAL_V6) or not parsed.is_global:
        return "not a public address"
    if (int(parsed) >> 32) & 0xFFFFFFFF in _ISATAP:
        return "an embedded IPv4 address (ISATAP)"
    if any(parsed in ipaddress.ip_network(prefix) for prefix in translated):
        return "a translated IPv4 address"
    return None


def translation_of(address: str, found: Sequence[str], translated: Sequence[str] = ()) -> bool:
    """Whether an IPv6 address is what a network's translator made of a public IPv4 address of the same answer (DNS64): both lead to the same place."""
    import ipaddress

    try:
        parsed = ipaddress.IPv6Address(address)
    except ValueError:
        return False
    for prefix in (WELL_KNOWN_NAT64, *translated):
        network = ipaddress.IPv6Network(prefix)
        if parsed in network:
            meant = str(_embedded(parsed, network.prefixlen))
            return meant in found and refusal(meant) is None
    return False


def translation_prefixes(addresses: Sequence[str]) -> tuple[str, ...]:
    """The prefixes with which a network translates IPv4 addresses, but the well-known one, by its addresses of `ipv4only.arpa` (RFC 7050)."""
    import ipaddress

    found: dict[str, None] = {}
    for address in addresses:
        try:
            parsed = ipaddress.IPv6Address(address)
        except ValueError:
            continue
        length = next((size for size in _EMBEDDED_AT if int(_embedded(parsed, size)) in _NAT64_MARKS), None)
        if length is not None:
            found[str(ipaddress.IPv6Network((int(parsed) >> (128 - length) << (128 - length), length)))] = None
    return tuple(prefix for prefix in found if prefix != WELL_KNOWN_NAT64)


def _embedded(address: "ipaddress.IPv6Address", length: int) -> "ipaddress.IPv4Address":
    import ipaddress

    return ipaddress.IPv4Address(bytes(address.packed[place] for place in _EMBEDDED_AT[length]))
