"""A conversion of untrusted bytes in a short-lived process of its own: bounded in time, memory and output, and gone when the call returns.

A parser cannot be trusted to end, and a thread cannot be killed. The child gets bytes, never a path: an empty environment, no
byte it could write into a file (`RLIMIT_FSIZE` 0), no further process (`RLIMIT_NPROC` 0, which does not bind root), and before it reads the first byte it
takes from itself the right to open anything (`conversion.py`): `RLIMIT_NOFILE` 3, Landlock without any place, and a seccomp filter that leaves it little
but to read, write and compute: no path, no program, no other process. It dies with its parent.

Where there is no filter for this kind of machine, what works on a path or a process without opening anything is not confined: `chmod`, `truncate`, `kill`.
"""

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from typing import Literal

import anyio
import anyio.lowlevel
import msgspec
from anyio.to_thread import run_sync

from ..errors import ToolExecutionError
from ..types.cut_texts import cut_text
from .seccomp import converter_filter, known
from .spawn import in_spawner

# -I -S: neither the directory nor the environment decides what is imported. First come the roots of this very package and its libraries, then the usual places.
_BOOT = "import sys; sys.path += sys.argv[4:]; import site; site.main(); import importlib; importlib.import_module(sys.argv[1]).main(int(sys.argv[2]))"
_SIGXCPU = 24
_CHUNK = 1 << 18
_KEPT_ERRORS = 4096


class ConversionBounds(msgspec.Struct, frozen=True, kw_only=True):
    """What one conversion may take: seconds on the clock and of computing, bytes of address space and of output."""

    seconds: float = 25.0
    cpu: int = 20
    memory: int = 1024**3
    output: int = 96 * 1024**2


BOUNDS = ConversionBounds()


class Conversion(msgspec.Struct, frozen=True):
    """How it ended. `detail` is the last line on the child's standard error, or the signal that ended it."""

    ended: Literal["done", "time", "size", "crash"]
    output: bytes = b""
    detail: str = ""


class ChildConverter:
    """`ports.Converter` by a child process of this Python."""

    def __init__(self, bounds: ConversionBounds = BOUNDS) -> None:
        self._bounds = bounds

    async def convert(self, module: str, data: bytes) -> Conversion:
        """Run `main` of that module on the data. Raises `ToolExecutionError` when no process can be started."""
        child = await in_spawner(lambda: _start(module, self._bounds))
        out, err = _CapturedStream(self._bounds.output), _CapturedStream(_KEPT_ERRORS, tail=True)
        ended = False
        try:
            with anyio.move_on_after(self._bounds.seconds):
                async with anyio.create_task_group() as streams:
                    streams.start_soon(_feed, child, data)
                    streams.start_soon(_drain, child.stderr, err, None)
                    streams.start_soon(_drain, child.stdout, out, streams.cancel_scope.cancel)
                ended = not out.over
        finally:
            with anyio.CancelScope(shield=True):
                code = await run_sync(_end, child, ended)
        return _verdict(ended, code, out, err)


def _start(module: str, bounds: ConversionBounds) -> "subprocess.Popen[bytes]":
    seccomp = converter_filter().hex() if known(os.uname().machine) else ""
    here, libraries = os.path.dirname(os.path.dirname(os.path.dirname(__file__))), os.path.dirname(os.path.dirname(msgspec.__file__))
    try:
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", "-c", _BOOT, module, str(os.getpid()), seccomp, here, libraries],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd="/",
            env={},
            start_new_session=True,
        )
    except OSError as error:
        raise ToolExecutionError(f"no process could be started to read the document: {error.strerror}") from error
    _limit(child.pid, bounds)  # before it gets a byte of the document
    for stream in (child.stdin, child.stdout, child.stderr):
        assert stream is not None
        os.set_blocking(stream.fileno(), False)
    return child


def _limit(pid: int, bounds: ConversionBounds) -> None:
    limits = {
        resource.RLIMIT_CPU: (bounds.cpu, bounds.cpu + 2),  # SIGXCPU, which says why; SIGKILL if that is held back
        resource.RLIMIT_AS: (bounds.memory, bounds.memory),
        resource.RLIMIT_NOFILE: (64, 64),
        **dict.fromkeys((resource.RLIMIT_FSIZE, resource.RLIMIT_CORE, resource.RLIMIT_NPROC), (0, 0)),
    }
    for kind, (soft, hard) in limits.items():
        _, most = resource.prlimit(pid, kind)
        top = hard if most == resource.RLIM_INFINITY else min(hard, most)  # only root may raise what it was given
        resource.prlimit(pid, kind, (min(soft, top), top))


async def _feed(child: "subprocess.Popen[bytes]", data: bytes) -> None:
    assert child.stdin is not None
    left, fd = memoryview(data), child.stdin.fileno()
    while left:
        try:
            left = left[os.write(fd, left[:_CHUNK]) :]
        except BlockingIOError:
            await anyio.wait_writable(fd)
        except BrokenPipeError:  # it has ended: how, says its exit code
            break
        await anyio.lowlevel.checkpoint()
    child.stdin.close()


class _CapturedStream:
    """The first bytes of a stream, or with `tail` the last ones. `over`: there were more than fit."""

    def __init__(self, bound: int, *, tail: bool = False) -> None:
        self._bound, self._tail, self._parts, self._size, self.over = bound, tail, list[bytes](), 0, False

    def add(self, data: bytes) -> None:
        self._parts.append(data)
        self._size += len(data)
        if self._size > self._bound:
            self.over = True
            whole = b"".join(self._parts)
            self._parts = [whole[-self._bound :] if self._tail else whole[: self._bound]]
            self._size = self._bound

    def all(self) -> bytes:
        return b"".join(self._parts)


async def _drain(stream: object, kept: _CapturedStream, on_over: Callable[[], None] | None) -> None:
    fd = stream.fileno()  # type: ignore[attr-defined]
    while True:
        try:
            data = os.read(fd, _CHUNK)
        except BlockingIOError:
            await anyio.wait_readable(fd)
            continue
        if not data:
            return
        kept.add(data)
        if kept.over and on_over:
            on_over()
        await anyio.lowlevel.checkpoint()


def _end(child: "subprocess.Popen[bytes]", ended: bool) -> int:
    """Its exit code. One that closed its streams has a moment to leave by itself."""
    if ended:
        try:
            child.wait(1.0)
        except subprocess.TimeoutExpired:
            ended = False
    if not ended:
        child.kill()
    for stream in (child.stdin, child.stdout, child.stderr):
        if stream:
            stream.close()
    return child.wait()


def _verdict(ended: bool, code: int, out: _CapturedStream, err: _CapturedStream) -> Conversion:
    if out.over:
        return Conversion("size")
    if not ended or code == -_SIGXCPU:
        return Conversion("time")
    if code:
        lines = err.all().decode(errors="replace").strip().splitlines()
        return Conversion("crash", detail=f"signal {-code}" if code < 0 else (cut_text(lines[-1], 200) if lines else f"exit code {code}"))
    return Conversion("done", out.all())
