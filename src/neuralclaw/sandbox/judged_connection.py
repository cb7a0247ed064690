"""Connections to judged network addresses alone: the name stands in the Host header and in the certificate, and is not looked up again."""

import errno
import ipaddress
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl

    import aiohttp


def judged_connector(host: str, addresses: Sequence[str], tls: "ssl.SSLContext | None") -> "aiohttp.TCPConnector":
    """A connector for one request to `host` at these addresses, tried in their order. Nothing is kept open behind it.

    There are two locks: the resolver knows these addresses alone, and no socket is made for another one, wherever it may come from.
    """
    import aiohttp  # 220 ms

    judged = frozenset(ipaddress.ip_address(address) for address in addresses)

    def open_socket(info: Any) -> socket.socket:
        family, kind, protocol, _, place = info
        if ipaddress.ip_address(place[0]) not in judged:
            raise PermissionError(errno.EACCES, f"{place[0]} is not an address that was judged for {host}")
        return socket.socket(family=family, type=kind, proto=protocol)

    resolver: Any = _GivenAddresses(host, addresses)
    return aiohttp.TCPConnector(resolver=resolver, use_dns_cache=False, force_close=True, ssl=tls or True, socket_factory=open_socket)


class _GivenAddresses:
    """aiohttp's `AbstractResolver` with one answer."""

    def __init__(self, host: str, addresses: Sequence[str]) -> None:
        self._host, self._addresses = host, addresses

    async def resolve(self, host: str, port: int = 0, family: int = socket.AF_UNSPEC) -> list[dict[str, Any]]:
        if host != self._host:
            raise PermissionError(errno.EACCES, f"{host} was not judged")
        return [
            {
                "hostname": host,
                "host": address,
                "port": port,
                "family": socket.AF_INET6 if ":" in address else socket.AF_INET,
                "proto": socket.IPPROTO_TCP,
                "flags": socket.AI_NUMERICHOST,
            }
            for address in self._addresses
        ]

    async def close(self) -> None:
        """Nothing is open."""
