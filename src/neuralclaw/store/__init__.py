"""The journal of a home in SQLite, and what is derived from it. `SqliteStore.open` is the way in."""

from .sqlite import SqliteStore

__all__ = ["SqliteStore"]
