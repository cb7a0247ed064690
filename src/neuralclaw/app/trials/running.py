"""Runs the tasks with a model: a workspace, a home and an agent for each, all gone afterwards."""

import copy
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

import anyio.to_thread
import msgspec

from ... import config
from ...errors import UsageError
from ...ports import Provider
from ...types.entries import Event
from ...types.events import ErrorEvent, Message, TurnFinished
from ...types.messages import Usage
from ..agent import Agent
from ..approver import Ask
from .task import Case, Outcome, Run, Task, folder_files

MIND = ("done", "denied", "needs_approval")
"""How a turn ends that the model itself ended; a refusal on the way is part of some tasks."""
FINAL = ("LLMAuthError", "LLMModelError")
"""Errors that no later call mends."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one task: passed, or why not in a line. `calls`: model calls that were answered. `reached` false: the model gave no reply at all."""

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
    loaded: config.Loaded
    timeout: float
    keep: Path | None = None

    async def one(self, task: Task, run: int, seed: str) -> Result:
        """Run one task. The same seed makes the same case."""
        case = task.make(Random(f"{seed} {task.name} {run}"))
        with self._places(task, run) as (place, work):
            return await self._tried(task.name, run, case, place, work)

    @contextmanager
    def _places(self, task: Task, run: int) -> Iterator[tuple[Path, Path]]:
        """A directory for the home, and an empty one to work in; the second stays where it is to be kept."""
        with TemporaryDirectory(prefix="neuralclaw-try-") as temporary:
            place = Path(temporary).resolve()
            work = place / "work"
            if self.keep is not None:
                work = kept(self.keep, self.model, f"{task.name}-{run}" if run > 1 else task.name)
            work.mkdir(parents=True)
            yield place, work

    async def _tried(self, name: str, run: int, case: Case, place: Path, folder: Path) -> Result:
        await anyio.to_thread.run_sync(lambda: written(folder, case))
        before = folder_files(folder)
        began = time.monotonic()
        async with self._agent(case, place, folder) as agent:
            async with agent.turn(case.text, session="try", timeout=self.timeout) as stream:
                events = [event async for event in stream]
            took = round((time.monotonic() - began) * 1000)
            result = summed(name, run, events, took)
            if result.status not in MIND:
                return result
            answer = next((event.body.text for event in reversed(events) if isinstance(event.body, TurnFinished)), "")
            after = await anyio.to_thread.run_sync(lambda: folder_files(folder))
            why = await case.check(Outcome(folder, before, after, answer, tuple(events), runner(agent)))
        return msgspec.structs.replace(result, passed=not why, why=why)

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


def trial_settings(loaded: config.Loaded, home: Path, case: Case) -> config.Loaded:
    """How every model is tried: the defaults, with the person's way to ask a model and to confine programs, and without what is the person's alone."""
    theirs, own = loaded.settings, config.Settings()
    terminal = msgspec.structs.replace(
        own.tools.terminal,
        sandbox=theirs.tools.terminal.sandbox,
        docker_image=theirs.tools.terminal.docker_image,
        container=theirs.tools.terminal.container,
    )
    trial = copy.copy(loaded)
    trial.home, trial.hidden = str(home), (loaded.home,)
    trial.settings = msgspec.structs.replace(
        own,
        agent=msgspec.structs.replace(own.agent, project_instructions=False),  # the person's, where workspaces are kept below their home
        llm=msgspec.structs.replace(theirs.llm, fallback=()),
        tools=msgspec.structs.replace(own.tools, terminal=terminal),
        safety=msgspec.structs.replace(own.safety, rules=case.rules),
    )
    return trial


def written(folder: Path, case: Case) -> None:
    """Write the files of a case."""
    for name, text in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")


def kept(keep: Path, model: str, name: str) -> Path:
    """Where the workspace of a task is kept. Raises `UsageError` where something is there already."""
    place = keep.resolve() / "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in model) / name
    if place.exists():
        raise UsageError(f"{place} is there already; nothing was written to it", hint="name another directory with --keep DIR")
    return place


def summed(name: str, run: int, events: Iterable[Event], took: int) -> Result:
    """What a turn says of itself: calls, tokens, money, and how it ended."""
    bodies = [event.body for event in events]
    end = next((body for body in reversed(bodies) if isinstance(body, TurnFinished)), None)
    replies = [body for body in bodies if isinstance(body, Message)]
    answered = [reply for reply in replies if reply.stop != "error"]
    error = next((body for body in reversed(bodies) if isinstance(body, ErrorEvent)), None)
    status = end.status if end is not None else "failed"
    failed = status not in MIND
    why = "" if not failed else error.text if error is not None else end.text.partition(" So far:")[0] if end is not None else ""
    return Result(
        task=name,
        run=run,
        passed=False,
        why=" ".join(why.split()) or (f"it ended as {status}" if failed else ""),
        status=status,
        calls=len(answered),
        usage=end.usage if end is not None else Usage(),
        duration_ms=took,
        reached=bool(answered) or error is None,
        error={"kind": error.kind, "text": error.text, "hint": error.hint} if failed and error is not None else None,
    )


def runner(agent: Agent) -> Run:
    """Runs a check's command through the agent's own gate and sandbox."""

    async def run(command: str) -> tuple[int, str]:
        finished = await agent.do("tools.call", name="terminal", arguments={"command": command})
        found = finished.get("metadata") or {}
        return int(found.get("exit_code", 1)), str(found.get("stdout", ""))

    return run


Progress = Callable[[list[dict[str, Any]]], None]
"""Is told the value so far: once before each model, and after each task."""
