"""A proxy that the environment names, which no connection of this program uses."""

from collections.abc import Mapping

PROXY_VARIABLES = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
"""Variables that other programs take a proxy from."""


def named_proxies(env: Mapping[str, str]) -> list[str]:
    """The variables that are set."""
    return [name for name in PROXY_VARIABLES if env.get(name, "").strip()]


def unused_proxy(env: Mapping[str, str]) -> str:
    """A sentence that names the variables that are set, "" where none is."""
    named = named_proxies(env)
    return f"{' and '.join(named)} {'are' if len(named) > 1 else 'is'} set, but no connection of this program uses a proxy." if named else ""
