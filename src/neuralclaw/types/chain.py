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


_encode = msgspec.json.Encoder().encode
_QUOTED = 4096


class Quoted(dict[str, str]):
    """Texts as they stand in what `link` takes the digest of: `quoted[text]`. Some thousands of them are kept."""

    def __missing__(self, text: str) -> str:
        if len(self) >= _QUOTED:
            self.clear()
        self[text] = _encode(text).decode()
        return self[text]


def labels_text(labels: tuple[str, ...]) -> str:
    """Labels as they stand there."""
    return _encode(labels).decode()


def link(previous: str, header: Header) -> str:
    """SHA-256 (hex) of the previous record's hash and every field of the header but its own hash."""
    fields = [header.record, header.session, header.entry, header.turn, header.kind, header.version, header.time, header.labels, header.digest]
    return hashlib.sha256(previous.encode() + b"\n" + _encode(fields)).hexdigest()


def body_digest(key: bytes, data: bytes) -> bytes:
    """HMAC-SHA-256 of a body under its own random key, which is erased with it: an erased body cannot be guessed back."""
    return hmac.digest(key, data, _sha256)


_INNER, _OUTER = bytes(value ^ 0x36 for value in range(256)), bytes(value ^ 0x5C for value in range(256))
_KEY, _BLOCK = 32, 64


def is_keyed_digest(digest: bytes, key: bytes, data: bytes) -> bool:
    """Whether `body_digest` of the data is this. HMAC of RFC 2104 with `hashlib`, for keys as the store makes them: the library's own takes half as long
    again to set up as to compute it. Nobody learns from its duration: key, body and digest lie side by side."""
    if len(key) != _KEY:  # HMAC fills a shorter one up, so that two keys would do
        return False
    inner = _digest(key.translate(_INNER) + _INNER_REST + data).digest()
    return _digest(key.translate(_OUTER) + _OUTER_REST + inner).digest() == digest


_digest = hashlib.sha256
_INNER_REST, _OUTER_REST = b"\x36" * (_BLOCK - _KEY), b"\x5c" * (_BLOCK - _KEY)


def _sha256(data: bytes = b"") -> Any:
    """SHA-256 as a function of Python: given its name, `hmac` releases the interpreter's lock for each body, however short, and waits to get it back."""
    return hashlib.sha256(data)


class ChainWalk:
    """Takes headers in the order of the record: how many are good, and the hash of the last good one."""

    def __init__(self) -> None:
        self.count, self.head = 0, START

    def take(self, header: Header, before: int) -> BadRecord | None:
        """The break, where this header is not the next one as it was written. `before`: the number of the session's last entry, 0 where it has none."""
        expected = self.count + 1
        if header.record != expected:
            why = "missing" if header.record > expected else "order"
            return BadRecord(expected if why == "missing" else header.record, header.session, why)
        if link(self.head, header) != header.hash:
            return BadRecord(header.record, header.session, "hash")
        if header.entry != before + 1:
            return BadRecord(header.record, header.session, "order")
        self.count, self.head = expected, header.hash
        return None


def verify(headers: Iterable[Header]) -> tuple[int, str, BadRecord | None]:
    """Walk headers in record order: how many are good, the hash of the last good one, and the first break if there is one."""
    walk = ChainWalk()
    entries: dict[str, int] = {}
    for header in headers:
        if (bad := walk.take(header, entries.get(header.session, 0))) is not None:
            return walk.count, walk.head, bad
        entries[header.session] = header.entry
    return walk.count, walk.head, None
