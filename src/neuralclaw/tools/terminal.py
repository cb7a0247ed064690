"""`terminal`: a command in the sandbox, by argv where it has no operators, else by bash."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from ..errors import ToolError
from ..ports import ExecResult, Sandbox, Secrets
from ..tool import FunctionTool, tool
from ..types.cut_texts import cut_off, cut_text, printed_text
from ..types.given_names import variable_problem
from ..types.grants import Grant
from ..types.tools import ToolContext, ToolResult, Touch, Watched
from .secret_values import NO_SECRETS, with_secrets

MAX_BYTES = 16 * 2**20
"""Of output that is kept; what goes beyond is counted."""

_IN_METADATA = 20_000  # characters of stdout and of stderr

# Characters bash gives a meaning to outside quotes wherever they stand, in the first word only, and at the start of a word only.
_OPERATORS = frozenset("|&;<>()$`\\*?[]{}\n\r")
_IN_THE_FIRST = frozenset("!%=")
_AT_THE_START = frozenset("#~")
_IN_DOUBLE_QUOTES = frozenset("$`\\!")
# Words that bash runs itself and for which there is no program, or another one.
_SHELL_WORDS = frozenset(
    ". : alias bg bind break builtin caller case cd command compgen complete continue coproc declare dirs disown do done elif else enable esac eval exec exit"
    " export fc fg fi for function getopts hash help history if in jobs let local logout mapfile popd pushd read readarray readonly return select set shift"
    " shopt source suspend then time times trap type typeset ulimit umask unalias unset until wait while".split()
)


class TerminalSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`tools.terminal` of the configuration. `timeout` in seconds; `working_dir` None: the workspace."""

    working_dir: str | None = None
    timeout: float = 30.0
    max_chars: int = 20_000


DEFAULTS = TerminalSettings()


def terminal(sandbox: Sandbox, clean_env: Mapping[str, str], settings: TerminalSettings = DEFAULTS, secrets: Secrets = NO_SECRETS) -> FunctionTool:
    """The tool `terminal`. `clean_env` is the whole environment of every command; a call can add to it, `secrets` too, by their names."""

    @tool(
        risk="MEDIUM",
        effect="once",
        powers=["execute"],
        sinks=["execute"],
        touches=[Touch("command", "command"), Touch("working_dir", "cwd"), Touch("access", "access"), Touch("env_vars", "secrets")],
        timeout=None,  # the sandbox stops the command itself, and what it wrote so far is kept
        category="terminal",
        aliases=["bash"],
        max_chars=settings.max_chars,
        keep="ends",
    )
    async def terminal(
        grant: Grant,
        ctx: ToolContext,
        command: str,
        working_dir: str | None = settings.working_dir,
        timeout: Annotated[float, msgspec.Meta(gt=0)] = settings.timeout,
        env_vars: dict[str, str] | None = None,
        access: list[str] | None = None,
    ) -> ToolResult:
        """Run a command line and return its output. Use it for programs: tests, builds, git, scripts. To read, find, search, write or
        edit files use the file tools: they are judged sooner and say more.

        Each call is a new shell in the workspace: `cd` and variables do not last. There is no input, so no editors and no prompts, and nothing
        goes on running afterwards. A failure begins with `Exit code: N`; standard error follows `[stderr]`. Of more than
        20,000 characters the beginning and the end are shown.
        Example: {"command": "python -m pytest -q tests/test_a.py", "timeout": 120}

        Args:
            command: One command line, as for bash; join steps with `&&`.
            working_dir: Where it runs, absolute or relative to the workspace.
            timeout: Seconds after which it is stopped with all its processes.
            env_vars: Environment variables to add, a stored secret as `secret:NAME`; none that decides what is loaded or run, such as PATH.
            access: Only after the sandbox refused something: what to ask the person for, each `read PATH`, `write PATH` or `connect HOST:PORT`.
        """
        environment = {**clean_env, **with_secrets(secrets, grant, checked_variables(env_vars or {}))}
        cwd = working_dir if working_dir and working_dir.startswith("/") else f"{grant.workspace.rstrip('/')}/{working_dir or ''}".rstrip("/") or "/"
        watched = Watched(MAX_BYTES, ctx.show)
        result = await sandbox.exec(grant, argv_of(command), cwd=cwd, env=environment, timeout=timeout, max_bytes=watched)
        return _result(command, result, timeout, sandbox.name)

    terminal.spec = msgspec.structs.replace(terminal.spec, description=terminal.spec.description.replace("20,000", f"{settings.max_chars:,}"))
    return terminal


def argv_of(command: str) -> list[str]:
    """The program and its arguments where the command is just that, else `bash -c`. Raises `ToolError` for an empty command."""
    if not command.strip():
        raise ToolError("the command is empty")
    if "\0" in command:
        raise ToolError("the command holds a zero byte, which no program can be given")
    import shlex  # costs start-up time, and few calls come here

    words = shlex.split(command) if _is_simple(command) else []
    if words and words[0] not in _SHELL_WORDS:
        return words
    return ["bash", "-c", command]


def checked_variables(variables: Mapping[str, str]) -> Mapping[str, str]:
    """The variables as they are. Raises `ToolError` for one that no call may set."""
    for name in variables:
        if problem := variable_problem(name):
            raise ToolError(problem)
    return variables


def _is_simple(command: str) -> bool:
    """Whether bash would do nothing but split the command into words and take off quotes."""
    quote, previous, first = "", " ", True
    for char in command.strip():
        if quote:
            if char == quote:
                quote = ""
            elif quote == '"' and char in _IN_DOUBLE_QUOTES:
                return False
        elif char in "'\"":
            quote = char
        elif char in _OPERATORS or (first and char in _IN_THE_FIRST) or (char in _AT_THE_START and previous in " \t=:"):
            return False  # (`~` also begins a path after `=` and `:`)
        elif char.isspace():
            if char not in " \t":
                return False  # other white space does not separate words for bash
            first = False
        previous = char
    return not quote


def _result(command: str, result: ExecResult, timeout: float, sandbox: str) -> ToolResult:
    out, err = printed_text(_decoded(result.stdout)), printed_text(_decoded(result.stderr))
    if result.dropped or result.timed_out:
        mark = "…" if result.dropped else ""
        out, err = (f"{cut_off(text)}{mark}" if text else "" for text in (out, err))
    parts: list[str] = []
    error = None
    if result.timed_out:
        error = f"the command was stopped after {timeout:g} s, with all its processes"
        parts.append(f"ERROR: {error}")
    elif result.exit_code:
        error = f"Exit code: {result.exit_code}"
        parts.append(error)
    if out:
        parts.append(out)
    if err:
        parts.append(f"[stderr]\n{err}")
    if "\ufffd" in out + err:
        parts.append("[bytes that are no UTF-8 text are shown as \ufffd]")
    if result.refused:
        parts.append(result.refused)
    if result.dropped:
        parts.append(f"[{result.dropped:,} bytes of output beyond the first {MAX_BYTES:,} were dropped]")
    content = parts[0] if len(parts) == 1 else "\n".join(part.rstrip("\n") for part in parts)
    metadata: dict[str, Any] = {
        "exit_code": result.exit_code,
        "command": command,
        "stdout": cut_text(out, _IN_METADATA, ""),
        "stderr": cut_text(err, _IN_METADATA, ""),
        "timed_out": result.timed_out,
        "sandbox": sandbox,
        **({"refused": result.refused} if result.refused else {}),
    }
    note = "" if not result.timed_out else _after_time_out(timeout, bool(out or err))
    return ToolResult(content=content if parts else "", ok=error is None, error=error, metadata=metadata, note=note)


def _after_time_out(timeout: float, printed: bool) -> str:
    """What the model may do about a command that took too long."""
    far = "what it printed until then is shown above" if printed else "it printed nothing until then"
    return f"[{far}; it may have waited for input, which there is none of. Run less at once, or give a timeout above {timeout:g}.]"


def _decoded(data: bytes) -> str:
    return data.decode(errors="replace").replace("\0", "\ufffd")
