"""Makes every attempt once, as the user it is started by: `python -m tests.sandbox.conformance.driver KIND`. KIND `outside` is the control: no sandbox at all.

Prints one JSON object: for each attempt what it said, and whether anything outside was changed.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading

import anyio

from neuralclaw.app.clock import SystemClock
from neuralclaw.ports import Sandbox
from neuralclaw.safety.gate import PolicyGate
from neuralclaw.safety.shell import analyse
from neuralclaw.sandbox.bubblewrap import Bubblewrap
from neuralclaw.sandbox.choice import ChosenSandbox
from neuralclaw.sandbox.container.container_options import ContainerOptions
from neuralclaw.sandbox.container.mounted import USER
from neuralclaw.sandbox.container.sandbox import ContainerSandbox
from neuralclaw.sandbox.landlock import Landlock
from neuralclaw.sandbox.later_run.place_guard import PlaceGuard
from neuralclaw.sandbox.running_call import RunningCall
from neuralclaw.sandbox.system_facts import SystemFacts
from neuralclaw.tools.terminal import terminal
from neuralclaw.types.actions import Action
from neuralclaw.types.grants import Grant
from neuralclaw.types.options import Policy
from neuralclaw.types.questions import Answer, Answers
from neuralclaw.types.signals import Parked

from ...later_run.plants import made, planted, run_later
from ...waiting import until_blocking
from ..engine import IMAGE, PROGRAMS_OF
from ..grants import command_grant
from .cases import CASES
from .stage import Stage, connect_when_it_listens

PYTHON = os.path.realpath(shutil.which("python3", path="/usr/bin:/usr/local/bin:" + os.environ.get("PATH", "")) or sys.executable)
PATH = f"{os.path.dirname(PYTHON)}:/usr/bin:/bin"


PROGRAM = (PYTHON, "-I", "-c", "import sys; sys.path.insert(0, '.'); from escaping.attempting import main; main()")

STOPPED = (128 + signal.SIGKILL, 128 + signal.SIGSYS)
"""Exit codes of a program that was ended for what it did."""


def outside(stage: Stage, name: str) -> str:
    done = subprocess.run(
        [*PROGRAM, name, stage.context],
        cwd=stage.work,
        env={"PATH": PATH},
        capture_output=True,
        text=True,
        timeout=60,
        close_fds=False,
        check=False,
    )
    return done.stdout.strip() or f"broken {done.returncode} {done.stderr[-200:]}"


def sandbox(kind: str, stage: Stage) -> Sandbox:
    hidden, home = (str(stage.home / ".ssh"),), str(stage.home)
    if kind in PROGRAMS_OF:
        return ContainerSandbox(ContainerOptions(image=IMAGE, data_home=str(stage.base)), env=dict(os.environ), hidden=hidden, home=home)
    return Bubblewrap(shutil.which("bwrap") or "bwrap", hidden=hidden, home=home) if kind == "bubblewrap" else Landlock(hidden=hidden, home=home)


async def networked(stage: Stage) -> Grant:
    """What the gate gives a command whose words name one place of the network, after a yes."""
    policy = Policy(home_dir=str(stage.home))
    gate = PolicyGate(policy, SystemFacts(policy, PATH), SystemClock(), analyse)
    spec = terminal(ChosenSandbox("process", path_env=PATH), {}).spec
    arguments = {"command": "curl http://93.184.216.34/"}
    action = Action(session="s", turn=1, call_id="c", spec=spec, arguments=arguments, workspace=str(stage.work))
    try:
        return await gate.authorize(action, Answers())
    except Parked as parked:
        answer = Answer(approval_id=parked.question.approval_id, decision="once", by="owner")
        return await gate.authorize(action, Answers(by_hash={parked.question.hash: answer}))


def confined(box: Sandbox, stage: Stage, name: str) -> str:
    home = str(stage.home)
    argv = [*PROGRAM, name, stage.context]
    grant = anyio.run(networked, stage) if CASES[name].subject == "granted" else command_grant(stage.work)
    guard = PlaceGuard(str(stage.base / "guard"))
    command, _ = guard.begin(RunningCall("s", 1, "c", "terminal"), grant.envelope.write, mounts=box.name != "landlock", by_git=False)
    done = anyio.run(lambda: box.exec(grant, argv, cwd=str(stage.work), env={"PATH": PATH, "HOME": home}, timeout=20, max_bytes=10_000))
    guard.end(command)
    said = done.stdout.decode().strip()
    return said or (f"held stopped {done.stderr.decode()[-200:]}" if done.exit_code in STOPPED else f"broken {done.exit_code} {done.stderr.decode()[-300:]}")


def outlived(stage: Stage) -> str:
    """Whether something of the attempt did its work after its call had ended."""
    try:
        until_blocking((stage.work / "outlived").exists, seconds=1.0)
    except AssertionError:
        return "held nothing runs on"
    return "escaped"


def main(kind: str) -> None:
    stage = Stage()
    found: dict[str, tuple[str, bool]] = {}
    box = None if kind == "outside" else sandbox(kind, stage)
    try:
        for name in CASES:
            stage.reset()
            planting = CASES[name].subject == "planting"
            if planting:
                made(stage.work)
            if kind in PROGRAMS_OF and os.geteuid() == 0:
                for path in (stage.work, *(stage.work.rglob("*") if planting else ())):
                    os.chown(path, USER, USER, follow_symlinks=False)  # no container runs as root, and it must be able to write there
            later = run_later(stage.work) if planting else {}
            before, stop = stage.seen(), threading.Event()
            threading.Thread(target=connect_when_it_listens, args=(stage.work, stop), daemon=True).start()
            said = outside(stage, name) if box is None else confined(box, stage, name)
            if name.startswith("outlive_") and said == "escaped":
                said = outlived(stage)
            stop.set()
            if planting:
                said = "escaped" if planted(later, run_later(stage.work)) else f"held {said}"
            found[name] = (said, stage.seen() != before)
    finally:
        stage.close()
    sys.stdout.write(json.dumps(found))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
