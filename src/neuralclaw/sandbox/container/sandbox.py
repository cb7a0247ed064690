"""The container sandbox: programs of an image, in one container per session."""

import os
import re
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import anyio
import msgspec
from anyio.to_thread import run_sync

from ...errors import PermissionDeniedError, ToolExecutionError
from ...types.grants import Envelope, Grant
from ...types.tools import Watched
from ..orders import INSIDE_PORT
from ..outbound_proxy import OutboundProxy, used
from ..program_lookup import beneath, find_program
from ..program_run import CompletedProgram, Program, ProgramRun, admit_place
from ..refusals import Around, explained
from .container_options import ContainerOptions, container_name
from .definition import definition
from .engine import SHORT, ContainerEngine, EngineError, engine_at
from .mounted import TEMPORARY, USER, Mounted, mounted
from .pool import ContainerPool, start
from .running import RunningContainer, create, unstarted
from .seccomp_profile import ARCHITECTURES
from .sockets import UNIX, engine_socket

IMAGE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
BUILD = "neuralclaw sandbox build"
WEAKER = "neuralclaw config set tools.terminal.sandbox auto"
WRITABLE = "neuralclaw config set tools.terminal.container.workspace rw"
_ABSOLUTE = re.compile(r"(?<![\w.~-])/\w")
NOT_ROOT = f"{USER}:{USER}"
_LOOKED_AT = 20_000


class ContainerSandbox:
    """Runs programs in containers. `hidden`: absolute paths that no program sees into; `home`: the person's, "" unknown; `env` names the engine,
    which says within `answers_within` seconds that it is there, or is not used.

    A program that was granted a network reaches its proxy, and nothing else. To be closed.
    """

    name: Literal["container"] = "container"

    def __init__(
        self, options: ContainerOptions, *, env: Mapping[str, str], hidden: tuple[str, ...] = (), home: str = "", answers_within: float = SHORT
    ) -> None:
        self._options, self._env, self._hidden, self._home, self._answers_within = options, env, hidden, home, answers_within
        self._pool: ContainerPool | None = None
        self._rootless = False
        self._lock = threading.Lock()

    @property
    def place(self) -> str:
        """The image and the engine's socket, for `doctor`."""
        return f"{self._options.image} at {engine_socket(self._env).removeprefix(UNIX)}"

    def problem(self) -> EngineError | None:
        """Why it does not work here: no engine, no right to use it, no image. Asks the engine two things; no container is started. Blocks."""
        try:
            self._ready()
        except EngineError as error:
            return error
        return None

    def try_out(self) -> EngineError | None:
        """The same after a trial run in a container that has every control. Blocks for some 0.5 s."""
        try:
            engine = self._ready().engine
            seen = Mounted(read=(), write=(), hidden=(), home=self._home, user=NOT_ROOT if not self._rootless else "0:0")
            told = definition(seen, self._options, session="trial", podman=engine.is_podman)
            name = container_name("trial", f"{os.getpid()}-{time.monotonic_ns():x}")
            trial = RunningContainer(engine, create(engine, told, name), name, self._options.memory_mb)
            try:
                trial.started()
            finally:
                trial.remove()
        except EngineError as error:
            return error
        return None

    def _ready(self) -> ContainerPool:
        with self._lock:
            if self._pool is None:
                if os.uname().machine not in ARCHITECTURES:
                    raise EngineError(f"the system calls of {os.uname().machine} are not known")
                engine = engine_at(self._env, self._answers_within)
                told = engine.call("GET", "/info", seconds=engine.answers_within)
                self._rootless = any("rootless" in one for one in told.get("SecurityOptions") or ())
                _check_image(engine, self._options.image)
                self._pool = ContainerPool(engine, self._options)
            return self._pool

    async def exec(
        self, grant: Grant, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], timeout: float | None, max_bytes: int | Watched
    ) -> CompletedProgram:
        """Run to the end; `timeout` in seconds. Raises `PermissionDeniedError`, or `ToolExecutionError` when it cannot be started.

        Programs of one container run one after the other; waiting for another one does not count as time.
        """
        envelope, real_cwd = admit_place(grant, argv, cwd, env)
        proxy = OutboundProxy(grant) if envelope.network else None
        told = self._environment(env, real_cwd)
        pool, seen = await run_sync(self._prepared, grant, envelope)
        _check_programs(envelope, argv, real_cwd, seen)
        container = await run_sync(pool.of, grant.session, seen)
        async with container.busy:
            with anyio.CancelScope(shield=True):
                inside = told if proxy is None else proxy.environment(told, INSIDE_PORT)
                live, listener = await run_sync(start, pool, grant.session, seen, (tuple(argv), real_cwd, inside))
            run = ProgramRun(live, None, max_bytes)
            result = await (run.finish(timeout) if proxy is None or listener is None else proxy.beside(listener, lambda: run.finish(timeout)))
        if live.failure:
            raise ToolExecutionError(f"the container engine failed while the program ran, and its container was ended: {live.failure}")
        if error := unstarted(result, argv[0]):
            raise error
        program = Program(argv=tuple(argv), file=argv[0], real=argv[0], cwd=real_cwd, env=told)
        done = await explained(result, seen.view, program, Around(network=used(proxy), own=TEMPORARY, terminals=True, hides=True))
        done = _with_read_only(done, grant.workspace) if self._options.read_only else done
        return await run_sync(_with_owner, done, grant.workspace, seen)

    def _prepared(self, grant: Grant, envelope: Envelope) -> tuple[ContainerPool, Mounted]:
        try:
            pool = self._ready()
        except EngineError as error:
            raise ToolExecutionError(f"the container sandbox does not work here: {error.text}; nothing was run", hint=error.fix or "") from error
        options = self._options
        return pool, mounted(envelope, grant.workspace, home=self._home, hidden=self._hidden, read_only=options.read_only, rootless=self._rootless)

    def _environment(self, env: Mapping[str, str], cwd: str) -> dict[str, str]:
        """What a call sets, and of what every command has the parts that mean the same in a container. HOME stays, since paths were judged by it."""
        own = {"PATH": IMAGE_PATH, "SHELL": "/bin/bash", "TMPDIR": TEMPORARY, "HOME": self._home or TEMPORARY, "PWD": cwd}
        return {**env, **own}

    def close(self) -> None:
        """End all containers of this process."""
        with self._lock:
            if self._pool is not None:
                self._pool.close()


def _with_owner(done: CompletedProgram, workspace: str, seen: Mounted) -> CompletedProgram:
    """The same, saying why what is root's could not be changed. Reads the disk."""
    text = (done.stdout[-_LOOKED_AT:] + done.stderr[-_LOOKED_AT:]).lower()
    if done.refused or b"permission denied" not in text or seen.user != NOT_ROOT or os.stat(workspace).st_uid != 0:
        return done
    mends = f"the person gives it to that user (chown -R {NOT_ROOT} {workspace}) or takes another sandbox ({WEAKER})"
    said = f"[The sandbox refused this: The workspace {workspace} belongs to root, and no command in a container runs as root, but as user {USER}; {mends}.]"
    return msgspec.structs.replace(done, refused=said)


def _with_read_only(done: CompletedProgram, workspace: str) -> CompletedProgram:
    """The same, saying that no command changes the workspace, where one tried."""
    lines = (done.stdout[-_LOOKED_AT:] + b"\n" + done.stderr[-_LOOKED_AT:]).decode(errors="replace").splitlines()
    refused = [line for line in lines if "read-only file system" in line.lower()]
    if not any(workspace in line or not _ABSOLUTE.search(line) for line in refused):
        return done
    said = f"The workspace {workspace} is read-only for commands, and only the person can change that ({WRITABLE}). File tools may change it."
    return msgspec.structs.replace(done, refused=f"[The sandbox refused this: {said}]")


def _check_image(engine: ContainerEngine, image: str) -> None:
    try:
        engine.call("GET", f"/images/{image}/json")
    except EngineError as error:
        if error.status == 404:
            raise EngineError(f"the image {image} is not there", fix=BUILD) from error
        raise


def _check_programs(envelope: Envelope, argv: Sequence[str], cwd: str, seen: Mounted) -> None:
    """Programs of this machine that a container runs are those that were judged. Raises `PermissionDeniedError`, `ToolExecutionError`.

    Those that a command names by a word alone are the image's, which the owner chose.
    """
    shown: tuple[Any, ...] = (*seen.read, *seen.write)
    for name, judged in envelope.programs.items():
        if "/" in name and name == argv[0] and any(beneath(judged, root) for root in shown):
            found = find_program(name, "", cwd)
            if found is None or os.path.realpath(found) != judged:
                raise PermissionDeniedError(f"{name} means another program now than when it was judged ({judged}); nothing was run")
    if not any(beneath(cwd, root) for root in shown):
        raise ToolExecutionError(f"the directory {cwd} is not shown to the container; nothing was run")
