"""What every sandbox shares: what may run at all, and one run from its start until nothing of it is left."""

import codecs
import errno
import os
import time
from collections.abc import Mapping, Sequence
from typing import Protocol

import anyio
import anyio.lowlevel
import msgspec
from anyio.to_thread import run_sync

from ..errors import PermissionDeniedError, ToolExecutionError
from ..types.grants import Binding, Envelope, Grant
from ..types.tools import Show, Watched
from .code_digests import check_code
from .program_lookup import beneath, find_program, real_path
from .resource_limits import ResourceLimits, excess

PATIENCE = 0.3
"""Seconds between SIGTERM and SIGKILL."""

_LOOK = 0.05
_CHUNK = 1 << 16


class CompletedProgram(msgspec.Struct, frozen=True, kw_only=True):
    """What a program left. Killed by signal N: exit code 128 + N. `dropped`: bytes of both streams beyond the bound. `refused`: as `ports.ExecResult`."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    dropped: int = 0
    timed_out: bool = False
    refused: str = ""


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """What is to run: `file` is the path as found, `real` the same with links resolved; `cwd` is real."""

    argv: tuple[str, ...]
    file: str
    real: str
    cwd: str
    env: dict[str, str]


class LiveProgram(Protocol):
    """A started program with all its descendants."""

    @property
    def stdout(self) -> int: ...
    @property
    def stderr(self) -> int: ...
    @property
    def root(self) -> int:
        """Process id above all of the program's processes."""
        ...

    def terminate(self) -> None: ...
    def kill(self) -> None: ...
    async def gone(self) -> int:
        """Waits until no process of it is left; the exit code."""
        ...

    def close(self) -> None: ...


def admit_place(grant: Grant, argv: Sequence[str], cwd: str, env: Mapping[str, str]) -> tuple[Envelope, str]:
    """The envelope and the real directory to run in. Raises `PermissionDeniedError`, or `ToolExecutionError` for what no program can be given."""
    envelope = open_envelope(grant)
    if not envelope.execute:
        raise PermissionDeniedError(f"{grant.tool or 'this call'} has no permission to run programs")
    if not argv or any("\0" in part for part in (*argv, cwd, *env, *env.values())) or any(not name or "=" in name for name in env):
        raise ToolExecutionError("the command, its directory or its environment cannot be passed to a program")
    real_cwd = real_path(cwd)
    if not any(beneath(real_cwd, root) for root in (grant.workspace, *envelope.read, *envelope.write)):
        raise PermissionDeniedError(f"the directory {cwd} is outside what this call may use")
    if not os.path.isdir(real_cwd):
        raise ToolExecutionError(f"the directory {cwd} is not there")
    if isinstance(envelope.binding, Binding):
        check_code(envelope.binding.files)
    return envelope, real_cwd


def admit(grant: Grant, argv: Sequence[str], cwd: str, env: Mapping[str, str]) -> tuple[Envelope, Program]:
    """The envelope and what exactly will run, or `PermissionDeniedError`, or `ToolExecutionError` for a program that is not there."""
    envelope, real_cwd = admit_place(grant, argv, cwd, env)
    path_env = env.get("PATH", os.defpath)
    for name, judged in envelope.programs.items():
        if name == argv[0] or "/" not in name:
            _same_as_judged(name, judged, path_env, real_cwd)
    file = find_program(argv[0], path_env, real_cwd)
    if file is None:
        raise ToolExecutionError(f"the program {argv[0]} was not found", hint="Install it, or name another program.")
    return envelope, Program(argv=tuple(argv), file=file, real=real_path(file), cwd=real_cwd, env={**env, "PWD": real_cwd})


def open_envelope(grant: Grant) -> Envelope:
    """The envelope of a grant that is open and not overdue."""
    envelope = grant.check()
    if envelope.until is not None and time.monotonic() > envelope.until:
        raise PermissionDeniedError(f"the permission for {grant.tool or 'this connection'} has run out")
    return envelope


def _same_as_judged(name: str, judged: str, path_env: str, cwd: str) -> None:
    found = find_program(name, path_env, cwd)
    if found is None or real_path(found) != judged:
        raise PermissionDeniedError(f"{name} means another program now than when it was judged ({judged}); nothing was run")


class _Collected:
    """The first `bound` bytes of a stream and the number of the others. `show` takes the text as it comes, whole characters only."""

    def __init__(self, bound: int, show: Show | None, name: str) -> None:
        self._bound, self._parts, self._kept, self.dropped = bound, list[bytes](), 0, 0
        self._show, self._name = show, name
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def add(self, data: bytes) -> None:
        if self._show is not None and (text := self._decoder.decode(data)):
            self._show(text, self._name)
        kept = data[: self._bound - self._kept]
        self.dropped += len(data) - len(kept)
        if kept:
            self._parts.append(kept)
            self._kept += len(kept)

    def all(self) -> bytes:
        return b"".join(self._parts)

    async def drain(self, fd: int) -> None:
        os.set_blocking(fd, False)
        while True:
            try:
                data = os.read(fd, _CHUNK)
            except BlockingIOError:
                await anyio.wait_readable(fd)
                continue
            except OSError as error:
                if error.errno == errno.EIO:
                    return
                raise
            if not data:
                return
            self.add(data)
            await anyio.lowlevel.checkpoint()


class ProgramRun:
    """One run of a live program: reads it, watches its limits, ends it. Nothing of it is left when `finish` returns or is cancelled.

    `limits` None: what holds it sees to them itself.
    """

    def __init__(self, live: LiveProgram, limits: ResourceLimits | None, output: int | Watched) -> None:
        self._live, self._limits = live, limits
        bound, show = (output.max_bytes, output.show) if isinstance(output, Watched) else (output, None)
        self._out, self._err = _Collected(bound, show, "stdout"), _Collected(bound, show, "stderr")
        self._code: int | None = None
        self._note = ""

    async def finish(self, timeout: float | None) -> CompletedProgram:
        """`timeout` in seconds, None: no limit."""
        timed_out = False
        try:
            async with anyio.create_task_group() as watch:
                if self._limits is not None:
                    watch.start_soon(self._watch, self._limits)
                async with anyio.create_task_group() as readers:
                    readers.start_soon(self._out.drain, self._live.stdout)
                    readers.start_soon(self._err.drain, self._live.stderr)
                    timed_out = await self._wait(timeout)
                    readers.cancel_scope.deadline = anyio.current_time() + 0.5  # a writer that is not ours may hold a pipe open
                watch.cancel_scope.cancel()
        finally:
            if self._code is None:
                with anyio.CancelScope(shield=True):
                    await self._end()
            self._live.close()
        return self._result(timed_out)

    async def _wait(self, timeout: float | None) -> bool:
        with anyio.move_on_after(timeout) as limit:
            self._code = await self._live.gone()
        if limit.cancelled_caught:
            await self._end()
        return limit.cancelled_caught

    async def _watch(self, limits: ResourceLimits) -> None:
        while True:
            await anyio.sleep(_LOOK)
            if note := await run_sync(excess, limits, self._live.root, abandon_on_cancel=True):
                self._note = note
                self._live.kill()
                return

    async def _end(self) -> None:
        """SIGTERM, then SIGKILL; at most a second in all, though the kernel may keep a process that waits for a device longer."""
        self._live.terminate()
        with anyio.move_on_after(PATIENCE):
            self._code = await self._live.gone()
        if self._code is None:
            self._live.kill()
            with anyio.move_on_after(0.65):
                self._code = await self._live.gone()

    def _result(self, timed_out: bool) -> CompletedProgram:
        stderr = self._err.all()
        if self._note:
            gap = b"" if not stderr or stderr.endswith(b"\n") else b"\n"
            stderr += gap + self._note.encode() + b"\n"
        return CompletedProgram(
            exit_code=137 if self._code is None else self._code,
            stdout=self._out.all(),
            stderr=stderr,
            dropped=self._out.dropped + self._err.dropped,
            timed_out=timed_out,
        )
