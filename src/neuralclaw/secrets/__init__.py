"""Keeps what the owner configured as secret out of everything that is shown, sent, logged or recorded. Only `app` and `cli` import this."""

from .redactor import DeltaRedactor, Redactor

__all__ = ["DeltaRedactor", "Redactor"]
