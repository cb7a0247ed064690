"""Control flow that is no error: what a gate, an asker or a tool raises to say how the call goes on."""

from .questions import Question
from .verdicts import Verdict


class Signal(Exception):
    """Base of the signals; never shown to a person."""


class Denied(Signal):
    """Policy says no. `verdict` has the rules that say so."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__("; ".join(verdict.reasons))
        self.verdict = verdict


class Parked(Signal):
    """A person must answer `question` first and has not yet."""

    def __init__(self, question: Question) -> None:
        super().__init__(question.approval_id)
        self.question = question


class Retry(Signal):
    """A tool could not go on with these arguments, and the model can mend them: `text` tells it how."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class Undeliverable(Signal):
    """A channel can never bring this answer to this address: it is given up at once. `text` says why."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text
