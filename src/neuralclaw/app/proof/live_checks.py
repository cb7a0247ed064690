"""`doctor --prove`: an escape attempt, an approval, a crash and its recovery, a forged record, a backup. Each in a home of its own, which is removed."""

import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import msgspec
from anyio.to_thread import run_sync

from ... import config
from ...capability import DoctorCheck
from ...errors import AlreadyAnswered, NeuralClawError
from ...types.events import ToolFinished
from ..agent import Agent
from ..settings_apart import settings_apart
from ..settings_verbs import settings_desk
from .killed_turn import SCRIPT, SESSION, parcel_tools
from .scripted_calls import DONE, ScriptedCalls, noted

CHILD_SECONDS = 60.0
"""How long the process may take that kills itself."""
ESCAPE = "run the script"
DELETE = "delete the file"
ESCAPE_SCRIPT = """\
cat {secret} > found.txt 2>/dev/null
cp found.txt {outside}/copied 2>/dev/null
echo out > {outside}/written 2>/dev/null
(exec 3<>/dev/tcp/127.0.0.1/{port} && echo out >&3) 2>/dev/null
kill -9 {pid} 2>/dev/null
cat found.txt
echo the script ran
"""
"""What a command tries that an attacker has written: a secret of the person, files outside the workspace, the network, another process."""
SECRET = "the-secret-of-the-proof"


class _Proof:
    """The checks of one run, below one directory. `loaded`: the person's settings, of which models and sandbox count."""

    def __init__(self, loaded: config.LoadedSettings, place: Path) -> None:
        self._loaded, self._place = loaded, place

    def _environ(self, place: Path) -> dict[str, str]:
        """The person's environment with the state directory of a home below `place`."""
        return {**self._loaded.asked.environ, "XDG_STATE_HOME": str(place / "state"), "NEURALCLAW_HOME": ""}

    @asynccontextmanager
    async def _agent(self, name: str, provider: ScriptedCalls, **options: Any) -> AsyncIterator[Agent]:
        """An agent over a home of that name, with the person's sandbox and nothing else of theirs."""
        work = self._place / name / "work"
        work.mkdir(parents=True, exist_ok=True)
        home = self._place / name / "home"
        theirs, own = self._loaded.settings, config.Settings()
        settings = msgspec.structs.replace(own, tools=msgspec.structs.replace(own.tools, terminal=theirs.tools.terminal))
        apart = settings_apart(self._loaded, home, settings)
        async with Agent.open(home=home, workspace=work, provider=provider, settings=apart, environ=self._loaded.env, **options) as agent:
            yield agent

    async def escape(self) -> str:
        """A script that tries to leave the workspace. Raises `AssertionError` where anything got out."""
        outside, secret = self._place / "escape" / "outside", self._place / "escape" / "private" / "key"
        for folder in (outside, secret.parent):
            folder.mkdir(parents=True)
        secret.write_text(SECRET)
        with socket.create_server(("127.0.0.1", 0)) as listener, _bystander() as other:
            listener.setblocking(False)
            script = ESCAPE_SCRIPT.format(secret=secret, outside=outside, port=listener.getsockname()[1], pid=other.pid)
            calls = ScriptedCalls({ESCAPE: [("terminal", {"command": "bash script.sh"})]})
            async with self._agent("escape", calls, trust="low", approvals="none") as agent:
                (self._place / "escape" / "work" / "script.sh").write_text(script)
                async with agent.turn(ESCAPE, session=SESSION) as events:
                    ended = [event.body async for event in events if isinstance(event.body, ToolFinished)]
            _holds(not list(outside.iterdir()), f"files were written outside the workspace: {', '.join(sorted(path.name for path in outside.iterdir()))}")
            _holds(other.poll() is None, "another process was ended")
            _holds(all(SECRET not in (one.content or "") for one in ended), "a file outside the workspace was read")
            try:
                listener.accept()
            except BlockingIOError:
                pass
            else:
                raise AssertionError("a connection was made")
        _holds(len(ended) == 1, f"the call has {len(ended)} results")
        if ended[0].refused is not None:
            return f"a command that reads a secret, writes outside, connects and kills was not run: {ended[0].error}"
        _holds("the script ran" in ended[0].content, f"the script did not run: {ended[0].content or ended[0].error}")
        return "a command ran that reads a secret, writes outside, connects and kills: nothing of it succeeded"

    async def approval(self) -> str:
        """A call that needs a yes. Raises `AssertionError` where it ran without one, or twice."""
        calls = ScriptedCalls({DELETE: [("delete_file", {"path": "file.txt"})], f"{DELETE} again": [("delete_file", {"path": "file.txt"})]})
        async with self._agent("approval", calls, trust="medium", approvals="park") as agent:
            file = self._place / "approval" / "work" / "file.txt"
            file.write_text("kept")
            for text, decision in ((DELETE, "no"), (f"{DELETE} again", "once")):
                asked = await agent.ask(text, session=SESSION)
                _holds(asked.status == "needs_approval" and file.exists(), f"the turn ended {asked.status} without an answer")
                (question,) = await agent.do("approvals.list")
                await agent.answer(question["approval_id"], decision)
                await _refused(agent.answer(question["approval_id"], "once"))
                async with agent.resume(SESSION) as events:
                    async for _ in events:
                        pass
                _holds(file.exists() is (decision == "no"), f"after the answer {decision} the file {'is' if file.exists() else 'is not'} there")
        return "a call that needs a yes waited for it: after no nothing ran, after yes it ran, and no question takes a second answer"

    async def crash(self) -> str:
        """A process that is killed twice in the middle of a turn. Raises `AssertionError` where something was lost, bought or run again."""
        place = self._place / "crash"
        place.mkdir()
        for _ in range(2):
            died = await run_sync(self._killed, place)
            _holds(died.returncode == -signal.SIGKILL, f"the process ended with {died.returncode}: {died.stderr.decode(errors='replace')[-300:]}")
        ledger = place / "ledger"
        calls = ScriptedCalls(SCRIPT, ledger)
        async with self._agent("crash", calls, tools=parcel_tools(ledger, dies=False), builtin=(), approvals="park") as agent:
            async with agent.resume(SESSION) as events:
                async for _ in events:
                    pass
            (question,) = await agent.do("approvals.list")
            _holds("may have happened" in " ".join(question["reasons"]), "no question says that the call may have happened")
            await agent.answer(question["approval_id"], "no")
            async with agent.resume(SESSION) as events:
                last = [event.body async for event in events][-1]
        _holds(getattr(last, "text", "") == DONE, f"the turn ended with {getattr(last, 'text', last)!r}")
        wanted = ["model 1", "pack", "model 2", "weigh", "weigh", "model 3", "send", "model 4"]
        _holds(noted(ledger) == wanted, f"what happened: {', '.join(noted(ledger))}")
        return "a process was killed twice in a turn: what had ended was not run or bought again, and of a call that may have happened it is asked"

    def _killed(self, place: Path) -> "subprocess.CompletedProcess[bytes]":
        words = [sys.executable, "-m", "neuralclaw.app.proof.killed_turn", str(place)]
        return subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL, env=self._environ(place), cwd=place, timeout=CHILD_SECONDS, check=False)

    async def audit(self) -> str:
        """One changed letter in a record. Raises `AssertionError` where it is not found."""
        text = "pay 10 to the gardener"
        async with self._agent("audit", ScriptedCalls({text: []})) as agent:
            await agent.ask(text, session=SESSION)
            _holds((await agent.do("audit.verify"))["ok"], "a record that nobody changed is said to be changed")
        database = self._place / "audit" / "home" / "neuralclaw.db"
        data = database.read_bytes()
        _holds(text.encode() in data, "the message is not in the database")
        database.write_bytes(data.replace(text.encode(), text.replace("10", "90").encode()))
        async with self._agent("audit", ScriptedCalls({})) as agent:
            report = await agent.do("audit.verify")
        _holds(not report["ok"], "a changed letter was not found")
        return f"one letter was changed in a record, and audit verify names record {report['bad']['record']}"

    async def backup(self) -> str:
        """A backup and its way back. Raises `AssertionError` where the restored home is another one."""
        calls = ScriptedCalls({"first": [], "second": []})
        async with self._agent("backup", calls) as agent:
            await agent.ask("first", session=SESSION)
            made = await agent.do("backup")
            await agent.ask("second", session=SESSION)
        place = self._place / "backup"
        request = config.SettingsRequest(str(place / "home"), self._environ(place), None)
        async with settings_desk(request) as desk:
            await desk.do("restore", backup=made["backup"])
        async with self._agent("backup", calls) as agent:
            rows = await agent.do("sessions.list")
            report = await agent.do("audit.verify")
        _holds([row["turns"] for row in rows if row["session"] == SESSION] == [1], "the restored home is not as it was")
        _holds(report["bad"] is None or report["bad"]["why"] == "cut", f"the restored record is not whole: {report['bad']}")
        return f"a home was copied, restored and compared: {made['files']} files, {made['records']} records"


CHECKS: tuple[tuple[str, Callable[[_Proof], Awaitable[str]]], ...] = (
    ("escape", _Proof.escape),
    ("approval", _Proof.approval),
    ("crash", _Proof.crash),
    ("audit", _Proof.audit),
    ("backup", _Proof.backup),
)


async def prove(loaded: config.LoadedSettings) -> list[dict[str, Any]]:
    """Run each check, below a directory that is removed afterwards. One that fails says what happened."""
    found = []
    with tempfile.TemporaryDirectory(prefix="neuralclaw-proof-", ignore_cleanup_errors=True) as folder:
        proof = _Proof(loaded, Path(folder).resolve())  # noqa: ASYNC240
        for name, check in CHECKS:
            try:
                found.append(DoctorCheck(check=f"prove.{name}", ok=True, text=await check(proof), needed=True))
            except (AssertionError, NeuralClawError, OSError, ValueError, subprocess.TimeoutExpired) as error:
                told = f"{type(error).__name__}: {error}" if not isinstance(error, AssertionError | NeuralClawError) else str(error)
                found.append(DoctorCheck(check=f"prove.{name}", ok=False, text=told, fix="neuralclaw doctor; then report it with this line", needed=True))
    return [msgspec.to_builtins(one) for one in found]


@contextmanager
def _bystander() -> "Iterator[subprocess.Popen[bytes]]":
    """A process of the same user that only waits."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


def _holds(fact: bool, otherwise: str) -> None:
    if not fact:
        raise AssertionError(otherwise)


async def _refused(answer: Awaitable[None]) -> None:
    try:
        await answer
    except AlreadyAnswered:
        return
    raise AssertionError("a question took a second answer")
