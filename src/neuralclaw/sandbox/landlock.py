"""The Landlock sandbox: no package is needed, Linux 5.13 is enough. Landlock for files, seccomp for all the rest, no new privileges, no capabilities.

Where the kernel lets it, a program has mounts of its own: an empty `/dev/shm`; and in places to write what is hidden is empty, and the agent's own code
read-only. Else it shares `/dev/shm`, and can make nothing directly beside these. It has no process namespace. What that leaves open stands in
docs/sandbox.md: it can ask whether a hidden file exists and how long it is, sees which processes run with which arguments, and before version 6 of Landlock
(Linux 6.12) may send signals to the person's other processes.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Literal

import msgspec
from anyio.to_thread import run_sync

from ..errors import ToolExecutionError
from ..kernel import landlock_abi
from ..types.grants import Envelope, Grant
from ..types.tools import Watched
from .mounts import pinned
from .orders import OwnMounts, Restriction
from .outbound_proxy import OutboundProxy, used
from .process import Bounds, ordered, run_reaped
from .program_lookup import beneath
from .program_run import CompletedProgram, Program, admit
from .reaped import start_reaped
from .refusals import Around, explained
from .resource_limits import LIMITS, ResourceLimits
from .scratch import new_scratch
from .seccomp import known, program_filter
from .spawn import on_spawner
from .visible import View, places, view, without_unseen_settings

_TRUNCATES, _SIGNALS = 3, 6
"""The versions from which Landlock judges `truncate`, and signals."""
_TRIAL_SECONDS = 10.0
_MOST_CARVINGS = 100


class Landlock:
    """Runs programs held by the kernel's own means. `hidden`: absolute paths (data home, keys) that no program reads; `home`: the person's, "" unknown."""

    name: Literal["landlock"] = "landlock"

    def __init__(self, *, hidden: tuple[str, ...] = (), home: str = "", limits: ResourceLimits = LIMITS) -> None:
        self._hidden, self._home, self._limits = hidden, home, limits
        self._abi = landlock_abi()

    async def exec(
        self, grant: Grant, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], timeout: float | None, max_bytes: int | Watched
    ) -> CompletedProgram:
        """Run to the end; `timeout` in seconds. Raises `PermissionDeniedError`, or `ToolExecutionError` when it cannot be started."""
        envelope, program = admit(grant, argv, cwd, env)
        if not self._abi:
            raise ToolExecutionError("this kernel has no Landlock; nothing was run")
        seen, unseen = await run_sync(self._seen_and_unseen, envelope, grant.workspace, program)
        program = msgspec.structs.replace(program, env={**unseen, **program.env})
        scratch = new_scratch()
        proxy = OutboundProxy(grant) if envelope.network else None
        result = await run_reaped(
            program,
            Bounds(self._limits, timeout, max_bytes),
            lambda port: self.restriction(seen, scratch, port, mounts=mounts_work()),
            proxy,
        )
        around = Around(network=used(proxy), own=scratch, terminals=False, hides=False, carved=not mounts_work())
        return await explained(result, lambda: seen, program, around)

    def _seen_and_unseen(self, envelope: Envelope, workspace: str, program: Program) -> tuple[View, dict[str, str]]:
        seen = self.seen(envelope, workspace, program)
        return seen, without_unseen_settings(seen)

    def seen(self, envelope: Envelope, workspace: str, program: Program) -> View:
        """What this program sees. Reads the disk."""
        return view(envelope, workspace, program, home=self._home, hidden=self._hidden)

    def restriction(self, seen: View, scratch: str, proxy: int = 0, *, mounts: bool = False) -> Restriction:
        """What holds a program that sees this. `proxy`: the port where its proxy listens, 0 without network; `mounts`: it gets some of its own.

        Reads the disk.
        """
        known_places = places()
        own = _mounts(seen, known_places.shared_memory) if mounts else None
        read, listed = _carved(seen, (*seen.read, *seen.granted, *seen.kept), seen.hidden)
        write, also_listed = _carved(seen, seen.write, (*seen.hidden, *seen.kept) if own is None else [path for path in seen.hidden if _holds(path, seen)])
        rules = (
            (*read, known_places.processes),
            (*listed, *also_listed, "/dev"),
            known_places.devices,
            (*write, known_places.shared_memory),
        )
        seccomp = program_filter("proxied" if proxy else "own", "handed over", shared=False, truncate=self._abi >= _TRUNCATES)
        return Restriction(rules, scratch, seccomp, proxy=proxy, hands_over=True, mounts=own)

    def problem(self) -> str:
        """Why it does not work here, after a trial run; "" when it does. Blocks."""
        if not known(os.uname().machine):
            return f"the system calls of {os.uname().machine} are not known"
        if not self._abi:
            return "this kernel has no Landlock (Linux 5.13 and later have it, where it is switched on)"
        return "" if on_spawner(mounts_work) else on_spawner(lambda: _tried(self, mounts=False))

    def strength(self) -> str:
        """What the version of this kernel holds, for `doctor`."""
        weaker = "" if self._abi >= _SIGNALS else "; signals to your other processes are not held back (Linux 6.12 does)"
        shared = "" if on_spawner(mounts_work) else "; `/dev/shm` is shared with your other programs (user namespaces are closed here)"
        return f"works: version {self._abi}, without network, writing only where allowed{weaker}{shared}"


@cache
def mounts_work() -> bool:
    """Whether a program can be given mounts of its own here. The first time by a trial run: to be called in the spawning thread."""
    return not _tried(Landlock(), mounts=True)


def _tried(box: Landlock, *, mounts: bool) -> str:
    """What is wrong with a program that was tried out, "" if nothing is. Blocks; to be called in the spawning thread."""
    trial = "! ls /tmp 2>/dev/null && : > $TMPDIR/x && chmod 600 $TMPDIR/x"
    shell = os.path.realpath("/bin/sh")
    program = Program(argv=("sh", "-c", trial), file=shell, real=shell, cwd="/", env={"PATH": "/usr/bin:/bin"})
    order = ordered(program, box.restriction(box.seen(Envelope(), "/usr", program), new_scratch(), mounts=mounts))
    try:
        live = start_reaped(order, LIMITS)
    except ToolExecutionError as error:
        return f"the trial run failed: {error.text}"
    try:
        if not live.ended(_TRIAL_SECONDS):
            return "the trial run did not end"
        if live.failure is not None:
            return f"the trial run failed: {os.strerror(live.failure)}"
        return f"the trial run failed: exit code {live.exit_code}" if live.exit_code else ""
    finally:
        live.close()


def _mounts(seen: View, shared_memory: str) -> OwnMounts:
    """What a program gets mounts for: in places to write nothing else can be excepted from what is open."""
    empty = tuple(path for path in seen.hidden if any(beneath(path, root) for root in seen.write) and not _holds(path, seen) and os.path.lexists(path))
    empty = tuple(path for path in empty if not any(path != place and beneath(path, place) for place in empty))
    kept = tuple(path for path in seen.kept if not any(beneath(path, place) for place in empty))
    return (shared_memory,), tuple(dict.fromkeys(pinned(msgspec.structs.replace(seen, hidden=empty, kept=kept)))), kept, empty


def _holds(hidden: str, seen: View) -> bool:
    """Whether something that was granted lies in a hidden place."""
    return any(beneath(root, hidden) for root in (*seen.granted, *seen.write))


def _carved(seen: View, roots: Iterable[str], excepted: Sequence[str]) -> tuple[list[str], list[str]]:
    """Places without what is to be excepted in them, and the directories around that: Landlock can open a place, and close nothing inside it."""
    whole: list[str] = []
    around: list[str] = []
    granted = {*seen.granted, *seen.write}
    for root in roots:
        hidden = tuple(path for path in excepted if beneath(path, root) and not (path == root and root in granted))
        carving = _carving(root, hidden)
        whole += carving.whole
        around += carving.around
    return whole, around


class _Carving(msgspec.Struct, frozen=True):
    """One place without what is hidden in it, and when the directories around that were last changed (`st_mtime_ns`)."""

    hidden: tuple[str, ...]
    whole: tuple[str, ...]
    around: tuple[str, ...]
    changed: tuple[int, ...]


_carvings: dict[str, _Carving] = {}
"""Of places that hold something hidden, each as long as the directories around it stay as they were: `/etc` has some 200 entries."""


def _carving(root: str, hidden: tuple[str, ...]) -> _Carving:
    if not hidden:
        return _Carving(hidden, (root,), (), ())
    known = _carvings.get(root)
    if known is None or known.hidden != hidden or tuple(map(_changed, known.around)) != known.changed:
        if len(_carvings) >= _MOST_CARVINGS:
            _carvings.clear()
        parts = list(_without(root, hidden))
        around = tuple(path for path, is_whole in parts if not is_whole)
        known = _carvings[root] = _Carving(hidden, tuple(path for path, is_whole in parts if is_whole), around, tuple(map(_changed, around)))
    return known


def _changed(directory: str) -> int:
    try:
        return os.stat(directory).st_mtime_ns
    except OSError:
        return 0


def _without(root: str, hidden: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """`root` if nothing hidden lies in it (True), else itself (False) and what it holds besides."""
    inside = [path for path in hidden if beneath(path, root)]
    if not inside:
        yield root, True
        return
    if root in inside:
        return
    yield root, False
    try:
        entries = list(os.scandir(root))
    except OSError:
        return
    for entry in entries:
        if not entry.is_symlink():
            yield from _without(entry.path, inside)
