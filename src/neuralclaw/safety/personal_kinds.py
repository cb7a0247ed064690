"""Values of private kinds in a text: keys, passwords, and the numbers of cards, accounts and papers, also encoded or with marks between the digits."""

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import unquote

from .lazy_regex import lazy_pattern

_LONG_NUMBER = lazy_pattern(r"(?<![\w.,])\d(?:[ -]?\d){8,}(?!\w|[.,]\d)")
_MOMENT = lazy_pattern(r"(?<!\d)\d{4}-\d\d-\d\d(?:[ T]\d\d(?::\d\d){0,2})?(?![\d-])")
_PASSED = r"is|are|was|=|:|was\s+set\s+to|reads"
_LABELLED = lazy_pattern(
    r"\b(?P<kind>passport|identity card|id card|id|social security|ssn|tax|driver'?s licen[cs]e|credit card|debit card|card|bank account|account|pin|cvv|cvc"
    r"|pass[ _-]?word|pass[ _-]?phrase|pass[ _-]?code|api[ _-]?key|access[ _-]?token|token|secret|security code)\b(?:\s+(?:number|no\.?|code|key))?"
    r"\s*(?:is\b|[:=#])?\s*[\"']?(?P<value>(?=[\w-]*\d)[\w-]{3,})",
    re.IGNORECASE,
)
_SAID = lazy_pattern(
    rf"\b(?P<kind>pass[ _-]?word|pass[ _-]?phrase|pass[ _-]?code|pwd|api[ _-]?key|access[ _-]?token|token|secret|pin)\b"
    rf"[^.!?\n:=]{{0,30}}?\s*(?:{_PASSED})\s*[\"'“‘`]?"
    r"(?P<value>(?!(?:not?|in|on|at|to|the|an?|too|very|still|now|also|wrong|right|correct|incorrect|invalid"
    r"|required|needed|expired|changed|reset|sent|set|safe|secure|weak"
    r"|strong|new|old|missing|stored|known|valid|same|unchanged|being|there|here|never|already)\b)[^\s\"'”’`]{3,})",
    re.IGNORECASE,
)
"""A word of a secret with what it is said to be; its letters need no digit."""
_KEY = lazy_pattern(r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\b(?:sk-|ghp_|gho_|github_pat_|glpat-|xox[abprs]-|AKIA|AIza)[\w-]{12,}")
_DIGIT_WORDS = {word: str(number) for number, word in enumerate("zero one two three four five six seven eight nine".split())}
_SPELLED_DIGIT = lazy_pattern(rf"\b(?:{'|'.join(_DIGIT_WORDS)}|oh)\b", re.IGNORECASE)
_SPREAD = lazy_pattern(r"\d(?:(?:[^\w\n]{0,3}_[^\w\n]{0,3}|[^\w\n]{0,4})\d){12,}")
"""Digits with marks between them."""
_CARD = (13, 19)
"""Digits of the number of a card (ISO/IEC 7812)."""
_ENCODED = lazy_pattern(r"[A-Za-z0-9+/_-]{12,}={0,2}")
_HEX = lazy_pattern(r"(?:[0-9A-Fa-f]{2}){8,}")
_MOST = 5_000
"""Encoded pieces of a text that are decoded."""


def personal_values(text: str) -> Iterator[tuple[str, str]]:
    """Values of private kinds in a text, each with its kind: keys, what stands behind the name of such a kind, and numbers of nine digits or more, which
    are those of cards, accounts and papers. The numbers of a date and its time are none."""
    yield from _plain_values(text)
    folded = unicodedata.normalize("NFKC", text)
    if "%" in folded:
        folded = unquote(folded)
    if folded != text:
        yield from _plain_values(folded)
    for found in _SPREAD.finditer(_SPELLED_DIGIT.sub(_digit, _MOMENT.sub(" ; ", folded))):
        digits = re.sub(r"\D", "", found[0])
        if any(_is_card(digits[at : at + size]) for size in range(_CARD[0], _CARD[1] + 1) for at in range(len(digits) - size + 1)):
            yield "card number", found[0]
    for decoded in _decoded(folded):
        yield from ((f"encoded {kind}", value) for kind, value in _plain_values(decoded))


def _plain_values(text: str) -> Iterator[tuple[str, str]]:
    for found in _KEY.finditer(text):
        yield "key", found.group()
    for pattern in (_LABELLED, _SAID):
        for found in pattern.finditer(text):
            kind = found["kind"].lower()
            yield f"{kind} number" if found["value"].isdecimal() else kind, found["value"].rstrip(".,;:!?)")
    for found in _LONG_NUMBER.finditer(_MOMENT.sub(" . ", text)):
        yield "long number", found.group()


def _digit(found: re.Match[str]) -> str:
    return _DIGIT_WORDS.get(found[0].lower(), "0")


def _is_card(digits: str) -> bool:
    """Whether digits are the number of a card: by what it begins with and its check digit (Luhn)."""
    if digits[0] not in "3456":
        return False
    doubled = [int(digit) * (2 if at % 2 else 1) for at, digit in enumerate(reversed(digits))]
    return sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0


def _decoded(text: str) -> Iterator[str]:
    """What the pieces of a text are that may be base64 or hexadecimal, where that is readable."""
    for count, found in enumerate(_ENCODED.finditer(text)):
        if count == _MOST:
            return
        piece = found[0].rstrip("=").replace("-", "+").replace("_", "/")
        tried = [_from_base64(piece)]
        if _HEX.fullmatch(found[0]):
            tried.append(bytes.fromhex(found[0]))
        for raw in tried:
            if raw and raw.isascii() and raw.decode("ascii").isprintable():
                yield raw.decode("ascii")


def _from_base64(piece: str) -> bytes:
    try:
        return base64.b64decode(piece + "=" * (-len(piece) % 4), validate=True)
    except (binascii.Error, ValueError):
        return b""
