"""Private data goes to no new address outside unasked: a web address can carry away what its writer has read (row P5).

An address is fetched unasked where the owner named it or its host, and where others wrote it whole (`Action.known_links`): nothing that was read later can be
in it. Any other one was composed. It asks where private data and content from outside are both in play, since that content could have said how to compose it;
and where a piece of a private result stands in it. A session that reads web pages alone is asked nothing.
"""

from base64 import b64decode
from collections.abc import Iterator, Sequence
from contextlib import suppress
from urllib.parse import unquote_plus

import msgspec

from ..types.actions import Action
from ..types.labels import external_sources
from ..types.urls import Url
from ..types.web_links import bare_letters, letters_of, links_in, plain_link
from .analysis import Analysis
from .findings import Findings
from .lazy_regex import lazy_pattern
from .owner_words import words_of

RULE = "flow.private"
LONGEST = 200
PIECE = 16
"""Letters and digits of a piece of an address that are looked for in private results; shorter ones are words that any text holds."""
CODE, CODE_DIGITS = 10, 6
"""Letters and digits of a shorter piece that is looked for too, if so many of them are digits: a part of a number or of a code."""
_PARTS = lazy_pattern(r"[/?&#;,]+")


def can_carry(action: Action) -> bool:
    """Whether an address, or the name of its host, can carry what its writer has read."""
    return action.private_read or bool(action.private_results) or bool(sources_of(action))


def judge(findings: Findings, action: Action, analysis: Analysis, sources: tuple[str, ...]) -> None:
    """Ask about an address that was composed after private results were read. `sources`: those of the content from outside that is in play."""
    if not analysis.urls:
        return
    words, said = words_of(action.said), links_in(*action.said)
    private = action.private_read or bool(action.private_results)
    for url in analysis.urls:
        if url.problem is not None or is_known(action, url.text):
            continue
        named = words.name(url.host) or any(link.startswith((f"http://{url.host}/", f"https://{url.host}/")) for link in said)
        if not named and (typed := words.personal_in(letters_of(url.text))):
            findings.ask(RULE, f"{url.text[:LONGEST]} carries {typed!r}, which you typed and not for this address", "an address without it")
        if not private:
            continue
        shown = url.text if len(url.text) <= LONGEST else f"{url.text[:LONGEST]}…"
        if sources and not (named and not any(_is_from(source, url.host) for source in sources)):
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
    """A piece of the address that stands in one of these texts, which are given as `bare_letters`; "" for none. Marks between letters do not count, and what
    is written backwards, in hexadecimal or in base64 is found too."""
    if not texts:
        return ""
    parts = [*url.host.split(".")[:-2], *_PARTS.split(unquote_plus(url.target))]
    whole, values = bare_letters("".join(parts)), bare_letters("".join(part.rpartition("=")[2] for part in parts))
    forms = [whole, whole[::-1], values, *(decoded for part in parts for decoded in _decoded(part.rpartition("=")[2] or part.rstrip("=")))]
    return next((piece for form in forms for piece in _pieces(form) if any(piece in text for text in texts)), "")


def _pieces(letters: str) -> Iterator[str]:
    """Pieces of a text that no other text has by chance."""
    for at in range(0, len(letters) - PIECE + 1, 2):
        yield letters[at : at + PIECE]
    for at in range(len(letters) - CODE + 1):
        piece = letters[at : at + CODE]
        if sum(map(str.isdecimal, piece)) >= CODE_DIGITS:
            yield piece


def _decoded(part: str) -> Iterator[str]:
    """What a part of an address becomes when it is read as base64 or as hexadecimal digits."""
    for decode in (_base64, bytes.fromhex):
        with suppress(ValueError):
            if len(part) >= CODE:
                yield bare_letters(decode(part).decode())


def _base64(part: str) -> bytes:
    return b64decode(part + "=" * (-len(part) % 4), altchars=b"-_" if "-" in part or "_" in part else b"+/", validate=True)


def _is_from(source: str, host: str) -> bool:
    """Whether content from this source is content of that host."""
    return source in ("", "web", f"web/{host}")
