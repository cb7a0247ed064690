"""Content from outside causes no action that leaks or destroys without the owner's word (row P5).

Where such content is in play, an action with a sink asks, unless the owner's own typed words fix what matters of it: recipient, path, address, amount.
Labels say where content came from (`types/labels.py`); a session keeps them for good.
"""

import re
from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from ..types.actions import Action
from ..types.entries import CALLS
from ..types.facts import FactSheet
from ..types.labels import external_sources, join, value_sources
from ..types.risk import Sink, Tier
from . import flow_private, flow_reads, flow_values
from .analysis import Analysis
from .findings import Findings
from .lazy_regex import lazy_pattern
from .naming import FROM, TO
from .owner_words import OwnerWords, words_of
from .personal_kinds import personal_values
from .value_spellings import addresses, spelling

RULE = "flow.external"
FREE_TEXT = frozenset(
    "body caption comment content description html markdown message note notes reason subject summary text title".split(),
)
"""Arguments that hold what is said, and not to whom or where; of these only the addresses in them matter."""
TITLES = ("title", "subject", "summary")
"""Free text that names the whole; it decides where no other argument does, as in an event of the owner's calendar that nobody is invited to."""
_DATED = lazy_pattern(
    r"(?:.*_)?(?:date|dates|day|days|time|datetime|start|end|when|due|deadline|begin|begins|ends|since|until|at|on|check_?in|check_?out|arrival|departure|from|to)",
    re.IGNORECASE,
)
"""Names of arguments that hold dates."""
_THINGS = frozenset("file document doc event meeting email mail message thread page note task issue transaction payment order invoice attachment item".split())
"""What the number of an `..._id` may stand for that is nobody and nowhere: beside an address that the owner typed it needs no word."""
_MONEY = frozenset("amount price sum value total rent fee limit budget payment cost amount_due balance donation tip".split())
"""Names of arguments that hold amounts."""
_SENDERS = ("from", "sender", "source", "payer", "debit", "on_behalf_of")
"""How the names of arguments begin that say where something comes from."""
_GENERIC = frozenset("channel group room user list team folder directory company".split())
"""Nouns that say of a word beside them that it is a name."""
_NO_NOUN = frozenset("to from cc bcc the for who new old id ids is my all of by on at in".split())
_CHOOSING = "reserv|book|order|buy|rent"
"""Verbs of taking one thing; a tool that is named by one takes what the owner spoke of."""
_HEADED = lazy_pattern(r"^[ \t]*(?:b?cc|to|reply-to|from)[ \t]*:[ \t]*(\S.*?)[ \t]*$", re.IGNORECASE | re.MULTILINE)
"""A line of free text that a mail program may take for a recipient."""
_WORD = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_-]*")
_DATE = lazy_pattern(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?|\d\d?:\d\d(?::\d\d)?")
_DOES = {
    Sink.NETWORK_SEND: "sends data to another machine",
    Sink.MESSAGE: "sends a message",
    Sink.WRITE: "changes something outside the workspace",
    Sink.EXECUTE: "runs code",
    Sink.SELF: "changes the agent itself",
}
_Scalar = str | int | float


class Matter(msgspec.Struct, frozen=True):
    """A value of a call that decides what it does or to whom. `kind`: how it must be typed: named as what it is, or anywhere in the owner's words."""

    name: str
    value: _Scalar
    kind: Literal["named", "mentioned", "command"] = "named"


def judge(findings: Findings, action: Action, analysis: Analysis, sheet: FactSheet) -> None:
    """Ask about an action with a sink where content from outside is in play and the owner did not fix what matters. To be applied when tier and sinks of the
    call are known."""
    read = flow_reads.labels_read(analysis, sheet)
    sources = () if action.session == CALLS else external_sources(join(action.labels, read))
    flow_private.judge(findings, action, analysis, flow_private.sources_of(action))
    chosen = () if sources or action.session == CALLS else value_sources(join(action.labels, read))
    sinks = _sinks(findings, analysis, sheet) if sources or chosen else ()
    if not sinks:
        return
    words = words_of(action.said)
    matters = list(_matters(action)) or list(_titles(action))
    loose = [*_loose(action, matters, words), *_personal(action, analysis, words)]
    if chosen:
        flow_values.judge(findings, f"it {_DOES[sinks[0]]}", loose, action.read_values, chosen)
        return
    if matters and not loose and Sink.SELF not in sinks:
        return
    named = ", ".join(f"{name} {str(value)[:80]!r}" for name, value in loose[: flow_values.NAMED])
    lacks = f"your own words do not name {named}" if named else "your own words do not say where it goes"
    findings.ask(RULE, f"it {_DOES[sinks[0]]} while content from {flow_values.listed(sources)} is in play, and {lacks}")


def _sinks(findings: Findings, analysis: Analysis, sheet: FactSheet) -> tuple[Sink, ...]:
    """Where data of this call can leave to, in the order of `_DOES`. What a command runs counts where it is more than a read: held in the workspace, without
    network and under undo it is none."""
    found = set(findings.sinks)
    if analysis.line is not None and findings.tier < Tier.EXECUTE:
        found.discard(Sink.EXECUTE)
    if any(fact.op in ("write", "delete") and not fact.inside for fact in sheet.paths):
        found.add(Sink.WRITE)
    return tuple(sink for sink in _DOES if sink in found)


def _loose(action: Action, matters: list[Matter], words: OwnerWords) -> list[tuple[str, _Scalar]]:
    """Those that the owner's words do not fix. What the number of a thing stands for is known to the tool alone: beside addresses that the owner typed it
    needs no word of its own."""
    alone = sum(matter.kind == "named" for matter in matters) == 1 and len(action.arguments) == 1
    loose = [matter for matter in matters if not _is_fixed(action, matter, words, alone)]
    reached = any(matter.kind == "named" and not _is_number_of_thing(matter) and any(addresses(str(matter.value))) for matter in matters)
    return [] if reached and all(_is_number_of_thing(matter) for matter in loose) else [(matter.name, matter.value) for matter in loose]


def _is_fixed(action: Action, matter: Matter, words: OwnerWords, alone: bool) -> bool:
    """Whether the owner's words name the value as what it is. An address that a call has nothing to give to needs no more than to be typed (`alone`)."""
    name, value = matter.name, matter.value
    text, nouns = str(value), _nouns(name)
    if matter.kind == "command":
        return words.runs(text)
    if isinstance(value, bool):
        return value and any(words.name(noun) for noun in nouns)
    if _is_id(name) and text.isdecimal():
        return words.number_of(name.lower().removesuffix("id").strip("_"), text)
    if name in TITLES and not any(addresses(text)):
        return " " in text.strip() and (words.name(text) or words.fits_template(text))
    if isinstance(value, int | float) or name.lower() in _MONEY:
        return words.fixes_number(value, nouns - _GENERIC, amounts=name.lower() in _MONEY)
    if matter.kind == "mentioned" or (alone and spelling(text).startswith("web ")):
        return words.name(text)
    part = FROM if name.lower().startswith(_SENDERS) else TO
    if words.fixes(text, nouns=nouns, action=action.spec.name, part=part):
        return part == FROM or not spelling(text).startswith("web ") or words.name(text)
    chosen = Sink.MESSAGE not in action.spec.sinks and re.match(_CHOOSING, action.spec.name) is not None and not spelling(text)
    return chosen and (" " in text.strip() or not text.islower()) and words.ordered(_CHOOSING) and words.name(text)


def _nouns(name: str) -> frozenset[str]:
    """What an argument is called, in words."""
    own = {word.removesuffix("s") for word in re.findall(r"[a-z]+", name.lower())} - _NO_NOUN
    return frozenset({word for word in own if len(word) > 2} | _GENERIC)


def _is_id(name: str) -> bool:
    return name.lower() == "id" or name.lower().endswith("_id")


def _is_number_of_thing(matter: Matter) -> bool:
    noun = matter.name.lower().removesuffix("id").strip("_")
    return _is_id(matter.name) and not isinstance(matter.value, bool) and str(matter.value).isdecimal() and (not noun or noun.rpartition("_")[2] in _THINGS)


def _titles(action: Action) -> Iterator[Matter]:
    yield from (Matter(name, str(action.arguments[name])) for name in TITLES if action.arguments.get(name))


def _personal(action: Action, analysis: Analysis, words: OwnerWords) -> Iterator[tuple[str, str]]:
    """Values of private kinds in the free text of a call that the owner did not type: a recipient that the owner named was not named for these."""
    if analysis.line is not None:
        return
    for name, value in action.arguments.items():
        for _, leaf in _leaves(name, value) if name.lower() in FREE_TEXT else ():
            kinds = personal_values(leaf) if isinstance(leaf, str) else ()
            yield from ((f"the {kind} in {name}", found) for kind, found in kinds if not words.personal(found))


def _matters(action: Action) -> Iterator[Matter]:
    """What of a call decides what it does and to whom: every argument and every key, but free text, of which the addresses count, dates, and what the schema
    of the tool offers as a choice or as its default."""
    touched = {touch.argument: touch.kind for touch in action.spec.touches}
    contents = {name for touch in action.spec.touches for name in (touch.content, *(touch.replaces or ())) if name}
    schemas = action.spec.input_schema.get("properties", {})
    dated = any(name.lower().startswith("start") for name in action.arguments)
    for name, value in action.arguments.items():
        schema = schemas.get(name) if isinstance(schemas, dict) else None
        if name in contents or (isinstance(schema, dict) and ("enum" in schema or _is_default(schema, value))):
            continue
        if touched.get(name) == "command":
            yield Matter(name, str(value), "command")
        elif isinstance(value, str) and (name.lower() in FREE_TEXT or (dated and _tells_place(name, value))):
            yield from (Matter(name, address, "mentioned") for address in addresses(value))
            yield from (Matter(name, found[1]) for found in _HEADED.finditer(value))
        elif not (name == "timeout" and "command" in touched.values()):
            for inner, leaf in _leaves(name, value):
                if not (isinstance(leaf, str) and _DATED.fullmatch(inner) and _DATE.fullmatch(leaf.strip())):
                    yield Matter(inner, leaf)


def _is_default(schema: dict[str, Any], value: Any) -> bool:
    """Whether a value is the one that the tool takes where none is given. `1` is not `true`."""
    return "default" in schema and type(schema["default"]) is type(value) and bool(schema["default"] == value)


def _tells_place(name: str, value: str) -> bool:
    """Whether the argument says, in words, where an event takes place: nothing is sent there."""
    return name.lower() in ("location", "place", "venue") and " " in value.strip() and not set(value) & set("/\\~@")


def _leaves(name: str, value: Any) -> Iterator[tuple[str, _Scalar]]:
    """The texts, numbers and switches in a value, each with the name that it stands under. A key that is no plain word, or that has no value, is a text too."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if not _WORD.fullmatch(str(key)) or inner is None or inner == "" or isinstance(inner, bool) or not _is_full(inner):
                yield name, str(key)
            yield from _leaves(str(key), inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(name, inner)
    elif isinstance(value, str | int | float) and value != "":
        yield name, value


def _is_full(value: Any) -> bool:
    return bool(value) if isinstance(value, dict | list | tuple) else True
