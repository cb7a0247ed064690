"""The machine's rules: what people, programs and misfortune do to two sessions in two processes of one home, and what must come of it."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from neuralclaw.errors import AlreadyAnswered, LeaseLost, SessionBusy, UsageError

from .compared import PROCESSES, SESSIONS, Compared
from .faults import Fault
from .plans import Step, text_of
from .processes import Client
from .reference import Session

sessions = st.sampled_from(SESSIONS)
processes = st.integers(0, PROCESSES - 1)
people = st.sampled_from(["program", "owner"])
modes = st.sampled_from(["park", "park", "park", "ask", "none"])
seldom = st.sampled_from([False, False, False, True])
replies = st.builds(
    Step,
    st.sampled_from([("once",), ("ask",), ("slow",), ("look", "mark"), ("once", "ask"), ("ask", "once"), ("mark", "once")]),
    seldom,
)
plans = st.builds(lambda steps, last: (*steps, Step((), last)), st.lists(replies, max_size=2), seldom)


class Sessions(Compared):
    """Two sessions, two processes, one home."""

    @rule(session=sessions, process=processes, plan=plans, by=people, mode=modes)
    def send(self, session: str, process: int, plan: tuple[Step, ...], by: Any, mode: Any) -> None:
        """A message with a turn of its own: begun, or queued behind the one that is open."""
        key = self._key(session)
        text = text_of(key, plan)
        s = self.reference[session]
        busy = s.process not in (None, process)

        def expected() -> None:
            if busy:
                return
            goes_on = s.parked and by == "owner"
            waits = not goes_on and (s.parked or s.process is not None or s.open is not None or s.pending)
            still_parked = s.parked and not goes_on
            s.accept(self._said(session, key, text, queued=waits, mode=mode))
            if goes_on:
                s.withdraw_questions()
            if s.process is None and not still_parked:
                self._start(s, process)

        self._do(process, lambda c: c.send(session, text, key, by, mode), expected, session, key=key, error=SessionBusy if busy else None, by=by)

    @rule(session=sessions, process=processes, plan=plans, by=people, mode=modes)
    def queue(self, session: str, process: int, plan: tuple[Step, ...], by: Any, mode: Any) -> None:
        """A message that waits for the end of whatever runs or is parked, in whichever process; it begins a turn where nothing is."""
        key = self._key(session)
        text = text_of(key, plan)
        s = self.reference[session]

        def expected() -> None:
            s.accept(self._said(session, key, text, queued=True, mode=mode))
            if s.process is None and not s.parked:
                self._start(s, process)

        self._do(process, lambda c: c.queue(session, text, key, by, mode), expected, session, key=key)

    @precondition(lambda self: any(s.state == "idle" for s in self.reference.values()))
    @rule(data=st.data(), process=processes, plan=plans, by=people, mode=modes)
    def turn(self, data: st.DataObject, process: int, plan: tuple[Step, ...], by: Any, mode: Any) -> None:
        """A message whose turn is followed to its end, in a session where nothing runs."""
        session = data.draw(st.sampled_from([name for name, s in self.reference.items() if s.state == "idle"]), label="session")
        key = self._key(session)
        text = text_of(key, plan)
        s = self.reference[session]

        def expected() -> None:
            s.accept(self._said(session, key, text, queued=False, mode=mode))
            self._start(s, process)

        self._do(process, lambda c: c.turn(session, text, key, by, mode), expected, session, key=key)

    @precondition(lambda self: self._talked())
    @rule(data=st.data(), session=sessions, process=processes)
    def send_again(self, data: st.DataObject, session: str, process: int) -> None:
        """A key that was accepted before, in this session or in the other: it is accepted once, and the session is looked after."""
        key = data.draw(st.sampled_from([key for s in self.reference.values() for key in s.keys]), label="key")
        s = self.reference[session]
        error: type[Exception] | None = UsageError if key not in s.keys else None
        if s.process not in (None, process):
            error = SessionBusy

        def expected() -> None:
            if error is None and s.process is None:
                self._start(s, process, sent=key)

        self._do(process, lambda c: c.send(session, text_of(key, (Step(),)), key, "program", "park"), expected, session, error=error)

    @precondition(lambda self: self._talked())
    @rule(session=sessions, process=processes, plan=plans, by=people)
    def steer(self, session: str, process: int, plan: tuple[Step, ...], by: Any) -> None:
        """A word to the turn that is open, in whichever process; it begins a turn where none is."""
        s = self._known(session)
        session = s.name
        key = self._key(session)
        text = text_of(key, plan)

        def expected() -> None:
            waits = s.parked and by == "program"
            if s.parked and not waits:
                s.withdraw_questions()
            s.accept(self._said(session, key, text, queued=False, mode=""))
            if s.process is None and not waits:
                self._start(s, process)

        self._do(process, lambda c: c.steer(session, text, key, by), expected, session, key=key, by=by)

    @precondition(lambda self: self._talked())
    @rule(session=sessions, process=processes)
    def cancel(self, session: str, process: int) -> None:
        """The open turn ends, wherever it runs, and no other; a parked or unfinished one when it is taken up."""
        s = self._known(session)
        self._do(process, lambda c: c.cancel(s.name), lambda: self._cancelled(s, None), s.name, by="cancel")

    @precondition(lambda self: any(said.queued for s in self.reference.values() for said in s.inbox))
    @rule(data=st.data(), process=processes)
    def withdraw(self, data: st.DataObject, process: int) -> None:
        """A message that waits is taken back; its turn ends as it begins."""
        waiting = [(name, said.entry) for name, s in self.reference.items() for said in s.inbox if said.queued]
        session, entry = data.draw(st.sampled_from(waiting), label="message")
        self._do(process, lambda c: c.cancel(session, entry), lambda: self._cancelled(self.reference[session], entry), session)

    def _cancelled(self, s: Session, message: int | None) -> None:
        if message is None and s.parked:
            s.withdraw_questions()
        s.cancel(message)
        if s.process is not None and message is None:
            s.held = ""
            self._runner(s, s.process).go()

    @precondition(lambda self: bool(self._open_questions()))
    @rule(data=st.data(), process=processes, decision=st.sampled_from(["once", "no"]))
    def answer(self, data: st.DataObject, process: int, decision: str) -> None:
        """An answer from any process."""
        session, call, question = data.draw(st.sampled_from(self._open_questions()), label="question")
        s, name = self.reference[session], self.ids[session, call.name, question]

        def expected() -> None:
            call.asked[question] = decision
            if s.process is not None and s.held == call.name:
                s.held = ""
                self._runner(s, s.process).go()

        self._do(process, lambda c: c.answer(name, decision), expected, session, by="answer")
        self.answered.append(name)

    @precondition(lambda self: bool(self._answered_questions()))
    @rule(data=st.data(), process=processes, decision=st.sampled_from(["once", "no"]))
    def answer_again(self, data: st.DataObject, process: int, decision: str) -> None:
        """The first answer counts."""
        session, call, question = data.draw(st.sampled_from(self._answered_questions()), label="question")
        name = self.ids[session, call, question]
        self._do(process, lambda c: c.answer(name, decision), lambda: None, session, error=AlreadyAnswered)

    @precondition(lambda self: self._talked())
    @rule(session=sessions, process=processes, retry=st.booleans())
    def resume(self, session: str, process: int, retry: bool) -> None:
        s = self._known(session)
        session = s.name
        busy = s.process not in (None, process)

        def expected() -> None:
            if s.process is None and (s.open or s.pending):
                self._start(s, process, retry=retry)

        self._do(process, lambda c: c.resume(session, retry), expected, session, error=SessionBusy if busy else None)

    @precondition(lambda self: any(s.held and s.name in self.world.held for s in self.reference.values()))
    @rule(data=st.data())
    def let_go(self, data: st.DataObject) -> None:
        """The model replies, or the call ends, where one of them was waited for."""
        held = [name for name, s in self.reference.items() if s.held and name in self.world.held]
        s = self.reference[data.draw(st.sampled_from(held), label="session")]
        process = s.process
        assert process is not None
        self.freed.add(s.held)

        async def free(_: Client) -> None:
            self.world.let_go(s.name)

        self._do(process, free, lambda: self._runner(s, process).let_go(), s.name)

    @rule(process=processes, crash=st.booleans())
    def end(self, process: int, crash: bool) -> None:
        """A process dies, or is closed; the next one begins with nothing in memory."""
        self.sound = False
        self._restart(process, crash=crash)
        for s in self.reference.values():
            if s.process == process:
                s.stop()

    @rule(
        process=processes,
        write=st.sampled_from(["append", "append", "append", "release", "barrier", "acquire", "start_turn"]),
        nth=st.integers(0, 5),
        done=st.booleans(),
        dies=st.booleans(),
    )
    def arm(self, process: int, write: str, nth: int, done: bool, dies: bool) -> None:
        """One of the next writes of this process fails, is done and reported as failed, or is its last."""
        done = done and (dies or write != "acquire")  # a store knows which leases it gave out, and takes again what nobody got
        self.home.processes[process].store.fault = Fault(write, nth if write == "append" else nth // 3, done, dies)

    @precondition(lambda self: bool(self._stale_leases()))
    @rule(data=st.data(), starts=st.booleans())
    def write_late(self, data: st.DataObject, starts: bool) -> None:
        """Whoever held a lease once writes nothing under it after it has passed on."""
        process, lease = data.draw(st.sampled_from(self._stale_leases()), label="lease")
        session = lease.name.removeprefix("session:")
        self._do(process, lambda c: c.write_late(session, lease, starts), lambda: None, session, error=LeaseLost)

    @rule(process=processes)
    def rebuild(self, process: int) -> None:
        """The derived tables made anew from the entries are the same, also while turns run."""
        self.sound = False
        before = self._derived()
        self.portal.call(self.home.processes[process].store.rebuild)
        assert self._derived() == before
