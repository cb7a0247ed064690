"""What is known of one configured model service."""

from collections.abc import Mapping

import msgspec

from ..types.messages import ModelInfo
from ..types.shown_addresses import address_parts, shown_address, without_address

REDACTED = "[REDACTED]"

SHORTEST_KEY = 8


class ModelEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A model service as a provider needs it.

    `base_url` has no trailing slash. `key_name` is what an error names instead of the key: the environment variable, or the place in the settings,
    that it comes from. `models` are the owner's facts; they win over the shipped table. `own` is false when the address is not the service's own one.
    """

    name: str
    base_url: str
    api_key: str = ""
    key_name: str = ""
    default_model: str = ""
    models: Mapping[str, ModelInfo] = msgspec.field(default_factory=dict)
    api: str = "chat"
    own: bool = False
    windows: frozenset[str] = frozenset()
    """Names in `models` whose context window the owner gave: a service that can be told of it, is."""
    echo_reasoning: bool = False
    """Whether the service wants its `reasoning_content` back with the tool calls it led to."""

    hint: str = ""
    """Told where it is not reached and is no server of this machine: that a proxy of the environment is not used."""

    def __repr__(self) -> str:
        return f"Service(name={self.name!r}, base_url={self.address!r}, api_key={REDACTED if self.api_key else ''!r})"

    @property
    def host(self) -> str:
        """`host` or `host:port` of the address, as an envelope names it."""
        found = address_parts(self.base_url)
        return found.place.partition("/")[0].lower() if found is not None else ""

    @property
    def address(self) -> str:
        """`base_url` as it may be shown."""
        return shown_address(self.base_url)

    def at(self, path: str, end: str = "") -> str:
        """The address of `path` below `base_url`, which has lost `end` before: a query of `base_url` is behind the path, and behind a query of its own."""
        place, mark, query = self.base_url.partition("?")
        joined = "&" if mark and "?" in path else mark
        return f"{place.removesuffix(end)}{path}{joined}{query}"

    def redact(self, text: str) -> str:
        """The text without the key, wherever a service may have echoed it, and without what is secret in the address. A key below 8 characters, as servers
        of one's own have, is ordinary text."""
        text = without_address(text, self.base_url)
        return text.replace(self.api_key, REDACTED) if len(self.api_key) >= SHORTEST_KEY else text


def is_local(host: str) -> bool:
    """Whether a `host` or `host:port` is this machine: such a server needs no key and costs nothing."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    return name in ("localhost", "[::1]", "0.0.0.0") or name.endswith(".localhost") or name.startswith("127.")
