"""What the owner typed, and whether it names a value as a whole. Text that the owner quotes, pastes or pipes in is not the owner's own word."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from ..types.web_links import letters_of
from .lazy_regex import lazy_pattern
from .value_spellings import exact, looks_alike, normal, spelling, spellings_in

LONGEST_TYPED = 2_000
"""Characters of a message; a longer one counts as pasted."""
LEAST_PERSONAL = 4
"""Letters of a value of a private kind that are looked for in an address."""
MOST_QUOTED = 5
"""Words in quotation marks that still count as typed, as in `to the channel "general"`; a longer quotation is somebody else's text."""

_PIPED = lazy_pattern(r"<stdin>.*", re.DOTALL)
_FENCED = lazy_pattern(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_CITED = lazy_pattern(r"(?m)^[ \t]*>.*$")
_QUOTED = lazy_pattern(r"[\"“„«]([^\"“”„«»]*)[\"”“»]")
_AMOUNT = r"\d[\d,.' ]*\d|\d"
_NUMBERS = lazy_pattern(rf"(?<![\w.,:/])(?<!\d[-–])(?:{_AMOUNT})(?![\w]|[.,:/–-]\d)")
"""Amounts and counts. What stands in a date, a time or a version is none."""
_GROUPED = lazy_pattern(r"\d{1,3}([,.' ])\d{3}(?:\1\d{3})*(?:[.,]\d+)?")
_TEMPLATE = lazy_pattern(r"[\"'“]((?=[^{]*\w[^{]*\{)[^\"'“”]*\{\w+\}[^\"'“”]*)[\"'”]")
_CURRENCY = "$€£¥ "
_ADDRESS = lazy_pattern(
    r"[a-z][a-z0-9+.-]*://[^\s<>\"'()\[\]]+"  # an address of the web
    r"|(?<![\w.@-])www\.[^\s<>\"'()\[\]]+"
    r"|(?<!\w['!#$&*=?^`{|}~])(?<![\w.+%-])[\w.+%-]+@[\w-]+(?:\.[\w-]+)+"  # of mail
    r"|(?<!\w)[a-z]{2}\d{2}(?: ?[a-z0-9]{4}){3,7}(?: ?[a-z0-9]{1,3})?(?!\w)"  # of an account (ISO 13616)
    r"|(?<![\w+])\+\d[\d ()/-]{6,}\d(?!\w)",  # a telephone number
    re.IGNORECASE,
)
_ENDS = ".,;:!?)]}'\""
_EXCLUDED = lazy_pattern(
    r"\b(?:(?:do|does|did|is|are|was|were|should|must|may|can|could|would|will|shall)(?:n['’]?t|\s+not)|cannot|not|never|without|except|excluding|excepting"
    r"|apart\s+from|other\s+than|instead\s+of|rather\s+than|avoid|skip|(?:all|every\w*|any\w*)\s+but)\b(?!\s+(?:forget|hesitate|only)\b)"
    r"(?:(?!\bbut\b(?!\s+not\b)|[.!?;](?:\s|\Z)|\n).)*",
    re.IGNORECASE,
)
"""What the owner says shall not be, up to the end of the sentence or to "but": it names nothing."""
_GLUED = lazy_pattern(r"((?:https?://|(?<![\w.@-])www\.)[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,})\.(?=[A-Z][a-z]{2,}\s)")
"""A host with the first word of the next sentence behind its full stop."""
_LONG_NUMBER = lazy_pattern(r"(?<![\w.,])\d(?:[ -]?\d){8,}(?!\w|[.,]\d)")
_MOMENT = lazy_pattern(r"(?<!\d)\d{4}-\d\d-\d\d(?:[ T]\d\d(?::\d\d){0,2})?(?![\d-])")
_LABELLED = lazy_pattern(
    r"\b(?P<kind>passport|identity card|id card|id|social security|ssn|tax|driver'?s licen[cs]e|credit card|debit card|card|bank account|account|pin|cvv|cvc"
    r"|password|passphrase|api key|access token|secret)\b(?:\s+(?:number|no\.?|code|key))?\s*(?:is\b|[:=#])?\s*[\"']?(?P<value>(?=[\w-]*\d)[\w-]{3,})",
    re.IGNORECASE,
)
_KEY = lazy_pattern(r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\b(?:sk-|ghp_|gho_|github_pat_|glpat-|xox[abprs]-|AKIA|AIza)[\w-]{12,}")


_LONGER = 12
"""How many times longer than all that was typed another spelling of a part of it can be: each letter as four bytes, encoded."""


@lru_cache(maxsize=16)
def words_of(messages: tuple[str, ...]) -> "OwnerWords":
    """The words of these messages; those that were judged before are at hand."""
    return OwnerWords(messages)


class OwnerWords:
    """The words of these messages, compared in one spelling each (`value_spellings`)."""

    def __init__(self, messages: Sequence[str]) -> None:
        said = [typed(message) for message in messages]
        self._text = "\n".join(map(normal, said))
        self._exact = "\n".join(map(exact, said))
        self._spelled = {spelling(one) for text in said for one in addresses(text)} | {one for text in said for one in spellings_in(text)}
        self._numbers = {number for found in _NUMBERS.findall(self._text) if (number := amount(found)) is not None}
        self._addresses = {_bare(found) for found in addresses(self._text)}
        self._personal = {_plain(value) for _, value in personal_values(self._text)}

    def name(self, value: str | int | float) -> bool:
        """Whether the owner named this value: the same number, the same address, or the same words with no other letter, digit or part of an address
        beside them. A part of something longer is another value."""
        if len(str(value)) > _LONGER * len(self._text):
            return False
        text = normal(str(value))
        if not text:
            return True
        number = amount(text)
        if self._is_spelled(str(value)):
            return True
        if number is not None:
            return number in self._numbers
        if looks_alike(str(value)) or spelling(str(value)):
            return _stands(exact(str(value)), self._exact)
        return _bare(text) in self._addresses or _stands(text, self._text)

    def _is_spelled(self, value: str) -> bool:
        """Whether the owner typed this address, host or telephone number, in whichever spelling. One that says its country says it without `+` too."""
        found = spelling(value)
        return bool(found) and (found in self._spelled or found.replace("phone ", "phone +") in self._spelled)

    def personal(self, value: str) -> bool:
        """Whether the owner typed this value of a private kind, whatever the spaces and hyphens in it."""
        return _plain(value) in self._personal or self.name(value)

    def personal_in(self, letters: str) -> str:
        """A value of a private kind that the owner typed and that stands in these letters and digits; "" for none."""
        return next((value for value in sorted(self._personal) if len(value) >= LEAST_PERSONAL and letters_of(value) in letters), "")

    def number_of(self, noun: str, number: str) -> bool:
        """Whether the owner named this number as that of a thing: `file 3`, `files 2 and 3`, `id 3`, `#3`. A number that was typed for something else is
        none of these."""
        nouns = "|".join(["ids?", "no", "nr", "numbers?", *([re.escape(noun.replace("_", " ")) + "s?"] if noun else [])])
        before = r"(?:[\"']?\d+[\"']?\s*(?:,|and|&)\s*)*"
        return re.search(rf"(?:(?<!\w)(?:{nouns})\.?\s*[:=#]?|#)\s*{before}[\"']?0*{re.escape(number)}(?!\w|[.,:/-]\d)", self._text) is not None

    def fits_template(self, value: str) -> bool:
        """Whether a text is one that the owner typed with names in braces for what was not known yet: 'Dinner at {restaurant}'."""
        return any(re.fullmatch(_as_pattern(template), normal(value)) for template in _TEMPLATE.findall(self._text))


def _stands(text: str, within: str) -> bool:
    """Whether a text stands there as a whole, with no other letter, digit or part of an address beside it."""
    return re.search(rf"(?<!\w@)(?<!\w['!#$&*=?^`{{|}}~])(?<![\w.+/%-]){re.escape(text)}(?![\w@/%+-]|[.:]\w)", within) is not None


def _as_pattern(template: str) -> str:
    """A template as an expression: what is in braces stands for any words."""
    return r"[^@/\\{}]{1,80}".join(re.escape(part) for part in re.split(r"\{\w+\}", template))


def typed(message: str) -> str:
    """The part of a message that counts as typed."""
    text = _FENCED.sub(" ", _PIPED.sub(" ", message))
    if len(text) > LONGEST_TYPED:
        return ""
    return _EXCLUDED.sub(" ", _GLUED.sub(r"\1. ", _without_quotations(text)))


def _without_quotations(text: str) -> str:
    return _QUOTED.sub(lambda found: found.group() if len(found.group(1).split()) <= MOST_QUOTED else " ", _CITED.sub(" ", text))


def amount(text: str) -> str | None:
    """The number that a text is, in one spelling, whatever its currency and the marks between thousands; None where it is none."""
    plain = text.strip(_CURRENCY).removesuffix("eur").removesuffix("usd").strip(_CURRENCY)
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


def addresses(text: str) -> Iterator[str]:
    """Addresses of the web, of mail, of accounts and telephones in a text."""
    for found in _ADDRESS.finditer(text):
        yield found.group().rstrip(_ENDS)


def personal_values(text: str) -> Iterator[tuple[str, str]]:
    """Values of private kinds in a text, each with its kind: keys, what stands behind the name of such a kind, and numbers of nine digits or more, which
    are those of cards, accounts and papers. The numbers of a date and its time are none."""
    for found in _KEY.finditer(text):
        yield "key", found.group()
    for found in _LABELLED.finditer(text):
        yield f"{found['kind'].lower()} number" if found["value"].isdecimal() else found["kind"].lower(), found["value"]
    for found in _LONG_NUMBER.finditer(_MOMENT.sub(" . ", text)):
        yield "long number", found.group()


def _plain(value: str) -> str:
    return normal(value).replace(" ", "").replace("-", "")


def _bare(address: str) -> str:
    """An address without what may be there or not: its last slash, and spaces in the number of an account."""
    text = normal(address).rstrip("/")
    return text if "/" in text or "@" in text else text.replace(" ", "")
