"""The owner's hooks as the kernel asks for them: which run, and how a run ends."""

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from fnmatch import fnmatchcase
from typing import Any

import msgspec
from anyio.to_thread import run_sync

from ...errors import NeuralClawError
from ...sandbox.hook_process import HookFile, UnfitHook, named_files, opened, run_program
from ...sandbox.program_lookup import real_path
from ...sandbox.program_run import CompletedProgram
from ...types.cut_texts import cut_text
from ...types.hooks import TURN_EVENTS, HookDefinition, HookInput, HookResult, HookSubject

BLOCKS = 2
"""The exit code that blocks."""
LONGEST_REASON = 2000


class HookPrograms:
    """The hooks of a home, in the order of the settings. `environ`: of which they get what commands get, without keys."""

    def __init__(self, hooks: Sequence[HookDefinition], environ: Mapping[str, str]) -> None:
        self.hooks, self._environ = named(hooks), environ

    def of(self, subject: HookSubject) -> Sequence[HookDefinition]:
        """See `ports.Hooks`."""
        return [hook for hook in self.hooks if matches(hook, subject)]

    async def run(self, hook: HookDefinition, told: HookInput) -> HookResult:
        """See `ports.Hooks`."""
        begun = time.monotonic()
        with ExitStack() as stack:
            try:
                files = await run_sync(opened, hook.command, self._environ.get("HOME", ""), stack)
                why = unpinned(hook, files)
                if why:
                    return HookResult(outcome="failed", blocks=True, reason=why)
                given = msgspec.json.encode(told)
                done = await run_program(hook.command, files, given, environ=self._environ, timeout=hook.timeout, stack=stack)
                result = judged(hook, done)
            except (UnfitHook, NeuralClawError, OSError, ValueError) as error:
                result = failed(hook, str(error))
        return msgspec.structs.replace(result, duration_ms=round((time.monotonic() - begun) * 1000))


def named(hooks: Sequence[HookDefinition]) -> tuple[HookDefinition, ...]:
    """The hooks, each with a name."""
    return tuple(msgspec.structs.replace(hook, name=hook.name or f"{hook.event}-{number}") for number, hook in enumerate(hooks, 1))


def matches(hook: HookDefinition, subject: HookSubject) -> bool:
    """Whether a hook runs for a subject."""
    if hook.event != subject.event:
        return False
    if hook.event in TURN_EVENTS:
        return True
    named_tool = not hook.tools or any(fnmatchcase(name, pattern) for pattern in hook.tools for name in subject.tools)
    return named_tool and (not hook.powers or not set(hook.powers).isdisjoint(subject.powers))


def files_of(hooks: Sequence[HookDefinition], home: str) -> tuple[str, ...]:
    """The files of all hooks, as they are named and real: no call may change them."""
    found: list[str] = []
    for hook in hooks:
        with suppress(UnfitHook):
            found += [path for _, path in named_files(hook.command, home)]
    return tuple(dict.fromkeys(one for path in found for one in (path, real_path(path))))


def digest_of(files: Sequence[HookFile]) -> str:
    """What `digest` holds for these files."""
    return ",".join(file.digest for file in files)


def unpinned(hook: HookDefinition, files: Sequence[HookFile]) -> str:
    """Why the files are not those that the owner pinned, "" where they are. Nothing runs then, whatever `on_failure` says."""
    if not hook.digest:
        return f"it is not pinned and was not run; after reading the program: neuralclaw hooks pin {hook.name}"
    pinned = [part.strip().lower() for part in hook.digest.split(",")]
    if [file.digest for file in files] == pinned:
        return ""
    wrong = [file.path for file, one in zip(files, pinned, strict=False) if file.digest != one] or [file.path for file in files]
    return f"{', '.join(wrong)} changed since it was pinned and was not run; after reading it: neuralclaw hooks pin {hook.name}"


def failed(hook: HookDefinition, reason: str, exit_code: int | None = None) -> HookResult:
    """A failure, which means what the owner chose."""
    return HookResult(outcome="failed", blocks=hook.on_failure == "block", reason=reason, exit_code=exit_code)


def judged(hook: HookDefinition, done: CompletedProgram) -> HookResult:
    """What the end of a program means."""
    said = _text(done.stderr)
    if done.timed_out:
        return failed(hook, f"it took longer than {hook.timeout:g} s and was killed" + (f": {said}" if said else ""))
    if done.exit_code == BLOCKS:
        return HookResult(outcome="blocked", blocks=True, reason=said or "it gave no reason", exit_code=BLOCKS)
    if done.exit_code:
        return failed(hook, f"exit code {done.exit_code}" + (f": {said}" if said else ""), done.exit_code)
    return answered(hook, done.stdout)


def answered(hook: HookDefinition, stdout: bytes) -> HookResult:
    """What standard output says at exit code 0: an object of JSON may block; what it asks for beyond that is refused."""
    passed = HookResult(outcome="passed", blocks=False, exit_code=0)
    if not stdout.lstrip().startswith(b"{"):
        return passed
    try:
        answer: dict[str, Any] = msgspec.json.decode(stdout, type=dict[str, Any])
    except (ValueError, RecursionError):
        return passed
    inner = answer.get("hookSpecificOutput")
    inner = inner if isinstance(inner, dict) else {}
    said = {answer.get("decision"), inner.get("permissionDecision")} if _plain(answer.get("decision")) and _plain(inner.get("permissionDecision")) else {"?"}
    if said & {"block", "deny"} or answer.get("continue") is False:
        reason = answer.get("reason") or inner.get("permissionDecisionReason") or answer.get("stopReason") or "it gave no reason"
        return HookResult(outcome="blocked", blocks=True, reason=_text(str(reason).encode()), exit_code=0)
    wants = sorted(str(one) for one in said - {None, "allow", "approve"}) + [name for name in ("updatedInput",) if name in inner or name in answer]
    if wants:
        return failed(hook, f"its answer asks for {', '.join(wants)}, which a hook cannot have", 0)
    return passed


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _text(data: bytes) -> str:
    return cut_text(data.decode(errors="replace").strip(), LONGEST_REASON)


def look(hook: HookDefinition, home: str, stack: ExitStack) -> tuple[str, dict[str, str], str]:
    """Why the hook blocks ("" where it is pinned), its files with their SHA-256 of today, and what `digest` would hold."""
    try:
        files = opened(hook.command, home, stack)
    except (UnfitHook, OSError, ValueError) as error:
        return str(error), {}, ""
    return unpinned(hook, files), {file.path: file.digest for file in files}, digest_of(files)


def notices(hooks: Sequence[HookDefinition], home: str) -> list[str]:
    """A sentence for each hook that blocks as it stands. Reads their files."""
    found = []
    for hook in named(hooks):
        with ExitStack() as stack:
            state, _, _ = look(hook, home, stack)
        if state:
            found.append(f"The hook {hook.name} blocks all that it is about: {state}")
    return found
