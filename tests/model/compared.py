"""One step of the machine, and what is compared after it: the reference, the journal, and the state that running code holds."""

import copy
import shutil
import sqlite3
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from anyio.from_thread import start_blocking_portal
from hypothesis.stateful import RuleBasedStateMachine, invariant

from neuralclaw import lookups
from neuralclaw.errors import NeuralClawError
from neuralclaw.types.records import Lease

from ..store.kit import raw
from .processes import Client, Home, fold_of, folded
from .reference import Call, Runner, Said, Session
from .same import kept

SESSIONS = "ab"
PROCESSES = 2
DERIVED = ("progress", "inbox", "turns", "questions", "scopes", "usage", "calls", "blob_refs")


class Compared(RuleBasedStateMachine):
    """Two sessions, two processes, one home: what the rules stand on."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="model-"))
        (self.place / "work").mkdir()
        self.portal_context = start_blocking_portal()
        self.portal = self.portal_context.__enter__()
        self.home = self.portal.call(self._made)
        self.life, _ = self.portal.start_task(self.home.live)
        self.world = self.home.world
        self.reference = {name: Session(name) for name in SESSIONS}
        self.freed: set[str] = set()
        self.numbers = 0
        self.sound = False
        """The last step went through and all agreed."""
        self.ids: dict[tuple[str, str, str], str] = {}
        """Questions by session, call, and what is asked."""
        self.answered: list[str] = []
        self.portal.call(self.home.quiet)

    async def _made(self) -> Home:
        return Home(self.place, PROCESSES)

    # one step

    def _do(
        self,
        process: int,
        act: Callable[[Client], Awaitable[Any]],
        expected: Callable[[], None],
        session: str,
        *,
        key: str = "",
        error: type[Exception] | None = None,
        by: str = "",
    ) -> None:
        """Do it for real, and in the reference; where a fault came true, learn from the journal how far it came and that nothing was lost."""
        self.sound = False
        before = copy.deepcopy(self.reference)
        self._starts = {name: self._starts_of(name) for name in SESSIONS}
        unsure = self._unsure()
        happened = self.portal.call(self._acted, process, act)
        struck = bool(self.world.record.struck)
        self.world.record.struck.clear()
        if struck or session in unsure | self._unsure():
            assert happened is None or isinstance(happened, NeuralClawError), happened
            self._learn(before, session, by, key)
            assert happened is not None or not key or key in self.reference[session].keys, f"{key} was acknowledged and is not on record"
            return
        assert type(happened) is error or (happened is None and error is None), f"{happened!r} came, not {error}"
        expected()

    async def _acted(self, process: int, act: Callable[[Client], Awaitable[Any]]) -> Exception | None:
        happened: Exception | None = None
        try:
            await act(self.home.processes[process].client)
        except NeuralClawError as error:
            happened = error
        await self.home.quiet()
        return happened

    def _learn(self, before: dict[str, Session], session: str, by: str, key: str) -> None:
        """After a fault: dead processes begin again, and the reference is what the journal says, which must hold all that was known before."""
        for number, process in enumerate(self.home.processes):
            if process.store.dead:
                self._restart(number, crash=True)
        for name in SESSIONS:
            new = self._observed(name)
            kept(before[name], new, by if name == session else "", key if name == session else "")
            self._placed(before[name], new, key)
            self.reference[name] = new

    def _placed(self, old: Session, new: Session, sent: str) -> None:
        """Where a session runs after a fault, and what it waits for."""
        for number, process in enumerate(self.home.processes):
            if new.name in self.portal.call(process.client.running):
                new.process = number
        hold = self.world.held.get(new.name)
        new.entered = self.world.entered[new.name]
        turn = new.open
        if new.process is not None and turn is not None:
            new.held = hold.name if hold is not None else next(c.name for c in turn.calls if c.open_question)
            new.heard = [said.key for said in new.steering(turn) if hold is not None and said.key in hold.heard]
            goes_on = len(old.turns) == len(new.turns) and (old.process != new.process or old.resumed)
            new.resumed = goes_on or (turn.record <= self.home.processes[new.process].since and turn.key != sent)
        new.aside = self.portal.call(self._row, new.name).state == "set_aside" if new.keys else False

    def _unsure(self) -> set[str]:
        """Sessions whose lease could not be given back: it is tried again on a timer, so that nobody can say who has it."""
        return {name.removeprefix("session:") for process in self.home.processes for name in process.store.kept}

    def _restart(self, process: int, *, crash: bool) -> None:
        self.portal.call(self._restarted, process, crash)

    async def _restarted(self, process: int, crash: bool) -> None:
        await self.home.restart(process, crash=crash)
        await self.home.quiet()

    def _start(self, s: Session, process: int, *, retry: bool = False, sent: str = "") -> None:
        self._runner(s, process, sent).start(self._starts[s.name], retry=retry)

    def _runner(self, s: Session, process: int, sent: str = "") -> Runner:
        return Runner(s, process, self.freed, self.home.processes[process].since, sent)

    def _talked(self) -> bool:
        return any(s.keys for s in self.reference.values())

    def _known(self, session: str) -> Session:
        """That session, or the other one where nothing was ever said in it."""
        s = self.reference[session]
        return s if s.keys else next(other for other in self.reference.values() if other.keys)

    def _key(self, session: str) -> str:
        self.numbers += 1
        return f"{session}{self.numbers}"

    def _said(self, session: str, key: str, text: str, *, queued: bool, mode: str) -> Said:
        """The message with the place that its entry was given."""
        c = raw(self.home.home)
        found = "SELECT k.entry, e.turn, e.record FROM inbound_keys k JOIN entries e USING (session, entry) WHERE key = ?"
        entry, turn, record = c.execute(found, (key,)).fetchone()
        c.close()
        return Said(key, text, entry, turn, queued, mode, record=record)

    def _starts_of(self, session: str) -> int:
        """How often the open turn was started without progress."""
        turn = self.reference[session].open
        c = raw(self.home.home)
        found = c.execute("SELECT turn, starts FROM leases WHERE name = ?", (f"session:{session}",)).fetchone()
        c.close()
        return found[1] if found and turn is not None and found[0] == turn.number else 0

    def _stale_leases(self) -> list[tuple[int, Lease]]:
        """Leases that were held once, by the process that held them."""
        c = raw(self.home.home)
        held = set(c.execute("SELECT name, holder, epoch FROM leases").fetchall())
        c.close()
        return [(p.number, lease) for p in self.home.processes for lease in p.store.given if (lease.name, lease.holder, lease.epoch) not in held]

    def _open_questions(self) -> list[tuple[str, Call, str]]:
        return [(n, c, c.open_question) for n, s in self.reference.items() for t in s.turns for c in t.calls if c.open_question]

    def _answered_questions(self) -> list[tuple[str, str, str]]:
        return [(n, c.name, q) for n, s in self.reference.items() for t in s.turns for c in t.calls for q, answer in c.asked.items() if answer]

    def _derived(self) -> dict[str, list[Any]]:
        c = raw(self.home.home)
        found = {table: c.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3").fetchall() if table != "blob_refs" else self._refs(c) for table in DERIVED}
        c.close()
        return found

    def _refs(self, c: sqlite3.Connection) -> list[Any]:
        return c.execute("SELECT * FROM blob_refs ORDER BY 1, 2").fetchall()

    # what is read

    def _observed(self, name: str) -> Session:
        entries = self.portal.call(self._entries, name)
        return Session.of(name, entries)

    async def _entries(self, name: str) -> Any:
        async with self.home.reader() as store:
            return await store.read(name)

    async def _row(self, name: str) -> Any:
        async with self.home.reader() as store:
            return await lookups.session(store, name)

    @invariant()
    def all_agree(self) -> None:
        """What a fresh process reads, what the running ones hold, and what the reference says."""
        self.sound = False
        assert not self.world.wrong, self.world.wrong
        self.portal.call(self._agree)
        self.sound = True

    async def _agree(self) -> None:
        async with self.home.reader() as store:
            report = await store.verify()
            assert report.ok, report
            for name, s in self.reference.items():
                entries = await store.read(name)
                read = Session.of(name, entries)
                assert read.facts() == s.facts(), f"{name}: the journal says {read.facts()}, the reference {s.facts()}"
                self._compare_running(name, entries)
                assert self.world.entered[name] == s.entered, f"{name} was held {self.world.entered[name]} times, not {s.entered}"
                self._count_effects(read)
                row = await lookups.session(store, name)
                if not s.keys:
                    assert row is None
                    continue
                state = (row.state, row.turns, row.last_turn, row.open_turn, row.pending)
                turn = s.open
                told = {"running", "unfinished", "set_aside"} if name in self._unsure() else {s.state}
                assert state == (row.state if row.state in told else s.state, len(s.turns), len(s.turns), turn.number if turn else 0, s.pending)
                asked = await store.questions(session=name)
                self.ids |= {(name, call.name, question): found for found, (call, question) in read.ids.items()}
                assert {(name, q.question.call_id) for q in asked} == {(n, c.name) for n, c, _ in self._open_questions() if n == name}

    def _compare_running(self, name: str, entries: Any) -> None:
        """The fold that a running process keeps is the fold of what is on record."""
        running = 0
        for process in self.home.processes:
            state = process.client.running().get(name)
            if state is not None:
                running += 1
                assert folded(state) == fold_of(state.number, entries, state.last_entry)
        assert running == (self.reference[name].process is not None), f"{running} processes run {name}"

    def _count_effects(self, s: Session) -> None:
        """The ledger outside: what has a result ran, what was not run left nothing, and what must happen once did so but where a person said again."""
        for call in (call for turn in s.turns for call in turn.calls):
            times = self.world.ledger[call.name]
            again = sum(answer == "once" for question, answer in call.asked.items() if question.startswith("again"))
            assert times <= call.starts, f"{call.name} ran {times} times and began {call.starts} times"
            assert call.tool in ("look", "mark") or times <= 1 + again, f"{call.name} ran {times} times, and {again} times somebody said again"
            assert call.result != "ok" or times, f"{call.name} has a result and never ran"

    def teardown(self) -> None:
        try:
            if self.sound:
                self._finish()
        finally:
            self.portal.call(self.home.end)
            self.life.result(timeout=10)
            self.portal_context.__exit__(None, None, None)
            shutil.rmtree(self.place)

    def _finish(self) -> None:
        """Whatever happened: with no fault and somebody to answer, every message is handled and every session comes to rest."""
        for number in range(PROCESSES):
            self._restart(number, crash=False)
        before = copy.deepcopy(self.reference)
        self.world.everything_free = True
        self.portal.call(self._go_on_to_the_end)
        for name in SESSIONS:
            new = self._observed(name)
            kept(before[name], new, "owner", "")
            assert new.state == "idle", f"{name} is {new.state} at the end"
            assert [said.key for said in new.inbox if not said.withdrawn] == [], f"messages of {name} were never handled"
            new.entered = self.world.entered[name]
            self.reference[name] = new
        before_rebuild = self._derived()
        self.portal.call(self.home.processes[0].store.rebuild)
        assert self._derived() == before_rebuild
        self.all_agree()

    async def _go_on_to_the_end(self) -> None:
        client, store = self.home.processes[0].client, self.home.processes[0].store
        for _ in range(40):  # each round finishes a call at least
            unfinished = [row for row in await store.sessions() if row.state != "idle"]
            if not unfinished:
                return
            for question in await store.questions():
                await client.answer(question.question.approval_id, "once")
            for row in unfinished:
                await client.resume(row.session, retry=True)
            await self.home.quiet()
        raise AssertionError("the sessions do not come to an end")
