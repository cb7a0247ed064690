"""The kinds of texts that a value of reading mode may have, by `format`. None of them has room for a sentence.

Where a text is copied (`copied`), it must stand in the content as it is: so nobody can compose one of what else the content says.
"""

import re
from collections.abc import Callable
from datetime import date, datetime, time

import msgspec

IDENTIFIER = "identifier"
"""The format of a text that has a `pattern` and no other format."""


class TextKind(msgspec.Struct, frozen=True):
    """One kind. `told`: what the reading model is told of it; `longest`: characters; `copied`: it must stand in the content."""

    told: str
    longest: int
    fits: Callable[[str], bool]
    copied: bool = False


def _parsed(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def fits(text: str) -> bool:
        try:
            parse(text)
        except ValueError:
            return False
        return True

    return fits


def _matched(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.ASCII)
    return lambda text: compiled.fullmatch(text) is not None


_DATE = _matched(r"\d{4}-\d\d-\d\d")
_TIME = _matched(r"\d\d:\d\d(:\d\d)?")
_MOMENT = _matched(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?")
_MAIL = _matched(r"[\w.+%-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,24}")
_HOST = _matched(r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)*[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_LINK = _matched(r"https?://[!-~]+")


def _is_link(text: str) -> bool:
    from urllib.parse import urlsplit  # costs start-up time

    if not _LINK(text):
        return False
    try:
        return bool(urlsplit(text).hostname)
    except ValueError:
        return False


_is_date, _is_time, _is_moment = _parsed(date.fromisoformat), _parsed(time.fromisoformat), _parsed(datetime.fromisoformat)
KINDS = {
    "date": TextKind("a day, YYYY-MM-DD", 10, lambda text: _DATE(text) and _is_date(text)),
    "time": TextKind("a time of day, HH:MM or HH:MM:SS", 8, lambda text: _TIME(text) and _is_time(text)),
    "date-time": TextKind("a moment, YYYY-MM-DDTHH:MM:SS with Z or an offset", 40, lambda text: _MOMENT(text) and _is_moment(text.replace("Z", "+00:00"))),
    "amount": TextKind("an amount, as in 1234.50 or 1234.50 EUR", 24, _matched(r"-?\d{1,15}(\.\d{1,4})?( [A-Z]{3})?")),
    "email": TextKind("an e-mail address, copied from the content", 254, _MAIL, copied=True),
    "hostname": TextKind("a host name, copied from the content", 253, _HOST, copied=True),
    "uri": TextKind("a web address with http:// or https://, copied from the content", 500, _is_link, copied=True),
    IDENTIFIER: TextKind(
        "a name of letters, digits and . _ / + # : - without spaces, copied from the content", 64, _matched(r"[A-Za-z0-9][A-Za-z0-9._/+#:-]*"), copied=True
    ),
}
"""Format -> kind."""


def stands_in(text: str, content: str) -> bool:
    """Whether the content has this text as a whole: with no letter, digit or part of an address beside it, whatever the case."""
    return re.search(rf"(?<!\w)(?<!\w[@.+%-]){re.escape(text)}(?!\w|[@+%-]\w|\.\w)", content, re.IGNORECASE) is not None


def is_plain_text(text: str) -> bool:
    """Whether a short free text is one line without an address or a control character."""
    return text.isprintable() and "://" not in text and "@" not in text and "www." not in text.lower()
