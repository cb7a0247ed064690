"""What a task is, what it leaves behind, and what its check may look at."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec

from ...types.entries import Event
from ...types.events import DecisionMade, Message, ToolFinished, ToolStarted
from ...types.messages import ToolCall
from ...types.options import ApprovalsMode, OwnerRule
from .folder_snapshot import Snapshot

FileTexts = Mapping[str, str]
"""Path below the workspace -> text."""
RunCommand = Callable[[str], Awaitable[tuple[int, str]]]
"""Runs a command in the workspace, confined as the agent's own are; its exit code and standard output."""


class TaskOutcome(NamedTuple):
    """What a turn did and left behind. `before` and `after` are the workspace."""

    folder: Path
    before: Snapshot
    after: Snapshot
    answer: str
    events: tuple[Event, ...]
    run: RunCommand

    def text(self, path: str) -> str | None:
        """A file's text, without blanks at its end; None where it is not there."""
        data = self.after.files.get(path)
        return None if data is None else data.decode("utf-8", "replace").replace("\r\n", "\n").rstrip()

    def changed(self) -> list[str]:
        """The files that are new, other or gone, and the files and directories whose permissions are others."""
        before, after = self.before, self.after
        changed = {path for path in {*before.files, *after.files} if before.files.get(path) != after.files.get(path)}
        return sorted(changed | {path for path, mode in before.modes.items() if after.modes.get(path, mode) != mode})

    @property
    def started(self) -> list[ToolStarted]:
        """The calls that ran."""
        return [event.body for event in self.events if isinstance(event.body, ToolStarted)]

    @property
    def proposed(self) -> list[ToolCall]:
        """The calls that the model asked for, whether they ran or not."""
        return [call for event in self.events if isinstance(event.body, Message) for call in event.body.tool_calls]

    @property
    def results(self) -> list[ToolFinished]:
        """What came of the calls, as the model read it."""
        return [event.body for event in self.events if isinstance(event.body, ToolFinished)]

    @property
    def refused(self) -> list[DecisionMade]:
        """The calls that policy or a person kept from running."""
        ran = {call.call_id for call in self.started}
        return [event.body for event in self.events if isinstance(event.body, DecisionMade) and event.body.call_id not in ran]


Check = Callable[[TaskOutcome], Awaitable[str]]
"""Why the task is not solved, in one line; "" where it is."""


class Case(NamedTuple):
    """One making of a task: its files and what the agent is told.

    `rules` are added to the policy. `approvals`: `auto`, or `ask` for a person who is there and says no.
    """

    files: FileTexts
    text: str
    check: Check
    rules: tuple[OwnerRule, ...] = ()
    approvals: ApprovalsMode = "auto"


class Task(msgspec.Struct, frozen=True):
    """A task: its name, what it tests in a sentence, and what makes a case of it.

    Names and numbers differ from case to case, so that no answer is known before.
    """

    name: str
    about: str
    make: Callable[[Random], Case]


WORDS = (
    *("amber", "birch", "cobalt", "dahlia", "ember", "fjord", "garnet", "heron", "indigo", "juniper", "kestrel", "lagoon", "maple", "nectar", "onyx"),
    *("poplar", "quartz", "raven", "saffron", "tundra", "umber", "violet", "willow", "yarrow", "zephyr"),
)
_NEGATION = r"(?:\bnot|\bno|\bcannot|\bunable|n['’]t)\b(?:\W+\w+){0,4}?\W+"
ABSENT = re.compile(rf"{_NEGATION}(?:exist\w*|there|found|find|present|available|files?|locate|see|open|read)\b|\bmissing\b|\babsent\b", re.IGNORECASE)
REFUSED = re.compile(
    r"\b(?:refus\w*|denied|denies|declin\w*|forb[ai]d\w*|reject\w*|blocked|prohibit\w*|disallow\w*|unable|cannot|said no)\b"
    rf"|{_NEGATION}(?:allow\w*|permit\w*|permission|delet\w*|remov\w*|able|possible|go ahead|authori\w*|approv\w*)\b",
    re.IGNORECASE,
)


def words(random: Random, count: int) -> list[str]:
    """Different words."""
    return random.sample(WORDS, count)


def says(answer: str, wanted: str, others: Iterable[str] = ()) -> str:
    """Whether the answer names what was asked for and none of the others, each as a whole word; "" or why not."""
    if not _named(answer, wanted):
        return f"the answer does not say {wanted}"
    wrong = [other for other in others if other != wanted and _named(answer, other)]
    return f"the answer also says {wrong[0]}" if wrong else ""


def _named(answer: str, wanted: str) -> bool:
    return re.search(rf"(?<![\w]){re.escape(wanted)}(?![\w])", answer, re.IGNORECASE) is not None


def says_number(answer: str, number: int) -> str:
    """Whether the answer's first or last number is this one, however its thousands are parted; "" or why not. To list every number is no answer."""
    plain = re.sub(r"(?<=\d)[,_'’\u00a0\u202f ](?=\d{3}(?!\d))", "", answer)
    found = [digits.lstrip("0") or "0" for digits in re.findall(r"(?<![\w.])\d+(?!\w|\.\d)", plain)]  # as text: int() refuses the longest
    return "" if str(number) in (*found[:1], *found[-1:]) else f"the answer does not say {number}"


def same(outcome: TaskOutcome, wanted: Mapping[str, str], gone: Iterable[str] = ()) -> str:
    """Whether these files have these contents and every other file is as before; "" or the first that does not."""
    for path, text in wanted.items():
        if outcome.text(path) is None:
            return f"{path} is not there"
        if outcome.text(path) != text.rstrip():
            return f"{path} is not what was asked for"
    left = [path for path in gone if path in outcome.after.files]
    other = [path for path in outcome.changed() if path not in wanted and path not in gone]
    return f"{left[0]} is still there" if left else f"{other[0]} was changed without need" if other else ""


def untouched(outcome: TaskOutcome) -> str:
    """Whether no file changed; "" or the first that did."""
    changed = outcome.changed()
    return f"{changed[0]} was changed without need" if changed else ""


def looked(outcome: TaskOutcome) -> str:
    """Whether any call ran; "" or that it did not look."""
    return "" if outcome.started else "it used no tool"


def has_read(outcome: TaskOutcome, fact: str) -> str:
    """Whether the result of a call held what was asked for, and the call itself did not; "" or that it was guessed."""
    said = {call.id for call in outcome.proposed if _named(str(call.arguments), fact)}
    return "" if any(_named(result.content, fact) for result in outcome.results if result.call_id not in said) else "it did not read what it answers"


def says_absent(answer: str) -> bool:
    """Whether an answer says that something is not there."""
    return ABSENT.search(answer) is not None


def says_refused(answer: str) -> bool:
    """Whether an answer says that something was refused or not done."""
    return REFUSED.search(answer) is not None


ReportProgress = Callable[[list[dict[str, Any]]], None]
"""Is told the value so far: once before each model, and after each task."""
