"""The smaller machine: real processes, driven over pipes and killed by SIGKILL at a chosen write, and what they must leave behind."""

import multiprocessing
import shutil
import signal
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from neuralclaw.app.clock import SystemClock
from neuralclaw.store import SqliteStore

from . import child
from .compared import PROCESSES, SESSIONS
from .machine import modes, people, plans, processes, sessions
from .plans import Step, text_of
from .reference import Session
from .same import kept

SECONDS = 20.0
"""How long a process may take for one step; it looks itself whether it comes to rest."""


FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["pytest", "tests.model.child"])


class Remote:
    """A process at the other end of a pipe; it begins with everything imported and nothing else."""

    def __init__(self, place: Path) -> None:
        self._pipe, theirs = FORKS.Pipe()
        self._process = FORKS.Process(target=child.live, args=(str(place), theirs), daemon=True)
        self._process.start()
        theirs.close()
        self._told()

    def do(self, verb: str, *given: Any) -> str | None:
        """The kind of the error that came, "" for none; None where the process died of it."""
        self._pipe.send((verb, *given))
        told = self._told()
        if told is None:
            return None
        assert told["wrong"] == []
        return str(told["error"])

    def _told(self) -> dict[str, Any] | None:
        assert self._pipe.poll(SECONDS), f"no word from process {self._process.pid} in {SECONDS:g} s"
        try:
            told: dict[str, Any] = self._pipe.recv()
        except (EOFError, ConnectionResetError):
            self._process.join(SECONDS)
            assert self._process.exitcode == -signal.SIGKILL, f"process {self._process.pid} ended with {self._process.exitcode}"
            return None
        return told

    def kill(self) -> None:
        self._process.kill()
        self._process.join(SECONDS)
        self._pipe.close()

    def close(self) -> None:
        """Let it end by itself."""
        self._pipe.close()
        self._process.join(SECONDS)
        assert self._process.exitcode == 0, f"process {self._process.pid} ended with {self._process.exitcode}"


class Killed(RuleBasedStateMachine):
    """Two sessions, two real processes, one home. What the journal says may only grow, and each effect happens once."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="killed-"))
        (self.place / "work").mkdir()
        (self.place / "ledger").touch()
        self.remotes = [Remote(self.place) for _ in range(PROCESSES)]
        self.known = {name: Session(name) for name in SESSIONS}
        self.touched = ("", "", "")
        """Session, who did something to it, and the message that came, in the last step."""
        self.acknowledged: list[str] = []
        self.numbers = 0
        self.sound = True

    @rule(session=sessions, process=processes, plan=plans, by=people, mode=modes, steers=st.booleans())
    def say(self, session: str, process: int, plan: tuple[Step, ...], by: str, mode: str, steers: bool) -> None:
        self.numbers += 1
        key = f"{session}{self.numbers}"
        given = (session, text_of(key, plan), key, by)
        error = self._do(process, "steer", *given) if steers and self.known[session].keys else self._do(process, "send", *given, mode)
        self.touched = (session, by, key)
        if error == "":
            self.acknowledged.append(key)
        assert error in ("", None, "SessionBusy"), error

    @precondition(lambda self: any(s.keys for s in self.known.values()))
    @rule(session=sessions, process=processes, resumes=st.booleans())
    def go_on_or_cancel(self, session: str, process: int, resumes: bool) -> None:
        if self.known[session].keys:
            error = self._do(process, "resume", session, True) if resumes else self._do(process, "cancel", session)
            self.touched = (session, "" if resumes else "cancel", "")
            assert error in ("", None, "SessionBusy"), error

    @precondition(lambda self: any(not answer for s in self.known.values() for t in s.turns for c in t.calls for answer in c.asked.values()))
    @rule(process=processes, decision=st.sampled_from(["once", "no"]))
    def answer(self, process: int, decision: str) -> None:
        name, session = next((name, s.name) for s in self.known.values() for name, (call, question) in s.ids.items() if not call.asked[question])
        error = self._do(process, "answer", name, decision)
        self.touched = (session, "answer", "")
        assert error in ("", None, "AlreadyAnswered"), error

    @rule(process=processes)
    def let_go(self, process: int) -> None:
        self._do(process, "let_go")

    @rule(process=processes)
    def kill(self, process: int) -> None:
        """At any moment, from outside."""
        self.remotes[process].kill()
        self.remotes[process] = Remote(self.place)

    @rule(process=processes, write=st.sampled_from(["append", "append", "release", "barrier"]), nth=st.integers(0, 6), done=st.booleans())
    def arm(self, process: int, write: str, nth: int, done: bool) -> None:
        """At one of its next writes, by itself."""
        self._do(process, "arm", write, nth if write == "append" else nth // 4, done, True)

    def _do(self, process: int, verb: str, *given: Any) -> str | None:
        self.sound = False
        error = self.remotes[process].do(verb, *given)
        if error is None:
            self.remotes[process] = Remote(self.place)
        return error

    @invariant()
    def nothing_is_lost_or_done_twice(self) -> None:
        anyio.run(self._look)
        self.sound = True

    async def _look(self) -> None:
        session, by, key = self.touched
        store = await SqliteStore.open(str(self.place / "home"), clock=SystemClock(), readonly=True)
        try:
            assert (await store.verify()).ok
            for name in SESSIONS:
                new = Session.of(name, await store.read(name))
                kept(self.known[name], new, by if name == session else "", key if name == session else "")
                self.known[name] = new
        finally:
            await store.aclose()
        keys = [key for s in self.known.values() for key in s.keys]
        assert set(self.acknowledged) <= set(keys)
        ledger = Counter((self.place / "ledger").read_text().split())
        for call in (call for s in self.known.values() for turn in s.turns for call in turn.calls):
            again = sum(answer == "once" for question, answer in call.asked.items() if question.startswith("again"))
            assert ledger[call.name] <= 1 + again or call.tool in ("look", "mark"), f"{call.name} ran {ledger[call.name]} times"

    def teardown(self) -> None:
        try:
            if self.sound:
                self._finish()
        finally:
            for remote in self.remotes:
                remote.kill()
            self.remotes = []
            shutil.rmtree(self.place)

    def _finish(self) -> None:
        """The next process finishes everything."""
        for remote in self.remotes:
            remote.kill()
        self.remotes = [Remote(self.place)]
        last = self.remotes[0]
        last.do("free")
        for _ in range(40):
            self.touched = ("", "", "")
            open_questions = [name for s in self.known.values() for name, (call, question) in s.ids.items() if not call.asked[question]]
            rest = [s.name for s in self.known.values() if s.open is not None or s.pending]
            if not rest:
                break
            for name in open_questions:
                last.do("answer", name, "once")
            for name in rest:
                last.do("resume", name, True)
            for name in SESSIONS:
                self.known[name].turns = [turn for turn in self.known[name].turns if turn.status]  # what was open goes on
            anyio.run(self._look)
        assert rest == [], f"{rest} do not come to an end"
        last.close()
        self.remotes = []
