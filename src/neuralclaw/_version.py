"""The version of the program; `pyproject.toml` says the same (held by a test)."""

__version__ = "0.1.0"
