"""What a client asks an HTTP proxy for: the head of its request, as every reader takes it alike."""

import re
from urllib.parse import urlsplit

import msgspec

_LINE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")
"""Without what another reader could take for the end of a line."""
HOP = ("proxy-authorization", "proxy-connection", "connection", "keep-alive", "host", "upgrade")
"""Headers of one connection, which are not handed on."""


class ProxyRequest(msgspec.Struct, frozen=True):
    """The head of a request to a proxy. `head`: what is sent on, b"" for a tunnel."""

    host: str
    port: int
    head: bytes
    authorization: str
    length: int = 0
    """Bytes of its body."""
    chunked: bool = False
    """Its body comes in pieces that say how long they are."""

    @property
    def shown(self) -> str:
        """`HOST:PORT`."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parsed(head: bytes) -> ProxyRequest:
    """The request of a client. Raises `ValueError` for what a proxy is not asked."""
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    try:
        method, target, version = first.split(" ")
    except ValueError:
        raise ValueError("this is no request") from None
    if not all(_LINE.fullmatch(line) for line in (first, *lines)):
        raise ValueError("its lines hold control characters")
    pairs = [(name.strip().lower(), line) for line in lines for name in [line.partition(":")[0]]]
    authorization = next((line.partition(":")[2].strip() for name, line in pairs if name == "proxy-authorization"), "")
    tunnel = method.upper() == "CONNECT"
    parts = urlsplit(f"//{target}" if tunnel else target)
    if not tunnel and parts.scheme.lower() != "http":
        raise ValueError("a proxy is asked for a complete http address, or for a tunnel")
    port = parts.port if parts.port is not None else 0 if tunnel else 80
    if not parts.hostname or not port or not version.startswith("HTTP/1.") or (tunnel and (parts.path or parts.username is not None)):
        raise ValueError("a proxy is asked for a host and a port")
    if tunnel:
        return ProxyRequest(parts.hostname, port, b"", authorization)
    kept = [line for name, line in pairs if name not in HOP]
    lengths = {line.partition(":")[2].strip() for name, line in pairs if name == "content-length"} or {"0"}
    codings = [line.partition(":")[2].strip().lower() for name, line in pairs if name == "transfer-encoding"]
    chunked = bool(codings)
    length = lengths.pop()
    if lengths or not (length.isascii() and length.isdigit()) or (chunked and (length != "0" or codings != ["chunked"])):
        raise ValueError("how long its body is cannot be known")
    path = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
    place = parts.netloc.rpartition("@")[2]
    text = "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: {place}", *kept, "Connection: close", "", ""])
    return ProxyRequest(parts.hostname, port, text.encode("latin-1"), authorization, int(length), chunked)
