"""What a message asks of the scripted model, written in its text: the same in every process and after every crash.

`a3 look,once|~ask` is message 3 of session `a`: a reply with the calls `look` and `once`, then one with the call `ask`, before which the model waits
(`~`), then the answer `done a3`. The model follows the message that came last, and begins its plan anew for each.
"""

import re
from dataclasses import dataclass

TEXT = re.compile(r"([a-z]\d+) (\S*)")
EFFECTS = {"look": "pure", "mark": "idempotent", "once": "once", "ask": "once", "slow": "once"}
"""The tools by their effect. `ask` needs a yes, `slow` waits inside until it is let go."""


@dataclass(frozen=True)
class Step:
    """One reply of the model: the tools that it calls, none for the answer. `waits`: the model waits before it replies."""

    tools: tuple[str, ...] = ()
    waits: bool = False

    @property
    def text(self) -> str:
        return ("~" if self.waits else "") + ",".join(self.tools)


def text_of(key: str, steps: tuple[Step, ...]) -> str:
    return f"{key} {'|'.join(step.text for step in steps)}"


def steps_of(text: str) -> tuple[Step, ...]:
    """The replies that a message asks for; the last one is the answer."""
    found = TEXT.fullmatch(text)
    assert found is not None, f"{text!r} is no message of the model's test"
    steps = [Step(tuple(name for name in word.removeprefix("~").split(",") if name), word.startswith("~")) for word in found[2].split("|")]
    return tuple(steps) if not steps[-1].tools else (*steps, Step())


def label(key: str, step: int, place: int) -> str:
    """The name of one call: its argument, in every process."""
    return f"{key}.{step}.{place}"
