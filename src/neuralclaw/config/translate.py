"""Settings as the values that the rooms take: the gate's policy and the turn's limits. Paths become absolute and real here."""

import os
from collections.abc import Iterable, Sequence

import msgspec

from ..types.options import HistoryLimits, Limits, OwnerRule, Policy
from ..types.own_parts import ImportPlace
from ..types.risk import Tier
from .settings import Settings

PROGRAMS = tuple(
    "ls cat head tail grep find wc echo pwd df du free ps top file stat md5sum sha256sum git python python3 pip pip3 node npm cargo go make"
    " awk sed sort uniq cut tr jq curl wget ping nslookup dig".split()
)
"""The terminal's allowlist (row N12a): may be judged, not trusted."""


def policy(
    settings: Settings,
    *,
    own_data: Iterable[str],
    person_home: str,
    secrets: Iterable[str] = (),
    own: Iterable[str | ImportPlace] = (),
    hooks: Sequence[str] = (),
) -> Policy:
    """The gate's policy.

    `own_data`: places of the agent's own data; `person_home`: the person's home directory; "" where there is none; `secrets`: the names of the stored ones;
    `own`: places of the program itself, and those it imports from; `hooks`: the files of the owner's hooks.
    """
    safety, terminal, code = settings.safety, settings.tools.terminal, tuple(own)
    return Policy(
        default_permission_level=Tier(safety.default_permission_level),
        require_confirmation_for=safety.require_confirmation_for,
        programs=tuple(dict.fromkeys((*PROGRAMS, *safety.terminal_whitelist_extra))),
        unlisted_commands=safety.unlisted_commands,
        shell=terminal.shell,
        rules=tuple(_judged(rule, person_home) for rule in safety.rules),
        allowed_paths=tuple(dict.fromkeys(real(path, person_home) for path in settings.tools.filesystem.allowed_paths)),
        protected_paths=tuple(dict.fromkeys(real(path, person_home) for path in ("/", person_home, *own_data) if path)),
        home_dir=real(person_home, "") if person_home else "",
        own_places=tuple(one for one in code if isinstance(one, str)),
        own_imports=tuple(one for one in code if not isinstance(one, str)) or msgspec.UNSET,
        hook_files=tuple(hooks) if hooks else msgspec.UNSET,
        secrets=tuple(sorted(secrets)),
        expire_days=settings.approvals.expire_days,
    )


def _judged(rule: OwnerRule, person_home: str) -> OwnerRule:
    """The rule as the gate needs it: without its examples, its workspace as calls name theirs."""
    workspace = None if rule.workspace is None else real(rule.workspace, person_home)
    return msgspec.structs.replace(rule, match=(), not_match=(), workspace=workspace)


def limits(settings: Settings) -> Limits:
    """The breakers of a turn."""
    agent = settings.agent
    return Limits(
        iterations=agent.max_iterations_per_turn,
        repeats=agent.max_repeated_calls,
        errors=agent.max_consecutive_errors,
        seconds=agent.max_turn_timeout_seconds,
        result_chars=agent.max_tool_result_chars,
        window_turns=settings.memory.max_short_term_turns,
        max_messages=agent.max_conversation_messages,
        history=HistoryLimits(
            messages=settings.memory.compaction.entries,
            summarised=settings.memory.compaction.summarise,
            request_tokens=settings.memory.compaction.tokens,
            conversation_tokens=settings.context.conversation,
            result_tokens=settings.context.tool_results,
            response_tokens=settings.context.response,
        ),
    )


def absolute(path: str, person_home: str, base: str) -> str:
    """A path absolute; a leading `~` is the person's home directory, what is relative lies in `base`."""
    return os.path.normpath(os.path.join(base, person_home + path[1:] if path == "~" or path.startswith("~/") else path))  # noqa: PTH118


def real(path: str, person_home: str) -> str:
    """A path absolute and real; a leading `~` is the person's home directory."""
    if path == "~" or path.startswith("~/"):
        path = person_home + path[1:]
    return os.path.realpath(path)
