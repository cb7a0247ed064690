"""What model calls may cost: looked at, and reserved, in one transaction, so that no two processes spend the same money.

The cost of a call stands in one place at a time: as a reservation (`open`) until it is known, then as `spent` until the reply is on record, then in `usage`. A
process that dies between two of them leaves the larger one standing.
"""

from ..errors import CapReached
from ..types.records import Reservation, SettledReservation, SpentReservation
from .tables import Tables

Reserving = Reservation | SpentReservation | SettledReservation

_TURN = (
    "SELECT total(usd), total(input) + total(output) FROM usage WHERE session = ? AND turn = ?",
    "SELECT total(usd), total(tokens) FROM reservations WHERE root_session = ? AND root_turn = ?",
)
_SESSION = ("SELECT total(usd) FROM progress WHERE session = ?", "SELECT total(usd) FROM reservations WHERE root_session = ?")
_DAY = (
    "SELECT total(usd) FROM usage WHERE time >= ? AND time < ?",
    "SELECT total(usd) FROM reservations WHERE time >= ? AND time < ? AND state <> 'child'",
)


def check_reservation(tables: Tables, row: Reservation) -> None:
    """Raises `CapReached` where the call does not fit under a cap. The cost is that of the turn and the day, whatever the length of the history."""
    caps = row.caps
    if caps.turn_usd is not None or caps.turn_tokens is not None:
        usd, tokens = _sums(tables, _TURN, row.root)
        _hold("budget.turn_usd", caps.turn_usd, usd, row.usd)
        _hold("budget.turn_tokens", caps.turn_tokens, tokens, row.tokens)
    if caps.session_usd is not None:
        _hold("budget.session_usd", caps.session_usd, _sums(tables, _SESSION, row.root[:1])[0], row.usd)
    if caps.day_usd is not None:
        _hold("budget.day_usd", caps.day_usd, _sums(tables, _DAY, caps.day)[0], row.usd)


def _sums(tables: Tables, statements: tuple[str, str], values: tuple[object, ...]) -> list[float]:
    """The columns of both statements, added up; what the transaction has not written yet is written first."""
    tables.flush()
    found = [tables.connection.execute(sql, values).fetchone() for sql in statements]
    return [sum(column) for column in zip(*found, strict=True)]


def _hold(cap: str, limit: float | None, spent: float, more: float) -> None:
    if limit is not None and spent + more > limit:
        raise CapReached(cap, limit, spent)


def add_reservation(tables: Tables, session: str, row: Reserving, now: int) -> None:
    """Write a reservation of a call that this session makes, or what became of one. `now` in epoch microseconds."""
    match row:
        case Reservation():
            values = (row.id, session, *row.root, now, row.usd, row.tokens, "open")
            tables.statements.append(("INSERT INTO reservations VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values))
        case SpentReservation(usd=0, tokens=0):
            tables.statements.append(("DELETE FROM reservations WHERE id = ?", (row.id,)))
        case SpentReservation():
            tables.statements.append(("UPDATE reservations SET usd = ?, tokens = ?, state = 'spent' WHERE id = ?", (row.usd, row.tokens, row.id)))
        case SettledReservation():
            tables.statements.append(("DELETE FROM reservations WHERE id = ? AND root_session = session", (row.id,)))
            tables.statements.append(("UPDATE reservations SET state = 'child' WHERE id = ?", (row.id,)))
