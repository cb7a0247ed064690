"""One real process of a home, driven over a pipe. Told to die at a write, it kills itself there with SIGKILL."""

import os
import signal
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from neuralclaw.errors import NeuralClawError

from .faults import Fault, FaultyStore
from .plans import EFFECTS
from .processes import Home
from .world import World


class PaperWorld(World):
    """Its ledger is a file that every process writes to."""

    def __init__(self, paper: Path) -> None:
        super().__init__()
        self._paper = paper
        self.record.die = lambda: os.kill(os.getpid(), signal.SIGKILL)

    def _run(self, name: str, label: str, store: FaultyStore) -> None:
        super()._run(name, label, store)
        if EFFECTS[name] == "once":
            with self._paper.open("a") as file:
                file.write(f"{label}\n")


class Child:
    """Does what a line says, and tells what came of it when all is quiet again."""

    def __init__(self, home: Home) -> None:
        self._home = home

    async def do(self, verb: str, *given: Any) -> dict[str, Any]:
        process, world = self._home.processes[0], self._home.world
        error = ""
        try:
            match verb:
                case "arm":
                    process.store.fault = Fault(*given)
                case "let_go":
                    for session in tuple(world.held):
                        world.let_go(session)
                case "free":
                    world.everything_free = True
                case _:
                    await getattr(process.client, verb)(*given)
        except NeuralClawError as raised:
            error = raised.kind
        await self._home.quiet()
        return {"error": error, "wrong": world.wrong}


def live(place: str, pipe: Connection) -> None:
    """The life of the process, until the pipe is closed."""
    anyio.run(_live, Path(place), pipe)


async def _live(place: Path, pipe: Connection) -> None:
    home = Home(place, 1, PaperWorld(place / "ledger"))
    child = Child(home)
    async with anyio.create_task_group() as tasks:
        await tasks.start(home.live)
        pipe.send({})
        while True:
            try:
                verb, *given = await anyio.to_thread.run_sync(pipe.recv)
            except EOFError:
                break
            pipe.send(await child.do(verb, *given))
        home.end()
