"""What was spent, by day, session and model, and how far each cap is used."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any

import msgspec

from ... import lookups
from ...config import LoadedSettings
from ...ports import Clock, Store
from ...types.messages import Usage
from .turn_account import day_of, time_zone


class CostRow(msgspec.Struct, kw_only=True):
    """Model calls of one day, session or model. `usd` counts those whose price was known, `unpriced` is how many others there were."""

    name: str
    calls: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0
    usd: float = 0.0
    unpriced: int = 0

    def add(self, usage: Usage) -> None:
        """One call more."""
        self.calls += 1
        self.input += usage.input
        self.cached += usage.cached
        self.output += usage.output
        self.usd += usage.usd or 0.0
        self.unpriced += usage.usd is None


class CapUse(msgspec.Struct, frozen=True, kw_only=True):
    """A cap of money, its value, what is spent under it and what calls that run, or were cut off, have reserved; USD."""

    cap: str
    limit: float
    spent: float
    reserved: float


class CostReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `cost` prints: newest days first, sessions and models by what they cost. `reserved`: USD of calls that are not on record."""

    total: CostRow
    days: list[CostRow]
    sessions: list[CostRow]
    models: list[CostRow]
    caps: list[CapUse]
    reserved: float


async def cost_report(store: Store, clock: Clock, loaded: LoadedSettings, session: str | None) -> CostReport:
    """The report of the home, or of one session. Raises `SessionNotFound` and `ConfigError`. It reads one row for each model call."""
    budget, zone = loaded.settings.budget, loaded.settings.scheduler.timezone
    name = (await lookups.find_session(store, session)).session if session is not None else None
    where = {"session": name} if name is not None else {}
    rows = await store.rows("usage", where)
    held = await store.rows("reservations", {"root_session": name} if name is not None else {})
    begins, ends = day_of(clock.now(), zone)
    caps = []
    if budget.session_usd is not None and name is not None:
        caps.append(_used("budget.session_usd", budget.session_usd, rows, held))
    if budget.day_usd is not None:
        every = rows if name is None else await store.rows("usage")
        others = held if name is None else await store.rows("reservations")
        today = [[row for row in some if begins <= row["time"] < ends] for some in (every, others)]
        caps.append(_used("budget.day_usd", budget.day_usd, *today))
    here = time_zone(zone)
    return CostReport(
        total=_grouped(rows, lambda row: "total")[0] if rows else CostRow(name="total"),
        days=sorted(_grouped(rows, lambda row: _day(row["time"], here)), key=lambda row: row.name, reverse=True),
        sessions=_dearest(_grouped(rows, lambda row: row["session"])),
        models=_dearest(_grouped(rows, lambda row: row["model"])),
        caps=caps,
        reserved=_sum(held),
    )


def _used(cap: str, limit: float, rows: Iterable[Mapping[str, Any]], held: Iterable[Mapping[str, Any]]) -> CapUse:
    return CapUse(cap=cap, limit=limit, spent=sum(row["usd"] or 0.0 for row in rows), reserved=_sum(held))


def _sum(held: Iterable[Mapping[str, Any]]) -> float:
    """What reservations hold whose calls are on record nowhere."""
    return float(sum(row["usd"] for row in held if row["state"] != "child"))


def _day(microseconds: int, zone: tzinfo) -> str:
    return datetime.fromtimestamp(microseconds / 1_000_000, zone).date().isoformat()


def _grouped(rows: Iterable[Mapping[str, Any]], name_of: Any) -> list[CostRow]:
    found: dict[str, CostRow] = {}
    for row in rows:
        name = name_of(row)
        group = found.get(name) or found.setdefault(name, CostRow(name=name))
        group.add(Usage(row["input"], row["cached"], row["output"], row["usd"]))
    return list(found.values())


def _dearest(rows: Sequence[CostRow]) -> list[CostRow]:
    return sorted(rows, key=lambda row: (-row.usd, -row.input - row.output, row.name))


SHOWN = 10
"""Rows of each table that people see; `--json` has all."""


def cost_lines(value: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The report for people: the sum, the caps, and the days, sessions and models that cost most."""
    lines = [(f"{_money(value['total'])} in {_count(value['total']['calls'], 'model call')}", "bold")]
    for cap in value["caps"]:
        reserved = f", {cap['reserved']:.4f} reserved" if cap["reserved"] else ""
        lines.append(
            (f"{cap['cap']}: {cap['spent']:.4f} of {cap['limit']:g} USD{reserved}", "yellow" if cap["spent"] + cap["reserved"] >= cap["limit"] else "")
        )
    if value["reserved"] and not value["caps"]:
        lines.append((f"{value['reserved']:.4f} USD are reserved for calls that run or were cut off", ""))
    for title, rows in (("day", value["days"]), ("session", value["sessions"]), ("model", value["models"])):
        if rows:
            lines += [("", ""), (f"by {title}", "bold"), *((f"  {row['name']:32} {_money(row)}", "") for row in rows[:SHOWN])]
        if len(rows) > SHOWN:
            lines.append((f"  and {_count(len(rows) - SHOWN, title)} more: --json", "dim"))
    return lines


def _money(row: Mapping[str, Any]) -> str:
    tokens = f"{row['input']:,} tokens in ({row['cached']:,} cached), {row['output']:,} out"
    unpriced = f" + {_count(row['unpriced'], 'call')} of unknown price" if row["unpriced"] else ""
    return f"{row['usd']:.4f} USD{unpriced}, {tokens}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
