"""Whether a sentence of the owner names a value as what an action uses it for: to whom, where, by which name, how much.

To be mentioned is not enough: the sender of a mail is mentioned too. A value is named where a word that says its part stands before it, with nothing between
but words that change no meaning and other values ("send it to my friend Bob, al@a.example and VALUE"), and where the verb before is one of doing and not of
reading. The words are English; in another language nothing is named, and the action asks.
"""

import re
from collections.abc import Iterator

from .lazy_regex import lazy_pattern
from .pasted_text import FIRST_MARK

TO, FROM = "to", "from"
"""What a value is in an action: what the action is about or goes to, or where it comes from."""

_TOKEN = lazy_pattern(
    r"[a-z][a-z0-9+.-]*://[^\s<>()\[\]]+|[^\s,;:!?()\[\]{}<>=&/@#]+@[\w-]+(?:\.[\w-]+)+|[\ue000-\uf8ff]|[#@][\w-]+|[^\s,;:!?()\[\]{}<>=&\ue000-\uf8ff]+|\S",
    re.IGNORECASE,
)
_NUMBER = lazy_pattern(r"[-+]?[$€£¥]?\d[\d.,']*[$€£¥%]?")
_DOING = frozenset(
    "send write mail email e-mail message dm tell inform notify invite forward share post publish reply respond add include create make schedule set"
    " book reserve"
    " plan organise organize arrange pay transfer refund reimburse wire donate update change put give let cc bcc call text ping ask remind upload"
    " save copy move"
    " rename append submit order buy rent deliver push contact use adjust edit replace store export enter fill register subscribe sign announce say greet thank"
    " congratulate introduce connect assign hand pass return submit charge bill tip lend repay open start run visit install deploy go".split()
)
"""Verbs of an order. What stands behind one of reading is only mentioned."""
_REMOVING = frozenset("delete remove cancel erase drop kick uninvite clear revoke close end stop".split())
"""Verbs that name something for a tool that takes away, and for no other."""
_READING = frozenset(
    "find read search look summarise summarize list show get fetch check see explain translate compare count print describe display analyse analyze review"
    " identify determine extract know learn hear remember recall discuss mention research examine investigate figure watch view note compute calculate".split()
)
_SUBORDINATE = frozenset("if before after when whether how why what who whom whose where while because although though once ok okay".split())
_BEFORE_VERB = frozenset("and then please to you also or so just , ; kindly now finally first next but ) : afterwards -".split())
_POLITE = frozenset("let's let’s lets hey hi hello please ok okay yes well now then so thanks great also".split())
_LEADS = frozenset("to with at in on into onto for via as named called titled entitled labelled labeled saying cc bcc".split())
_NO_LEAD = frozenset(
    "according related similar compared due belongs belonging happened close prior opposed listen listening refer referring refers attention regard"
    " respect dealing"
    " wrong working along".split()
)
"""Words before `to` or `with` that make them say something else."""
_SEEN_THROUGH = frozenset(
    "the a an my our your his her their its this that these new old own good dear friend friends colleague colleagues boss wife husband mother father"
    " mom mum dad"
    " brother sister son daughter partner client customer team group channel channels room user users member account accounts address addresses mail"
    " email e-mail"
    " number phone person people website site page webpage url link file files folder directory document calendar list also both all each either mr mrs ms dr"
    " participants participant attendees guests recipient recipients following and or plus , & ( ) them him me us back exactly event meeting appointment"
    " subject title name hotel restaurant company contact password username iban eur usd gbp chf euro euros dollar dollars pound pounds yen jpy value"
    " string # @".split()
)
_NOUNS = frozenset(
    "address addresses email e-mail mail account iban recipient recipients number phone title name subject filename file channel user username"
    " password street city"
    " rent amount price sum fee total url website link participants attendees directory folder path id title-should hotel restaurant landlord".split()
)
"""Nouns that "is" and ":" give their value: `his address is VALUE`."""
_IS = frozenset("is be are = :".split())
_MODAL = frozenset("should shall must will now to can".split())
_NOT_BEHIND = frozenset("is was has had wants says said wrote asks asked told sent are were claims will would did does who which".split())
_SENDER = frozenset("from using".split())
_VALUES = frozenset("the me you him her it us them we he she they i a an and or all any some this that one none us".split())
"""Words that are no value, however they are written."""


def tokens_of(text: str) -> list[str]:
    """Words, addresses, signs of quotations and marks."""
    return [_bare(found[0]) for found in _TOKEN.finditer(text)]


def named_at(text: str, start: int, end: int, part: str, action: str, nouns: frozenset[str]) -> bool:
    """Whether a sentence names what stands there. `action`: the name of the tool; `nouns`: what the argument is called."""
    behind = tokens_of(text[end : end + 200])
    rest = text[end : end + 2]
    if re.match(r"['’]s?\b", rest) or (behind and behind[0].lower() in _NOT_BEHIND):
        return False
    before = tokens_of(text[:start])
    at = len(before) - 1
    while at >= 0:
        word = before[at].lower()
        if part == FROM:
            if word in _SENDER or before[max(0, at - 2) : at + 1] == ["on", "behalf", "of"]:
                return True
        elif _leads(before, at, nouns):
            return _is_defined(before, at) or _is_ordered(before, at, action)
        elif _is_defined(before, at):
            return True
        if not (word in _SEEN_THROUGH or word in nouns or _is_value(before[at])):
            return False
        at -= 1
    return False


def _leads(before: list[str], at: int, nouns: frozenset[str]) -> bool:
    word = before[at].lower()
    previous = before[at - 1].lower() if at else ""
    if word in _LEADS:
        return previous not in _NO_LEAD
    return _is_verb(before, at) and word in _DOING | _REMOVING


def _is_verb(before: list[str], at: int) -> bool:
    """Whether a word stands where an order has its verb."""
    previous = before[at - 1].lower() if at else ""
    return at == 0 or previous in _BEFORE_VERB or previous in _POLITE or previous.endswith(".") or previous.isdecimal()


def _is_defined(before: list[str], at: int) -> bool:
    """Whether `NOUN is` or `NOUN:` ends here."""
    if before[at].lower() not in _IS:
        return False
    at -= 1
    while at >= 0 and before[at].lower() in _MODAL:
        at -= 1
    return at >= 0 and before[at].lower() in _NOUNS


def _is_ordered(before: list[str], at: int, action: str) -> bool:
    """Whether the last verb in the place of one, up to here, is of doing, and of what the tool does."""
    while at >= 0:
        word = before[at].lower()
        if _is_verb(before, at):
            told = before[at + 1].lower() if at + 1 < len(before) else ""
            if word in _READING or (word in ("tell", "give", "send", "let", "mail", "email", "ask", "remind") and told in ("me", "us")):
                return False
            if word in _DOING | _REMOVING:
                return not _is_subordinate(before, at) and (word in _REMOVING) == _takes_away(action)
        if (_is_defined(before, at) and before[at - 1].lower() in _MONEY) or (at == 0 and word == "but"):
            return True
        at -= 1
    return False


def _is_subordinate(before: list[str], at: int) -> bool:
    """Whether the verb stands in a clause that says when, whether or why, and orders nothing: `before you write to`, `if you write to`."""
    while at and before[at - 1].lower() not in (",", ";", ":", "and", "then"):
        at -= 1
        if before[at].lower() in _SUBORDINATE:
            return True
    return False


def _takes_away(action: str) -> bool:
    return not _REMOVING.isdisjoint(re.split(r"[^a-z]+", action.lower()))


def _is_value(token: str) -> bool:
    """Whether a token is a value of its own in a list: a quotation, an address, a handle, a number, a name."""
    return (
        ord(token[0]) >= FIRST_MARK or token[0] in "#@" or "@" in token or "://" in token or "." in token.strip(".") or token[0].isupper() or _is_number(token)
    )


def _is_number(token: str) -> bool:
    return _NUMBER.fullmatch(token) is not None


def _bare(token: str) -> str:
    return token.rstrip(".'’") or token


def is_word_of_its_own(text: str, start: int, end: int, nouns: frozenset[str]) -> bool:
    """Whether a single word is typed as a value and not as a word of the sentence: with a capital, a digit or a mark, or beside
    the noun that says what it is."""
    word = text[start:end]
    if word.lower() in _VALUES:
        return False
    if any(not letter.islower() for letter in word) or text[start - 1 : start] in ("#", "@"):
        return True
    around = [*tokens_of(text[:start])[-1:], *tokens_of(text[end : end + 80])[:1]]
    return any(one.lower() in nouns for one in around)


def places(text: str, value: str) -> Iterator[tuple[int, int]]:
    """Where a text stands in a sentence as a whole."""
    for found in re.finditer(rf"(?<!\w@)(?<!\w['!$&*=?^`{{|}}~])(?<![\w.+/%-]){re.escape(value)}(?![\w@/%+-]|[.:]\w)", text, re.IGNORECASE):
        yield found.span()


_MONEY = "pay send transfer refund wire donate tip give charge lend reimburse repay bill amount sum total price rent fee limit budget payment cost".split()
_MONEY_WORDS = frozenset("eur usd gbp chf euro euros dollar dollars pound pounds yen jpy kwd cent cents franc francs rupee rupees peso pesos".split())
_BEFORE_AMOUNT = frozenset("to is be of by : exactly".split())
_AMOUNT_THROUGH = frozenset("the a an my our your his her their them him me us back exactly that another extra additional and , & friend # @".split())
_MONTHS = frozenset("january february march april may june july august september october november december jan feb mar apr jun jul aug sep oct nov dec".split())
_AFTER_AMOUNT = frozenset("to from for and as by back per on in with each now please at via using before until every or . , ; : ) ( ! ? & -".split())


def is_amount_at(text: str, start: int, end: int) -> bool:
    """Whether a number is typed as an amount: with its currency, or behind a word of paying, and not as the count of something."""
    behind = tokens_of(text[end : end + 80])[:1]
    before = tokens_of(text[:start])
    if (
        (behind and behind[0].lower() in _MONEY_WORDS)
        or text[end : end + 2].strip()[:1] in tuple("$€£¥")
        or text[max(0, start - 2) : start].strip()[-1:] in tuple("$€£¥")
    ):
        return True
    if behind and behind[0].lower() not in _AFTER_AMOUNT and not _is_value(behind[0]):
        return False
    at = len(before) - 1
    through = False
    while at >= 0:
        word = before[at].lower()
        if word in _MONEY or (word in _MONEY_WORDS and at == len(before) - 1):
            return True
        if word in _BEFORE_AMOUNT and at == len(before) - 1:
            through = word in ("is", "be", "of", ":", "to", "by")
        elif word in _MONTHS or not (word in _AMOUNT_THROUGH or (word in _MODAL and through) or (_is_value(before[at]) and not through)):
            return False
        at -= 1
    return False
