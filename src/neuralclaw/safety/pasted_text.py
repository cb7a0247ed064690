"""Which part of a message its sender wrote, and which part is somebody else's text: quoted, fenced, indented, marked up, forwarded or pasted.

The rule is one-sided. A pair of quotation marks is one only where nothing else can be meant: both marks stand at the edge of a word, on one line, with no
other mark between them. A message with any other mark of quotation has no text of its own. From the first header line, markup tag or forward mark on, all is
pasted. An apostrophe inside a word is no mark.
"""

import re
from collections.abc import Iterator

import msgspec

from .lazy_regex import lazy_pattern

FIRST_MARK = 0xE000
"""Quotations stand in the own text as one sign each, from the Unicode private use area."""
LONGEST_READ = 50_000
"""Characters of a message that are looked at; text of its sender does not begin behind them."""
MOST = 200
"""Quotations of a message; one with more is pasted."""

_PAIRS = {
    '"': '"', "＂": "＂", "“": "”", "„": "“”", "‟": "”", "”": "”", "«": "»", "»": "«", "‹": "›", "›": "‹",
    "'": "'", "＇": "＇", "‘": "’", "‚": "‘’", "‛": "’", "’": "’",
    "「": "」", "『": "』", "｢": "｣", "《": "》", "〈": "〉",
    "〝": "〞〟", "❝": "❞", "❛": "❜", "`": "`", "´": "´",
}  # fmt: skip
"""Marks that open a quotation, each with those that close it."""
_MARKS = frozenset("".join(_PAIRS) + "".join(_PAIRS.values()) + "′″‴‵‶")
_SPACED = frozenset("「『｢《〈〝")
"""Marks of scripts that put no space around a quotation."""
_FENCE = lazy_pattern(r"[ \t]*(?:(?:[>|*+-]|\d+[.)])[ \t]*)?(`{3,}|~{3,})[^`\n]*")
_INDENTED = lazy_pattern(r"(?: {4}|\t| {1,3}\t)[ \t]*\S")
_CITED = lazy_pattern(r"\s*[>＞|｜¦│┃❯›»]")
_TAG = lazy_pattern(
    r"<\s*[/!?]?[A-Za-z_][\w:.-]*(?:\s[^<>]*)?/?>|<!--"
    r"|\[/?(?:quote|code|pre|block|cite|spoiler|mail|email|message|document|content|file)\b|\{%|&lt;",
    re.IGNORECASE,
)
_HEADERS = (
    "from|to|cc|bcc|subject|date|sent|received|reply-to|return-path|delivered-to|message-id|sender|mime-version|content-[a-z-]+|x-[a-z-]+|in-reply-to"
    "|von|an|betreff|gesendet|datum|de|à|objet|envoyé|para|asunto|fecha|enviado|da|a|oggetto|data|inviato|assunto|aan|onderwerp|verzonden|från|till|ämne"
)
_PASTED = lazy_pattern(
    rf"^[ \t*_]*(?:{_HEADERS})[*_]*[ \t]*[:：].*\S"  # a header of a mail
    r"|^[ \t]*[-_=*#~—–]{2,}[^\n]*[-_=*#~—–]{2,}[ \t]*$"  # ---- Forwarded message ----
    r"|^[ \t]*[-_=*~—–]{3,}[ \t]*$"  # a line that separates
    r"|\b(?:forwarded|original|quoted)\s+(?:message|mail|e-mail|text)\b|\bfwd?:"
    r"|\b(?:wrote|writes|written|said|says|states|stated|reads|schrieb|sagt|écrit|dit|escribió|dice|scritto|escreveu|schreef|skrev)\b[^.!?\n]{0,80}[:：]"
    r"|^[^\n]*[:：][ \t]*\n",  # a line that announces what follows
    re.IGNORECASE | re.MULTILINE,
)
_TOLD = lazy_pattern(r"(?:^|[.!?]\s|\n)\s*(?:please\s+)?(?:do|perform|carry\s+out|complete|execute)\b[^.!?:\n]*[:：][ \t]*\n\Z", re.IGNORECASE)
_TEXT_VERBS = (
    r"summari[sz]\w*|explain\w*|translat\w*|rephras\w*|rewrit\w*|proofread\w*|paraphras\w*|classif\w*|analy[sz]\w*|review\w*|interpret\w*|correct\w*|shorten\w*|edit\w*"
    r"|quot\w*|read|means?|meaning|think\s+of|look\s+at|understand\w*|answer\w*|check\s+(?:this|that|the\s+following)"
)
_ABOUT = lazy_pattern(rf"\b(?:{_TEXT_VERBS})\b[^.!?\n]{{0,80}}[:：](?=\s+(?!https?://|www\.))", re.IGNORECASE)
"""What is said about a text, with the text behind the colon."""
_LABEL = lazy_pattern(r"(?:^|(?<=[.!?]\s)|(?<=\n))[ \t]*(?P<head>[^.!?:：\n]{1,400})[:：](?=\s+(?!https?://|www\.)\S)")
"""What stands before a colon at the beginning of a sentence: an order, a noun with its value, or who says what follows."""
_ORDERS = lazy_pattern(
    r"(?:(?:please|also|then|and|now|next|first|finally|hi|hey|hello|ok|okay|can|could|would|will|you)\W+)*(?:write|send|tell|post|pay|transfer|create|add|make|update"
    r"|set|use|do|perform|complete|execute|carry|follow|run|change|save|put|reply|invite|schedule|share|forward|visit|open|go|find|get|fetch|search|book|reserve"
    r"|delete|remove|buy|order|call|ask|remind|notify|inform|give|let|plan|prepare|i\s+(?:want|need|would)|there|here)\b",
    re.IGNORECASE,
)
_LABELS = lazy_pattern(
    r"(?:.*\s)?(?:tasks?|to-?dos?|notes?|steps?|requests?|orders?|jobs?|questions?|p\.?s|urgent|important|reminder|please|also|next|first|following|check|address|addresses"
    r"|e?-?mail|account|iban|recipients?|number|phone|title|name|subject|filename|file|channel|user|username|password|street|city|amount|price|url|website|link|path|id|is|are)",
    re.IGNORECASE,
)
"""Labels of the owner's own text."""
_SIGNATURE = lazy_pattern(r"^-- ?$", re.MULTILINE)
"""What a mail has before its signature: the message is one that was pasted."""
_PRIVATE_USE = lazy_pattern("[\ue000-\uf8ff]")


class OwnText(msgspec.Struct, frozen=True):
    """What its sender wrote, with a sign of `FIRST_MARK` in place of each quotation; `quotations`: what stood in their marks; `typed`: the
    text with them in their places."""

    text: str = ""
    typed: str = ""
    quotations: tuple[str, ...] = ()


def own_text(message: str) -> OwnText:
    """The own text of a message; nothing where its marks of quotation are not certain."""
    text = _without_lines(_PRIVATE_USE.sub(" ", message[:LONGEST_READ].replace("\r\n", "\n").replace("\r", "\n")))
    text = "" if _SIGNATURE.search(text) else text[: _pasted_from(text)]
    quotations: list[str] = []
    parts: list[str] = []
    begin = 0
    for start, end in _quotations(text):
        if end < 0 or len(quotations) == MOST:
            return OwnText()
        parts += [text[begin:start], chr(FIRST_MARK + len(quotations))]
        width = _width(text, start)
        quotations.append(text[start + width : end - width])
        begin = end
    return OwnText("".join([*parts, text[begin:]]), text, tuple(quotations))


def _without_lines(text: str) -> str:
    """The text without fenced blocks, indented code and cited lines. A cited line goes on to the next empty one, a fence that nothing closes to the end."""
    kept: list[str] = []
    fence, cited = "", False
    for line in text.split("\n"):
        opened = _FENCE.fullmatch(line)
        if fence:
            closes = opened is not None and opened[1][0] == fence[0] and len(opened[1]) >= len(fence) and line.strip() == opened[1]
            fence = "" if closes else fence
        elif opened is not None:
            fence = opened[1]
        elif not line.strip():
            cited = False
            kept.append("")
        else:
            cited = cited or _CITED.match(line) is not None
            kept.append("" if cited or _INDENTED.match(line) else line)
    return "\n".join(kept)


def _pasted_from(text: str) -> int:
    """Where pasted text begins; the length of the text where nothing is pasted."""
    found = [one.start() for one in (_TAG.search(text),) if one is not None]
    if (about := _ABOUT.search(text)) is not None:
        found.append(about.end())
    for label in _LABEL.finditer(text):
        head = label["head"].strip()
        if _ORDERS.match(head) is None and _LABELS.fullmatch(head) is None:
            found.append(label.end())
            break
    for one in _PASTED.finditer(text):
        if _TOLD.search(text[max(0, one.end() - 300) : one.end()]) is None:
            found.append(one.start() if not one[0].endswith("\n") else one.end())
            break
    return min(found, default=len(text))


def _quotations(text: str) -> Iterator[tuple[int, int]]:
    """Where quotations begin and end, with their marks; an end of -1 for a mark that is not certainly paired."""
    at = 0
    while at < len(text):
        if text[at] not in _MARKS or _is_apostrophe(text, at):
            at += 1
            continue
        end = _end_of(text, at)
        yield at, end
        if end < 0:
            return
        at = end


def _end_of(text: str, start: int) -> int:
    """Where the quotation ends that begins here; -1 where that is not certain."""
    mark, width = text[start], _width(text, start)
    before = text[start - 1] if start else " "
    closing = _PAIRS.get(mark)
    inside = start + width
    if closing is None or (mark not in _SPACED and (before.isalnum() or before in _MARKS)) or text[inside : inside + 1].isspace():
        return -1
    for at in range(inside, len(text)):
        if text[at] == "\n":
            return -1
        if text[at] not in _MARKS or _is_inner(text, at):
            continue
        after = text[at + width : at + width + 1] or " "
        certain = text[at] in closing and text[at : at + width] == text[at] * width and not text[at - 1].isspace() and at > inside
        return at + width if certain and after not in _MARKS and (mark in _SPACED or not after.isalnum()) else -1
    return -1


def _width(text: str, start: int) -> int:
    """How many signs a mark is long: a run of backticks is one."""
    return len(text[start:]) - len(text[start:].lstrip("`")) if text[start] == "`" else 1


def _is_inner(text: str, at: int) -> bool:
    """Whether the mark is an apostrophe inside a word."""
    return text[at] in "'’＇" and text[at - 1 : at].isalnum() and text[at + 1 : at + 2].isalnum()


def _is_apostrophe(text: str, at: int) -> bool:
    """Whether the mark, which closes nothing, is an apostrophe: inside a word, or behind the s of a plural."""
    return at > 0 and (
        _is_inner(text, at) or (text[at] in "'’" and text[at - 1] in "sS" and text[at - 2 : at - 1].isalpha() and text[at + 1 : at + 2].isspace())
    )
