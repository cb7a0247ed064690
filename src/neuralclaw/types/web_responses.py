"""What a web server answered, as a value."""

from collections.abc import Mapping

import msgspec


class WebResponse(msgspec.Struct, frozen=True, kw_only=True):
    """The answer at the end of all redirects. `url` is where it came from, `headers` have names in small letters, `body` is unpacked.

    `redirects`: the addresses before `url`, in order. `seconds`: from the first look at the network to the headers of this answer.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    redirects: tuple[str, ...] = ()
    seconds: float = 0.0
