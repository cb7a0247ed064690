"""One turn over a real store, without the program around it: what the loop does with the equipment it is given."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from neuralclaw.agent.circuit_breakers import RunningTime
from neuralclaw.agent.context import Conversation
from neuralclaw.agent.equipment import ChosenModel, Equipment
from neuralclaw.agent.journal import Journal
from neuralclaw.agent.loop import run_turn
from neuralclaw.agent.redaction import NO_REDACTION, Searched
from neuralclaw.agent.sources import TurnSource
from neuralclaw.agent.state import TurnState
from neuralclaw.agent.turn import Turn, TurnRecord
from neuralclaw.app.clock import SystemClock
from neuralclaw.ports import Gate, Provider, Redaction, Store
from neuralclaw.runtime.asker import JournalAsker
from neuralclaw.safety.gate import PolicyGate
from neuralclaw.safety.shell import analyse
from neuralclaw.sandbox.system_facts import SystemFacts
from neuralclaw.tools.registry import Registry
from neuralclaw.types.entries import Draft, Entry
from neuralclaw.types.events import Inbound, Passing, TurnStarted
from neuralclaw.types.labels import OWNER
from neuralclaw.types.messages import ToolDef
from neuralclaw.types.options import Policy, TurnOptions

CLOCK = SystemClock()


async def begin_turn(
    store: Store,
    provider: Provider,
    *,
    text: str = "do it",
    tools: Sequence[object] = (),
    shown: list[Passing] | None = None,
    redaction: Redaction = NO_REDACTION,
    options: TurnOptions | None = None,
    before_last: Sequence[TurnSource] = (),
    outbox: tuple[str, str] | None = None,
    gate: Gate | None = None,
) -> Turn:
    """The first turn of the session `s`, begun and not run."""
    options = options or TurnOptions(model="test:model", workspace=str(Path(store.home)))  # type: ignore[attr-defined]
    lease = await store.acquire("session:s")
    assert lease is not None
    inbound = Draft(1, Inbound(text=text, key="", by="owner"), OWNER)
    started = TurnStarted(text=text, model=options.model, soul="", origin="program", options=options, inbound=1)
    entries = await store.append("s", [inbound, Draft(1, started, OWNER)], lease=lease)
    journal = Journal(store, lease, "s", lambda entries: None, Searched(redaction))
    journal.begin(TurnState.fold(1, entries), Conversation.of(entries), OWNER)
    registry = Registry(tools)
    definitions = tuple(ToolDef(spec.name, spec.description, spec.input_schema) for spec in registry.tools())
    gate = gate or PolicyGate(Policy(), SystemFacts(Policy(), "/usr/bin:/bin"), CLOCK, analyse)
    equipment = Equipment(
        model=ChosenModel(provider=provider, name="model"),
        tools=registry,
        gate=gate,
        system="Be brief.",
        definitions=definitions,
        redaction=redaction,
        before_last=before_last,
    )
    show: Callable[[Passing], None] = [].append if shown is None else shown.append
    return Turn(
        record=TurnRecord(options=options, journal=journal, time=RunningTime(CLOCK, 0, options.limits.seconds), outbox=outbox),
        session="s",
        equipment=equipment,
        store=store,
        asker=JournalAsker(store, CLOCK, lambda entries: None),
        clock=CLOCK,
        show=show,
    )


async def whole_turn(store: Store, provider: Provider, **options: Any) -> list[Entry]:
    """Run a turn to its end; the entries of its session."""
    await run_turn(await begin_turn(store, provider, **options))
    return await store.read("s")
