"""Which sandbox runs programs here: the strongest that a trial run has shown to work."""

import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec
from anyio.to_thread import run_sync

from ..errors import ToolExecutionError
from ..types.grants import Envelope, Grant
from ..types.tools import Watched
from .bubblewrap import Bubblewrap
from .process import ProcessSandbox
from .program_run import CompletedProgram, Program
from .resource_limits import sweep

Preferred = Literal["auto", "container", "bubblewrap", "process"]
SandboxName = Literal["container", "bubblewrap", "process"]

PLAIN_WARNING = (
    "Commands run as plain processes here, with limits on memory and number but free to read every file and to use the network: "
    "bubblewrap does not work. `neuralclaw doctor` says why."
)

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


NO_CONTAINER = TrialResult("sandbox.container", False, "the container sandbox is not available yet", WEAKER)


class ChosenSandbox:
    """The sandbox of this process, chosen when it is first asked for: the trial (8 ms) runs once and never at start-up.

    `preferred` is `tools.terminal.sandbox`; only `auto` falls back to a weaker one. `hidden`: paths no program sees into.
    """

    def __init__(self, preferred: Preferred = "auto", *, path_env: str, hidden: tuple[str, ...] = ()) -> None:
        self._preferred, self._path, self._hidden = preferred, path_env, hidden
        self._lock = threading.Lock()
        self._bubblewrap: tuple[Bubblewrap | None, TrialResult] | None = None
        self._chosen: Bubblewrap | ProcessSandbox | None = None

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
        """A plain sentence to show once, or "" when programs are really confined."""
        return PLAIN_WARNING if self._preferred == "auto" and self.name == "process" else ""

    def problem(self) -> TrialResult | None:
        """Why the sandbox that is asked for by name cannot start; None when it can, and for `auto`. The first time this blocks for the trial run."""
        trial = {"container": lambda: NO_CONTAINER, "bubblewrap": lambda: self._try_bubblewrap()[1]}.get(self._preferred)
        found = trial() if trial is not None else None
        return None if found is None or found.ok else found

    def trials(self) -> list[TrialResult]:
        """What `doctor` shows; runs the trial if it has not run yet (blocking)."""
        bubblewrap = self._try_bubblewrap()[1]
        container = NO_CONTAINER if self._preferred == "container" else msgspec.structs.replace(NO_CONTAINER, fix=None)
        return [container, bubblewrap, TrialResult("sandbox.process", True, "works; limits memory and processes, holds back neither files nor network")]

    async def exec(
        self, grant: Grant, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], timeout: float | None, max_bytes: int | Watched
    ) -> CompletedProgram:
        """As the chosen sandbox does."""
        sandbox = self._chosen
        if sandbox is None:
            sandbox = await run_sync(self._choose)
        return await sandbox.exec(grant, argv, cwd=cwd, env=env, timeout=timeout, max_bytes=max_bytes)

    def _choose(self) -> Bubblewrap | ProcessSandbox:
        chosen = self._chosen or self._pick()
        self._chosen = chosen
        return chosen

    def _pick(self) -> Bubblewrap | ProcessSandbox:
        if self._preferred == "container":
            raise ToolExecutionError("the container sandbox is not available yet; nothing was run", hint=NO_CONTAINER.fix or "")
        sweep()
        if self._preferred == "process":
            return ProcessSandbox()
        sandbox, trial = self._try_bubblewrap()
        if sandbox is not None:
            return sandbox
        if self._preferred == "bubblewrap":
            raise ToolExecutionError(
                f"tools.terminal.sandbox asks for bubblewrap, and it does not work here: {trial.text}; nothing was run", hint=trial.fix or ""
            )
        return ProcessSandbox()

    def _try_bubblewrap(self) -> tuple[Bubblewrap | None, TrialResult]:
        with self._lock:
            if self._bubblewrap is None:
                self._bubblewrap = _trial(self._path, self._hidden)
            return self._bubblewrap


def _trial(path_env: str, hidden: tuple[str, ...]) -> tuple[Bubblewrap | None, TrialResult]:
    check = "sandbox.bubblewrap"
    import shutil  # with its compressors it costs start-up 3 ms

    bwrap = shutil.which("bwrap", path=path_env)
    if bwrap is None:
        found = (command for path in (path_env, SYSTEM_PATH) for manager, command in INSTALL.items() if shutil.which(manager, path=path))
        install = next(found, "install the package bubblewrap")
        return None, TrialResult(check, False, "bwrap is not installed", install)
    sandbox = Bubblewrap(bwrap, hidden=hidden)
    program = Program(argv=("true",), file="/bin/true", real="/bin/true", cwd="/", env={})
    command = [bwrap, *sandbox.arguments(Envelope(execute=True), "/", program)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TRIAL_SECONDS, check=False, env={})
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, TrialResult(check, False, f"the trial run failed: {error}", _mended())
    if done.returncode != 0:
        text = done.stderr.decode(errors="replace").strip() or f"exit code {done.returncode}"
        return None, TrialResult(check, False, f"the trial run failed: {text}", _mended())
    return sandbox, TrialResult(check, True, f"works: {bwrap}, without network, root read-only")


def _mended() -> str:
    """What lets bubblewrap start: the command for the kernel's setting that is in its way, where it can be read."""
    for place, (bad, command) in NAMESPACES.items():
        with suppress(OSError):
            if Path(place).read_text().strip() == bad:
                return command
    return "allow unprivileged user namespaces in the kernel"
