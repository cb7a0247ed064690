"""The spellings of a value that mean the same: of addresses of the web and of mail, of host names and telephone numbers. No two values share one.

What only looks the same is another value: a Cyrillic letter in a name, and a compatibility form (`ⓐ`, `ſ`) where it is not normalised on its way.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from ..types.urls import PORTS, parse
from ..types.web_links import plain_text
from .lazy_regex import lazy_pattern

_HOST = lazy_pattern(r"(?<![\w@.%+/-])[\w-]+(?:\.[\w-]+)+(?![\w@/%+-]|[.:]\w)")
_MAIL = lazy_pattern(r"([^\s@<>\"(),:;\[\]\\]+)@([\w-]+(?:\.[\w-]+)+)")
_PHONE = lazy_pattern(r"(?<![\w.,/:+-])(?:\+|\(|0)[\d ()/.-]{5,}\d(?!\w|[.,]\d)")
_DATE = lazy_pattern(r"\d{4}-\d\d?-\d\d?|\d\d?[./]\d\d?[./]\d{2,4}")
_ENCODED = lazy_pattern(r"%[0-9A-Fa-f]{2}")
_AMOUNT = r"\d[\d,.' ]*\d|\d"
_NUMBERS = lazy_pattern(rf"(?<![\w.,:/])(?<!\d[-–])(?:{_AMOUNT})(?![\w]|[.,:/–-]\d)")
"""Amounts and counts. What stands in a date, a time or a version is none."""
_GROUPED = lazy_pattern(r"\d{1,3}([,.' ])\d{3}(?:\1\d{3})*(?:[.,]\d+)?")
_ADDRESS = lazy_pattern(
    r"[a-z][a-z0-9+.-]*://[^\s<>\"'()\[\]]+"  # an address of the web
    r"|(?<![\w.@-])www\.[^\s<>\"'()\[\]]+"
    r"|(?<!\w['!#$&*=?^`{|}~])(?<![\w.+%-])[\w.+%-]+@[\w-]+(?:\.[\w-]+)+"  # of mail
    r"|(?<!\w)[a-z]{2}\d{2}(?: ?[a-z0-9]{4}){3,7}(?: ?[a-z0-9]{1,3})?(?!\w)"  # of an account (ISO 13616)
    r"|(?<![\w+])\+\d[\d ()/-]{6,}\d(?!\w)",  # a telephone number
    re.IGNORECASE,
)
_ENDS = ".,;:!?)]}'\""
_AMBIGUOUS = lazy_pattern(r"\d{1,3}\.\d{3}")
"""A thousand with its mark, or one with three decimals."""
_CURRENCY = "$€£¥ "
_ENDS = ".,;:!?)]}'\""
_CURRENCIES = lazy_pattern(r"[$€£¥]|\b(?:eur|usd|gbp|chf|jpy|euros?|dollars?|pounds?|yen|francs?|[a-z]{3})\b")
_SAME_CURRENCY = {
    "€": "eur",
    "euro": "eur",
    "euros": "eur",
    "$": "usd",
    "dollar": "usd",
    "dollars": "usd",
    "£": "gbp",
    "pound": "gbp",
    "pounds": "gbp",
    "¥": "jpy",
    "yen": "jpy",
}
_DIGITS = (7, 15)
"""Of a telephone number (ITU-T E.164), at least and at most."""


normal = plain_text


def exact(text: str) -> str:
    """Small letters and single spaces alone: what NFKC makes equal stays apart."""
    return " ".join(unicodedata.normalize("NFC", text).lower().split())


def looks_alike(value: str) -> bool:
    """Whether a letter or digit of the value is another sign that only becomes an ASCII one when it is normalised."""
    return not value.isascii() and any(not letter.isascii() and not letter.isspace() and normal(letter).isascii() and normal(letter) for letter in value)


@lru_cache(maxsize=1024)
def spelling(value: str) -> str:
    """The one spelling of an address of the web or of mail, of a host name or a telephone number; "" where it is none of these."""
    text = value.strip()
    if "://" in text or text[:4].lower() == "www.":
        return _web(text)
    if found := _MAIL.fullmatch(text):
        host = _host(found[2])
        return f"mail {unicodedata.normalize('NFC', found[1]).lower()}@{host}" if host else ""
    if _HOST.fullmatch(text) and not text.replace(".", "").isdecimal():
        return f"host {host}" if (host := _host(text)) else ""
    return _phone(text)


def spellings_in(text: str) -> Iterator[str]:
    """The spellings of host names and telephone numbers in a text."""
    for found in _HOST.findall(text):
        if not found.isascii() or "xn--" in found.lower():
            yield spelling(found)
    for found in _PHONE.findall(text):
        yield _phone(found)


def _web(text: str) -> str:
    bare = "://" not in text
    url = parse(f"https://{text}" if bare else text.replace(" ", "%20"))
    if url.problem is not None:
        return ""
    target = _ENCODED.sub(_unreserved, _ascii(url.target)).rstrip("/")
    return f"web {'' if bare else url.scheme}://{url.host}:{url.port or PORTS[url.scheme]}{target}"


def _ascii(target: str) -> str:
    return "".join(letter if letter.isascii() else "".join(f"%{byte:02X}" for byte in letter.encode()) for letter in target)


def _unreserved(found: re.Match[str]) -> str:
    """What is encoded without need, as itself (RFC 3986, 6.2.2.2)."""
    letter = chr(int(found[0][1:], 16))
    return letter if letter.isascii() and (letter.isalnum() or letter in "-._~") else found[0].upper()


def _host(text: str) -> str:
    url = parse(f"https://{text}")
    return "" if url.problem is not None and not url.own else url.host


def _phone(text: str) -> str:
    """Digits with the sign of a number that says its country."""
    digits = re.sub(r"\D", "", text) if re.fullmatch(r"\+?[\d ()/.-]+", text) and not _DATE.search(text) else ""
    least, most = _DIGITS
    if not least <= len(digits) <= most or not digits.isascii():
        return ""
    return f"phone +{digits.removeprefix('00')}" if text.startswith("+") or digits.startswith("00") else f"phone {digits}"


def address_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where addresses of the web and of mail, accounts, host names and telephone numbers stand in a text."""
    for pattern in (_ADDRESS, _PHONE, _HOST):
        for found in pattern.finditer(text):
            yield found.start(), found.start() + len(found[0].rstrip(_ENDS))


def addresses(text: str) -> Iterator[str]:
    """Addresses of the web, of mail, of accounts and telephones in a text."""
    for found in _ADDRESS.finditer(text):
        yield found.group().rstrip(_ENDS)


def bare_address(address: str) -> str:
    """An address without what may be there or not: its last slash, and spaces in the number of an account."""
    text = normal(address).rstrip("/")
    return text if "/" in text or "@" in text else text.replace(" ", "")


def numbers_in(text: str) -> Iterator[re.Match[str]]:
    """Where amounts and counts stand in a text. What stands in a date, a time or a version is none."""
    yield from _NUMBERS.finditer(text)


def amount(text: str) -> str | None:
    """The number that a text is, in one spelling, whatever its currency and the marks between thousands; None where it is none."""
    plain = re.sub(r"(?i)^(?:eur|usd|gbp|chf|jpy)\b|\b(?:eur|usd|gbp|chf|jpy|euros?|dollars?|pounds?|yen|francs?)$", "", text.strip(_CURRENCY)).strip(_CURRENCY)
    negative, plain = plain.startswith("-"), plain.removeprefix("-")
    if re.fullmatch(_AMOUNT, plain) is None:
        return None
    if grouped := _GROUPED.fullmatch(plain):
        plain = plain.replace(grouped.group(1), "") if grouped.group(1) != "." or plain.count(".") > 1 or "," in plain else plain
    plain = plain.replace(",", ".")
    if re.fullmatch(r"\d+(?:\.\d+)?", plain) is None:
        return None
    whole, _, part = plain.partition(".")
    return ("-" if negative else "") + (whole.lstrip("0") or "0") + (f".{part}".rstrip("0").rstrip("."))


def typed_amount(text: str) -> str | None:
    """The number that a person typed; None too where it can be read in two ways, as `1.000`."""
    return None if _AMBIGUOUS.fullmatch(text.strip()) else amount(text)


def currency_of(text: str) -> str:
    """The currency that stands beside a number, "" for none."""
    found = _CURRENCIES.search(text.lower())
    return _SAME_CURRENCY.get(found[0], found[0]) if found else ""
