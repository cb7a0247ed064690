"""How a command in a container reaches its outbound proxy. A container has no network but a loopback of its own, and this process cannot enter that as it
enters bubblewrap's. So a program of the image listens there for one call, and hands the listening socket over through a Unix socket, which is there for that
moment.

What listens is the agent's own from then on, and ends with the call: nothing of it is left for the next one.
"""

import os
import socket
from contextlib import suppress
from select import POLLIN, poll

from ...errors import ToolExecutionError
from ..orders import INSIDE_PORT
from .engine import EngineError
from .running import ContainedProgram, RunningContainer
from .way_in import WAY

ProxySocket = socket.socket
"""One that listens in a container, for the proxy of one call."""
LISTENS = f"""
import array, socket
listener = socket.create_server(("127.0.0.1", {INSIDE_PORT}), backlog=128)
agent = socket.socket(socket.AF_UNIX)
agent.connect("{WAY}/socket")
agent.sendmsg([b"l"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listener.fileno()]))])
agent.recv(1)
"""
NO_PYTHON = "a container gets its network by Python, and its image has no python3; nothing was run"
_SECONDS = 10.0
_CODES_OF_NO_PROGRAM = (126, 127)


def listening_in(container: RunningContainer) -> ProxySocket:
    """A socket that listens on the loopback of this container. Blocks for some 80 ms. Raises `EngineError`, or `ToolExecutionError` for an image in which
    nothing can listen."""
    assert container.way is not None
    path = f"{container.way.directory}/socket"
    with socket.socket(socket.AF_UNIX) as ours:
        with suppress(FileNotFoundError):
            os.unlink(path)
        ours.bind(path)
        try:
            os.chmod(path, 0o666)
            ours.listen(1)
            program = container.run(("python3", "-I", "-S", "-c", LISTENS), cwd="/", env={})
            try:
                return _handed_over(ours, program)
            except OSError as error:
                raise EngineError(f"its network could not be made: {error.strerror or 'nothing was handed over'}") from error
            finally:
                if not program.over(0):
                    program.kill()
                    program.over(_SECONDS)
                program.close()
        finally:
            os.unlink(path)


def _handed_over(ours: socket.socket, program: ContainedProgram) -> ProxySocket:
    waiting = poll()
    waiting.register(ours, POLLIN)
    waiting.register(program.end, POLLIN)
    ready = dict(waiting.poll(_SECONDS * 1000))
    if ours.fileno() not in ready:
        if program.end in ready and program.exit_code in _CODES_OF_NO_PROGRAM:
            raise ToolExecutionError(
                NO_PYTHON, hint="Build the image again (neuralclaw sandbox build), or name one that has python3: tools.terminal.docker_image."
            )
        raise EngineError("its network could not be made: nothing was handed over")
    theirs, _ = ours.accept()
    with theirs:
        theirs.settimeout(_SECONDS)
        _, received, _, _ = socket.recv_fds(theirs, 1, 1)
        listener = _checked(received)
        theirs.close()
        if not program.over(_SECONDS):
            listener.close()
            raise EngineError("its network could not be made: what listens did not end")
    return listener


def _checked(received: list[int]) -> ProxySocket:
    """The socket that was received, which must listen at the one place where the proxy is reached: an image is somebody else's program."""
    if not received:
        raise EngineError("its network could not be made: nothing was handed over")
    listener = socket.socket(fileno=received[0])
    if (
        listener.family != socket.AF_INET
        or listener.type != socket.SOCK_STREAM
        or not listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        or listener.getsockname() != ("127.0.0.1", INSIDE_PORT)
    ):
        listener.close()
        raise EngineError("its network could not be made: another socket was handed over")
    return listener
