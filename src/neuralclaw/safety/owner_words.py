"""What the owner typed, and whether it names a value as a whole. Text that the owner quotes, pastes or pipes in is not the owner's own word (`pasted_text`).

Two questions are answered. `name`: does this value stand in the owner's own words? `fixes`: do they name it as what an action uses it for (`naming`)?
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec

from ..types.web_links import letters_of
from .lazy_regex import lazy_pattern
from .naming import TO, is_amount_at, is_word_of_its_own, named_at, places
from .pasted_text import FIRST_MARK, own_text
from .personal_kinds import personal_values
from .value_spellings import (
    address_spans,
    addresses,
    amount,
    bare_address,
    currency_of,
    exact,
    looks_alike,
    normal,
    numbers_in,
    spelling,
    spellings_in,
    typed_amount,
)

LONGEST_TYPED = 2_000
"""Characters of a message; a longer one counts as pasted."""
LEAST_PERSONAL = 4
"""Letters of a value of a private kind that are looked for in an address."""
MOST_QUOTATIONS = 6_000
"""Of all messages; those that come later count for nothing."""
_LONGER = 12
"""How many times longer than all that was typed another spelling of a part of it can be: each letter as four bytes, encoded."""

_ENDS = lazy_pattern(r"(?<=[.!?;])\s+|(?<=[.!?][\ue000-\uf8ff])\s+|\n+")
_GLUED = lazy_pattern(r"((?:https?://|(?<![\w.@-])www\.)[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,})\.(?=[A-Z][a-z]{2,}\s)")
"""A host with the first word of the next sentence behind its full stop."""
_EXCLUDED = lazy_pattern(
    r"\b(?:(?:do|does|did|is|are|was|were|should|must|may|can|could|would|will|shall)(?:n['’]?t|\s+not)|cannot|not|never|without|except|excluding|excepting"
    r"|apart\s+from|other\s+than|instead\s+of|rather\s+than|avoid\w*|skip|(?:all|every\w*|any\w*)\s+but|no(?!\.)|nobody|none|nothing|neither|nor|hardly|unless"
    r"|stop|ignor\w+|block\w*|refus\w+|reject\w*|declin\w+|unsubscrib\w+|unfollow|mute|ban|distrust|beware|forbid\w*|prevent\w*|spam\w*|scam\w*|phish\w*|attacker\w*"
    r"|hacker\w*|sender\w*|thief|before\s+\w+ing|after\s+\w+ing"
    r"|wants?|wanted|asks|asked|claims|claimed|demand\w*|insist\w*|suggest\w*|instruct\w*|tells|told|says|said|mentions|mentioned|(?:wrote|writes)(?!\s+about)"
    r"|nicht|kein\w*|nie|niemals|ohne|ne|pas|jamais|sans|nunca|jam[aá]s|sin|non|mai|senza|n[aã]o|sem|niet|geen|nooit)\b"
    r"(?!\s+(?:forget|hesitate|only|problem|worries)\b)(?:(?!\bbut\b(?!\s+not\b)).)*",
    re.IGNORECASE,
)
"""What the owner says shall not be, and what others want or say, up to the end of the sentence or to "but": it names nothing."""
_TAKEN_BACK = lazy_pattern(
    r"\W*(?:(?:no|nope|never\s+mind|nevermind|cancel|forget\s+(?:it|that)|scratch\s+that|wait|just\s+kidding|actually,?\s+(?:no|do\s*n['’]?t|do\s+not))\b.*"
    r"|(?:(?:do|please|better|just)\s+)*(?:not|never|do\s*n['’]?t|do\s+not|stop)(?:\s+(?:do\s+)?(?:it|that|so|this))?\W*)",
    re.IGNORECASE,
)
"""A sentence that takes back the one before."""
_REQUEST = lazy_pattern(r"\b(?:please|(?:can|could|would|will)(?:n['’]t)?\s+you|i(?:['’]d|\s+would)\s+like\s+you)\b", re.IGNORECASE)
"""Words that make a question a request."""
_QUESTION = lazy_pattern(
    r"\W*(?:is|are|was|were|does|did|have|has|had|should|shall|who|whom|whose|what|why|how|which|may|might|(?:when|where)\b[^,]*$)\b", re.IGNORECASE
)
"""How a question begins, with its mark or without."""
_RUN = r"(?:run|execute|start|launch|invoke)\s+(?:the\s+|this\s+)?(?:shell\s+)?(?:command\s*:?\s*)?"
_RUNS_BEFORE = lazy_pattern(rf"(?:^|\b(?:and|then|please|to|you|also|now)\s+|,\s*){_RUN}$", re.IGNORECASE)
_RUNS_LINE = lazy_pattern(
    rf"\s*(?:please\s+|(?:can|could)\s+you\s+(?:please\s+)?)?{_RUN}(?P<command>\S.*?)(?:\s+(?:now|please|for me|again|once))*[.!?]?\s*", re.IGNORECASE
)


class TypedSentence(msgspec.Struct, frozen=True):
    """One sentence of the owner, as it was typed, with a sign in place of each quotation. `asks`: it is a question and no request."""

    text: str
    asks: bool = False


@lru_cache(maxsize=16)
def words_of(messages: tuple[str, ...]) -> "OwnerWords":
    """The words of these messages; those that were judged before are at hand."""
    return OwnerWords(messages)


class OwnerWords:
    """The words of these messages, compared in one spelling each (`value_spellings`)."""

    def __init__(self, messages: Sequence[str]) -> None:
        self._quoted: list[str] = []
        self._lines: list[str] = []
        self._sentences: list[TypedSentence] = []
        for message in messages:
            self._add(message)
        said = [sentence.text for sentence in self._sentences]
        self._text = "\n".join(map(normal, said))
        self._exact = "\n".join(map(exact, said))
        kept = [self._quoted[sign] for text in said for sign in _signs(text)]
        self._whole = {normal(one) for one in kept}
        self._whole_exact = {exact(one) for one in kept}
        alone = [*said, *(one for one in kept if " " not in one)]
        self._spelled = {spelling(one) for text in alone for one in addresses(text)} | {one for text in alone for one in spellings_in(text)}
        self._spelled |= {spelling(one) for one in kept}
        self._numbers = {number for text in said for found in numbers_in(normal(text)) if (number := typed_amount(found[0])) is not None}
        self._addresses = {bare_address(found) for text in alone for found in addresses(text)}
        self._literal = {found for text in alone for found in addresses(text)}
        self._personal = {_plain(value) for text in (*said, *kept) for _, value in personal_values(text)}

    def _add(self, message: str) -> None:
        own = own_text(message)
        if len(own.typed) > LONGEST_TYPED or len(self._quoted) + len(own.quotations) > MOST_QUOTATIONS:
            return
        first = len(self._quoted)
        text = "".join(chr(ord(letter) + first) if FIRST_MARK <= ord(letter) <= 0xF8FF else letter for letter in unicodedata.normalize("NFC", own.text))
        self._quoted += own.quotations
        self._lines += own.typed.split("\n")
        for sentence in _ENDS.split(_GLUED.sub(r"\1. ", text)):
            if self._sentences and _TAKEN_BACK.fullmatch(sentence):
                self._sentences.pop()
            kept = _EXCLUDED.sub(" ", sentence)
            asks = (sentence.rstrip().endswith("?") or _QUESTION.match(sentence) is not None) and _REQUEST.search(sentence) is None
            self._sentences.append(TypedSentence(" ".join(kept.split()), asks))

    def name(self, value: str | int | float) -> bool:
        """Whether the owner named this value: the same number, the same address, or the same words with no other letter, digit or part of an address
        beside them, or as the whole of a quotation. A part of something longer is another value."""
        given = str(value)
        if self._is_too_long(given):
            return False
        text = normal(given)
        if not text:
            return True
        spelled = spelling(given)
        if spelled.startswith("web "):
            return self._is_spelled(given) and ("#" not in given or given in self._literal)
        if self._is_spelled(given):
            return True
        if (number := amount(text)) is not None:
            return number in self._numbers
        if looks_alike(given) or spelled:
            return exact(given) in self._whole_exact or _stands(exact(given), self._exact)
        return text in self._whole or bare_address(text) in self._addresses or _stands(text, self._text)

    def fixes(self, value: str, *, nouns: frozenset[str], action: str = "", part: str = TO) -> bool:
        """Whether the owner named a text as what an action uses it for. `nouns`: words for the argument; `action`: the name of the tool."""
        if self._is_too_long(value) or not value.strip():
            return False
        return any(
            named_at(sentence.text, start, end, part, action, nouns)
            for sentence in self._sentences
            if not sentence.asks
            for start, end in self._places_of(sentence.text, value, nouns)
        )

    def fixes_number(self, value: str | float, nouns: frozenset[str], *, amounts: bool) -> bool:
        """Whether the owner typed this number as an amount (where the argument may be one), or beside the noun that says of what."""
        wanted, currency = amount(normal(str(value))), currency_of(str(value))
        for sentence in self._sentences:
            text = _without_addresses(sentence.text)
            for found in numbers_in(text):
                if sentence.asks or typed_amount(found[0]) != wanted or wanted is None:
                    continue
                beside = currency_of(
                    f"{text[max(0, found.start() - 2) : found.start()].strip()[-1:]} {text[found.end() : found.end() + 8].split(',')[0].strip()}"
                )
                if amounts and is_amount_at(text, *found.span()) and currency in ("", beside):
                    return True
                if not currency and _beside(text, *found.span(), nouns):
                    return True
        return False

    def runs(self, command: str) -> bool:
        """Whether the owner typed this command, whole and to be run: as a quotation or to the end of its line."""
        wanted = " ".join(command.split())
        if any(" ".join(found["command"].split()) in (wanted, f"`{wanted}`") for line in self._lines if (found := _RUNS_LINE.fullmatch(line))):
            return True
        signs = ((one.text, at) for one in self._sentences if not one.asks for at, letter in enumerate(one.text) if ord(letter) >= FIRST_MARK)
        return any(" ".join(self._quoted[_sign(text[at])].split()) == wanted and _RUNS_BEFORE.search(text[:at]) is not None for text, at in signs)

    def ordered(self, verbs: str) -> bool:
        """Whether the owner asks for what these verbs say, given as an expression."""
        return any(not sentence.asks and re.search(rf"\b(?:{verbs})", sentence.text, re.IGNORECASE) for sentence in self._sentences)

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
        before = r"(?:\d+\s*(?:,|and|&)\s*)*"
        wanted = rf"(?:(?<!\w)(?:{nouns})\.?\s*[:=#]?|#)\s*{before}0*{re.escape(number)}(?!\w|[.,:/-]\d)"
        return any(not one.asks and re.search(wanted, normal(self._with_numbers(one.text))) is not None for one in self._sentences)

    def fits_template(self, value: str) -> bool:
        """Whether a text is one that the owner typed with names in braces for what was not known yet: 'Dinner at {restaurant}'."""
        return any(re.fullmatch(_as_pattern(template), normal(value)) for template in self._whole if re.search(r"\w[^{]*\{\w+\}|\}.*\w", template))

    def _is_too_long(self, value: str) -> bool:
        return len(value) > _LONGER * (len(self._text) + sum(map(len, self._whole)))

    def _is_spelled(self, value: str) -> bool:
        """Whether the owner typed this address, host or telephone number, in whichever spelling. One that says its country says it without `+` too."""
        found = spelling(value)
        return bool(found) and (found in self._spelled or found.replace("phone ", "phone +") in self._spelled)

    def _places_of(self, text: str, value: str, nouns: frozenset[str]) -> Iterator[tuple[int, int]]:
        """Where a value stands in a sentence: in another spelling of its address, as the whole of a quotation, or in the same words."""
        strange = looks_alike(value)
        for start, end in address_spans(text):
            if text[start:end] == value if strange else _is_same(text[start:end], value):
                yield start, end
        for at, letter in enumerate(text):
            if FIRST_MARK <= ord(letter) <= 0xF8FF:
                quoted = self._quoted[_sign(letter)]
                if quoted == value if strange else (_is_same(quoted, value) or (not spelling(value) and normal(quoted) == normal(value))):
                    yield at, at + 1
        if not spelling(value) and not strange:
            words = " ".join(unicodedata.normalize("NFC", value).split())
            yield from (place for place in places(text, words) if " " in words or is_word_of_its_own(text, *place, nouns))

    def _with_numbers(self, text: str) -> str:
        """A sentence with the quotations that are numbers in their places."""
        return "".join(self._quoted[_sign(one)] if FIRST_MARK <= ord(one) <= 0xF8FF and self._quoted[_sign(one)].isdecimal() else one for one in text)


def _is_same(found: str, value: str) -> bool:
    """Whether two texts are spellings of one address."""
    spelled = spelling(value)
    return spelling(found) in (spelled, spelled.replace("phone ", "phone +")) if spelled else bare_address(found) == bare_address(value)


def _signs(text: str) -> Iterator[int]:
    return (_sign(letter) for letter in text if FIRST_MARK <= ord(letter) <= 0xF8FF)


def _sign(letter: str) -> int:
    return ord(letter) - FIRST_MARK


def _without_addresses(text: str) -> str:
    """A sentence with a name in place of each address, as long as it: digits of an account are no amount."""
    for start, end in address_spans(text):
        if amount(text[start:end]) is None:
            text = f"{text[:start]}{'X' * (end - start)}{text[end:]}"
    return text


def _beside(text: str, start: int, end: int, nouns: frozenset[str]) -> bool:
    """Whether a number stands right beside one of these nouns: `3 nights`, `room 4000`, `amount: 5`."""
    around = [*re.findall(r"\w+", text[:start])[-1:], *re.findall(r"\w+", text[end : end + 40])[:1]]
    return any(word.lower() in nouns or word.lower().removesuffix("s") in nouns for word in around)


def _stands(text: str, within: str) -> bool:
    """Whether a text stands there as a whole, with no other letter, digit or part of an address beside it."""
    return re.search(rf"(?<!\w@)(?<!\w['!#$&*=?^`{{|}}~])(?<![\w.+/%-]){re.escape(text)}(?![\w@/%+-]|[.:]\w)", within) is not None


def _as_pattern(template: str) -> str:
    """A template as an expression: what is in braces stands for any words."""
    return r"[^@/\\{}]{1,80}".join(re.escape(part) for part in re.split(r"\{\w+\}", template))


def _plain(value: str) -> str:
    return normal(value).replace(" ", "").replace("-", "")
