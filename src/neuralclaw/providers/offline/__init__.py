"""The offline provider: no key, no network, no language model. A fixed grammar of everyday requests that proposes tool calls."""

from .provider import OfflineProvider

__all__ = ["OfflineProvider"]
