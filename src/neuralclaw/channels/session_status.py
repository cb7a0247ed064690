"""What the status line of a chat tells: the model, how full its context is, what the session cost, and what waits."""

import time
from collections.abc import Iterable, Mapping
from typing import Any

from ..types.messages import Usage


class SessionStatus:
    """The state of the session on the screen. `since`: monotonic seconds at which the running turn began, None when none runs."""

    def __init__(self) -> None:
        self.model = ""
        self.window = 0
        """Tokens the model's context holds; 0: not known yet."""
        self.queued = 0
        self.since: float | None = None
        self.reset()

    def reset(self) -> None:
        """Another session: nothing used, nothing spent."""
        self.context = 0
        self.usd: float | None = None
        self._spent = Usage(usd=0.0)

    def count(self, usage: Usage) -> None:
        """A reply of the model has come. Costs are known only while every reply's are."""
        self.context = usage.input + usage.output
        self._spent = self._spent + usage
        self.usd = self._spent.usd

    def recount(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Read it off the recorded events of a session, as objects."""
        self.reset()
        for event in events:
            if event["type"] == "message":
                usage = event["usage"]
                self.count(Usage(usage.get("input", 0), usage.get("cached", 0), usage.get("output", 0), usage.get("usd")))

    def summary(self) -> str:
        """Tokens and costs in words."""
        spent = self._spent
        cost = "price unknown" if spent.usd is None else f"${spent.usd:.4f}"
        return f"{spent.input:,} tokens in ({spent.cached:,} cached), {spent.output:,} out, {cost}"

    def waiting(self, questions: int) -> str:
        """What waits, in words; "" when nothing does."""
        found = []
        if questions:
            found.append("a question waits for you" if questions == 1 else f"{questions} questions wait for you")
        if self.since is not None:
            found.append(f"running {int(time.monotonic() - self.since)} s")
        if self.queued:
            found.append(f"{self.queued} queued")
        return ", ".join(found)
