"""The plain sandbox: a process with limits under a reaper. It holds back neither files nor network; the gate knows that."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Literal

import anyio

from ..errors import ToolExecutionError
from ..types.grants import Grant
from ..types.tools import Watched
from . import reaper
from .program_run import CompletedProgram, Program, ProgramRun, admit
from .resource_limits import LIMITS, ProcessGroup, ResourceLimits, apply
from .spawn import in_spawner, popen


class ProcessSandbox:
    """Runs programs as plain processes: rlimits, 512 processes, 2 GB, and nothing left when a run ends or this process dies."""

    name: Literal["process"] = "process"

    def __init__(self, limits: ResourceLimits = LIMITS) -> None:
        self._limits = limits

    async def exec(
        self, grant: Grant, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], timeout: float | None, max_bytes: int | Watched
    ) -> CompletedProgram:
        """Run to the end; `timeout` in seconds. Raises `PermissionDeniedError`, or `ToolExecutionError` when it cannot be started."""
        _, program = admit(grant, argv, cwd, env)
        live = await in_spawner(lambda: _start(program, self._limits))
        result = await ProgramRun(live, self._limits, max_bytes).finish(timeout)
        if live.failure:
            raise ToolExecutionError(f"the program {argv[0]} could not be started: {os.strerror(live.failure)}")
        return result


def _start(program: Program, limits: ResourceLimits) -> "_Reaped":
    control_read, control = os.pipe()
    status, status_write = os.pipe()
    group = None
    try:
        child = popen([sys.executable, "-I", "-S", reaper.__file__, str(control_read), str(status_write)], (control_read, status_write))
        apply(limits, child.pid)
        group = ProcessGroup.make(limits)
        if group:
            group.add(child.pid)
        live = _Reaped(child, control, status, group)
        with suppress(BrokenPipeError):  # a reaper that died at once is reported by its exit code
            _send(control, program)
    except OSError as error:
        os.close(control)
        os.close(status)
        if group:
            group.remove()
        raise ToolExecutionError(f"no process could be started: {error.strerror}") from error
    finally:
        os.close(control_read)
        os.close(status_write)
    return live


def _send(control: int, program: Program) -> None:
    pairs = [f"{name}={value}" for name, value in program.env.items()]
    fields = [program.cwd, program.real, str(len(program.argv)), *program.argv, *pairs]
    data = b"".join(os.fsencode(field) + b"\0" for field in fields)
    data = len(data).to_bytes(8, "big") + data
    while data:
        data = data[os.write(control, data) :]


class _Reaped:
    """A program under its reaper. The status pipe ends when the reaper has ended, and that is when nothing is left."""

    def __init__(self, child: "subprocess.Popen[bytes]", control: int, status: int, group: ProcessGroup | None) -> None:
        assert child.stdout is not None
        assert child.stderr is not None
        self._child, self._control, self._status, self._group = child, control, status, group
        self.stdout, self.stderr, self.root = child.stdout.fileno(), child.stderr.fileno(), child.pid
        self._text = b""
        os.set_blocking(status, False)

    @property
    def failure(self) -> int:
        """`errno` when the program could not be started, else 0."""
        return int(self._text or 0)

    def terminate(self) -> None:
        self._request(b"t")

    def kill(self) -> None:
        self._request(b"k")

    def _request(self, letter: bytes) -> None:
        with suppress(BrokenPipeError):
            os.write(self._control, letter)

    async def gone(self) -> int:
        while True:
            try:
                part = os.read(self._status, 64)
            except BlockingIOError:
                await anyio.wait_readable(self._status)
                continue
            if not part:
                break
            self._text += part
        code = self._child.wait()  # it has closed its last file: at most a moment
        return code if code >= 0 else 128 - code

    def close(self) -> None:
        os.close(self._control)  # if anything is left, the reaper ends it now
        os.close(self._status)
        for stream in (self._child.stdout, self._child.stderr):
            if stream:
                stream.close()
        self._child.poll()
        if self._group:
            self._group.remove()
