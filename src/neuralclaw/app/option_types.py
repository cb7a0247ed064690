"""The options of the Python API, typed: what `Agent.open`, `Agent.start`, `agent.turn`, `agent.ask`, `agent.resume` and `neuralclaw.run` take by name."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypedDict

from .. import config
from ..errors import UsageError
from ..ports import Provider
from ..types.actions import Who
from ..types.options import ApprovalsMode
from ..types.suggestions import did_you_mean
from .approver import Approver
from .pictures import ImageInput


class _Choices(TypedDict, total=False):
    """What an agent and each of its turns can be given."""

    model: str | None
    """`provider:model`, or a provider alone for its default model."""
    trust: Literal["low", "medium", "high"] | None
    """How much runs without a question."""


class _Sections(TypedDict, total=False):
    """The sections of the settings, each as values by key, laid over the configuration; `tools` and `approvals` take a mapping too."""

    agent: Mapping[str, Any] | None
    context: Mapping[str, Any] | None
    llm: Mapping[str, Any] | None
    memory: Mapping[str, Any] | None
    safety: Mapping[str, Any] | None
    budget: Mapping[str, Any] | None
    mcp: Mapping[str, Any] | None
    telegram: Mapping[str, Any] | None
    scheduler: Mapping[str, Any] | None
    logging: Mapping[str, Any] | None
    prompts: Mapping[str, Any] | None
    capabilities: Mapping[str, Any] | None
    hooks: Sequence[Mapping[str, Any]] | None
    """A list, in place of that of the configuration."""


class _Opening(TypedDict, total=False):
    """What an agent is opened with."""

    home: str | os.PathLike[str] | None
    """The data directory; else `NEURALCLAW_HOME`, else the XDG directories."""
    workspace: str | os.PathLike[str] | None
    """The directory that tools work in; else the current one."""
    recover: bool
    """Take over every unfinished turn of the home."""
    services: bool
    """Run the background services and channels of capabilities here, each where no other process of the home does. Default: false."""
    provider: Provider | None
    """A model of one's own, in place of the configured services."""
    tools: Iterable[Any] | Mapping[str, Any]
    """Tools of one's own: functions under `@tool`, or objects with `name`, `description`, `input_schema` and `execute`. One replaces a built-in of its name.

    A mapping is the section `tools` of the settings.
    """
    builtin: Iterable[str] | None
    """The built-in tools by name or alias: None for all, `()` for none."""
    approver: Approver | None
    """Asked where something needs a yes; `approvals` is then `ask`, and no other is taken."""
    approvals: ApprovalsMode | Mapping[str, Any] | None
    """What to do where something asks: `ask`, `none`, `park` or `auto`. `none` where there is no `approver`.

    `ask` without an approver waits for an answer from elsewhere, without end but that of the question (`approvals.expire_days`): `agent.answer` in this
    program, or `neuralclaw approvals answer` in another. A mapping is the section `approvals` of the settings.
    """
    settings: config.LoadedSettings | config.Settings | Mapping[str, Any] | None
    """A `Settings` value in place of all configuration, or values above it by key. A key that a section or limit says too is refused."""
    environ: Mapping[str, str] | None
    """The environment, in place of the process's own."""


class _CommandLineOptions(TypedDict, total=False):
    """What the command line opens an agent with. Not promised."""

    who: Who
    """For whom the agent works: `program`, or `owner` where a person is there."""
    present: bool
    """Whether a person can answer now."""
    thinks: bool
    """False: no model will be asked, so that a budget that cannot be kept hinders nobody."""
    runs: bool
    """False: no tool will be run, so that a sandbox that cannot start hinders nobody. As `thinks` where it is not given."""
    readonly: bool
    """Nothing of the record is written, so that verbs that only read work on a read-only home; a turn cannot begin."""
    tell: Callable[[str], None]
    """Shows the person a sentence that a verb says beside its value."""


class _LimitOptions(TypedDict, total=False):
    """Limits of a turn."""

    max_iterations: int | None
    """Model calls at most."""
    timeout: float | None
    """Running time in seconds at most; waiting for people is not counted."""
    max_budget_usd: float | None
    """What a turn may cost at most, in USD; of this and `budget.turn_usd` the lower one holds."""


class _TurnChoices(TypedDict, total=False):
    """What else a turn can be given."""

    refusals: Literal["count", "ignore"] | None
    """Whether a refused call decides the status of the turn; `count` where it is not given."""


class _MessageOptions(TypedDict, total=False):
    """What goes along with a message."""

    session: str | None
    """The conversation it belongs to, opened or created; a new one where it is None."""
    key: str | None
    """Makes the message unique in the home: sent twice, it is handled once."""
    images: Iterable[ImageInput]
    """Pictures as paths, bytes or `Image` values."""


class AgentOptions(_Choices, _Opening, _LimitOptions, _Sections, total=False):
    """The options of `Agent.open` and `Agent.start`. `max_iterations` and `timeout` are the default of the turns that the agent begins."""


class OpeningOptions(AgentOptions, _CommandLineOptions, total=False):
    """All that an agent can be opened with, what only the command line uses too."""


class AskOptions(_Choices, _LimitOptions, _TurnChoices, total=False):
    """The options of a turn, in place of the agent's own: `agent.turn`, `agent.ask` and `agent.resume`."""

    approvals: ApprovalsMode | None
    """What to do where something asks, in this turn."""
    tools: Iterable[str] | None
    """Names of the only tools that are offered; all of the agent's where it is not given."""


class RunOptions(_Choices, _Opening, _LimitOptions, _Sections, _TurnChoices, _MessageOptions, total=False):
    """The options of `neuralclaw.run`: those of the agent, and those of its one turn."""


def only_known(given: Iterable[str], known: Iterable[str], whose: str, *, told: Iterable[str] | None = None) -> None:
    """Refuse an option that is not there, with the nearest that is. `told`: those of them that are named. Raises `UsageError`."""
    there, names = list(known), list(known if told is None else told)
    for name in given:
        if name not in there:
            raise UsageError(f"{whose} has no option {name!r}{did_you_mean(name, names)}", hint=f"there are: {', '.join(names)}; nothing was recorded")
