"""Which sandbox runs programs here: the strongest that a trial run has shown to work."""

import os
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Union

import msgspec
from anyio.to_thread import run_sync

from ..errors import ToolExecutionError
from ..types.grants import Envelope, Grant
from ..types.tools import Watched
from .bubblewrap import Bubblewrap, memory_file, program_calls
from .container.sockets import INSTALL as INSTALL_ENGINE
from .container.sockets import NO_ENGINE
from .landlock import Landlock
from .process import ProcessSandbox
from .program_run import CompletedProgram, Program
from .resource_limits import sweep
from .scratch import sweep_scratch
from .seccomp import known

if TYPE_CHECKING:
    from .container.sandbox import ContainerSandbox  # with what speaks to an engine

Preferred = Literal["auto", "container", "bubblewrap", "landlock", "process"]
SandboxName = Literal["container", "bubblewrap", "landlock", "process"]

PLAIN_WARNING = (
    "Commands run as plain processes here, with limits on memory and number but free to read every file and to use the network: "
    "neither bubblewrap nor Landlock works. `neuralclaw doctor` says why."
)

FAILED_WARNING = "Commands are confined by Landlock here, since bubblewrap does not work: {}. `neuralclaw doctor` says what helps."
NOT_INSTALLED = "bwrap is in no directory of the system that PATH names"

NEWER = "use Linux 5.13 or later, with landlock among the security modules that it starts (lsm= on its command line)"
WEAKER = "neuralclaw config set tools.terminal.sandbox auto"
"""Takes the strongest sandbox that works."""
INSTALL = {
    "apt-get": "sudo apt-get install bubblewrap",
    "dnf": "sudo dnf install bubblewrap",
    "pacman": "sudo pacman -S bubblewrap",
    "zypper": "sudo zypper install bubblewrap",
    "apk": "sudo apk add bubblewrap",
}
"""The command of each package manager."""
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where a package manager is looked for besides the search path."""
NAMESPACES = {
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": ("1", "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"),
    "/proc/sys/kernel/unprivileged_userns_clone": ("0", "sudo sysctl -w kernel.unprivileged_userns_clone=1"),
    "/proc/sys/user/max_user_namespaces": ("0", "sudo sysctl -w user.max_user_namespaces=15000"),
}
"""Settings of the kernel that keep bubblewrap from starting: the value that does, and the command that mends it."""
_TRIAL_SECONDS = 10.0


class TrialResult(msgspec.Struct, frozen=True):
    """One line of `doctor`: check `sandbox.<name>`, whether it works, what happened, and what would help (None: nothing to do)."""

    check: str
    ok: bool
    text: str
    fix: str | None = None


AS_ROOT = "; auto passes it over for root, since no container runs as root and so could change what is root's"
_CONTAINER = "sandbox.container"


class ChosenSandbox:
    """The sandbox of this process, chosen when it is first asked for: the trial (8 ms) runs once and never at start-up.

    `preferred` is `tools.terminal.sandbox`; only `auto` falls back to a weaker one. `hidden`: paths no program sees into. `home`: the person's, "" unknown.
    `container` makes the container sandbox, None where there is no engine. To be closed.
    """

    def __init__(
        self,
        preferred: Preferred = "auto",
        *,
        path_env: str,
        hidden: tuple[str, ...] = (),
        home: str = "",
        container: "Callable[[], ContainerSandbox] | None" = None,
    ) -> None:
        self._preferred, self._path, self._hidden, self._home, self._make_container = preferred, path_env, hidden, home, container
        self._lock = threading.Lock()
        self._bubblewrap: tuple[Bubblewrap | None, TrialResult] | None = None
        self._landlock: tuple[Landlock | None, TrialResult] | None = None
        self._container: ContainerSandbox | None = None
        self._chosen: Confining | None = None

    @property
    def name(self) -> SandboxName:
        """What confines an execution. With `auto` the first time blocks for the trial run; what is asked for by name needs none, since nothing takes
        its place."""
        return self._preferred if self._preferred != "auto" else self._choose().name

    @property
    def known(self) -> SandboxName | None:
        """`name` if the choice was made already; never blocks."""
        return self._chosen.name if self._chosen is not None else None

    @property
    def warning(self) -> str:
        """A plain sentence to show once, or "" when the sandbox that is the strongest of those installed confines programs."""
        if self._preferred != "auto" or self.name not in ("process", "landlock"):
            return ""
        if self.name == "process":
            return PLAIN_WARNING
        _, trial = self._try_bubblewrap()
        return FAILED_WARNING.format(trial.text) if trial.text != NOT_INSTALLED else ""

    def problem(self) -> TrialResult | None:
        """Why the sandbox that is asked for by name cannot start; None when it can, and for `auto`. The first time this blocks for the trial run."""
        tried = {"container": lambda: self._try_container()[1], "bubblewrap": lambda: self._try_bubblewrap()[1], "landlock": lambda: self._try_landlock()[1]}
        trial = tried.get(self._preferred)
        found = trial() if trial is not None else None
        return None if found is None or found.ok else found

    def trials(self) -> list[TrialResult]:
        """What `doctor` shows; runs the trial if it has not run yet (blocking)."""
        container = self._try_container(run=True)[1]
        plain = TrialResult("sandbox.process", True, "works; limits memory and processes, holds back neither files nor network")
        return [container, self._try_bubblewrap()[1], self._try_landlock()[1], plain]

    async def exec(
        self, grant: Grant, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], timeout: float | None, max_bytes: int | Watched
    ) -> CompletedProgram:
        """As the chosen sandbox does."""
        sandbox = self._chosen
        if sandbox is None:
            sandbox = await run_sync(self._choose)
        return await sandbox.exec(grant, argv, cwd=cwd, env=env, timeout=timeout, max_bytes=max_bytes)

    def _choose(self) -> "Confining":
        chosen = self._chosen or self._pick()
        self._chosen = chosen
        return chosen

    def _pick(self) -> "Confining":
        sweep()
        sweep_scratch()
        if self._preferred == "process":
            return ProcessSandbox()
        tries: dict[str, Callable[[], tuple[Confining | None, TrialResult]]] = {
            "container": self._try_container,
            "bubblewrap": self._try_bubblewrap,
            "landlock": self._try_landlock,
        }
        for name, attempt in tries.items():
            if self._preferred not in ("auto", name) or (name != self._preferred and name == "container" and os.geteuid() == 0):
                continue
            sandbox, trial = attempt()
            if sandbox is not None:
                return sandbox
            if self._preferred == name:
                text = f"tools.terminal.sandbox asks for {name}, and it does not work here: {trial.text}; nothing was run"
                raise ToolExecutionError(text, hint=trial.fix or "")
        return ProcessSandbox()

    def close(self) -> None:
        """End the containers of this process, if there are any. Nothing is run afterwards in one."""
        if self._container is not None:
            self._container.close()

    def _try_container(self, *, run: bool = False) -> "tuple[ContainerSandbox | None, TrialResult]":
        """Asks the engine each time, since it and its image come and go; `run`: in a container too, else none is started."""
        if self._make_container is None:
            return None, TrialResult(_CONTAINER, False, NO_ENGINE, INSTALL_ENGINE)
        with self._lock:
            made = self._container = self._container or self._make_container()
        problem = made.try_out() if run else made.problem()
        if problem is not None:
            return None, TrialResult(_CONTAINER, False, problem.text, problem.fix)
        over = AS_ROOT if self._preferred == "auto" and os.geteuid() == 0 else ""
        return made, TrialResult(_CONTAINER, True, f"works: {made.place}, without network, writing only where allowed{over}")

    def _try_bubblewrap(self) -> tuple[Bubblewrap | None, TrialResult]:
        with self._lock:
            if self._bubblewrap is None:
                self._bubblewrap = _trial(self._path, self._hidden, self._home)
            return self._bubblewrap

    def _try_landlock(self) -> tuple[Landlock | None, TrialResult]:
        with self._lock:
            if self._landlock is None:
                self._landlock = _landlock_trial(self._hidden, self._home)
            return self._landlock


Confining = Union[Bubblewrap, Landlock, ProcessSandbox, "ContainerSandbox"]


def _landlock_trial(hidden: tuple[str, ...], home: str) -> tuple[Landlock | None, TrialResult]:
    sandbox = Landlock(hidden=hidden, home=home)
    if problem := sandbox.problem():
        return None, TrialResult("sandbox.landlock", False, problem, NEWER)
    return sandbox, TrialResult("sandbox.landlock", True, sandbox.strength())


def _trial(path_env: str, hidden: tuple[str, ...], home: str) -> tuple[Bubblewrap | None, TrialResult]:
    check = "sandbox.bubblewrap"
    import shutil  # with its compressors it costs start-up 3 ms

    bwrap = shutil.which("bwrap", path=path_env)
    if bwrap is None:
        found = (command for path in (path_env, SYSTEM_PATH) for manager, command in INSTALL.items() if shutil.which(manager, path=path))
        install = next(found, "install the package bubblewrap")
        return None, TrialResult(check, False, NOT_INSTALLED, install)
    if not known(os.uname().machine):
        return None, TrialResult(check, False, f"the system calls of {os.uname().machine} are not known")
    sandbox = Bubblewrap(bwrap, hidden=hidden, home=home)
    program = Program(argv=("true",), file="/bin/true", real=os.path.realpath("/bin/true"), cwd="/", env={})
    calls = memory_file("bwrap-seccomp", program_calls())
    command = [bwrap, "--seccomp", str(calls), *sandbox.arguments(Envelope(execute=True), "/usr", program)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TRIAL_SECONDS, check=False, env={}, pass_fds=(calls,))
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, TrialResult(check, False, f"the trial run failed: {error}", _mended())
    finally:
        os.close(calls)
    if done.returncode != 0:
        text = done.stderr.decode(errors="replace").strip() or f"exit code {done.returncode}"
        return None, TrialResult(check, False, f"the trial run failed: {text}", _mended())
    return sandbox, TrialResult(check, True, f"works: {bwrap}, without network, writing only where allowed")


def _mended() -> str:
    """What lets bubblewrap start: the command for the kernel's setting that is in its way, where it can be read."""
    for place, (bad, command) in NAMESPACES.items():
        with suppress(OSError):
            if Path(place).read_text().strip() == bad:
                return command
    return "allow unprivileged user namespaces in the kernel"
