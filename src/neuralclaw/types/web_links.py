"""Web addresses that stand in texts: found, and in the forms in which they are compared."""

import html
import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import unquote

_LINK = re.compile(r"https?://[^\s<>\"'`|\\^{}\[\]]+")
_PLACE = re.compile(r"(?<![\w.%-])(?:[\w%-]+\.)+[\w%-]+(?::\d+)?(?:[/?][^\s<>\"'`|\\^{}\[\]]*)?")
"""A host with what stands behind it; the scheme may be missing."""
_PARTS = re.compile(r"[/?&=#;,+ ]+")
_MARKS = re.compile(r"[\W_]+")
_BEHIND = ".,;:!?*_)"
_DECODED = 3
"""How often a text is decoded that may hold an address."""


def plain_text(text: str) -> str:
    """One form for words that are written the same: NFKC, folded case, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def bare_letters(text: str) -> str:
    """The letters and digits of a text, case folded."""
    return _MARKS.sub("", unicodedata.normalize("NFKC", text).casefold())


def links_in(*texts: str) -> frozenset[str]:
    """The web addresses that stand whole in these texts, as they are compared."""
    return frozenset(plain_link(found) for text in texts if "://" in text for found in _LINK.findall(text))


def plain_link(url: str) -> str:
    """An address as it is compared: without a fragment and the marks of the sentence around it, scheme and host in small letters."""
    scheme, _, rest = url.partition("#")[0].rstrip(_BEHIND).partition("://")
    place, slash, path = rest.partition("/")
    return f"{scheme.lower()}://{place.lower()}{slash or '/'}{path}"


def link_place(link: str) -> str:
    """What an address names, in the one spelling that all its encodings have: without scheme, user and fragment, decoded, in small letters."""
    return _place(_decoded(link.partition("://")[2] or link)[-1])


def places_in(text: str) -> frozenset[str]:
    """What the addresses in a text name, those without a scheme and those that are encoded too, as `link_place` gives it."""
    if "." not in text and "%" not in text and "&" not in text:
        return frozenset()
    return frozenset(_place(_decoded(found)[-1]) for form in _decoded(text) for found in _PLACE.findall(form))


def link_parts(link: str) -> Iterator[str]:
    """The parts of an address that can carry data, as letters and digits alone: those of its path and query, and of its host what stands before the last two
    names."""
    host, _, rest = link_place(link).partition("/")
    for part in (*_PARTS.split(rest), *host.split(".")[:-2]):
        if bare := letters_of(part):
            yield bare


def letters_of(text: str) -> str:
    """The letters and digits of a text, decoded, in small letters."""
    return "".join(filter(str.isalnum, _decoded(text)[-1]))


def _decoded(text: str) -> list[str]:
    """The text in one spelling of its letters, and what it becomes when it is decoded again and again; the last of them is decoded most."""
    forms = [unicodedata.normalize("NFKC", text).casefold()]
    while len(forms) <= _DECODED:
        found = unicodedata.normalize("NFKC", html.unescape(unquote(forms[-1]))).casefold()
        if found == forms[-1]:
            break
        forms.append(found)
    return forms


def _place(text: str) -> str:
    plain = text.partition("#")[0].rstrip(_BEHIND)
    cut = next((at for at, letter in enumerate(plain) if letter in "/?"), len(plain))
    host, rest = plain[:cut].rpartition("@")[2], plain[cut:]
    return f"{host}{rest if rest.startswith('/') else f'/{rest}'}"
