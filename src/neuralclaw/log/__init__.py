"""The log: JSON lines in the data directory. Only `app` and `cli` import this; everyone may use stdlib logging."""

from .book import LogBook

__all__ = ["LogBook"]
