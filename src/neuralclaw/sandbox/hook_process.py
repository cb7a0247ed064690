"""Runs a hook: the bytes that were hashed, in a clean environment, until nothing of it is left.

The files that the command names are read once, into memory that is sealed against any change; these bytes are hashed, and these bytes run. What becomes of
the file on the disk meanwhile changes nothing. The reaper ends all that the program started, at its end, at its time limit and when this process dies.
"""

import fcntl
import hashlib
import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

import msgspec
from anyio.to_thread import run_sync

from ..errors import ToolExecutionError
from .environment import clean_env
from .orders import Order
from .program_lookup import find_program
from .program_run import CompletedProgram, ProgramRun
from .reaped import start_reaped
from .resource_limits import LIMITS
from .spawn import in_spawner

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where programs are found by name: no directory that a workspace or an environment names."""
LARGEST = 256 * 1024**2
"""Bytes of a file that a command names."""
OUTPUT = 64 * 1024
"""Bytes of each stream that are kept."""
_SEALS = 0x0001 | 0x0002 | 0x0004 | 0x0008  # F_SEAL_SEAL, SHRINK, GROW, WRITE
_ADD_SEALS = 1033
_EXECUTABLE = 0x0010  # MFD_EXEC, since Linux 6.3


class HookFile(msgspec.Struct, frozen=True):
    """A file that a command names: where in the command, its path, and the bytes' SHA-256."""

    at: int
    path: str
    digest: str
    descriptor: int = -1


class UnfitHook(Exception):
    """Why a command cannot be run, in words."""


def named_files(command: Sequence[str], home: str) -> list[tuple[int, str]]:
    """The files that are pinned: the program, and every further argument that is the path of a file. A program of the system that runs another
    file that is named (`python3 /home/me/check.py`) is not among them. Raises `UnfitHook`."""
    words = [home + word[1:] if word.startswith("~/") and home else word for word in command]
    program = words[0] if os.path.isabs(words[0]) else None if "/" in words[0] else find_program(words[0], SYSTEM_PATH, "/")
    if program is None:
        what = "is a relative path: give the absolute one" if "/" in words[0] else f"was not found in {SYSTEM_PATH}"
        raise UnfitHook(f"the program {words[0]} {what}")
    others = [(at, word) for at, word in enumerate(words) if at and os.path.isabs(word) and os.path.isfile(word)]
    system = any(os.path.realpath(program).startswith(f"{place}/") for place in ("/usr", "/bin", "/sbin", "/lib"))
    return others if others and system else [(0, program), *others]


def opened(command: Sequence[str], home: str, stack: ExitStack) -> tuple[HookFile, ...]:
    """The files of a command, in memory that nobody can change any more; closed by the stack. Raises `UnfitHook`."""
    return tuple(_sealed(at, path, stack) for at, path in named_files(command, home))


def _sealed(at: int, path: str, stack: ExitStack) -> HookFile:
    try:
        data = _content(path)
        descriptor = _memory(os.path.basename(path))
        stack.callback(os.close, descriptor)
        left = memoryview(data)
        while left:
            left = left[os.write(descriptor, left) :]
        os.fchmod(descriptor, 0o500)
        fcntl.fcntl(descriptor, _ADD_SEALS, _SEALS)
        reading = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY | os.O_CLOEXEC)
        stack.callback(os.close, reading)
    except OSError as error:
        raise UnfitHook(f"{path} cannot be read: {error.strerror}") from error
    return HookFile(at, path, hashlib.sha256(data).hexdigest(), reading)


def _content(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        seen = os.fstat(descriptor)
        if not stat.S_ISREG(seen.st_mode):
            raise UnfitHook(f"{path} is not a file")
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise UnfitHook(f"{path} is larger than {LARGEST // 1024**2} MB")
    return data


def _memory(name: str) -> int:
    flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
    try:
        return os.memfd_create(name, flags | _EXECUTABLE)
    except OSError:
        return os.memfd_create(name, flags)


async def run_program(
    command: Sequence[str], files: Sequence[HookFile], told: bytes, *, environ: Mapping[str, str], timeout: float, stack: ExitStack
) -> CompletedProgram:
    """Run the files that were opened, with `told` as standard input, to the end. Raises `ToolExecutionError` where it cannot be started."""
    own = f"/proc/{os.getpid()}/fd"
    words = [*command]
    for file in files:
        words[file.at] = f"{own}/{file.descriptor}"
    program = words[0] if os.path.isabs(words[0]) else find_program(words[0], SYSTEM_PATH, "/") or words[0]
    given = await run_sync(_input, told, stack)
    env = clean_env(environ) | {"PATH": SYSTEM_PATH, "PWD": "/"}
    env.pop("TMPDIR", None)
    pairs = {os.fsencode(name): os.fsencode(value) for name, value in env.items()}
    arguments = [os.fsencode(command[0]), *(os.fsencode(word) for word in words[1:])]
    order = Order(b"/", os.fsencode(program), arguments, pairs, stdin=os.fsencode(f"{own}/{given}"))
    live = await in_spawner(lambda: start_reaped(order, LIMITS))
    result = await ProgramRun(live, LIMITS, OUTPUT).finish(timeout)
    if live.failure is not None:
        raise ToolExecutionError(f"it could not be started: {os.strerror(live.failure)}")
    return result


def _input(told: bytes, stack: ExitStack) -> int:
    descriptor = os.memfd_create("input", os.MFD_CLOEXEC)
    stack.callback(os.close, descriptor)
    left = memoryview(told)
    while left:
        left = left[os.write(descriptor, left) :]
    return descriptor
