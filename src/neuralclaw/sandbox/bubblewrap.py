"""The bubblewrap sandbox: own user, process and network namespaces, only what a `View` shows, only the grant's write roots writable, seccomp.

Namespaces are named one by one: `--unshare-all` takes twice the time. All of `bwrap`'s arguments go through a file, so that
neither it nor `ps` sees the command's environment: `LD_PRELOAD` in there would otherwise load into bwrap, outside the sandbox.
"""

import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import Literal

import anyio
import msgspec

from ..errors import ToolExecutionError
from ..types.cut_texts import cut_text
from ..types.grants import Envelope, Grant
from ..types.tools import Watched
from .later_run.kept_places import kept_in
from .mounts import mounts
from .orders import INSIDE_PORT
from .outbound_proxy import OutboundProxy, used
from .program_run import CompletedProgram, Program, ProgramRun, admit
from .reaped import listening_in
from .reaper import descendants
from .refusals import Around, explained
from .resource_limits import LIMITS, ProcessGroup, ResourceLimits, apply, apply_processes, remove_later
from .seccomp import program_filter
from .spawn import in_spawner, popen
from .visible import View, view

_SET_UP_SECONDS = 10.0


class Bubblewrap:
    """Runs programs under `bwrap_path`. `hidden`: absolute paths (data home, key directories) that no program sees into; `home`: the person's, "" unknown."""

    name: Literal["bubblewrap"] = "bubblewrap"

    def __init__(self, bwrap_path: str, *, hidden: tuple[str, ...] = (), home: str = "", limits: ResourceLimits = LIMITS) -> None:
        self._bwrap, self._hidden, self._home, self._limits = bwrap_path, hidden, home, limits

    async def exec(
        self, grant: Grant, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], timeout: float | None, max_bytes: int | Watched
    ) -> CompletedProgram:
        """Run to the end; `timeout` in seconds. Raises `PermissionDeniedError`, or `ToolExecutionError` when it cannot be started."""
        envelope, program = admit(grant, argv, cwd, env)
        proxy = OutboundProxy(grant) if envelope.network else None
        shown = program if proxy is None else msgspec.structs.replace(program, env=proxy.environment(program.env, INSIDE_PORT))
        live = await in_spawner(lambda: _start(self._bwrap, self.arguments(envelope, grant.workspace, shown), self._limits, proxied=proxy is not None))
        run = ProgramRun(live, self._limits, max_bytes)
        result = await (run.finish(timeout) if proxy is None or live.listener is None else proxy.beside(live.listener, lambda: run.finish(timeout)))
        unstarted = f"bwrap: execvp {program.file}: ".encode()
        if (not live.ran and not result.timed_out) or (result.exit_code == 1 and result.stderr.startswith(unstarted)):
            reason = cut_text(result.stderr.removeprefix(unstarted).decode(errors="replace").strip(), 500)
            raise ToolExecutionError(f"the program {argv[0]} could not be started: {reason or 'the sandbox ended without a reason'}")
        around = Around(network=used(proxy), own="/tmp", terminals=True, hides=True)
        return await explained(result, lambda: self.seen(envelope, grant.workspace, program), program, around)

    def seen(self, envelope: Envelope, workspace: str, program: Program) -> View:
        """What this program sees. Reads the disk."""
        seen = view(envelope, workspace, program, home=self._home, hidden=self._hidden)
        return msgspec.structs.replace(seen, kept=(*seen.kept, *kept_in(envelope.write, seen.hidden)))

    def arguments(self, envelope: Envelope, workspace: str, program: Program) -> list[str]:
        """Everything for bwrap but the filter. Reads the disk."""
        seen = self.seen(envelope, workspace, program)
        names = ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-net"]
        variables = [part for name, value in program.env.items() for part in ("--setenv", name, value)]
        confined = ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv", *variables]
        return [*names, *mounts(seen), *confined, "--chdir", program.cwd, "--", program.file, *program.argv[1:]]


def program_calls() -> bytes:
    """The seccomp program. All sockets lead to nothing but this program's own, and to its proxy."""
    return program_filter("namespaced", "allowed", shared=True)


def memory_file(name: str, data: bytes) -> int:
    """A descriptor where the data is read from the beginning."""
    descriptor = os.memfd_create(name)
    with open(os.dup(descriptor), "wb") as file:
        file.write(data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _start(bwrap: str, arguments: Sequence[str], limits: ResourceLimits, *, proxied: bool) -> "_Contained":
    at = arguments.index("--")
    options = memory_file("bwrap-arguments", b"".join(os.fsencode(part) + b"\0" for part in arguments[:at]))
    calls = memory_file("bwrap-seccomp", program_calls())
    status, status_write = os.pipe()
    block_read, block = os.pipe()
    group = ProcessGroup.make(limits)
    try:
        fixed = [bwrap, "--args", str(options), "--seccomp", str(calls), "--json-status-fd", str(status_write), "--block-fd", str(block_read)]
        with group.entered() if group else nullcontext(True) as inside:
            child = popen([*fixed, *arguments[at:]], (options, calls, status_write, block_read))
    except OSError as error:
        os.close(status)
        os.close(block)
        if group:
            group.remove()
        raise ToolExecutionError(f"bubblewrap could not be started: {error.strerror}") from error
    finally:
        for fd in (options, calls, status_write, block_read):
            os.close(fd)
    live, begun = _Contained(child, status, group), False
    try:
        live.settle(limits)
        if group and not inside:
            group.add(live.root)
        if proxied and live.waits:
            live.listener = listening_in(live.root)
        with suppress(BrokenPipeError):
            os.write(block, b"g")
        begun = True
    finally:
        if not begun:
            live.close()  # before the end of that pipe lets it begin
        os.close(block)
    return live


class _Contained:
    """A running sandbox. `root` is the first process inside; when it has ended, the kernel has ended all others with it."""

    def __init__(self, child: "subprocess.Popen[bytes]", status: int, group: ProcessGroup | None) -> None:
        assert child.stdout is not None
        assert child.stderr is not None
        self._child, self._status, self._group = child, status, group
        self.stdout, self.stderr, self.root = child.stdout.fileno(), child.stderr.fileno(), child.pid
        self._outer, self._inner = os.pidfd_open(child.pid), -1
        self._text = b""
        self.listener: socket.socket | None = None
        """Where it reaches its proxy."""

    def settle(self, limits: ResourceLimits) -> None:
        """Wait (some ms) until bwrap tells the number of its first process, which then still waits for us, and limit that."""
        deadline = time.monotonic() + _SET_UP_SECONDS
        waiting = select.poll()
        waiting.register(self._status, select.POLLIN)
        while b"}" not in self._text and waiting.poll(max(0.0, deadline - time.monotonic()) * 1000):
            part = os.read(self._status, 512)
            if not part:
                return  # it failed; its reason stands on its standard error
            self._text += part
        if b"}" not in self._text:
            self.kill()
            return
        self.root = msgspec.json.decode(self._text.partition(b"\n")[0], type=dict[str, int])["child-pid"]
        with suppress(ProcessLookupError):
            self._inner = os.pidfd_open(self.root)
            apply(limits, self.root)
            apply_processes(limits, self.root)

    @property
    def waits(self) -> bool:
        """Whether its first process is there and has not begun."""
        return self._inner >= 0

    @property
    def ran(self) -> bool:
        """Whether the program itself was started and its end seen: only then bwrap gives an exit code, or we have killed it."""
        return b"exit-code" in self._text or self._child.returncode == -signal.SIGKILL

    def terminate(self) -> None:
        for pid in descendants(self.root):
            with suppress(OSError):
                os.kill(pid, signal.SIGTERM)

    def kill(self) -> None:
        for pidfd in (self._inner, self._outer):
            if pidfd >= 0:
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(pidfd, signal.SIGKILL)

    async def gone(self) -> int:
        await anyio.wait_readable(self._outer)
        code = self._child.wait()
        if self._inner >= 0:
            self.kill()  # what the program left behind: it would be killed with bwrap's end, but not before we return
            await anyio.wait_readable(self._inner)
        os.set_blocking(self._status, False)
        with suppress(BlockingIOError):
            while part := os.read(self._status, 512):
                self._text += part
        return code if code >= 0 else 128 - code

    def close(self) -> None:
        self.kill()
        for fd in (self._status, self._outer, self._inner):
            if fd >= 0:
                os.close(fd)
        for stream in (self._child.stdout, self._child.stderr):
            if stream:
                stream.close()
        self._child.poll()
        if self._group:
            remove_later(self._group)
