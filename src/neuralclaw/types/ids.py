"""Ids of sessions, questions and messages."""

import os

_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
"""32 signs that people do not take for each other: no l, o, 0 or 1."""


def new_id(length: int = 10) -> str:
    """A random id; ten signs are 50 bits."""
    return "".join(_ALPHABET[byte & 31] for byte in os.urandom(length))
