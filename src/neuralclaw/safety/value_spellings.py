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
