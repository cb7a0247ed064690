"""The options of the Python API, typed: what `Agent.open`, `Agent.start`, `agent.turn`, `agent.ask`, `agent.resume` and `neuralclaw.run` take by name."""

import os
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Literal, TypedDict

from .. import config
from ..errors import UsageError
from ..ports import Provider
from ..types.actions import Who
from ..types.options import ApprovalsMode
from .approver import Approver
from .pictures import Given


class _Choices(TypedDict, total=False):
    """What an agent and each of its turns can be given."""

    model: str | None
    """`provider:model`, or a provider alone for its default model."""
    trust: Literal["low", "medium", "high"] | None
    """How much runs without a question."""
    approvals: ApprovalsMode | None
    """What to do where something asks: `ask`, `none`, `park` or `auto`. `none` where there is no `approver`."""


class _Opening(TypedDict, total=False):
    """What an agent is opened with."""

    home: str | os.PathLike[str] | None
    """The data directory; else `NEURALCLAW_HOME`, else the XDG directories."""
    workspace: str | os.PathLike[str] | None
    """The directory that tools work in; else the current one."""
    recover: bool
    """Take over every unfinished turn of the home."""
    provider: Provider | None
    """A model of one's own, in place of the configured services."""
    tools: Iterable[Any]
    """Tools of one's own: functions under `@tool`, or objects with `name`, `description`, `input_schema` and `execute`. One replaces a built-in of its name."""
    builtin: Iterable[str] | None
    """The built-in tools by name or alias: None for all, `()` for none."""
    approver: Approver | None
    """Asked where something needs a yes; `approvals` is then `ask`."""
    settings: config.Loaded | config.Settings | Mapping[str, Any] | None
    """A `Settings` value in place of all configuration, or values above it by key."""
    environ: Mapping[str, str] | None
    """The environment, in place of the process's own."""
    who: Who
    """For whom the agent works: `program`, or `owner` where a person is there."""
    present: bool
    """Whether a person can answer now."""
    thinks: bool
    """False: no model will be asked and no program run, so that a budget that cannot be kept, or a sandbox that cannot start, stands in nobody's way."""
    readonly: bool
    """Nothing of the record is written, so that verbs that only read work on a read-only home; a turn cannot begin."""


class _Limits(TypedDict, total=False):
    """Limits of one turn."""

    max_iterations: int | None
    """Model calls at most."""
    timeout: float | None
    """Running time in seconds at most; waiting for people is not counted."""
    refusals: Literal["count", "ignore"] | None
    """Whether a refused call decides the status of the turn; `count` where it is not given."""


class _Sent(TypedDict, total=False):
    """What goes along with a message."""

    session: str | None
    """The conversation it belongs to, opened or created; a new one where it is None."""
    key: str | None
    """Makes the message unique in the home: sent twice, it is handled once."""
    images: Iterable[Given]
    """Pictures as paths, bytes or `Image` values."""


class AgentOptions(_Choices, _Opening, total=False):
    """The options of `Agent.open` and `Agent.start`."""


class AskOptions(_Choices, _Limits, total=False):
    """The options of a turn, in place of the agent's own: `agent.turn`, `agent.ask` and `agent.resume`."""

    tools: Iterable[str] | None
    """Names of the only tools that are offered; all of the agent's where it is not given."""


class RunOptions(_Choices, _Opening, _Limits, _Sent, total=False):
    """The options of `neuralclaw.run`: those of the agent, and those of its one turn."""


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the nearest known word, or nothing when none is near."""
    near = get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""


def only_known(given: Iterable[str], known: Iterable[str], whose: str) -> None:
    """Refuse an option that is not there, with the nearest that is. Raises `UsageError`."""
    names = list(known)
    for name in given:
        if name not in names:
            raise UsageError(f"{whose} has no option {name!r}{nearest(name, names)}", hint=f"there are: {', '.join(names)}; nothing was recorded")
