"""`python -m tests.python.import_fuzz COUNT [SEED]`: changed exports are imported, used and verified, or refused with a sentence; nothing else is raised."""

import asyncio
import copy
import json
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from neuralclaw import Agent
from neuralclaw.errors import UsageError
from neuralclaw.testing import FunctionProvider, ScriptedProvider
from neuralclaw.types.messages import Request

from ..agent.kit import agent, call, calls

ODD: list[Any] = [None, True, -1, 0, 2**63, 10**40, 1e308, "", "x", "owner", "\ud800", "a\x00b", "x" * 5000, [], [[]], {}, {"a": None}, "2026-01-01T00:00:00Z"]


def paths(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The place of each value within a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, one in inner for found in ((*place, key), *paths(one, (*place, key)))]


def changed(value: dict[str, Any], chance: random.Random) -> Any:
    """The export with one to three values that are others, gone, doubled or exchanged."""
    value = copy.deepcopy(value)
    for _ in range(chance.randint(1, 3)):
        *place, last = chance.choice(paths(value))
        inside = value
        for key in place:
            inside = inside[key]
        how = chance.randrange(4)
        if how == 0:
            del inside[last]
        elif how == 1 and isinstance(inside, list):
            inside.insert(chance.randrange(len(inside) + 1), copy.deepcopy(inside[last]))
        elif how == 2 and isinstance(inside, list):
            other = chance.randrange(len(inside))
            inside[last], inside[other] = inside[other], inside[last]
        else:
            inside[last] = copy.deepcopy(chance.choice([*ODD, chance.randrange(40)]))
    return value


def changed_lines(text: str, chance: random.Random) -> str:
    """The Markdown with one to three lines gone, doubled, exchanged or replaced."""
    lines = text.split("\n")
    for _ in range(chance.randint(1, 3)):
        at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
        how = chance.randrange(4)
        if how == 0 and len(lines) > 1:
            del lines[at]
        elif how == 1:
            lines.insert(other, lines[at])
        elif how == 2:
            lines[at], lines[other] = lines[other], lines[at]
        else:
            lines[at] = chance.choice(
                ["", "```", "## Turn 9", "> x", "calls `x`", "thinks", lines[at][::-1], lines[at] * 3, "a\x00b", "**a:b** " + lines[at][-45:]]
            )
    return "\n".join(lines)


async def exported(home: Path) -> tuple[dict[str, Any], str]:
    """A session with calls, a result that failed, steering and a compaction."""
    script = ScriptedProvider(calls(call("calculate", "c1", expression="6*7")), "42", calls(call("calculate", "c2", expression="1/0")), "no", "three", "four")
    async with agent(home, provider=script) as a:
        for n in range(4):
            await a.ask(f"message {n}", session="work", model="offline")
        await a.do("sessions.compact", session="work")
        return await a.do("sessions.export", session="work"), await a.do("sessions.export", session="work", markdown=True)


async def tried(a: Agent, file: Path, text: str) -> str:
    """What became of it: refused, or imported and gone on with."""
    file.write_text(text)
    try:
        done = await a.do("sessions.import", file=str(file))
    except UsageError as error:
        return "refused" if "nothing was imported" in str(error) else f"refused otherwise: {error}"
    answer = await a.ask("and on", session=done["session"])
    assert answer.text == "fine", answer
    shown = await a.do("sessions.show", session=done["session"])
    assert shown["state"] == "idle", shown["state"]
    await a.do("sessions.export", session=done["session"], markdown=True)
    return "imported"


async def run(count: int, seed: int) -> Counter[str]:
    """Raises what anything but a refusal raised."""
    chance, found = random.Random(seed), Counter[str]()

    async def fine(request: Request) -> str:
        return "fine"

    with tempfile.TemporaryDirectory() as folder:
        value, text = await exported(Path(folder, "one"))
        async with agent(Path(folder, "two"), provider=FunctionProvider(fine)) as a:
            for number in range(count):
                one = json.dumps(changed(value, chance)) if number % 3 else changed_lines(text, chance)
                try:
                    found[await tried(a, Path(folder, "session.json"), one)] += 1
                except BaseException as error:
                    error.add_note(f"seed {seed}, number {number}: {one[:6000]}")
                    raise
            assert (await a.do("audit.verify"))["ok"]
    return found


if __name__ == "__main__":
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(2**32)
    print(f"seed {seed}: {dict(asyncio.run(run(int(sys.argv[1]), seed)))}")  # noqa: T201
