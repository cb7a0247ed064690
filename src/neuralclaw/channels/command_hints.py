"""Commands of this program as they are printed for a person to type: each opens the home that this process works on."""

import re
import shlex
from collections.abc import Callable, Iterable

_COMMAND = re.compile(r"(?<![\w./-])neuralclaw(?= (?:(\w+(?:-\w+)*)|--(?:resume|session|continue)\b|\(the chat\)))")
_home = ""
_is_noun: Callable[[str], bool] = bool


def opened(home: str | None, is_noun: Callable[[str], bool]) -> None:
    """The person named this home with `--home`; None: they did not, and a printed command need not either.

    `is_noun` says whether a word is the first one of a command: before any other word, `neuralclaw` is the name of the program in a sentence.
    """
    global _home, _is_noun
    _home, _is_noun = home or "", is_noun


def typed(text: str) -> str:
    """The program's own words, in which each `neuralclaw …` opens the same home as this process when it is typed in a shell."""
    if not _home or " --home " in text:
        return text
    return _COMMAND.sub(_with_home, text)


def _with_home(found: re.Match[str]) -> str:
    noun = found[1]
    return f"{found[0]} --home {shlex.quote(_home)}" if noun is None or _is_noun(noun) else found[0]


def answer_command(question: str, choices: Iterable[str]) -> str:
    """How a question that waits is answered from another terminal."""
    return typed(f"waits for an answer: neuralclaw approvals answer {question} {'|'.join(choices)}")
