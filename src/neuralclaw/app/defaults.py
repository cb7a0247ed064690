"""For whom an agent works, and what its turns run under unless they say otherwise: options of a turn, and what is wanted of one that is gone on with."""

from collections.abc import Mapping
from typing import Any

import msgspec

from .. import config
from ..types.actions import Origin
from ..types.options import ApprovalsMode, StartOptions, TurnOptions
from .option_checks import checked_who, count, known_only, mode_of, name_of, of_new_turns, real_directory, refusals_of, seconds, tool_names, trust_of
from .option_types import OpeningOptions


def defaults_of(loaded: config.LoadedSettings, options: OpeningOptions) -> tuple[TurnOptions, StartOptions]:
    """The options of an agent's turns, and of turns that it goes on with, checked. A model that nobody named is "". Raises `UsageError` and `AgentError`.

    Nobody's approvals mode takes the place of a recorded one unless it was asked for, or somebody is there.
    """
    approvals, trust, approver = options.get("approvals"), options.get("trust"), options.get("approver")
    present = bool(options.get("present")) or approver is not None
    mode: ApprovalsMode = mode_of(approvals) if approvals is not None else ("ask" if approver else "none")
    asked = present or approvals is not None or approver is not None
    defaults = TurnOptions(
        model=name_of("model", options.get("model")) or "",
        workspace=real_directory(options.get("workspace")),
        trust=trust_of(trust if trust is not None else loaded.settings.agent.default_trust_level),
        approvals=mode,
        limits=config.limits(loaded.settings),
        origin=Origin(who=checked_who(options.get("who", "program")), present=present),
    )
    return defaults, StartOptions(approvals=mode if asked else None, present=present)


def turn_options(defaults: TurnOptions, asked: Mapping[str, Any]) -> TurnOptions:
    """The options of a turn: the defaults, with what is asked for by the names of `AskOptions`, checked. Raises `UsageError`."""
    given = {name: value for name, value in asked.items() if value is not None}
    known_only(asked)
    changed: dict[str, Any] = {"refusals": refusals_of(asked.get("refusals"))}
    if (model := name_of("model", asked.get("model"))) is not None:
        changed["model"] = model
    if "trust" in given:
        changed["trust"] = trust_of(given["trust"])
    if "approvals" in given:
        changed["approvals"] = mode_of(given["approvals"])
    if "tools" in given:
        changed["tools"] = tool_names(given["tools"])
    return msgspec.structs.replace(defaults, **changed, limits=msgspec.structs.replace(defaults.limits, **_limits(given)))


def start_options(start: StartOptions, asked: Mapping[str, Any]) -> StartOptions:
    """What is wanted of a turn that is gone on with, checked. Raises `UsageError` for what holds for new turns alone."""
    of_new_turns(asked)
    given = {name: value for name, value in asked.items() if value is not None}
    if "approvals" in given:
        start = msgspec.structs.replace(start, approvals=mode_of(given["approvals"]))
    return msgspec.structs.replace(start, **_limits(given))


def _limits(given: Mapping[str, Any]) -> dict[str, Any]:
    """Limits of a turn by their own names."""
    found: dict[str, Any] = {}
    if "max_iterations" in given:
        found["iterations"] = count("max_iterations", given["max_iterations"])
    if "timeout" in given:
        found["seconds"] = seconds("timeout", given["timeout"])
    return found
