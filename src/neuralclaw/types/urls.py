"""Web addresses as text: their parts, and the one form in which they are judged and requested. Nothing is looked up."""

import re
from functools import cache

import msgspec

LONGEST_URL = 8192
LONGEST_HOST = 253
"""Characters of a name; what stands between two dots has at most 63 (RFC 1035)."""
PORTS = {"http": 80, "https": 443}
BAD_PORTS = frozenset(
    int(port)
    for port in (
        "1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 135 137 139 143 161 179 389 427 465"
        " 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 995 1719 1720 1723 2049 3659 4045 4190 5060 5061 6000 6566"
        " 6665 6666 6667 6668 6669 6679 6697 10080"
    ).split()
)
"""Ports of other protocols, to which a request could be an order: https://fetch.spec.whatwg.org/#port-blocking."""
OWN_NAMES = frozenset("localhost localhost6 ip6-localhost ip6-loopback broadcasthost".split())
OWN_ENDINGS = (".localhost", ".localdomain", ".localdomain6", ".local", ".internal", ".home.arpa")
"""Names of this machine or of its own network: RFC 6761, 6762 and 8375, and what hosts files and cloud machines use."""

_SCHEME = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*):(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_LABELS = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_KEPT = "!#$%&'()*+,/:;=?@[]^_|~-."
"""Characters of a path and a query that are sent as they are; `%` too, as what is encoded stays so."""

NO_HOST, INVALID, NO_ADDRESS = "it names no host", "it is not a valid address", "its brackets hold no network address"
NO_PORT, PORT_0 = "its port is no number from 1 to 65535", "nothing can listen on port 0"
NO_PLACE, NO_HOST_ALONE = "it is not HOST:PORT", "it is not a host name or a network address alone"
_SLIPS = frozenset({NO_HOST, INVALID, NO_ADDRESS, NO_PORT, PORT_0})


class Url(msgspec.Struct, frozen=True):
    """A parsed address. `problem` says why it is refused without a look-up; `literal` is the host when it is a network address itself.

    `host` is in small ASCII letters, without a dot at its end; `own` says that it names this machine or its network; `target` is path and query as they
    are sent.
    """

    text: str
    host: str = ""
    port: int | None = None
    literal: str | None = None
    problem: str | None = None
    scheme: str = ""
    own: bool = False
    target: str = "/"
    unfit: bool = False
    """The problem is a slip in the text; nothing was refused."""

    @property
    def place(self) -> str:
        """`host:port`, as an envelope names it."""
        return f"{self._bracketed}:{self.port or PORTS[self.scheme]}"

    @property
    def canonical(self) -> str:
        """The address as it is requested: without a fragment, and without a port that is the scheme's own."""
        port = "" if self.port in (None, PORTS[self.scheme]) else f":{self.port}"
        return f"{self.scheme}://{self._bracketed}{port}{self.target}"

    @property
    def _bracketed(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


def parse(text: str) -> Url:
    """The parts of a web address that the gate judges. Never raises."""
    from urllib.parse import quote  # costs start-up time, and few calls name an address

    if any(ord(c) <= 32 or ord(c) == 127 for c in text) or "\\" in text:
        return Url(text, problem="it holds spaces, control characters or backslashes", unfit=text.isprintable() and "\\" not in text)
    if len(text) > LONGEST_URL:
        return Url(text, problem=f"it is longer than {LONGEST_URL:,} characters", unfit=True)
    found = _SCHEME.match(text)
    if found is None:
        return Url(text, problem="it is not a complete address: it begins with no http:// or https://", unfit=True)
    scheme, rest = found["scheme"].lower(), found["rest"]
    if scheme not in PORTS:
        return Url(text, problem="only http and https are fetched")
    if not rest.startswith("//"):
        return Url(text, problem=NO_HOST, unfit=True)
    authority = re.split(r"[/?#]", rest[2:], maxsplit=1)[0]
    path, _, query = rest[2 + len(authority) :].partition("#")[0].partition("?")
    target = f"{path}?{query}" if query else path
    target = quote(target if target.startswith("/") else f"/{target}", safe=_KEPT, errors="surrogatepass")
    if "@" in authority:
        return Url(text, problem="it carries a user name or password")
    host, port, problem = _split(authority)
    if problem is None and not host:
        problem = NO_HOST
    if problem is not None:
        return Url(text, host if host.isascii() else "", port, problem=problem, unfit=problem in _SLIPS)
    url = _named(text, host, port)
    return msgspec.structs.replace(url, scheme=scheme, target=target)


def place_of(text: str) -> Url:
    """`HOST:PORT` (an IPv6 address in brackets) as the address that is judged; its `problem` says why it is none."""
    url = parse(f"http://{text}/")
    if url.problem is None and (url.port is None or url.target != "/"):
        return Url(text, problem=NO_PLACE)
    return url


@cache
def named_host(text: str) -> Url:
    """The host that a setting names, an IPv6 address with or without brackets; its `problem` says why it names none."""
    if text.count(":") > 1:
        return parse(f"http://[{text.strip('[]')}]/")
    return Url(text, problem=NO_HOST_ALONE) if re.search("[/?#:@]", text) else parse(f"http://{text}/")


def _split(authority: str) -> tuple[str, int | None, str | None]:
    """Host (an IPv6 address without its brackets), port, and what is wrong with them."""
    if authority.startswith("["):
        host, bracket, behind = authority[1:].partition("]")
        if not bracket or (behind and not behind.startswith(":")):
            return "", None, INVALID
        digits = behind[1:]
        if "%" in host:
            return "", None, "it names a network interface (a zone id)"
        if ":" not in host:
            return "", None, NO_ADDRESS
    else:
        host, _, digits = authority.partition(":")
        if "%" in host:
            return "", None, "its host is written with % signs"
    if not digits:
        return host, None, None
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 9 or int(digits) > 65535:
        return host, None, NO_PORT
    port = int(digits)
    if port == 0:
        return host, port, PORT_0
    return host, port, f"port {port} belongs to another protocol than HTTP" if port in BAD_PORTS else None


def _named(text: str, host: str, port: int | None) -> Url:
    import ipaddress  # costs start-up time, and few calls name an address

    if ":" in host:
        try:
            return Url(text, str(ipaddress.IPv6Address(host)), port, literal=str(ipaddress.IPv6Address(host)))
        except ValueError:
            return Url(text, host if host.isascii() else "", port, problem=NO_ADDRESS, unfit=True)
    name = (host.lower() if host.isascii() else _in_ascii(host)).removesuffix(".")
    if not _LABELS.fullmatch(name) or len(name) > LONGEST_HOST:
        return Url(text, "", port, problem=f"{ascii(host[:LONGEST_HOST])[1:-1]} is not a valid host name", unfit=True)
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        return _numbered(text, name, port)
    return Url(text, name, port, own=name in OWN_NAMES or name.endswith(OWN_ENDINGS))


def _numbered(text: str, host: str, port: int | None) -> Url:
    """A host whose last part is a number: an IPv4 address, whatever else it looks like (https://url.spec.whatwg.org/#ends-in-a-number-checker)."""
    import ipaddress

    try:
        return Url(text, host, port, literal=str(ipaddress.IPv4Address(host)))
    except ValueError:
        meant = _meant(host)
        also = f"{host} is no network address, and no name" if meant is None else f"{host} is an unusual spelling of the network address {meant}"
        return Url(text, host, port, problem=also, unfit=meant is None)


def _meant(host: str) -> str | None:
    """The IPv4 address that programs read in a host of numbers: octal, hexadecimal, with less than four parts."""
    import ipaddress

    parts = host.split(".")
    if len(parts) > 4 or not all(_NUMBER.fullmatch(part) for part in parts):
        return None
    try:
        numbers = [int(part[2:] or "0", 16) if part.startswith("0x") else int(part, 8 if len(part) > 1 and part[0] == "0" else 10) for part in parts]
    except ValueError:  # an octal number with a digit 8 or 9
        return None
    *first, last = numbers
    if any(number > 255 for number in first) or last >= 256 ** (5 - len(numbers)):
        return None
    return str(ipaddress.IPv4Address(sum(number << (24 - 8 * place) for place, number in enumerate(first)) + last))


def _in_ascii(host: str) -> str:
    """The host by UTS 46 without transitional mapping, as browsers write it; "" where it has none. Full-width digits become digits here."""
    import idna  # 10 ms, and few addresses are not ASCII

    try:
        return idna.encode(host, uts46=True).decode().lower()
    except UnicodeError:  # idna's IDNAError too
        return ""
