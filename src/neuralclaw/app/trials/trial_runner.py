"""Runs the tasks with a model: a workspace, a home and an agent for each, all gone afterwards."""

import logging
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple

import anyio.to_thread
import msgspec

from ... import config
from ...ports import Provider
from ...types.entries import Event
from ...types.events import ErrorEvent, LimitHit, Message, ReasoningDelta, RetryEvent, TurnFinished
from ...types.messages import Usage
from ..agent import Agent
from ..approver import Ask
from ..settings_apart import settings_apart
from .folder_snapshot import Snapshot, remove, snapshot
from .task import Case, RunCommand, Task, TaskOutcome
from .workspaces import TrialWorkspaces

log = logging.getLogger(__name__)


MIND = ("done", "denied", "needs_approval")
"""How a turn ends that the model itself ended; a refusal on the way is part of some tasks."""


FINAL = ("LLMAuthError", "LLMModelError")
"""Errors that no later call mends."""


LIMITS = {
    "iterations": "it was not done after as many model calls as a turn may have",
    "errors": "its calls failed too often in a row",
    "repeats": "it made the same call again and again",
    "output": "its reply was cut off by the model's output limit",
}
"""Why a turn was stopped, by the kind of its limit."""


class TaskResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one task: passed, or why not in a line. `calls`: model calls that were answered.

    `reached` false: the model gave no reply at all; `error` says why, also where the turn failed later.
    """

    task: str
    run: int
    passed: bool
    why: str = ""
    status: str = ""
    calls: int = 0
    usage: Usage = Usage()
    duration_ms: int = 0
    reached: bool = True
    error: dict[str, str] | None = None

    def value(self) -> dict[str, Any]:
        """The result as `--json` prints it."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        del plain["reached"], plain["error"]
        return plain


class Trial(NamedTuple):
    """What a model is tried with: the provider, its name as `P:M`, the person's settings, seconds for each task, and where workspaces are kept."""

    provider: Provider
    model: str
    loaded: config.LoadedSettings
    timeout: float
    kept: TrialWorkspaces | None = None

    async def one(self, task: Task, run: int, seed: str) -> TaskResult:
        """Run one task. The same seed makes the same case."""
        case = task.make(Random(f"{seed} {task.name} {run}"))
        with self._places(task, run) as (place, work):
            return await self._tried(task.name, run, case, place, work)

    @contextmanager
    def _places(self, task: Task, run: int) -> Iterator[tuple[Path, Path]]:
        """A directory for the home, and an empty one to work in; the second stays where it is to be kept."""
        place = Path(tempfile.mkdtemp(prefix="neuralclaw-try-")).resolve()
        try:
            work = place / "work"
            if self.kept is None:
                work.mkdir()
            else:
                work = self.kept.place(self.model, named(task, run))
            yield place, work
        finally:
            _removed(place)

    async def _tried(self, name: str, run: int, case: Case, place: Path, folder: Path) -> TaskResult:
        before = await anyio.to_thread.run_sync(lambda: written(folder, case))
        began = time.monotonic()
        async with self._agent(case, place, folder) as agent:
            async with agent.turn(case.text, session="try", timeout=self.timeout) as stream:
                events = [event async for event in stream]
            took = round((time.monotonic() - began) * 1000)
            result = self._answers(summed(name, run, events, took, self.timeout))
            if result.status not in MIND:
                return result
            why = await judged(case, folder, before, events, agent)
        return msgspec.structs.replace(result, passed=not why, why=why)

    def _answers(self, result: TaskResult) -> TaskResult:
        """What is no language model (offline) always answers: that it did not understand is its answer, and no model that cannot be reached."""
        language = self.provider.info(self.model.partition(":")[2]).language
        return result if language else msgspec.structs.replace(result, reached=True)

    def _agent(self, case: Case, place: Path, work: Path) -> Any:
        return Agent.open(
            home=place / "home",
            workspace=work,
            model=self.model,
            provider=self.provider,
            settings=trial_settings(self.loaded, place / "home", case),
            environ=self.loaded.env,
            trust="high",
            approvals=case.approvals,
            approver=says_no if case.approvals == "ask" else None,
        )


async def says_no(question: Ask) -> Literal["no"]:
    """The person of the tasks in which somebody is there: no."""
    return "no"


def trial_settings(loaded: config.LoadedSettings, home: Path, case: Case) -> config.LoadedSettings:
    """How every model is tried: the defaults, with the person's way to ask a model and to confine programs, and without what is the person's alone."""
    theirs, own = loaded.settings, config.Settings()
    terminal = msgspec.structs.replace(
        own.tools.terminal,
        sandbox=theirs.tools.terminal.sandbox,
        docker_image=theirs.tools.terminal.docker_image,
        container=theirs.tools.terminal.container,
    )
    settings = msgspec.structs.replace(
        own,
        agent=msgspec.structs.replace(own.agent, project_instructions=False),  # the person's, where workspaces are kept below their home
        llm=msgspec.structs.replace(theirs.llm, fallback=()),
        tools=msgspec.structs.replace(own.tools, terminal=terminal),
        safety=msgspec.structs.replace(own.safety, rules=case.rules),
    )
    return settings_apart(loaded, home, settings)


def named(task: Task, run: int) -> str:
    """The name of a run of a task: the task's own, with a number from the second on."""
    return f"{task.name}-{run}" if run > 1 else task.name


def written(folder: Path, case: Case) -> Snapshot:
    """Write the files of a case; the folder as it is then."""
    for name, text in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    return snapshot(folder)


def _removed(place: Path) -> None:
    """Remove what a task used. What cannot be removed is told and stays: the results are worth more."""
    try:
        remove(place)
    except OSError as error:
        log.warning("%s could not be removed: %s", place, error.strerror)


async def judged(case: Case, folder: Path, before: Snapshot, events: list[Event], agent: Agent) -> str:
    """Why a task is not solved, "" where it is. The guard around checks: they read what a model left, and that may be anything."""
    try:
        answer = next((event.body.text for event in reversed(events) if isinstance(event.body, TurnFinished)), "")
        after = await anyio.to_thread.run_sync(lambda: snapshot(folder))
        return await case.check(TaskOutcome(folder, before, after, answer, tuple(events), runner(agent)))
    except Exception as error:
        log.warning("a check failed", exc_info=True)
        return f"what it left cannot be checked: {short(str(error)) or type(error).__name__}"


def short(text: str) -> str:
    """A text in one line of at most 200 characters."""
    line = " ".join(text.split())
    return line if len(line) <= 200 else f"{line[:199]}…"


def summed(name: str, run: int, events: Iterable[Event], took: int, seconds: float) -> TaskResult:
    """What a turn says of itself: calls, tokens, money, and how it ended. `seconds`: the time it had."""
    bodies = [event.body for event in events]
    end = next((body for body in reversed(bodies) if isinstance(body, TurnFinished)), None)
    answered = [body for body in bodies if isinstance(body, Message) and body.stop != "error"]
    status = end.status if end is not None else "failed"
    failed = status not in MIND
    error = next((body for body in reversed(bodies) if isinstance(body, ErrorEvent)), None) if failed else None
    if status == "timed_out" and not answered:
        error = silent(bodies, seconds)
    limit = next((body for body in reversed(bodies) if isinstance(body, LimitHit)), None)
    return TaskResult(
        task=name,
        run=run,
        passed=False,
        why="" if not failed else " ".join(error.text.split()) if error is not None else _stopped(limit, status, seconds),
        status=status,
        calls=len(answered),
        usage=end.usage if end is not None else Usage(),
        duration_ms=took,
        reached=bool(answered) or error is None,
        error={"kind": error.kind, "text": error.text, "hint": error.hint} if error is not None else None,
    )


def silent(bodies: Iterable[object], seconds: float) -> ErrorEvent:
    """The error of a model that gave no reply in its time, with what is known of why."""
    retries = [body.reason for body in bodies if isinstance(body, RetryEvent)]
    why = f"; the last call failed: {retries[-1]}" if retries else "; it was still thinking" if any(isinstance(body, ReasoningDelta) for body in bodies) else ""
    return ErrorEvent(kind="LLMTimeoutError", text=f"no reply within {seconds:g} s{why}", hint="--timeout SECONDS gives a task more time")


def _stopped(limit: LimitHit | None, status: str, seconds: float) -> str:
    """Why a turn was stopped, for those who read a table: what a chat says of it tells a person how to continue."""
    if status == "timed_out":
        return f"it was not done within {seconds:g} s"
    return LIMITS.get(limit.kind, "it reached a limit") if limit is not None else f"it ended as {status}"


def runner(agent: Agent) -> RunCommand:
    """Runs a check's command through the agent's own gate and sandbox."""

    async def run(command: str) -> tuple[int, str]:
        finished = await agent.do("tools.call", name="terminal", arguments={"command": command})
        found = finished.get("metadata") or {}
        return int(found.get("exit_code", 1)), str(found.get("stdout", ""))

    return run
