"""A session as plain Python: what its entries say, folded without the program's own fold, and what must happen next.

`Session.of` reads the facts out of a journal. The methods of `Session` are what a person or program does, and say what becomes of it; the machine
compares both. Nothing here imports the program's agent or runtime.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from neuralclaw.types import events as ev
from neuralclaw.types.entries import Entry

from .plans import EFFECTS, label, steps_of

ASKS_AGAIN = "once"
"""The effect of a call that is never run again without a yes."""
MAX_STARTS = 3


@dataclass
class Said:
    """An accepted message. `turn`: the turn of its entry, which it steers while that runs, unless it is `queued`."""

    key: str
    text: str
    entry: int
    turn: int
    queued: bool
    mode: str
    """How its turn asks; "" takes that of the turn before."""
    withdrawn: bool = False
    pending: bool = True
    """False: a cancel named it, and nothing need be done for it."""
    record: int = 0
    """The place of its entry in the home: to a process that came later it is left from before, and nobody is there to ask."""


@dataclass
class Call:
    name: str
    tool: str
    starts: int = 0
    result: str = ""
    """`ok`, `no`, `refused`, `may have happened`, `stopped`, `not run`; "" while there is none."""
    asked: dict[str, str] = field(default_factory=dict)
    """Questions in order: `action`, and `again 1` for whether its first beginning may be repeated. The answer, "" while there is none."""

    @property
    def open_question(self) -> str:
        return next((name for name, answer in self.asked.items() if not answer), "")


@dataclass
class Turn:
    number: int
    key: str
    mode: str
    follows: str
    """The text whose plan the model follows."""
    place: int = 0
    """How many replies of that plan were given."""
    calls: list[Call] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    """Messages that came to it while it ran, as far as the model has read them."""
    waits_for: tuple[str, str] = ("", "")
    """The call and its question that its last run ended with."""
    cancelled: bool = False
    status: str = ""
    text: str = ""
    record: int = 0
    """Of the message that began it."""

    @property
    def open_calls(self) -> list[Call]:
        return [c for c in self.calls if not c.result]

    @property
    def waiting(self) -> bool:
        """Whether a person can answer what its last run ended with."""
        return not self.status and any((c.name, c.open_question) == self.waits_for for c in self.calls)


class Session:
    """`process` drives it, or None; `held` is the reply or call that this waits in, or the question that it waits for in memory."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.keys: list[str] = []
        self.turns: list[Turn] = []
        self.inbox: list[Said] = []
        self.process: int | None = None
        self.held = ""
        self.entered = 0
        """How often a reply or call of it was held: a turn that begins a step anew, and nobody knows why, is found by that."""
        self.heard: list[str] = []
        """The steering messages in the request that the held reply answers."""
        self.resumed = False
        """The open turn was begun by an earlier run, or by a message that is left from before: nobody is there to ask."""
        self.aside = False
        self.ids: dict[str, tuple[Call, str]] = {}
        """Questions by id; known of a session that was read from a journal."""

    @property
    def open(self) -> Turn | None:
        return self.turns[-1] if self.turns and not self.turns[-1].status else None

    @property
    def parked(self) -> bool:
        return self.open is not None and self.open.waiting

    @property
    def pending(self) -> bool:
        return any(said.pending for said in self.inbox)

    @property
    def state(self) -> str:
        if self.parked:
            return "waiting"
        if self.process is not None:
            return "running"
        idle = "unfinished" if self.open or self.pending else "idle"
        return "set_aside" if self.aside else idle

    def facts(self) -> dict[str, Any]:
        """What must be the same in the reference, in the running process, and in what a fresh process reads."""
        return {
            "keys": self.keys,
            "inbox": [(said.key, said.withdrawn, said.pending) for said in self.inbox],
            "turns": [
                (t.number, t.key, t.status, t.text, t.seen, t.cancelled and not t.status, [(c.name, c.starts, c.result, c.asked) for c in t.calls])
                for t in self.turns
            ],
            "parked": self.parked,
        }

    # from the journal

    @classmethod
    def of(cls, name: str, entries: Sequence[Entry]) -> "Session":
        session = cls(name)
        assert [e.entry for e in entries] == list(range(1, len(entries) + 1)), f"the entries of {name} have holes"
        for entry in entries:
            session._apply(entry)
        return session

    def _apply(self, entry: Entry) -> None:
        body, turn = entry.body, self.open
        match body:
            case ev.Inbound():
                assert body.key not in self.keys, f"{body.key} was accepted twice"
                self.keys.append(body.key)
                mode = body.options.approvals if body.options else ""
                self.inbox.append(Said(body.key, body.text, entry.entry, entry.turn, body.queued, mode, record=entry.header.record))
            case ev.Cancel():
                self.cancel(body.message)
            case ev.TurnStarted():
                assert turn is None, f"turn {entry.turn} began while turn {turn and turn.number} was open"
                assert entry.turn == len(self.turns) + 1, f"turn {entry.turn} came after turn {len(self.turns)}"
                assert body.inbound == self.inbox[0].entry, f"turn {entry.turn} was begun by entry {body.inbound}, not by the oldest message"
                said = self.inbox.pop(0)
                assert body.text == said.text
                self.turns.append(Turn(entry.turn, said.key, body.options.approvals, said.text, cancelled=said.withdrawn, record=said.record))
            case ev.Message() | ev.ToolStarted() | ev.ToolFinished() | ev.ApprovalRequested() | ev.TurnFinished() | ev.DecisionMade():
                assert turn is not None, f"{body.type} after the end of its turn"
                assert turn.number == entry.turn, f"{body.type} of turn {entry.turn} in turn {turn.number}"
                self._apply_own(turn, body)
            case ev.ApprovalResolved():
                call, question = self.ids[body.approval_id]
                assert not call.asked[question], f"{call.name} was answered twice"
                call.asked[question] = body.decision or "no"
            case ev.ErrorEvent():
                pass
            case ev.Compaction():
                assert turn is not None, "the history is summarised only where a request needs it"
            case _:
                raise AssertionError(f"nobody expects {body}")

    def _apply_own(self, turn: Turn, body: Any) -> None:
        calls = {call.name: call for call in turn.calls}
        match body:
            case ev.Message():
                assert not turn.open_calls, "a reply before the last one's calls had results"
                self.see([s.key for s in self.steering(turn) if s.entry <= body.seen])
                turn.place += 1
                turn.calls += [Call(c.id, c.name) for c in body.tool_calls]
            case ev.ToolStarted():
                assert not calls[body.call_id].result, f"{body.call_id} began after its result"
                calls[body.call_id].starts += 1
                assert body.attempt == calls[body.call_id].starts
            case ev.ToolFinished():
                assert not calls[body.call_id].result, f"{body.call_id} has two results"
                calls[body.call_id].result = result_of(body, calls[body.call_id])
            case ev.ApprovalRequested():
                call = calls[body.call_id or ""]
                question = f"again {call.starts}" if body.hash.startswith("again:") else "action"
                assert question not in call.asked, f"{call.name} asked twice"
                call.asked[question] = ""
                self.ids[body.approval_id] = (call, question)
            case ev.TurnFinished():
                waits = [self.ids[name] for name in body.waiting]
                turn.waits_for = (waits[0][0].name, waits[0][1]) if waits else ("", "")
                if not body.waiting:
                    assert not turn.open_calls, "a turn ended with calls that have no result"
                    turn.status, turn.text = body.status, body.text if body.status == "done" else ""

    # what happens

    def accept(self, said: Said) -> None:
        self.keys.append(said.key)
        self.inbox.append(said)

    def cancel(self, message: int | None) -> None:
        """A cancel stops the open turn, else withdraws the oldest message. One that names a message that waits withdraws that."""
        named = [said for said in self.inbox if said.entry == message] if message is not None else self.inbox[:1] if self.open is None else []
        for said in named:
            said.withdrawn = True
            said.pending = said.pending and message is None
        if message is None and self.open is not None:
            self.open.cancelled = True

    def withdraw_questions(self) -> None:
        for call in self.open.calls if self.open else ():
            if call.open_question:
                call.asked[call.open_question] = "no"

    def see(self, keys: Sequence[str]) -> None:
        """The model has read these messages: it follows the last one."""
        turn = self.open
        assert turn is not None
        for said in [s for s in self.inbox if s.key in keys]:
            self.inbox.remove(said)
            turn.seen.append(said.key)
            turn.follows, turn.place = said.text, 0

    def steering(self, turn: Turn) -> list[Said]:
        return [said for said in self.inbox if not said.queued and said.turn == turn.number]

    def stop(self) -> None:
        """The process is gone, or its store failed: what was in memory is lost."""
        self.process, self.held, self.heard = None, "", []


def result_of(body: ev.ToolFinished, call: Call) -> str:
    """What became of a call, in a word."""
    if body.ok:
        assert body.content == f"{call.tool} {call.name}", f"{call.name} has the result of another call: {body.content}"
        return "ok"
    if body.refused is not None:
        return "refused"
    if body.metadata.get("stopped"):
        return "stopped" if call.starts else "not run"
    if "no_by" in body.metadata:
        return "no"
    assert "may have happened" in body.content, body
    return "may have happened"


class Runner:
    """Runs a session as far as it goes without anybody outside. `free`: what was let go is not waited for."""

    def __init__(self, session: Session, process: int, freed: set[str], since: int, sent: str) -> None:
        """`since`: the last record of before the process. `sent`: the key of the message that was sent now."""
        self._session, self._process, self._freed, self._since, self._sent = session, process, freed, since, sent

    def start(self, starts: int, *, retry: bool = False) -> None:
        """A process takes the session up. `starts`: how often its open turn was started without progress."""
        session = self._session
        if session.open is not None:
            if starts >= MAX_STARTS and not retry:
                session.aside = True
                return
            session.aside = session.aside and not retry
            session.resumed = True
        session.process = self._process
        self.go()

    def go(self) -> None:
        """Until the session is idle, parked, or waits where it is held."""
        session = self._session
        while True:
            while session.open is None and session.inbox and session.inbox[0].withdrawn:
                self._begin().status = "cancelled"
            if session.open is None and not session.inbox:
                return session.stop()
            turn = session.open or self._begin()
            if not self._turn(turn):
                if not session.held:
                    session.stop()
                return None

    def let_go(self) -> None:
        """What is held goes on."""
        session, turn = self._session, self._session.open
        assert turn is not None
        name, session.held = session.held, ""
        self._freed.add(name)
        for call in turn.calls:
            if call.name == name:
                call.result = "ok"
                return self.go()
        self._reply(turn, session.heard)
        return self.go()

    def _begin(self) -> Turn:
        session = self._session
        said = session.inbox.pop(0)
        mode = said.mode or session.turns[-1].mode
        session.turns.append(Turn(len(session.turns) + 1, said.key, mode, said.text, cancelled=said.withdrawn))
        session.resumed = said.record <= self._since and said.key != self._sent
        return session.turns[-1]

    def _turn(self, turn: Turn) -> bool:
        """Whether it ended; else it is held or parked."""
        session = self._session
        while not turn.status:
            if turn.cancelled:
                self._cancelled(turn)
            elif turn.open_calls:
                if not self._call(turn, turn.open_calls[0]):
                    return False
            elif turn.place == len(steps_of(turn.follows)) and not session.steering(turn):
                refused = any(call.result == "refused" for call in turn.calls)
                turn.status, turn.text = ("needs_approval", "") if refused else ("done", f"done {turn.follows.split()[0]}")
            elif not self._think(turn):
                return False
        return True

    def _cancelled(self, turn: Turn) -> None:
        self._session.withdraw_questions()
        for call in turn.open_calls:
            call.result = "stopped" if call.starts else "not run"
        turn.status = "cancelled"

    def _think(self, turn: Turn) -> bool:
        session = self._session
        steering = session.steering(turn)
        text, place = (steering[-1].text, 0) if steering else (turn.follows, turn.place)
        name = f"{text.split()[0]}.{place}"
        session.heard = [said.key for said in steering]
        if steps_of(text)[place].waits and name not in self._freed:
            session.held, session.entered = name, session.entered + 1
            return False
        self._reply(turn, session.heard)
        return True

    def _reply(self, turn: Turn, heard: Sequence[str]) -> None:
        self._session.see(heard)
        step = steps_of(turn.follows)[turn.place]
        turn.calls += [Call(label(turn.follows.split()[0], turn.place, i), name) for i, name in enumerate(step.tools)]
        turn.place += 1
        self._session.heard = []

    def _call(self, turn: Turn, call: Call) -> bool:
        """Whether the call got its result; else it is held, or the turn parks."""
        mode = "none" if self._session.resumed and turn.mode == "ask" else turn.mode
        if call.starts and EFFECTS[call.tool] == ASKS_AGAIN:
            answer = self._asked(turn, call, f"again {call.starts}", mode)
            if answer == "no":
                call.result = "may have happened"
            if answer in ("", "no"):
                return bool(answer)
        if call.tool == "ask":
            before = call.asked.get("action")
            answer = self._asked(turn, call, "action", mode)
            if answer == "no":
                call.result = "refused" if mode == "none" and not before else "no"
            if answer in ("", "no"):
                return bool(answer)
        call.starts += 1
        if call.tool == "slow" and call.name not in self._freed:
            self._session.held, self._session.entered = call.name, self._session.entered + 1
            return False
        call.result = "ok"
        return True

    def _asked(self, turn: Turn, call: Call, question: str, mode: str) -> str:
        """The answer, "" where the turn waits for it."""
        if call.asked.get(question):
            return call.asked[question]
        if mode == "none":
            if question in call.asked:
                call.asked[question] = "no"
            return "no"
        call.asked[question] = ""
        if mode == "ask":
            self._session.held = call.name
        else:
            turn.waits_for = (call.name, question)
        return ""
