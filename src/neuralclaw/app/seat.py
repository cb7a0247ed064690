"""For whom an agent works, and under what: read from the options it is opened with."""

import os
from collections.abc import Mapping
from typing import Any

import msgspec

from .. import config
from ..errors import UsageError
from ..types.actions import Who
from ..types.options import ApprovalsMode
from ..types.risk import Trust
from .approver import checked_approver
from .option_checks import checked_who, mode_of, name_of, real_directory, refused, trust_of
from .option_types import OpeningOptions


class Seat(msgspec.Struct, frozen=True, kw_only=True):
    """For whom this agent works: what its turns run under unless they say otherwise."""

    workspace: str
    model: str | None
    approvals: ApprovalsMode
    trust: Trust
    who: Who
    present: bool
    explicit: bool
    """The approvals mode was asked for, not a default."""


def checked_options(options: OpeningOptions) -> None:
    """Refuse options of another kind than they are. Raises `UsageError`, with nothing opened."""
    kinds = {name: kind for name, kind in OpeningOptions.__annotations__.items() if kind is bool}
    paths: dict[str, Any] = dict.fromkeys(("home", "workspace"), str | os.PathLike | None)
    others = {"settings": config.LoadedSettings | config.Settings | Mapping | None, "environ": Mapping | None}
    for name, kind in (paths | others | kinds).items():
        value = dict(options).get(name, False if name in kinds else None)
        if not isinstance(value, kind):
            wanted = {"settings": "a Settings value, or values by key", "environ": "names with their values"}
            raise refused(name, value, wanted.get(name, "true or false" if name in kinds else "a path"))
    checked_approver(options.get("approver"))
    if options.get("approver") is not None and options.get("approvals") not in (None, "ask"):
        raise UsageError(
            f"an approver is asked where approvals is 'ask', and it is {options.get('approvals')!r:.80}; nothing was recorded",
            hint="leave approvals out, which means 'ask' here; agent.ask(…, approvals=…) chooses another way for one turn",
        )
    if options.get("provider") is not None and not hasattr(options["provider"], "stream"):
        raise refused("provider", options["provider"], "an object with stream, info and count; FunctionProvider makes one of a function")


def seat_of(loaded: config.LoadedSettings, options: OpeningOptions) -> Seat:
    """For whom and where the agent works, checked. Raises `UsageError` and `AgentError`."""
    approvals, trust, approver = options.get("approvals"), options.get("trust"), options.get("approver")
    return Seat(
        workspace=real_directory(options.get("workspace")),
        model=name_of("model", options.get("model")),
        approvals=mode_of(approvals) if approvals is not None else ("ask" if approver else "none"),
        trust=trust_of(trust if trust is not None else loaded.settings.agent.default_trust_level),
        who=checked_who(options.get("who", "program")),
        present=bool(options.get("present")) or approver is not None,
        explicit=approvals is not None or approver is not None,
    )
