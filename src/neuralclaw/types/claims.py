"""What an answer says was done: `find_claims` reads it without a model.

A claim is an affirmative statement about this turn, in the first person ("I sent the mail"), in the passive ("the mail has been sent") or as a
fragment ("Mail sent."). Quoted text, code, drafts, questions, conditions, possibilities, negations, reported speech, other persons and earlier times
are no claims. Where a sentence can be read both ways it is none: a wrong mark costs more trust than a missing one.
"""

import re
from collections.abc import Callable, Sequence

import msgspec


class AnswerClaim(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that an answer says was done. `kind`: send, save, create, edit, delete, move, schedule, remember, test, run, commit, push, install, start,
    stop or submit; `text`: the sentence that says it; `report`: the sentence may report what others did ("the mail was sent"), if something was read."""

    kind: str
    text: str
    report: bool = False


MAX_TEXT = 100_000
"""Characters of an answer that are read."""
MAX_SENTENCE = 600
"""Characters of the longest sentence that is read: a longer one is a listing, and the patterns stay quick."""

VERBS: dict[str, str] = {
    "send": "sent emailed e-mailed mailed messaged texted forwarded replied notified delivered posted informed contacted invited shared told",
    "save": "saved wrote written stored exported downloaded backed recorded logged",
    "create": "created generated initialized initialised added made opened scaffolded inserted zipped compressed bundled unzipped extracted unpacked",
    "edit": "updated edited modified changed fixed replaced refactored applied implemented corrected patched adjusted rewrote rewritten appended tweaked"
    " formatted sorted reformatted overwrote overwritten reverted restored reset rolled",
    "delete": "deleted removed erased cleared purged cleaned wiped emptied uninstalled discarded trashed",
    "move": "moved renamed copied archived",
    "schedule": "scheduled rescheduled booked reserved",
    "remember": "remembered memorized memorised noted",
    "run": "ran run executed",
    "commit": "committed merged",
    "push": "pushed deployed published uploaded",
    "install": "installed",
    "start": "started restarted",
    "stop": "stopped killed cancelled canceled unsubscribed",
    "submit": "submitted placed paid purchased bought ordered transferred wired refunded signed registered",
}
KIND_OF = {verb: kind for kind, verbs in VERBS.items() for verb in verbs.split()}
_BASES = {"send": "send", "email": "send", "save": "save", "write": "save", "create": "create", "update": "edit", "fix": "edit", "delete": "delete"}
_BASES |= {"remove": "delete", "move": "move", "rename": "move", "schedule": "schedule", "install": "install", "commit": "commit", "push": "push"}
_STEMS = {"sav": "save", "writ": "save", "creat": "create", "updat": "edit", "delet": "delete", "remov": "delete", "mov": "move", "renam": "move"}
_STEMS |= {"committ": "commit", "upload": "push", "deploy": "push", "cancel": "stop", "cancell": "stop"}
_VERB = "|".join(sorted(KIND_OF, key=len, reverse=True))
_ADVERBS = r"(?:(?:also|just|now|then|already|successfully|permanently|have|gone ahead and|went ahead and|automatically|directly|even)\s+)*"

_FIRST = re.compile(rf"\b(?:I|we)(?:['’]ve)?\s+{_ADVERBS}({_VERB})\b(?!\s+by\b|(?<=stopped)\s*$|(?<=stopped)\s*[.,;!])", re.IGNORECASE)
_MANAGED = re.compile(rf"\b(?:I|we)(?:['’]ve| have)?\s+(?:managed to|was able to|were able to|proceeded to|did)\s+({'|'.join(_BASES)})\b", re.IGNORECASE)
_SUBJECT = re.compile(
    rf"\b(?:I|we)(?:['’]ve)?\s+{_ADVERBS}(?!(?:am|are|can|could|will|would|may|might|should|must|do|did|need|want|plan)\b)[a-z]+\b", re.IGNORECASE
)
_CHAINED = re.compile(rf"(?:,|\band|\bthen)\s+{_ADVERBS}({_VERB})\b(?!\s+by\b)", re.IGNORECASE)
_FINISHED = re.compile(
    r"\b(?:I|we)(?:['’]ve| have| am| are|['’]m|['’]re)?\s+(?:(?:just|now|also|already)\s+)*(?:finished|done|completed)\s+"
    r"(send|email|sav|writ|creat|updat|fix|delet|remov|mov|renam|schedul|book|install|committ|push|upload|deploy|cancell?)ing\b",
    re.IGNORECASE,
)
_PERFECT = re.compile(rf"(?:\b(?:has|have)|(?<=\w)['’]s|(?<=\w)['’]ve)\s+{_ADVERBS}been\s+{_ADVERBS}({_VERB})\b", re.IGNORECASE)
_PAST = re.compile(rf"\b(?:was|were)\s+successfully\s+({_VERB})\b|\b(?:was|were)\s+({_VERB})\s+successfully\b", re.IGNORECASE)
_THING = (
    r"e-?mails?|mails?|messages?|repl(?:y|ies)|invitations?|notes?|files?|folders?|director(?:y|ies)|documents?|drafts?|reports?|summar(?:y|ies)|lists?|backups?"
    r"|changes|branch(?:es)?|commits?|packages?|librar(?:y|ies)|dependenc(?:y|ies)|entr(?:y|ies)|records?|rows?|databases?|tables?|servers?|services?"
    r"|reminders?|meetings?|appointments?|events?|flights?|rooms?|tables?|orders?|payments?|invoices?|bills?|transfers?|subscriptions?|forms?|tickets?|issues?"
    r"|accounts?|passwords?|settings?|tasks?|jobs?|cache|logs?|posts?|comments?|photos?|images?|scripts?|pages?|site|website|build|money|bookings?|reservations?|refunds?|charts?|notifications?|team"
)
_PASSIVE = re.compile(
    rf"\b(?:{_THING}|CODE|QUOTED|it|they|everything|both|[\w-]+\.[a-z]{{1,5}})\s+(?:(?!that\b|which\b|who\b)\S+\s+){{0,4}}?"
    rf"(?:(?:was|were)\s+{_ADVERBS}({_VERB}|set)|(?:is|are)\s+{_ADVERBS}(saved|booked|set|scheduled|sent|paid)(?!\s+automatically))\b",
    re.IGNORECASE,
)
"""What the person has others do; "the transistor was created" claims nothing about this turn."""
_ITEM = re.compile(rf"^(?!sent from\b|run\b)({_VERB})(?::\s+[^\d\s]|\s+\w)(?!.*\b(?:is|are|go|goes|has|have|was|were|can|will)\b)", re.IGNORECASE)
_STATE = re.compile(rf"\b(?:is|are)\s+now\s+({_VERB}|set)\b", re.IGNORECASE)
_LEADING = re.compile(
    rf"^(?:successfully\s+({_VERB})\b|(?!run\b)({_VERB})\s+(?:(?:to|in|as|the|a|an|all|every|everything|your|QUOTED|CODE)\b|\d|`|[a-z.]+\s+\d)"
    rf"|(?!stopped)({_VERB})[!.]?$)",
    re.IGNORECASE,
)
_FRAGMENT = re.compile(
    rf"^(?:(?:the|your|all|new|\d[\d,.]*)\s+)*[a-z][\w./-]*(?:\s+[a-z][\w./-]*){{0,2}}?\s+(?:successfully\s+)?({_VERB}|set)(?=\s*$|\s+and\s+(?:{_VERB})\b|\s+(?:to|as|for"
    rf"|successfully)\b|:\s*CODE)",
    re.IGNORECASE,
)
_FRAGMENT_STOP = re.compile(
    r"\b(?:an?|is|are|was|were|be|been|has|have|had|not|nothing|no|if|that|who|which|when|and|i|we|you|he|she|they|it)\b", re.IGNORECASE
)
_TEST = re.compile(
    r"\btests?\b(?:\s+suite)?(?:\s+\(?\d+\)?)?\s+(?:now\s+)?(?:all\s+)?(?:pass|passes|passed|succeed|succeeded|(?:is"
    r"|are)\s+(?:now\s+)?(?:passing|green))\b(?!\s+to\b)"
    r"|\btests?(?:\s+suite)?\s+(?:has|have)\s+(?:now\s+)?been\s+run\b|\b(?:ran|(?:have|['’]ve)\s+run)\s+(?:all\s+)?(?:the\s+"
    r"|your\s+)?(?:\w+\s+){0,2}(?:tests?|pytest|test suite)\b",
    re.IGNORECASE,
)
_REMINDER = re.compile(
    r"\b(?:I|we)(?:['’]ve| have)?\s+(?:now\s+|just\s+)?(?:set\s+(?:up\s+)?(?:a|an|the|your)\s+(?:\w+\s+)?(?:reminder|alarm|timer)"
    r"|added\s+.{1,60}\bto\s+(?:your|the)\s+calendar)",
    re.IGNORECASE,
)
_NOTE = re.compile(r"\b(?:I|we)(?:['’]ve| have)?\s+(?:also\s+)?(?:made|taken|took)\s+(?:a\s+)?notes?\s+(?:of|that)\b", re.IGNORECASE)
_LET_KNOW = re.compile(r"\b(?:I|we)(?:['’]ve| have)?\s+(?:(?:also|now|just)\s+)*let\s+(?!you\b).{1,40}\bknow\b", re.IGNORECASE)
_RID = re.compile(r"\b(?:I|we)(?:['’]ve| have)?\s+(?:(?:also|now|just)\s+)*(?:got|gotten)\s+rid\s+of\b", re.IGNORECASE)
_SET_UP = re.compile(r"\b(?:I|we)(?:['’]ve| have)?\s+(?:(?:also|now|just)\s+)*set\s+up\b", re.IGNORECASE)

_FOREIGN = (
    (
        "send",
        re.compile(
            r"\bich habe\b(?!.*\b(?:nicht|nie|kein)).*\b(?:gesendet|geschickt|verschickt)\b|\bwurden? (?:gesendet|geschickt|verschickt)\b"
            r"|\bj['’]ai envoyé\b|\bhe enviado\b",
            re.IGNORECASE,
        ),
    ),
    (
        "save",
        re.compile(r"\bich habe\b(?!.*\b(?:nicht|nie|kein)).*\bgespeichert\b|\bwurden? gespeichert\b|\bj['’]ai enregistré\b|\bhe guardado\b", re.IGNORECASE),
    ),
    (
        "delete",
        re.compile(
            r"\bich habe\b(?!.*\b(?:nicht|nie|kein)).*\bgelöscht\b|\bwurden? gelöscht\b|\bj['’]ai supprimé\b|\bhe (?:borrado"
            r"|eliminado)\b",
            re.IGNORECASE,
        ),
    ),
)

_CODE_BLOCK = re.compile(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)")
_QUOTES = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|«[^»\n]*»|„[^“”\n]*[“”]|(?<![\w])'[^'\n]*'(?!\w)|(?<!\w)‘[^’\n]*’(?!\w)")
_DRAFT = re.compile(
    r"\b(?:draft|example|sample|template|suggestion|(?:could|can|might) (?:write|say|send|reply)|(?:reply|email|message|letter"
    r"|text)\s+(?:would|could) be)\b.*:$",
    re.IGNORECASE,
)
_MARKER = re.compile(r"^\s*(?:[-*+•]\s+(?:\[[ xX]\]\s+)?|\d+[.)]\s+|#+\s+)?[^\w\s`(\[{\"'“„«‘]*\s*")
_LETTER = re.compile(r"^(?:subject:|(?:dear|hi|hello)\s+\w+(?:\s+\w+){0,2},$)", re.IGNORECASE)
"""Begins a text that somebody else shall read: what follows is said in that, and not by the answer."""
_END = re.compile(r"(?<=[.!?;…])\s+")
_OPENING = re.compile(r"^(?:(?:done|sure|great|ok(?:ay)?|good news|all set|as requested|perfect)\s*[,:—-]\s*)+", re.IGNORECASE)
_LABEL = re.compile(r"^(?!(?:deleted|removed|saved|installed|renamed|uploaded|committed|pushed):)\w+:\s+", re.IGNORECASE)
_ASSURED = re.compile(r"\bI can confirm that\b|\bI confirm that\b|\bI(?:['’]m| am) (?:happy|pleased) to (?:say|report) that\b", re.IGNORECASE)

_NEVER = re.compile(
    r"\b(?:imagine|suppose|supposing|for example|e\.g\.|for instance|make sure|check whether|whether|wish|thought|as if|seems?|looks like"
    r"|appears?|assum\w+|"
    r"someone|according to|say(?:s|ing)? the|evidence|cannot confirm"
    r"|can['’]t confirm|not sure|options?:|steps?:|history:|would have|could have|should have|step \d+)\b",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"\b(?:says?|said|states|stated|reports|reported|mentions|mentioned|claims|claimed|writes|told|tells?|reads|asked|labelled)\b", re.IGNORECASE
)
_EARLIER = re.compile(
    r"\b(?:yesterday|earlier|previously|last (?:time|week|month|year(?!['’]s)|night|turn|session|monday|tuesday|wednesday|thursday|friday)"
    r"|previous(?:ly)?|\w+ ago|back then|"
    r"(?:in|around) (?:1\d|20)\d\d|on \d+|(?:this|that) morning)\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"^(?:if|when|once|unless|until|before|after|as soon as|whenever|in case|should|were|had|let me know|tell me|please)\b", re.IGNORECASE)
_INNER_CONDITION = re.compile(r"\b(?:if|unless|until|before|when|once|as soon as|in case|because|since)\s+(?!I['’]ve|you asked)", re.IGNORECASE)
_NOT = re.compile(
    r"\b(?:not|never|nothing|no|nobody|none|cannot|without|unable|fail(?:ed|s)? to|tried to|can|could|will|would|should|may|might|must"
    r"|shall|neither|hardly|almost|nearly)\b|n['’]t\b|['’](?:ll|d)\b",
    re.IGNORECASE,
)
_BY_OTHERS = re.compile(r"^[^,;]*\bby\s+(?!me\b|mail\b|e-?mail\b|hand\b|default\b)\w")
_RELATIVE = re.compile(r"\b(?:that|which|who|you|he|she|they)\s+(?:\w+\s+){0,2}$", re.IGNORECASE)
_CONTRAST = re.compile(r",?\s+\b(?:but|however|although|though)\b,?\s+|\s+[—–]\s+|:\s+(?=[A-Zi\d])|,\s+so\s+", re.IGNORECASE)


def find_claims(text: str) -> tuple[AnswerClaim, ...]:
    """The claims of an answer, in its order; one kind is named once for each sentence."""
    found: list[AnswerClaim] = []
    for sentence in _sentences(text):
        kinds, shown = _kinds(sentence), sentence.strip()[:300]
        found += [AnswerClaim(kind, shown) for kind in kinds]
        found += [AnswerClaim(kind, shown, report=True) for kind in (() if kinds else _kinds(sentence, _of_report))]
    return tuple(found)


def _sentences(text: str) -> Sequence[str]:
    """The sentences that the answer says itself: without code, quoted lines and drafts."""
    out: list[str] = []
    in_draft = False
    for raw in _CODE_BLOCK.sub("", text[:MAX_TEXT]).splitlines():
        line = raw.strip()
        if line.startswith(">"):
            continue
        if set(line) <= {"-", "*", "_"} and len(line) >= 3:
            in_draft = not in_draft and bool(out) and _DRAFT.search(out[-1]) is not None
            continue
        if _LETTER.match(line) and out:
            break
        if in_draft:
            continue
        line = _MARKER.sub("", line.replace("**", "").replace("__", ""))
        out += [sentence for sentence in _END.split(line) if 0 < len(sentence) <= MAX_SENTENCE]
        in_draft = bool(_DRAFT.search(line[-MAX_SENTENCE:]))
    return out


def _kinds(sentence: str, of_clause: Callable[[str], Sequence[str]] | None = None) -> Sequence[str]:
    if sentence.rstrip().endswith("?"):
        return ()
    plain = re.sub(r"`[^`]*`", "CODE", _QUOTES.sub("QUOTED", sentence))
    plain = _ASSURED.sub("", _LABEL.sub("", _OPENING.sub("", plain))).strip()
    if _NEVER.search(plain) or _EARLIER.search(plain):
        return ()
    kinds: list[str] = []
    for clause in _CONTRAST.split(plain):
        kinds += [kind for kind in (of_clause or _of_clause)(clause.strip()) if kind not in kinds]
    return kinds


def _of_clause(clause: str) -> Sequence[str]:
    """The kinds of one clause. A condition at its front is left out up to its comma."""
    if _CONDITION.match(clause):
        return ()
    if clause.lower().startswith("since "):
        clause = clause.partition(",")[2].strip()
    for kind, pattern in _FOREIGN:
        if pattern.search(clause):
            return (kind,)
    if _TEST.search(clause) and _affirmed(clause, _TEST.search(clause)):
        # "fixed the bug and all tests pass": the tests are one claim, what stands before them another
        rest = _TEST.sub(" ", clause)
        return (*(k for k in _of_verbs(rest) if k != "run"), "test")
    return _of_verbs(clause)


def _of_report(clause: str) -> Sequence[str]:
    """The kinds of a clause that states it in the passive, or of an item of a list."""
    if _CONDITION.match(clause):
        return ()
    matches = [match for pattern in (_PASSIVE, _ITEM) for match in pattern.finditer(clause)]
    kinds = [_kind(match) for match in matches if _affirmed(clause, match)]
    return tuple(dict.fromkeys(kinds + [_kind(match) for match in _CHAINED.finditer(clause)])) if kinds else ()


def _of_verbs(clause: str) -> Sequence[str]:
    for kind, pattern in (("schedule", _REMINDER), ("remember", _NOTE), ("create", _SET_UP), ("send", _LET_KNOW), ("delete", _RID)):
        if (match := pattern.search(clause)) is not None and _affirmed(clause, match):
            return (kind,)
    kinds: list[str] = []
    for pattern in (_FIRST, _MANAGED, _FINISHED, _PERFECT, _PAST, _STATE):
        kinds += [_kind(match) for match in pattern.finditer(clause) if _affirmed(clause, match)]
    first = _SUBJECT.search(clause)
    if kinds or (first is not None and _affirmed(clause, first)):
        start = first.end() if first is not None else _begin_of_rest(clause)
        kinds += [_kind(match) for match in _CHAINED.finditer(clause, start) if _affirmed(clause, match) and not _new_subject(clause[start : match.start()])]
    if not kinds:
        kinds += _of_fragment(clause)
    return tuple(dict.fromkeys(kinds))


def _of_fragment(clause: str) -> Sequence[str]:
    """ "Mail sent.", "Saved to notes.md": no subject that does it, and no verb beside the participle."""
    if (match := _LEADING.match(clause)) is not None and _affirmed(clause, match):
        return (_kind(match),)
    match = _FRAGMENT.match(clause.rstrip(".!: "))
    if match is None or _FRAGMENT_STOP.search(match.group(0)) or not _affirmed(clause, match):
        return ()
    return (_kind(match),)


def _kind(match: re.Match[str]) -> str:
    verb = next(group for group in match.groups() if group).lower()
    return KIND_OF.get(verb) or _BASES.get(verb) or _STEMS.get(verb) or "schedule"


def _affirmed(clause: str, match: re.Match[str] | None) -> bool:
    """Whether the clause states it: nothing before it denies, doubts or reports it, and nobody else did it."""
    if match is None:
        return False
    before, after = clause[: match.start()], clause[match.end() :]
    whole = before + match.group(0)
    if _NOT.search(re.sub(r"\b(?:was|were) able to\b", "", whole)) or _SAID.search(before) or _INNER_CONDITION.search(before + " "):
        return False
    if re.match(r"\s+(?:not|nothing|no|none|yet)\b", after, re.IGNORECASE):
        return False
    return not _BY_OTHERS.match(after) and not (_RELATIVE.search(before) and not re.match(r"(?:I|we)\b", match.group(0), re.IGNORECASE))


def _new_subject(between: str) -> bool:
    """Whether somebody or something else is the subject of what follows."""
    return re.search(r"\b(?:that|which|who|you|he|she|they|it)\s+(?:was|were|is|are|had|has)\b", between, re.IGNORECASE) is not None


def _begin_of_rest(clause: str) -> int:
    match = _PERFECT.search(clause) or _PAST.search(clause) or _STATE.search(clause)
    return match.end() if match is not None else len(clause)
