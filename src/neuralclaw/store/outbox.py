"""The outbox: answers to deliver, and what became of each attempt. It is state of its own, derived from nothing."""

import sqlite3
from collections.abc import Callable
from typing import Any

from ..errors import StoreError
from ..types.entries import rfc3339
from ..types.records import OutboxRow, OutboxState
from .tables import Tables
from .writer import Job

_OUTBOX = "id, session, record, channel, address, text, state, attempts, next_try, error, tried"


class Attempt(Job):
    """Record what became of an attempt to deliver something."""

    __slots__ = ("_error", "_id", "_now", "_retry_at")
    alone = True

    def __init__(self, item: int, error: str, retry_at: float | None, now: Callable[[], float]) -> None:
        self._id, self._error, self._retry_at, self._now = item, error, retry_at, now

    def run(self, tables: Tables) -> OutboxRow:
        c = tables.connection
        state: OutboxState = "delivered" if not self._error else "failed" if self._retry_at is None else "pending"
        values: tuple[Any, ...] = (state, int((self._retry_at or 0) * 1_000_000), self._error, int(self._now() * 1_000_000), self._id)
        # What was delivered stays delivered, whatever a second process says later.
        c.execute("UPDATE outbox SET state = ?, attempts = attempts + 1, next_try = ?, error = ?, tried = ? WHERE id = ? AND state <> 'delivered'", values)
        for row in c.execute(f"SELECT {_OUTBOX} FROM outbox WHERE id = ?", (self._id,)):
            return _outbox_row(row)
        raise StoreError(f"there is nothing to deliver under the number {self._id}; nothing was changed")


def outbox_rows(c: sqlite3.Connection, *, pending: bool) -> list[OutboxRow]:
    """What is to be delivered, oldest first; without `pending` also what was delivered or given up."""
    where = " WHERE state = 'pending'" if pending else ""
    return [_outbox_row(row) for row in c.execute(f"SELECT {_OUTBOX} FROM outbox{where} ORDER BY id").fetchall()]


def _outbox_row(row: tuple[Any, ...]) -> OutboxRow:
    number, session, record, channel, address, text, state, attempts, next_try, error, tried = row
    return OutboxRow(
        id=number,
        session=session,
        record=record,
        channel=channel,
        address=address,
        text=text,
        state=state,
        attempts=attempts,
        next_try=next_try / 1_000_000,
        error=error,
        tried=rfc3339(tried) if tried else "",
    )
