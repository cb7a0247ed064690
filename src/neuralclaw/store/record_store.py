"""Records: values under a space and a key, changed by compare-and-set. They are state of their own, derived from nothing."""

from collections.abc import Callable

import msgspec

from ..errors import StoreError
from ..lookups import record_of
from ..types.entries import rfc3339
from ..types.records import PutRecord, Record, RecordConflict
from .tables import Needs, RecordRow, Tables
from .values import check_number, check_text
from .writer import Job


def encoded(put: PutRecord) -> str | None:
    """The value as it is kept; None: the record is to be removed. Raises `StoreError` for a value that is no JSON, and for a record without a name."""
    check_text("the space of a record", put.space)
    check_text("the key of a record", put.key)
    if put.expect is not None:
        check_number("the version that is expected", put.expect)
    if put.value is None:
        return None
    try:
        data = msgspec.json.encode(put.value)
        if msgspec.json.decode(data) != put.value:  # bytes, a number that is not finite, a key that is no text
            raise ValueError("it would be read as another value")
        text = data.decode()
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise StoreError(f"the record {put.space}/{put.key} cannot be written ({error}); nothing was changed") from error
    return text


def _record(row: RecordRow) -> Record:
    return record_of(msgspec.structs.asdict(row))


def check_record(tables: Tables, put: PutRecord) -> None:
    """Raises `RecordConflict` where the record does not stand as expected."""
    row = tables.records.get((put.space, put.key))
    if put.expect is not None and put.expect != (row.version if row else 0):
        raise RecordConflict(put.space, put.key, _record(row) if row else None)


class Put(Job):
    """Change one record."""

    __slots__ = ("_now", "_put", "_value")

    def __init__(self, put: PutRecord, value: str | None, now: Callable[[], float]) -> None:
        self._put, self._value, self._now = put, value, now

    def needs(self, needs: Needs) -> None:
        needs.records.add((self._put.space, self._put.key))

    def run(self, tables: Tables) -> Record:
        put = self._put
        check_record(tables, put)
        now = int(self._now() * 1_000_000)
        row = tables.put_record(put.space, put.key, self._value, now)
        return _record(row) if row else Record(put.space, put.key, None, tables.record_version, rfc3339(now))
