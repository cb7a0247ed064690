"""The containers of this process: one for each session and what it sees, kept while the session uses it."""

import os
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from typing import Any

from ...errors import ToolExecutionError
from .container_options import HOME, PROCESS, ContainerOptions, container_name, has_ended, home_label
from .definition import definition
from .engine import ContainerEngine, EngineError, labelled
from .listening import ProxySocket, listening_in
from .mounted import Mounted, held
from .running import ContainedProgram, RunningContainer, create
from .way_in import WayIn

_CONFLICT, _MISSING = 409, 404
IN_USE = "is already in use"
"""In what Podman says of a name, with status 500."""
_TRIES = 3
StartedProgram = tuple[ContainedProgram, ProxySocket | None]


class ContainerPool:
    """To be closed. Everything but `close` blocks and belongs into a worker thread."""

    def __init__(self, engine: ContainerEngine, options: ContainerOptions) -> None:
        self.engine, self._options = engine, options
        self._made: dict[tuple[str, Mounted], RunningContainer] = {}
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._swept = self._closed = False

    def of(self, session: str, seen: Mounted) -> RunningContainer:
        """The session's container that sees this, made where there is none or where somebody removed it. Raises `ToolExecutionError`."""
        with self._lock:
            if self._closed:
                raise ToolExecutionError("the containers of this process are closed; nothing was run")
            if not self._swept:
                self._swept = True
                remove_orphans(self.engine, self._options.data_home)
            found = self._made.get((session, seen))
            if found is not None and not found.alive:
                found.let_go()
                found = None
            if found is None:
                found = self._made[session, seen] = self._make(session, seen)
            found.last_used = time.monotonic()
            self._look_later()
            return found

    def _make(self, session: str, seen: Mounted) -> RunningContainer:
        first = not any(name == session and one.alive for (name, _), one in self._made.items())
        variant = "" if first else f"{hash(seen) & 0xFFFFFF:06x}"
        try:
            with ExitStack() as resources:
                resources.enter_context(held(seen))
                way = resources.enter_context(WayIn()) if seen.proxied else None
                told = definition(seen, self._options, session=session, podman=self.engine.is_podman, way=way.directory if way else "")
                identity, name = self._create(session, variant, told)
                try:
                    made = RunningContainer(self.engine, identity, name, self._options.memory_mb, way)
                except EngineError:
                    self.engine.call("DELETE", f"/containers/{identity}", force="true")
                    raise
                try:
                    made.started()
                except EngineError:
                    made.remove()
                    raise
                made.resources.push(resources.pop_all())
        except EngineError as error:
            raise ToolExecutionError(f"no container could be started: {error.text}; nothing was run", hint=error.fix or "neuralclaw doctor") from error
        return made

    def _create(self, session: str, variant: str, told: Mapping[str, Any]) -> tuple[str, str]:
        """Under its name; where another process has a container of that name, or it is being removed, under one of this process."""
        for _ in range(_TRIES):
            name = container_name(session, variant)
            try:
                return create(self.engine, told, name), name
            except EngineError as error:
                if error.status != _CONFLICT and IN_USE not in error.text:
                    raise
            variant = f"{variant}-{os.getpid()}-{time.monotonic_ns() & 0xFFFF:x}".lstrip("-")
        raise EngineError(f"the name {container_name(session)} is taken")

    def _look_later(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(self._options.idle_seconds, self._remove_idle)
        self._timer.daemon = True
        self._timer.start()

    def _remove_idle(self) -> None:
        with self._lock:
            before = time.monotonic() - self._options.idle_seconds
            idle = [key for key, one in self._made.items() if not one.alive or (one.last_used <= before and not one.busy.locked())]
            for key in idle:
                self._made.pop(key).remove()
            if self._made and not self._closed:
                self._look_later()

    def close(self) -> None:
        """Let all containers go; the engine ends and removes them. Blocks only while one is being made."""
        with self._lock:
            self._closed = True
            if self._timer is not None:
                self._timer.cancel()
            for one in self._made.values():
                one.let_go()
            self._made.clear()


def start(pool: ContainerPool, session: str, seen: Mounted, program: tuple[tuple[str, ...], str, dict[str, str]]) -> StartedProgram:
    """Start a program in its container; where that went away meanwhile, in a new one. With it the socket where it reaches its proxy, if it is to have one.

    Raises `ToolExecutionError`."""
    argv, cwd, env = program
    again = True
    while True:
        container = pool.of(session, seen)
        listener = None
        try:
            listener = listening_in(container) if seen.proxied else None
            return container.run(argv, cwd=cwd, env=env), listener
        except EngineError as error:
            if listener is not None:
                listener.close()
            container.let_go() if error.silent else container.remove()
            if not again or error.silent or error.status not in (0, _MISSING, _CONFLICT):
                raise ToolExecutionError(f"the container {container.name} failed: {error.text}; nothing was run", hint=error.fix or "") from error
            again = False


def remove_orphans(engine: ContainerEngine, data_home: str) -> list[str]:
    """Remove the containers of this home whose process has ended, of which it could not let go; their names. Where the engine refuses it, they stay."""
    removed = []
    with suppress(EngineError):
        told = engine.call("GET", "/containers/json", all="true", filters=labelled([f"{HOME}={home_label(data_home)}"]))
        for one in told:
            if has_ended(one["Labels"].get(PROCESS, "")):
                engine.call("DELETE", f"/containers/{one['Id']}", force="true", v="true")
                removed.append(str(one["Names"][0]).lstrip("/"))
    return removed
