"""What confinement costs: running `true` in each sandbox against a bare asyncio subprocess, as ratios in one run.

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
from neuralclaw.sandbox.process import ProcessSandbox
from neuralclaw.types.grants import Envelope, Grant

PATH = os.environ["PATH"]


async def bare(program: str) -> None:
    process = await asyncio.create_subprocess_exec(
        program, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env={"PATH": PATH}
    )
    await process.communicate()


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
        if bwrap:
            contenders["bubblewrap"] = confined(Bubblewrap(bwrap), workspace, program)
        times: dict[str, list[float]] = {name: [] for name in contenders}
        for turn in range(rounds + 3):
            for name, run in contenders.items():  # in turns, so that a busy moment hits all
                start = time.perf_counter()
                await run()
                if turn >= 3:
                    times[name].append(time.perf_counter() - start)
    base = statistics.median(times["bare subprocess"])
    for name, seconds in times.items():
        median = statistics.median(seconds)
        print(f"{name:16} {median * 1000:6.1f} ms   {median / base:5.1f} x bare")


if __name__ == "__main__":
    asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 50))
