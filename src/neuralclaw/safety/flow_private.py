"""Private data goes to no new address outside unasked: a web address can carry away what its writer has read (row P5).

An address is fetched unasked where the owner named it or its host, and where others wrote it whole (`Action.known_links`): nothing that was read later can be
in it. Any other one was composed. It asks where private data and content from outside are both in play, since that content could have said how to compose it;
and where a piece of a private result stands in it. A session that reads web pages alone is asked nothing.
"""

from collections.abc import Sequence
from urllib.parse import unquote_plus

import msgspec

from ..types.actions import Action
from ..types.labels import external_sources
from ..types.urls import Url
from ..types.web_links import letters_of, links_in, plain_link
from .analysis import Analysis
from .findings import Findings
from .lazy_regex import lazy_pattern
from .owner_words import words_of
from .value_spellings import normal

RULE = "flow.private"
LONGEST = 200
PIECE = 16
"""Characters of a piece of an address that are looked for in private results; shorter ones are words that any text holds."""
_PARTS = lazy_pattern(r"[/?&=#;,]+")


def judge(findings: Findings, action: Action, analysis: Analysis, sources: tuple[str, ...]) -> None:
    """Ask about an address that was composed after private results were read. `sources`: those of the content from outside that is in play."""
    if not analysis.urls:
        return
    words, said = words_of(action.said), links_in(*action.said)
    private = action.private_read or bool(action.private_results)
    for url in analysis.urls:
        if url.problem is not None or is_known(action, url.text) or words.name(url.host):
            continue
        if any(link.startswith((f"http://{url.host}/", f"https://{url.host}/")) for link in said):
            continue
        if typed := words.personal_in(letters_of(url.text)):
            findings.ask(RULE, f"{url.text[:LONGEST]} carries {typed!r}, which you typed and not for this address", "an address without it")
        if not private:
            continue
        shown = url.text if len(url.text) <= LONGEST else f"{url.text[:LONGEST]}…"
        if sources:
            reason = f"{shown} was composed after private data was read, with content from outside in play, and neither you nor a result named it"
            findings.ask(RULE, reason, "an address that stands whole in what was read, or one that you name")
        elif plain_link(url.text) not in action.private_links and (piece := carried(url, action.private_results)):
            findings.ask(RULE, f"{shown} carries {piece[:80]!r}, which stands in private data that was read", "an address without it")


def is_known(action: Action, url: str) -> bool:
    """Whether the owner or others wrote this address."""
    link = plain_link(url)
    return link in action.known_links or link in links_in(*action.said)


def led_to(action: Action, before: str, url: str) -> Action:
    """The action at the address to which the answer from `before` leads. Where the model did not compose that one, it did not compose this one."""
    return msgspec.structs.replace(action, known_links={*action.known_links, plain_link(url)}) if is_known(action, before) else action


def sources_of(action: Action) -> tuple[str, ...]:
    """The sources outside that are in play for an address: those of the instructions in the workspace say nothing new."""
    return tuple(source for source in external_sources(action.labels) if source != "workspace")


def carried(url: Url, texts: Sequence[str]) -> str:
    """A piece of the address that stands in one of these texts; "" for none."""
    pieces = [normal(unquote_plus(piece)) for piece in (*_PARTS.split(url.target), *url.host.split("."))]
    return next((piece for piece in pieces if len(piece) >= PIECE and any(piece in text for text in texts)), "")
