"""The hash chain over a home's headers, and the keyed digest of a body."""

import hashlib
import hmac
from collections.abc import Iterable
from typing import Any

import msgspec

from .entries import Header
from .records import BadRecord

START = "0" * 64
"""What the first record is linked to."""


def link(previous: str, header: Header) -> str:
    """SHA-256 (hex) of the previous record's hash and every field of the header but its own hash."""
    fields = [header.record, header.session, header.entry, header.turn, header.kind, header.version, header.time, header.labels, header.digest]
    return hashlib.sha256(previous.encode() + b"\n" + msgspec.json.encode(fields)).hexdigest()


def body_digest(key: bytes, data: bytes) -> bytes:
    """HMAC-SHA-256 of a body under its own random key, which is erased with it: an erased body cannot be guessed back."""
    return hmac.digest(key, data, _sha256)


def _sha256(data: bytes = b"") -> Any:
    """SHA-256 as a function of Python: given its name, `hmac` releases the interpreter's lock for each body, however short, and waits to get it back."""
    return hashlib.sha256(data)


def verify(headers: Iterable[Header]) -> tuple[int, str, BadRecord | None]:
    """Walk headers in record order: how many are good, the hash of the last good one, and the first break if there is one."""
    count, previous = 0, START
    entries: dict[str, int] = {}
    for header in headers:
        if header.record != count + 1:
            why = "missing" if header.record > count + 1 else "order"
            return count, previous, BadRecord(count + 1 if why == "missing" else header.record, header.session, why)
        if link(previous, header) != header.hash:
            return count, previous, BadRecord(header.record, header.session, "hash")
        if header.entry != entries.get(header.session, 0) + 1:
            return count, previous, BadRecord(header.record, header.session, "order")
        entries[header.session] = header.entry
        count, previous = header.record, header.hash
    return count, previous, None
