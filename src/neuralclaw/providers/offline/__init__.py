"""The offline provider: a fixed grammar instead of a language model. It needs no key and no network."""

from .provider import OfflineProvider

__all__ = ["OfflineProvider"]
