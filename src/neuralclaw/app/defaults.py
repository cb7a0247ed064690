"""For whom an agent works, and what its turns run under unless they say otherwise: options of a turn, and what is wanted of one that is gone on with."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from .. import config
from ..types.actions import Origin, Who
from ..types.events import Inbound
from ..types.ids import new_id
from ..types.options import ApprovalsMode, StartOptions, TurnOptions
from .option_checks import (
    checked_text,
    checked_who,
    count,
    dollars,
    known_only,
    mode_of,
    name_of,
    of_new_turns,
    real_directory,
    refusals_of,
    seconds,
    tool_names,
    trust_of,
)
from .option_types import OpeningOptions
from .pictures import ImageInput, pictures


class ClientDefaults(NamedTuple):
    """Who a client is, and what it makes of what is said there for the desk. All of it is checked: raises `UsageError`, with nothing recorded.

    `turn`: the options of turns that it begins; `start`: what it wants of turns that it goes on with.
    """

    turn: TurnOptions
    start: StartOptions

    @property
    def who(self) -> Who:
        """For whom it works."""
        return self.turn.origin.who

    def message(self, text: str, *, key: str | None = None, images: Iterable[ImageInput] = (), **asked: Any) -> Inbound:
        """A message that begins a turn, under the client's options with those that are asked for by the names of `AskOptions`."""
        options = self.options(**asked)
        return msgspec.structs.replace(self.word(text, key=key, images=images), options=options)

    def word(self, text: str, *, key: str | None = None, images: Iterable[ImageInput] = ()) -> Inbound:
        """A message to a turn that runs: its options stay as they are. `key`: of its own, else a new one."""
        given = pictures(images)
        return Inbound(text=checked_text(text, given), key=name_of("key", key) or new_id(16), by=self.who, images=given)

    def options(self, **asked: Any) -> TurnOptions:
        """The options of a turn: the client's own, with what is asked for."""
        return turn_options(self.turn, asked)

    def starting(self, *, retry: bool = False, one_turn: bool = False, **asked: Any) -> StartOptions:
        """What is wanted of a turn that is gone on with."""
        return msgspec.structs.replace(start_options(self.start, asked), retry=retry, one_turn=one_turn)

    def before(self, message: Inbound, *, retry: bool = False) -> StartOptions:
        """What is wanted of an older turn that goes on before this message's: that it is treated as the message is."""
        options = message.options or self.turn
        return StartOptions(approvals=options.approvals, present=options.origin.present, retry=retry)


def defaults_of(loaded: config.LoadedSettings, options: OpeningOptions) -> ClientDefaults:
    """The options of a client's turns, and of turns that it goes on with. A model that nobody named is "". Raises `UsageError` and `AgentError`.

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
    return ClientDefaults(defaults, StartOptions(approvals=mode if asked else None, present=present))


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
    if "max_budget_usd" in given:
        changed["budget_usd"] = dollars("max_budget_usd", given["max_budget_usd"])
    if "tools" in given:
        changed["tools"] = tool_names(given["tools"])
    return msgspec.structs.replace(defaults, **changed, limits=msgspec.structs.replace(defaults.limits, **_limits(given)))


def start_options(start: StartOptions, asked: Mapping[str, Any]) -> StartOptions:
    """What is wanted of a turn that is gone on with, checked. Raises `UsageError` for what holds for new turns alone."""
    of_new_turns(asked)
    given = {name: value for name, value in asked.items() if value is not None}
    if "approvals" in given:
        start = msgspec.structs.replace(start, approvals=mode_of(given["approvals"]))
    if "max_budget_usd" in given:
        start = msgspec.structs.replace(start, budget_usd=dollars("max_budget_usd", given["max_budget_usd"]))
    return msgspec.structs.replace(start, **_limits(given))


def _limits(given: Mapping[str, Any]) -> dict[str, Any]:
    """Limits of a turn by their own names."""
    found: dict[str, Any] = {}
    if "max_iterations" in given:
        found["iterations"] = count("max_iterations", given["max_iterations"])
    if "timeout" in given:
        found["seconds"] = seconds("timeout", given["timeout"])
    return found
