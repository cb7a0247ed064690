"""The plain sandbox: a process with limits under a reaper. It holds back neither files nor network; the gate knows that.

A command that was granted network is told of the outbound proxy here too, so that what it reaches through it is judged; nothing makes it go there.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import msgspec

from ..errors import ToolExecutionError
from ..types.grants import Grant
from ..types.tools import Watched
from .orders import Order, Restriction
from .outbound_proxy import OutboundProxy, listening, used
from .program_run import CompletedProgram, Program, ProgramRun, admit
from .reaped import start_reaped
from .refusals import Around, with_refused_places
from .resource_limits import LIMITS, ResourceLimits
from .scratch import with_scratch
from .spawn import in_spawner


class ProcessSandbox:
    """Runs programs as plain processes: rlimits, 512 processes, 2 GB, and nothing left when a run ends or this process dies."""

    name: Literal["process"] = "process"

    def __init__(self, limits: ResourceLimits = LIMITS) -> None:
        self._limits = limits

    async def exec(
        self, grant: Grant, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], timeout: float | None, max_bytes: int | Watched
    ) -> CompletedProgram:
        """Run to the end; `timeout` in seconds. Raises `PermissionDeniedError`, or `ToolExecutionError` when it cannot be started."""
        envelope, program = admit(grant, argv, cwd, env)
        proxy = OutboundProxy(grant) if envelope.network else None
        result = await run_reaped(program, Bounds(self._limits, timeout, max_bytes), None, proxy)
        return with_refused_places(result, Around(network=used(proxy), own="/tmp", terminals=True, hides=False))


class Bounds(msgspec.Struct, frozen=True):
    """What one run may take: resources, seconds (None: no limit), bytes of output that are kept."""

    limits: ResourceLimits
    timeout: float | None
    output: int | Watched


async def run_reaped(
    program: Program, bounds: Bounds, restrict: Callable[[int], Restriction] | None = None, proxy: OutboundProxy | None = None
) -> CompletedProgram:
    """Run a program under a reaper to the end. `restrict` says what holds it, by the port of its proxy (0: it has none); it reads the disk, in the
    spawning thread."""
    if proxy is None:
        return await _run(program, bounds, None if restrict is None else lambda: restrict(0))
    listener = listening()
    port = int(listener.getsockname()[1])
    proxied = msgspec.structs.replace(program, env=proxy.environment(program.env, port))
    return await proxy.beside(listener, lambda: _run(proxied, bounds, None if restrict is None else lambda: restrict(port)))


async def _run(program: Program, bounds: Bounds, restrict: Callable[[], Restriction] | None) -> CompletedProgram:
    live = await in_spawner(lambda: start_reaped(ordered(program, restrict() if restrict else None), bounds.limits))
    result = await ProgramRun(live, bounds.limits, bounds.output).finish(bounds.timeout)
    if live.failure is not None:
        raise ToolExecutionError(f"the program {program.argv[0]} could not be started: {os.strerror(live.failure)}")
    return result


def ordered(program: Program, restriction: Restriction | None = None) -> Order:
    """The program as a reaper is told of it, with what its restriction adds to the environment."""
    environment = program.env if restriction is None else with_scratch(program.env, restriction.scratch)
    pairs = {os.fsencode(name): os.fsencode(value) for name, value in environment.items()}
    return Order(os.fsencode(program.cwd), os.fsencode(program.real), [os.fsencode(part) for part in program.argv], pairs, restriction)
