"""A container that runs, and one program in it: its streams, its end, and that nothing of it is left."""

import os
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from select import POLLIN, poll
from tempfile import NamedTemporaryFile
from typing import Any

import anyio

from ...errors import ToolExecutionError
from ...types.cut_texts import cut_text
from ..program_run import CompletedProgram
from .engine import ContainerEngine, EngineError
from .seccomp_profile import profile
from .way_in import WayIn

_PATIENCE = 0.4
"""Seconds after which a container whose first process does not answer is ended by the engine."""
_ANSWER = 10.0
"""Seconds in which an engine that is well does what takes it some milliseconds."""
_MAKING = 120.0
"""Seconds in which it makes or starts a container. Where its storage has no layers (`vfs`) it copies the whole image, which takes long on a busy disk."""
_END = 2.0
_LOOK = 0.1
_CHUNK = 1 << 16
_KILLED = 137
UNSTARTED = b"OCI runtime exec failed"
UNSTARTED_BY_PODMAN = re.compile(rb"Error: .*: OCI (runtime|permission) ")


class RunningContainer:
    """One container, made and started. `run` starts a program in it; one at a time. `alive` false: it ended, or was ended, and is not used again."""

    def __init__(self, engine: ContainerEngine, identity: str, name: str, memory_mb: int, way: WayIn | None = None) -> None:
        self.engine, self.id, self.name, self.memory_mb = engine, identity, name, memory_mb
        self.way, self.resources = way, ExitStack()
        self.last_used = time.monotonic()
        self.busy = anyio.Lock()
        self._orders = engine.hijack(f"/containers/{identity}/attach", stream="1", stdin="1", stdout="1")
        self._listening = threading.Lock()
        self._alive = True
        self._first: int | None = None
        self.group = ControlGroup(0, identity)

    def started(self) -> None:
        """To be called once, after it was made: the first process runs when this returns."""
        self.engine.call("POST", f"/containers/{self.id}/start", seconds=_MAKING)
        if not self.order(b"k", 5.0):
            raise EngineError("its first process did not answer")
        first = self.engine.call("GET", f"/containers/{self.id}/json")["State"]["Pid"]
        self._first = _descriptor_of(first)
        self.group = ControlGroup(first, self.id)
        if not self.group.found:
            self._first = None  # its number is of another machine, or of a process that came after it

    @property
    def alive(self) -> bool:
        """Whether it runs still, by our connection to it."""
        with self._listening:
            if self._alive and _readable(self._orders, 0):
                with suppress(OSError):
                    self._alive = bool(self._orders.recv(_CHUNK, socket.MSG_DONTWAIT))
        return self._alive

    def tell(self, word: bytes) -> None:
        """A word to its first process: t asks all programs to end, k kills them."""
        with suppress(OSError):
            self._orders.send(word + b"\n", socket.MSG_DONTWAIT)

    def order(self, word: bytes, seconds: float) -> bool:
        """The same, waiting for its answer; False where none comes. Blocks."""
        mark = word + str(time.monotonic_ns()).encode()
        self.tell(mark)
        text, deadline = b"", time.monotonic() + seconds
        with self._listening:
            while self._alive and (left := deadline - time.monotonic()) > 0 and _readable(self._orders, left):
                try:
                    part = self._orders.recv(_CHUNK)
                except OSError:
                    part = b""
                self._alive = self._alive and bool(part)
                text += part
                if mark + b"\n" in text:
                    return True
        return False

    def run(self, argv: Sequence[str], *, cwd: str, env: dict[str, str]) -> "ContainedProgram":
        """Start a program. Blocks for some 50 ms. Raises `EngineError`."""
        told = {
            "AttachStdout": True,
            "AttachStderr": True,
            "Cmd": list(argv),
            "WorkingDir": cwd,
            "Env": [f"{name}={value}" for name, value in env.items()],
        }
        made = self.engine.call("POST", f"/containers/{self.id}/exec", body=told, seconds=_ANSWER)
        stream = self.engine.hijack(f"/exec/{made['Id']}/start", {"Detach": False, "Tty": False})
        return ContainedProgram(self, made["Id"], stream)

    def empty(self) -> bool:
        """End what still runs in it; whether only its first process is left, by the kernel's count. Blocks."""
        if not self.order(b"k", _PATIENCE):
            return False
        deadline = time.monotonic() + _PATIENCE
        while (count := self.processes()) > 1 and time.monotonic() < deadline:
            time.sleep(0.005)  # one that ended is counted until its parent has seen it
            self.order(b"k", _PATIENCE)
        return count == 1

    def processes(self) -> int:
        """How many run in it, as its control group counts; by a list of the engine's, which takes longer, where that is not on this machine."""
        counted = self.group.processes()
        if counted is not None:
            return counted
        return len(self.engine.call("GET", f"/containers/{self.id}/top", ps_args="-eo pid")["Processes"])

    def remove(self) -> None:
        """End it with all that runs in it. One that is gone already is no error. Blocks."""
        self.end()
        with suppress(EngineError):
            self.engine.call("DELETE", f"/containers/{self.id}", force="true", v="true", seconds=_ANSWER)
        self._hang_up()

    def let_go(self) -> None:
        """End it; the engine removes it."""
        self.end()
        self._hang_up()

    def _hang_up(self) -> None:
        """Close our end of the orders, at which another thread may be listening."""
        self.resources.close()
        with suppress(OSError):
            self._orders.shutdown(socket.SHUT_RDWR)
        with self._listening:
            self._orders.close()

    def end(self) -> None:
        """End all that runs in it, past the engine, which may hang: with its first process its process namespace ends. Where that is another user's, the
        engine does it when our end of the orders closes."""
        self._alive = False
        first, self._first = self._first, None
        if first is not None:
            with suppress(OSError):
                signal.pidfd_send_signal(first, signal.SIGKILL)
                _readable(first, _END)  # it has ended when all others have: what looks at files next must not see them change
            os.close(first)


def _readable(stream: socket.socket | int, seconds: float) -> bool:
    """Whether something can be read, or it has ended. Blocks. Not `select`, which takes no descriptor above 1,023."""
    waiting = poll()
    waiting.register(stream, POLLIN)
    return bool(waiting.poll(seconds * 1000))


def _descriptor_of(process: int) -> int | None:
    try:
        return os.pidfd_open(process)
    except (OSError, AttributeError):
        return None


def create(engine: ContainerEngine, told: Mapping[str, Any], name: str) -> str:
    """Make a container, with the seccomp profile; its id. Raises `EngineError`, also where the engine would not keep a limit: it says so, and goes on."""
    host = told["HostConfig"]
    with _named_profile(engine) as profiled:
        body = {**told, "HostConfig": {**host, "SecurityOpt": [*host["SecurityOpt"], f"seccomp={profiled}"]}}
        made = engine.call("POST", "/containers/create", body=body, seconds=_MAKING, name=name)
    if warnings := made.get("Warnings"):
        engine.call("DELETE", f"/containers/{made['Id']}", force="true")
        raise EngineError(f"the engine does not keep every limit: {' '.join(warnings)}", fix="switch on control groups for memory, swap and processes")
    return str(made["Id"])


@contextmanager
def _named_profile(engine: ContainerEngine) -> Iterator[str]:
    """The seccomp profile as the engine takes it: Docker its text, Podman the path of a file, which it reads while it makes the container."""
    text = profile(os.uname().machine)
    if not engine.is_podman:
        yield text
        return
    try:
        with NamedTemporaryFile("w", prefix="neuralclaw-seccomp-", suffix=".json") as file:
            file.write(text)
            file.flush()
            yield file.name
    except OSError as error:
        raise EngineError(f"no temporary file could be written for its seccomp profile: {error.strerror}") from error


class ControlGroup:
    """The control group of a container, where it can be read on this machine. `pid`: its first process, as the engine sees it."""

    def __init__(self, pid: int, identity: str) -> None:
        self._processes = self._memory = ""
        self.found = False
        with suppress(OSError), open(f"/proc/{pid}/cgroup", encoding="ascii") as file:
            for line in file:
                _, controllers, path = line.rstrip("\n").split(":", 2)
                if identity in path:
                    self.found = True
                    self._add(controllers, path)

    def _add(self, controllers: str, path: str) -> None:
        """One hierarchy: all controllers in version 2, else those that are named."""
        if controllers in ("pids", "") and not self._processes:
            self._processes = _if_there(f"/sys/fs/cgroup/{controllers}{path}/pids.current")
        if controllers in ("memory", "") and not self._memory:
            self._memory = _if_there(f"/sys/fs/cgroup/{controllers}{path}/memory.{'oom_control' if controllers else 'events'}")

    def processes(self) -> int | None:
        """How many there are, 0 where the group is gone, None where that cannot be read."""
        if not self._processes:
            return None
        try:
            with open(self._processes, encoding="ascii") as file:
                return int(file.read())
        except OSError:
            return 0

    def killed_for_memory(self) -> int:
        """How many processes the kernel has ended since they took too much together; 0 where that cannot be read."""
        if self._memory:
            with suppress(OSError), open(self._memory, encoding="ascii") as file:
                return next((int(line.split()[1]) for line in file if line.startswith("oom_kill ")), 0)
        return 0


def _if_there(path: str) -> str:
    return path if os.path.exists(path) else ""


class ContainedProgram:
    """A `LiveProgram`: a thread takes its streams apart, looks for its end and sees that nothing of it is left."""

    root = 0

    def __init__(self, container: RunningContainer, identity: str, stream: socket.socket) -> None:
        self._container, self._id, self._stream = container, identity, stream
        self.stdout, self._out = os.pipe()
        self.stderr, self._err = os.pipe()
        self.end, self._ended = os.pipe()
        self._killed = 0.0
        self._short = container.group.killed_for_memory()
        self._code: int | None = None
        self._ended_itself = False
        self.failure = ""
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="container-program", daemon=True)
        self._thread.start()

    def terminate(self) -> None:
        self._container.tell(b"t")

    def kill(self) -> None:
        """Also past an engine that hangs, of which the thread may be waiting for an answer."""
        self._killed = self._killed or time.monotonic()
        self._container.tell(b"k")
        late = threading.Timer(_PATIENCE, self._end_if_it_runs)
        late.daemon = True
        late.start()

    def _end_if_it_runs(self) -> None:
        if not self._done.is_set():
            self._container.end()

    async def gone(self) -> int:
        await anyio.wait_readable(self.end)
        return self.exit_code

    @property
    def exit_code(self) -> int:
        """Of a program that is over."""
        return _KILLED if self._code is None else self._code

    def over(self, seconds: float) -> bool:
        """Wait until nothing of it is left; False when that takes longer. Blocks."""
        return _readable(self.end, seconds)

    def close(self) -> None:
        """After its end, or where it cannot be waited for: then the container is ended by the thread."""
        self._killed = self._killed or time.monotonic()
        for fd in (self.stdout, self.stderr, self.end):
            os.close(fd)

    def _follow(self) -> None:
        try:
            self._copy()
            self._finish()
        except EngineError as error:
            self.failure = error.text
            self._container.remove()
        finally:
            self._done.set()
            self._stream.close()
            for fd in (self._out, self._err, self._ended):
                os.close(fd)

    def _copy(self) -> None:
        """Until its streams end. After its end the processes that hold them are ended too, if need be with the container, and what the engine has not
        passed on yet is waited for."""
        data, deadline = b"", 0.0
        while not deadline or time.monotonic() < deadline:
            if self._killed and time.monotonic() > self._killed + _PATIENCE:
                self._container.remove()
            if not _readable(self._stream, _LOOK):
                if not deadline and not self._runs():
                    emptied = self._container.empty()
                    self._ended_itself = self._container.alive
                    if not emptied:
                        self._container.remove()
                    deadline = time.monotonic() + _ANSWER
                continue
            part = self._stream.recv(_CHUNK)
            if not part:
                return
            data = self._split(data + part)

    def _split(self, data: bytes) -> bytes:
        """Write out the whole frames: a byte that names the stream, three zeros, four bytes of length. The rest of the data."""
        while len(data) >= 8:
            length = int.from_bytes(data[4:8], "big")
            if len(data) < 8 + length:
                break
            self._write(self._err if data[0] == 2 else self._out, data[8 : 8 + length])
            data = data[8 + length :]
        return data

    def _write(self, fd: int, data: bytes) -> None:
        view = memoryview(data)
        with suppress(BrokenPipeError):
            while view:
                view = view[os.write(fd, view) :]

    def _runs(self) -> bool:
        told = self._told()
        running = bool(told.get("Running"))
        self._code = None if running else told.get("ExitCode")  # of one that runs Podman says 0
        return running

    def _told(self) -> Any:
        return self._container.engine.call("GET", f"/exec/{self._id}/json")

    def _finish(self) -> None:
        """Its exit code, and nothing of it left: where the first process does not see to that, the engine ends the container."""
        if self._container.group.killed_for_memory() > self._short:
            self._write(self._err, f"stopped: more than {self._container.memory_mb} MB of memory\n".encode())
        ended = not self._container.alive
        if ended or not self._container.empty():
            ended = not self._container.alive
            with suppress(EngineError):
                self._runs()
            self._container.remove()
            if ended and not self._ended_itself and not self._killed and self._code in (None, 0, _KILLED):
                self._code = None
                self._write(self._err, b"stopped: its container was ended\n")
            return
        deadline = time.monotonic() + 2.0
        while self._runs() and time.monotonic() < deadline:
            time.sleep(0.002)


def unstarted(done: CompletedProgram, name: str) -> ToolExecutionError | None:
    """The error for a program that the engine could not start: Docker tells it on standard output, Podman on standard error."""
    told = done.stdout if done.stdout.startswith(UNSTARTED) else done.stderr.partition(b"\n")[0]
    if done.exit_code not in (126, 127) or not (told.startswith(UNSTARTED) or UNSTARTED_BY_PODMAN.match(told)):
        return None
    text = told.decode(errors="replace")
    if done.exit_code == 127 or "not found" in text or "no such file" in text:
        hint = "The container has the programs of its image: bash, coreutils, findutils, grep, sed, awk, curl, python3."
        return ToolExecutionError(f"the program {name} is not in the container's image", hint=hint)
    return ToolExecutionError(f"the program {name} could not be started in its container: {cut_text(text.strip(), 500)}")
