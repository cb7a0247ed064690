"""What people read of a simulation."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...channels.control_characters import exact

Line = tuple[str, str]
"""A line and its style."""
SAID = {"allow": "allowed", "ask": "asked", "forbid": "forbidden"}
NAMED = 3
"""Damaged entries that are named."""


def simulation_lines(found: Mapping[str, Any]) -> Sequence[Line]:
    """A simulation as people read it."""
    return [*counts_of(found), *_samples(found), *left_out(found)]


def counts_of(found: Mapping[str, Any]) -> Iterator[Line]:
    """How many actions, and what became of them."""
    newly = found["newly"]
    yield f"{counted(found['judged'], 'recorded action')} of {counted(found['sessions'], 'session')} judged, {found['same']:,} decided as now.", "bold"
    yield f"Newly allowed {newly['allowed']:,}, newly asked {newly['asked']:,}, newly forbidden {newly['forbidden']:,}.", ""


def _samples(found: Mapping[str, Any]) -> Iterator[Line]:
    for change in ("allowed", "asked", "forbidden"):
        shown = [one for one in found["samples"] if one["change"] == change]
        if shown:
            yield f"Newly {change}", "bold"
        for one in shown:
            yield f"  {one['call']}  {one['tool']}: {exact(' '.join(one['action'].split()))}", ""
            yield f"    {_side(one['from'])} -> {_side(one['to'])}", ""
        if shown and (more := found["newly"][change] - len(shown)):
            yield f"  and {more:,} more (--samples N shows more)", ""


def _side(side: Mapping[str, Any]) -> str:
    return f"{SAID[side['decision']]} by {side['rule']}" if side["rule"] is not None else SAID[side["decision"]]


def left_out(found: Mapping[str, Any]) -> Iterator[Line]:
    """What the counts do not hold, and what was taken for granted."""
    for one in found["not_judged"]:
        yield f"Not judged: {counted(one['count'], 'call')}: {one['why']}.", ""
    damaged = found["damaged"]
    if damaged["count"]:
        named = ", ".join(damaged["entries"][:NAMED]) + (", …" if damaged["count"] > NAMED else "")
        yield f"Not counted, since not as written or not readable: {counted(damaged['count'], 'entry')}: {named}. See neuralclaw audit verify", "yellow"
    if found["erased"]:
        yield f"{counted(found['erased'], 'entry')} erased: what was said and done there is not known.", ""
    if found["otherwise_than_recorded"]:
        changed = counted(found["otherwise_than_recorded"], "action")
        yield f"{changed} would be decided otherwise than at the time also by the rules in force: files, grants, settings or the program changed since.", ""
    for note in found["notes"]:
        yield note, "dim"


def counted(number: int, noun: str) -> str:
    """`1 action`, `2,000 actions`, `2 entries`."""
    many = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{number:,} {noun if number == 1 else many}"
