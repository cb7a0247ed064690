"""For whom an agent works, and under what: read from the options it is opened with."""

import msgspec

from .. import config
from ..types.actions import Who
from ..types.judging import Trust
from ..types.options import ApprovalsMode
from .given import checked_who, mode_of, name_of, real_directory, trust_of
from .typed import AgentOptions


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


def seat_of(loaded: config.Loaded, options: AgentOptions) -> Seat:
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
