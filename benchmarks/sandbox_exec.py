"""What confinement costs: running `true` in each sandbox against a bare asyncio subprocess and bubblewrap without a view, in turns, pair by pair.

Between two commands it pauses, as a model does: what a sandbox makes ready for the next command is ready then, and is not counted to another one.

python benchmarks/sandbox_exec.py [ROUNDS]
"""

import asyncio
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable

from neuralclaw.ports import Sandbox
from neuralclaw.sandbox.bubblewrap import Bubblewrap
from neuralclaw.sandbox.landlock import Landlock
from neuralclaw.sandbox.process import ProcessSandbox
from neuralclaw.types.grants import Envelope, Grant

PATH = os.environ["PATH"]
PAUSE = 0.03
"""Seconds between two commands."""


async def bare(program: str) -> None:
    process = await asyncio.create_subprocess_exec(
        program, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env={"PATH": PATH}
    )
    await process.communicate()


async def bare_bubblewrap(bwrap: str, workspace: str, program: str) -> None:
    """The namespaces that the sandbox has, and nothing else of it."""
    namespaces = ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-net", "--die-with-parent"]
    places = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--chdir", workspace]
    process = await asyncio.create_subprocess_exec(
        bwrap, *namespaces, *places, program, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env={}
    )
    await process.communicate()
    if process.returncode:
        sys.exit(f"bubblewrap does not work here: exit code {process.returncode}")


def confined(sandbox: Sandbox, workspace: str, program: str) -> Callable[[], Awaitable[object]]:
    envelope = Envelope(read=(workspace,), write=(workspace,), execute=True)
    grant = Grant(session="s", call_id="c", tool="terminal", arguments={}, workspace=workspace, hash="", envelope=envelope)
    return lambda: sandbox.exec(grant, [program], cwd=workspace, env={"PATH": PATH}, timeout=10, max_bytes=1000)


async def measure(rounds: int) -> None:
    program, bwrap = shutil.which("true") or "/bin/true", shutil.which("bwrap")
    with tempfile.TemporaryDirectory() as directory:
        workspace = os.path.realpath(directory)  # noqa: ASYNC240 - nothing else runs yet
        contenders: dict[str, Callable[[], Awaitable[object]]] = {
            "bare subprocess": lambda: bare(program),
            "process sandbox": confined(ProcessSandbox(), workspace, program),
        }
        home = os.path.realpath(os.environ.get("HOME", "/root"))  # noqa: ASYNC240
        contenders["landlock"] = confined(Landlock(home=home), workspace, program)
        if bwrap:
            contenders["bare bubblewrap"] = lambda: bare_bubblewrap(bwrap, workspace, program)
            contenders["bubblewrap"] = confined(Bubblewrap(bwrap, home=home), workspace, program)
        times: dict[str, list[float]] = {name: [] for name in contenders}
        for turn in range(rounds + 3):
            for name, run in contenders.items():  # in turns, so that a busy moment hits all
                start = time.perf_counter()
                await run()
                if turn >= 3:
                    times[name].append(time.perf_counter() - start)
                await asyncio.sleep(PAUSE)
    for name, seconds in times.items():
        ratio = statistics.median(seconds) / statistics.median(times["bare subprocess"])
        above = {other: statistics.median(a - b for a, b in zip(seconds, times[other], strict=True)) for other in ("bare subprocess", "process sandbox")}
        print(
            f"{name:16} {statistics.median(seconds) * 1000:6.1f} ms (least {min(seconds) * 1000:5.1f})"
            f"   {above['bare subprocess'] * 1000:+6.1f} above bare   {above['process sandbox'] * 1000:+6.1f} above the process sandbox {ratio:5.1f} times bare"
        )


if __name__ == "__main__":
    asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 50))
