"""Commands of this program as they are printed for a person to type: each opens the home that this process works on."""

import re
import shlex
from collections.abc import Iterable

_NOUNS = "run chat recover init doctor config models sessions approvals grants tools policy audit".replace(" ", "|")
_COMMAND = re.compile(rf"(?<![\w./-])neuralclaw(?= (?:(?:{_NOUNS})\b|--(?:resume|session|continue)\b|\(the chat\)))")
_home = ""


def opened(home: str | None) -> None:
    """The person named this home with `--home`; None: they did not, and a printed command need not either."""
    global _home
    _home = home or ""


def typed(text: str) -> str:
    """The program's own words, in which each `neuralclaw …` opens the same home as this process when it is typed in a shell."""
    if not _home or " --home " in text:
        return text
    return _COMMAND.sub(lambda found: f"neuralclaw --home {shlex.quote(_home)}", text)


def answer_command(question: str, choices: Iterable[str]) -> str:
    """How a question that waits is answered from another terminal."""
    return typed(f"waits for an answer: neuralclaw approvals answer {question} {'|'.join(choices)}")
