"""Values from outside, before they meet the database: what it could not keep or compare is refused in words."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import StoreError, UsageError
from ..types.records import Prefix

MOST = 30_000
"""Values that one reading may compare with; SQLite takes at least 32,766 in a statement."""
_INTEGERS = range(-(2**63), 2**63)
_LAST = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


def check_text(what: str, value: object) -> None:
    """Raises `StoreError` for a name that is no text, is empty, or is not Unicode (half of a surrogate pair): under it nothing can be written."""
    if not isinstance(value, str) or not value:
        raise StoreError(f"{what} cannot be {_shown(value)}: it is a text that is not empty; nothing was changed")
    if not _is_unicode(value):
        raise StoreError(f"{what} cannot be {_shown(value)}: it is not Unicode; nothing was changed")


def check_number(what: str, value: object, least: int = _INTEGERS.start) -> None:
    """Raises `StoreError` for what is no whole number of 64 bits from `least` on: it cannot be written."""
    if not _is_number(value, least):
        raise StoreError(f"{what} cannot be {_shown(value)}: it is a whole number; nothing was changed")


def check_position(what: str, value: object) -> None:
    """Raises `UsageError` for what is no place among the rows of a table or the record."""
    if not _is_number(value, 0):
        raise UsageError(f"{what} cannot be {_shown(value)}: it is a whole number from 0 on")


def check_query(table: object, where: object, order: object, limit: object) -> None:
    """Raises `UsageError` for what `Store.rows` cannot ask for. The names of columns are compared with those of the table elsewhere."""
    if not isinstance(table, str):
        raise UsageError(f"the name of a table cannot be {_shown(table)}")
    if not isinstance(where, Mapping):
        raise UsageError(f"where cannot be {_shown(where)}: it names columns of {table} with their values")
    if isinstance(order, str) or not isinstance(order, Sequence):
        raise UsageError(f"order cannot be {_shown(order)}: it is a list of columns of {table}")
    if limit is not None:
        check_position("limit", limit)
    count = 0
    for column, value in where.items():
        several = isinstance(value, (list, tuple, set, frozenset))
        count += len(value) if several else 1
        for one in value if several else (value,):
            if isinstance(one, Prefix) and not several and isinstance(one.text, str):
                one = one.text
            check_value(f"{column} of {table}", one)
    if count > MOST:
        raise UsageError(f"{count:,} values are compared with columns of {table} at once", hint=f"ask for at most {MOST:,} at a time")


def check_value(what: str, value: object) -> None:
    """Raises `UsageError` for what no column can hold."""
    if value is None or isinstance(value, (float, bytes, bytearray, memoryview)):
        return
    if isinstance(value, str):
        if not _is_unicode(value):
            raise UsageError(f"{what} cannot be {_shown(value)}: it is not Unicode")
    elif not isinstance(value, int):
        raise UsageError(f"{what} cannot be {_shown(value)}: it is a text, a number, bytes or None")
    elif value not in _INTEGERS:
        raise UsageError(f"{what} cannot be {_shown(value)}: it is more than 64 bits")


def prefix_range(text: str) -> tuple[str, str | None]:
    """The texts that begin so, by code points: from the first on, before the second; None: there is no end."""
    rest = text
    while rest:
        following = ord(rest[-1]) + 1
        if following <= _LAST:
            return text, rest[:-1] + chr(_SURROGATES.stop if following in _SURROGATES else following)
        rest = rest[:-1]
    return text, None


def _is_number(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value in _INTEGERS and value >= least


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(value: Any) -> str:
    return f"{value!r:.80}"
