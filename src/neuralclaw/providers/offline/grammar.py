"""From a sentence to steps. Pure and stable: the same text always gives the same steps."""

import json
import re
from collections.abc import Collection
from typing import Any

import msgspec

from .help import HELLO, THANKS, help_text
from .phrases import first_word, trimmed, without_polite
from .quoting import mask, split
from .sentence_rules import VERBS, proposed

TALK = {
    "help": "help help me|help|what can i say|what can i ask|what do you understand|how do i use this|how does this work|how do you work"
    "|commands|show help|usage|/help",
    "hello": "hello|hi|hey|hello there|hi there|good morning|good afternoon|good evening|good day",
    "thanks": "thanks|thank you|thank you very much|many thanks",
}
PURE = frozenset("list_files read_file search_files find_files web_fetch web_search recall calculate system_info disk_info network_info echo about_me".split())
"""Tools that change nothing: neighbouring calls of these may be proposed together."""
_CALL = re.compile(r"\s*call\s+(?P<tool>[A-Za-z_][\w:.-]*)\s*")
"""Begins the call of a tool by its name: `call NAME {…}`, the arguments as one JSON object."""
_THEN = re.compile(r"\s*(?:$|,?\s*then\s+)")
LONGEST = 30_000
"""Characters of a sentence; a longer one is not understood, since taking it apart would hold up the other sessions of the program."""
SEQUENTIAL = 8
"""Replies with calls in a turn, at most; the loop allows ten model calls. Each step is a reply of its own, so that a failure stops the rest."""


class Step(msgspec.Struct, frozen=True):
    """One step: a tool call, or `small_talk` that is answered at once (`help`, `hello`, `thanks`)."""

    words: str
    tool: str = ""
    arguments: dict[str, Any] = {}
    small_talk: str = ""
    direct: bool = False
    """The sentence names the tool itself: `call NAME {…}`."""


class Unclear(msgspec.Struct, frozen=True):
    """The words of the first step that is not understood."""

    words: str


def parse(text: str) -> list[Step] | Unclear:
    """The steps of a sentence; Unclear when one of them is not understood, for then none is taken."""
    if len(text) > LONGEST:
        return Unclear(text)
    steps: list[Step] = []
    while (call := _CALL.match(text)) is not None:
        step, text = _direct(call["tool"], text[call.end() :])
        if step is None:
            return Unclear(text)
        steps.append(step)
        if not text:
            return steps
    for words in split(text):
        call = _CALL.match(words)
        step, rest = _direct(call["tool"], words[call.end() :]) if call is not None else (_step(words), "")
        if step is None or rest:
            return Unclear(words)
        steps.append(step)
    return steps or Unclear("")


def _step(words: str) -> Step | None:
    for candidate in (words, without_polite(words)):
        said = "?" if candidate == "?" else " ".join(mask(trimmed(candidate)).split())
        small_talk = "help" if said == "?" else next((kind for kind, phrases in TALK.items() if said and said in phrases.split("|")), "")
        if small_talk:
            return Step(words, small_talk=small_talk)
    call = proposed(without_polite(words))
    return None if call is None else Step(words, *call)


def _direct(tool: str, text: str) -> tuple[Step | None, str]:
    """The call of a tool by its name, where `text` begins with its arguments as a JSON object or has none, and the text behind the next `then`."""
    try:
        arguments, end = json.JSONDecoder().raw_decode(text) if text.startswith("{") else ({}, 0)
    except (ValueError, RecursionError):
        return None, f"call {tool} {text}"
    behind = _THEN.match(text, end)
    if behind is None:
        return None, f"call {tool} {text}"
    return Step(f"call {tool} {text[:end]}".rstrip(), tool, arguments, direct=True), text[behind.end() :]


def groups(steps: list[Step]) -> list[list[Step]]:
    """The steps that are proposed in one reply each: one by one where they are few enough, else neighbours that change nothing together.

    What is left for the last reply comes in it at once; the loop keeps apart what touches the same place.
    """
    calls = [step for step in steps if step.tool]
    if len(calls) <= SEQUENTIAL:
        return [[step] for step in calls]
    grouped: list[list[Step]] = []
    for step in calls:
        if grouped and step.tool in PURE and grouped[-1][-1].tool in PURE:
            grouped[-1].append(step)
        else:
            grouped.append([step])
    return [*grouped[: SEQUENTIAL - 1], [step for group in grouped[SEQUENTIAL - 1 :] for step in group]] if len(grouped) > SEQUENTIAL else grouped


def missing(steps: list[Step], tools: Collection[str]) -> Step | None:
    """The first step whose tool is not available."""
    return next((step for step in steps if step.tool and step.tool not in tools), None)


def said(step: Step, tools: Collection[str]) -> str:
    """The answer to a talk."""
    return {"help": help_text(tools), "hello": HELLO, "thanks": THANKS}[step.small_talk]


def knows(words: str) -> bool:
    """Whether the step begins with a known verb and says something about it."""
    verb, rest = first_word(without_polite(words))
    return verb in VERBS and " " in rest


def nearest(words: str) -> str:
    """The known verb that the first word is most like, or ""."""
    import difflib

    near = difflib.get_close_matches(first_word(without_polite(words))[0], (*VERBS, "help", "system"), 1, 0.7)
    return near[0] if near else ""
