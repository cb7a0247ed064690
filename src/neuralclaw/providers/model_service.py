"""What is known of one configured model service."""

from collections.abc import Mapping

import msgspec

from ..types.messages import ModelInfo

REDACTED = "[REDACTED]"


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

    def __repr__(self) -> str:
        return f"Service(name={self.name!r}, base_url={self.base_url!r}, api_key={REDACTED if self.api_key else ''!r})"

    @property
    def host(self) -> str:
        """`host` or `host:port` of the address, as an envelope names it."""
        return self.base_url.partition("://")[2].partition("/")[0].rpartition("@")[2].lower()

    def redact(self, text: str) -> str:
        """The text without the key, wherever a service may have echoed it."""
        return text.replace(self.api_key, REDACTED) if self.api_key else text


def is_local(host: str) -> bool:
    """Whether a `host` or `host:port` is this machine: such a server needs no key and costs nothing."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    return name in ("localhost", "[::1]", "0.0.0.0") or name.endswith(".localhost") or name.startswith("127.")
