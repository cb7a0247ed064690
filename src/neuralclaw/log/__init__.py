"""The log: JSON lines in the data directory. Only `app` and `cli` import this; everyone may use stdlib logging."""

from .log_writer import LogWriter

__all__ = ["LogWriter"]
