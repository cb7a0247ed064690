"""The event by which older messages leave the requests of a session; the journal keeps them."""

from typing import Literal

import msgspec

from .event_body import Body
from .messages import Usage

CompactionReason = Literal["messages", "turns", "conversation", "tool_results", "request", "window", "asked"]
"""Which limit was reached: `memory.compaction.entries`, `memory.max_short_term_turns`, `context.conversation`, `context.tool_results`,
`memory.compaction.tokens`, or the window of the model; `asked`: a person wanted it."""


class Compaction(Body, frozen=True, kw_only=True, tag="compaction"):
    """Requests begin with `summary` from this entry on, in place of the messages of entries before `before`; what the person said in the turn that runs
    stays. `text` says what was done, for a person.

    `reason` `tool_results`: nothing was summarised; the results of all calls so far except those of `whole_results` are shortened instead.
    `model`: who wrote the summary (`P:M`), "" where it is an extract; `usage` is what that cost. `read_from`: the first entry that the messages
    which stay are read from. `private`: private data had been read. `tokens_before`, `tokens_after`: estimates of the messages in a request.
    `copied`: it is the copy in a fork, and its cost counts elsewhere.
    """

    text: str
    reason: CompactionReason
    summary: str = ""
    before: int = 0
    messages: int = 0
    read_from: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    model: str = ""
    usage: Usage = msgspec.field(default_factory=lambda: Usage(usd=0.0))
    private: bool = False
    whole_results: tuple[str, ...] = ()
    copied: bool = False
