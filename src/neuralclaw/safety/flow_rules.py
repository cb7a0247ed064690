"""Content from outside causes no action that leaks or destroys without the owner's word (row P5).

Where such content is in play, an action with a sink asks, unless the owner's own typed words fix what matters of it: recipient, path, address, amount.
Labels say where content came from (`types/labels.py`); a session keeps them for good.
"""

from collections.abc import Iterator
from typing import Any

from ..types.actions import Action
from ..types.entries import CALLS
from ..types.facts import FactSheet
from ..types.labels import external_sources, join, value_sources
from ..types.risk import Sink, Tier
from . import flow_private, flow_reads, flow_values
from .analysis import Analysis
from .findings import Findings
from .lazy_regex import lazy_pattern
from .owner_words import OwnerWords, addresses, personal_values, words_of

RULE = "flow.external"
FREE_TEXT = frozenset(
    "body caption comment content description html markdown message note notes reason subject summary text title".split(),
)
"""Arguments that hold what is said, and not to whom or where; of these only the addresses in them matter."""
TITLES = ("title", "subject", "summary")
"""Free text that names the whole; it decides where no other argument does, as in an event of the owner's calendar that nobody is invited to."""
_DATE = lazy_pattern(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?|\d\d?:\d\d(?::\d\d)?")
_DOES = {
    Sink.NETWORK_SEND: "sends data to another machine",
    Sink.MESSAGE: "sends a message",
    Sink.WRITE: "changes something outside the workspace",
    Sink.EXECUTE: "runs code",
    Sink.SELF: "changes the agent itself",
}
_Scalar = str | int | float


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
    matters = list(_matters(action, analysis)) or list(_titles(action))
    loose = [*_loose(matters, words), *_personal(action, analysis, words)]
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


def _loose(matters: list[tuple[str, _Scalar]], words: OwnerWords) -> list[tuple[str, _Scalar]]:
    """Those that the owner's words do not fix. What an id stands for is known to the tool alone: it fixes nothing, and beside addresses that the owner
    typed it needs no word of its own."""
    loose = [(name, value) for name, value in matters if not _named(name, value, words)]
    reached = any(not _is_id(name) and any(addresses(str(value))) for name, value in matters)
    return [] if reached and all(_is_id(name) for name, _ in loose) else loose


def _named(name: str, value: _Scalar, words: OwnerWords) -> bool:
    """Whether the owner's words name the value as what it is: a number as that of this thing, a title of several words, or the same value."""
    text = str(value)
    if _is_id(name) and text.isdecimal():
        return words.number_of(name.lower().removesuffix("id").strip("_"), text)
    if name in TITLES and not any(addresses(text)):
        return " " in text.strip() and (words.name(text) or words.fits_template(text))
    return words.name(value)


def _is_id(name: str) -> bool:
    return name.lower() == "id" or name.lower().endswith("_id")


def _titles(action: Action) -> Iterator[tuple[str, _Scalar]]:
    yield from ((name, str(action.arguments[name])) for name in TITLES if action.arguments.get(name))


def _personal(action: Action, analysis: Analysis, words: OwnerWords) -> Iterator[tuple[str, str]]:
    """Values of private kinds in the free text of a call that the owner did not type: a recipient that the owner named was not named for these."""
    if analysis.line is not None:
        return
    for name, value in action.arguments.items():
        for leaf in _leaves(value) if name.lower() in FREE_TEXT else ():
            kinds = personal_values(leaf) if isinstance(leaf, str) else ()
            yield from ((f"the {kind} in {name}", found) for kind, found in kinds if not words.personal(found))


def _matters(action: Action, analysis: Analysis) -> Iterator[tuple[str, _Scalar]]:
    """What of a call decides what it does and to whom: a command as a whole; else every argument but free text, of which the addresses count, dates and
    choices."""
    commands = {touch.argument for touch in action.spec.touches if touch.kind == "command"}
    contents = {name for touch in action.spec.touches for name in (touch.content, *(touch.replaces or ())) if name}
    schemas = action.spec.input_schema.get("properties", {})
    dated = any(name.lower().startswith("start") for name in action.arguments)
    for name, value in action.arguments.items():
        schema = schemas.get(name) if isinstance(schemas, dict) else None
        if commands and name not in commands:
            continue
        if name in contents or (isinstance(schema, dict) and ("enum" in schema or schema.get("default", _NONE) == value)):
            continue
        for leaf in _leaves(value):
            if isinstance(leaf, str) and (name.lower() in FREE_TEXT or (dated and _tells_place(name, leaf))):
                yield from ((name, address) for address in addresses(leaf))
            elif not (isinstance(leaf, str) and _DATE.fullmatch(leaf.strip())):
                yield name, leaf


def _tells_place(name: str, value: str) -> bool:
    """Whether the argument says, in words, where an event takes place: nothing is sent there."""
    return name.lower() in ("location", "place", "venue") and " " in value.strip() and not set(value) & set("/\\~@")


_NONE = object()


def _leaves(value: Any) -> Iterator[_Scalar]:
    """The texts and numbers in a value."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(inner)
    elif isinstance(value, str | int | float) and not isinstance(value, bool) and value != "":
        yield value
