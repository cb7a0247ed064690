"""Puts the runtime on an open home: bus, asker, sessions and the desk, with the verbs of one client."""

from collections.abc import Callable
from functools import partial

from anyio.abc import TaskGroup

from ..agent.redaction import Searched
from ..runtime.asker import JournalAsker
from ..runtime.buffer import EventView
from ..runtime.bus import Bus
from ..runtime.desk import SessionDesk
from ..runtime.runtime_ports import RuntimePorts
from ..runtime.sessions import Sessions
from .approver import Approver, asked
from .capabilities import capabilities_of
from .capability_context import CapabilityClient
from .defaults import ClientDefaults
from .equip import equip, resolve
from .eventlog import EventLog
from .home import Home
from .turn_verbs import turn_verbs
from .verb_calls import VerbFunction, call_verb
from .verbs import agent_verbs


def open_desk(
    home: Home, defaults: ClientDefaults, tasks: TaskGroup, approver: Approver | None = None, tell: Callable[[str], None] | None = None
) -> SessionDesk:
    """The desk of a client, under its defaults. Turns run in `tasks`.

    `tell` shows a person a sentence that a verb says beside its value.
    """
    sentence_of = capabilities_of(home.loaded).sentence_of
    searched = Searched(home.redactor)
    bus = Bus(home.store, home.clock, EventView(searched.event, sentence_of))
    asker = JournalAsker(home.store, home.clock, lambda entries: desk.notify(entries), approver=asked(approver) if approver else None, redaction=home.redactor)
    ports = RuntimePorts(
        store=home.store,
        clock=home.clock,
        bus=bus,
        asker=asker,
        equip=partial(equip, home),
        resolve=partial(resolve, home, defaults.turn),
        redaction=home.redactor,
        searched=searched,
    )
    sessions = Sessions(ports, tasks, max_sessions=home.loaded.settings.agent.max_sessions, ended=asker.arrive)
    bus.listen(EventLog(home.log_writer, sessions.here, sentence_of).entries)
    verbs: dict[str, VerbFunction] = {}
    reading: dict[str, VerbFunction] = {}
    desk = SessionDesk(ports, sessions, partial(call_verb, verbs, home.redactor), defaults.start)
    home.notify, home.desk = desk.notify, desk
    verbs.update(turn_verbs(desk, defaults))
    client = CapabilityClient(home.loaded, desk, home.store, home.clock, desk.notify, defaults.turn.workspace, defaults.who, home.redactor)
    given = home.capability_parts = capabilities_of(home.loaded).for_client(
        client._replace(home=home, models=home.models, tell=tell, defaults=defaults), reading
    )
    own = agent_verbs(home, defaults.turn, given)
    reading.update(own.reading)
    verbs |= {**own.reading, **own.writing, **given.verbs()}
    return desk
