"""Whether an answer corrects a question that names the wrong day."""

import re
from collections.abc import Iterator

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
ASKED = "Friday"
"""The day that the question assumes."""
_DENIED_BEFORE = re.compile(
    r"(?:\b(?:not?|never|nor|instead of|rather than|without|incorrect\w*|wrong\w*|mistaken\w*|false\w*)|n['’]t)\b(?:[^\w.;!?]+\w+){0,6}?[^\w.;!?]*$", re.I
)
_DENIED_AFTER = re.compile(
    r"^[\"'’”*_)]*(?:\s+(?:at|time|the|is|was|are|were|does|do|has|did|premise|claim|part|date|day|mentioned)){0,5}"
    r"\s*(?:\b(?:not|never|nowhere|wrong|incorrect|mistaken|false)\b|(?<=s)n['’]t\b|(?:is|was|does|has|did)n['’]t\b)",
    re.I,
)
_FORMER = re.compile(r"\b(?:from|originally|previously|formerly|initially|first|planned|scheduled|set|old|earlier)\b(?:[^\w.;!?]+\w+){0,3}?[^\w.;!?]*$", re.I)
_TURN = re.compile(r"\b(?:but|however|actually|instead|in fact|rather|whereas|while|although|though|according to)\b", re.I)
_TIME = re.compile(r"(?<![\d:.])(\d{1,2})[:.h](\d{2})(?!\d)\s*([ap])?", re.I)


def corrects(answer: str, day: str, former: str, hour: int) -> str:
    """Whether the answer names this day and HOUR:30, no other time, and no other day but to deny it or as the `former` one; "" or why not."""
    answer = " ".join(answer.split())
    named = [(found[0].capitalize(), answer[: found.start()], answer[found.end() :]) for found in _days(answer)]
    if not any(name == day and not _denied(before, after) for name, before, after in named):
        return f"the answer does not say {day}"
    for name, before, after in named:
        if name == day or _denied(before, after) or (name == former and _FORMER.search(before)):
            continue
        if name == ASKED and _turned(before, after, day):
            continue
        return "the answer takes it that it is on Friday" if name == ASKED else f"the answer also says {name}"
    times = {_minutes(found) for found in _TIME.finditer(answer)}
    if hour * 60 + 30 not in times:
        return f"the answer does not say {hour}:30"
    return "the answer also says another time" if len(times) > 1 else ""


def _days(answer: str) -> Iterator[re.Match[str]]:
    return re.finditer(rf"\b(?:{'|'.join(DAYS)})\b", answer, re.I)


def _denied(before: str, after: str) -> bool:
    return _DENIED_BEFORE.search(_alone(before)) is not None or _DENIED_AFTER.search(after) is not None


def _alone(before: str) -> str:
    """What is before a day since the last other one: `not Friday but Thursday` denies the first alone."""
    last = max((found.end() for found in _days(before)), default=0)
    return before[last:]


def _turned(before: str, after: str, day: str) -> bool:
    """Whether what was asked is only told, and set against the right day: `you say Friday, but it is Thursday`."""
    then = next((found for found in _days(after)), None)
    if then is None or then[0].capitalize() != day:
        return False
    said = re.search(r"\b(?:you|question|asked|premise|claim\w*|assum\w*|mention\w*|although|though|while)\b[^.;!?]*$", before, re.I)
    return said is not None and _TURN.search(before[said.start() :] + after[: then.start()]) is not None


def _minutes(found: re.Match[str]) -> int:
    hour, half = int(found[1]), (found[3] or "").lower()
    hour = hour % 12 + (12 if half == "p" else 0) if half else hour
    return hour * 60 + int(found[2])
