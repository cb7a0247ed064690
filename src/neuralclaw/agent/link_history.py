"""Which web addresses a session was told by others, and which its model may have composed: what the gate compares an address with.

An address is known where the owner wrote it, or where it stood in a result of others before any argument of a call held it. What a built-in tool gives
back of its own arguments, of a program that it ran or of a file that the agent wrote is no such result (`result_origin`).
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any

from ..types.actions import Action
from ..types.events import ToolFinished
from ..types.labels import AGENT, PRIVATE, SECRET, Labels, is_external
from ..types.messages import ToolCall
from ..types.tools import LinkOrigin, ToolResult, ToolSpec
from ..types.web_links import bare_letters, letters_of, link_parts, link_place, links_in, places_in, plain_link

LONGEST_HANDED = 200_000
"""Letters of the newest arguments for others that are kept."""
LEAST_HANDED = 4
"""Letters and digits of an address that stand in them and make it one that may be composed."""
FEW = 32
"""Places that are put into their order one by one; more are sorted with the others."""
WORKSPACE = "external:workspace"


class LinkHistory:
    """Follows the messages, calls and results of a session. Each is looked at once, so that a turn costs what is new in it."""

    def __init__(self) -> None:
        self._known: dict[str, None] = {}
        self._places: set[str] = set()
        self._held: list[str] = []  # places that arguments of calls name, in order of the alphabet
        self._calls: dict[str, ToolCall] = {}
        self._origins: dict[str, tuple[LinkOrigin, bool]] = {}
        self._handed = ""
        self._entries: list[int] = []  # of each private text
        self.private_texts: list[str] = []
        """The letters and digits of the results that are private and that the model sees."""
        self.private_links: set[str] = set()
        """The addresses in results that are private."""
        self.private_read = False
        """Whether a result that is private was read, also where it has left the requests."""

    @property
    def known(self) -> AbstractSet[str]:
        """The addresses that are known, in the form of `plain_link`."""
        return self._known.keys()

    def said(self, text: str) -> None:
        """The owner wrote this."""
        self._add(links_in(text))

    def called(self, call: ToolCall) -> None:
        """The model proposed this call; an address that is known does not become unknown by that."""
        self._calls[call.id] = call
        named = frozenset().union(*map(places_in, _texts(call.arguments))) - self._places
        new = [place for place in named if not self._is_named(place)]
        if len(new) > FEW:
            self._held = sorted([*self._held, *new])
            return
        for place in new:
            insort(self._held, place)

    def finished(self, entry: int, result: ToolFinished, text: str) -> None:
        """A call gave `text` back, which that entry says."""
        call = self._calls.pop(result.call_id, None)
        self._origins[result.call_id] = result.links, result.private
        if result.private:
            self.private_read = True
            self._entries.append(entry)
            self.private_texts.append(bare_letters(text))
            self.private_links |= links_in(text)
        if result.links == "handed" and call is not None:
            self._handed = (self._handed + "".join(letters_of(one) for value in call.arguments.values() for one in _texts(value)))[-LONGEST_HANDED:]
        if result.links == "none":
            return
        found = frozenset(link for link in links_in(text) if link not in self._known and not self._is_held(link))
        self._add(link for link in found if result.links == "all" or not self._is_handed(link))

    def origin_of(self, call_id: str) -> tuple[LinkOrigin, bool]:
        """What the result of that call is: where its links are from, and whether it is private."""
        return self._origins.get(call_id, ("none", True))

    def forget_before(self, entry: int) -> None:
        """Texts of earlier entries are not seen any more; that private data was read is kept."""
        gone = bisect_left(self._entries, entry)
        del self._entries[:gone], self.private_texts[:gone]

    def summarised(self, summary: str, *, private: bool) -> None:
        """A summary stands for what is not seen any more. `private`: private data was read before it."""
        self.private_read = self.private_read or private
        if self.private_read:
            self._entries.insert(0, 0)
            self.private_texts.insert(0, bare_letters(summary))
            self.private_links |= links_in(summary)

    def _is_held(self, link: str) -> bool:
        """Whether an argument of a call names the place, or one that begins so."""
        place = link_place(link)
        at = bisect_left(self._held, place)
        return at < len(self._held) and self._held[at].startswith(place)

    def _is_named(self, place: str) -> bool:
        at = bisect_left(self._held, place)
        return at < len(self._held) and self._held[at] == place

    def _is_handed(self, link: str) -> bool:
        """Whether parts of the address stand in what was handed to others, so many letters of it that they can be data."""
        return sum(len(part) for part in link_parts(link) if part in self._handed) >= LEAST_HANDED

    def _add(self, links: Iterable[str]) -> None:
        for link in links:
            self._known[link] = None
            self._places.add(link_place(link))


def result_origin(action: Action, result: ToolResult, read: Labels, history: LinkHistory) -> tuple[LinkOrigin, bool]:
    """What a result is, by its call: where the links in it are from, and whether it is private. `read`: the labels of the files that it was judged to read."""
    spec, arguments = action.spec, action.arguments
    if spec.built_in and (spec.name == "read_result" or (spec.gives_values and arguments.get("call_id") is not None)):
        origin, private = history.origin_of(str(arguments.get("call_id")))
        return (origin if result.ok else "none"), private or spec.gives_values
    private = _is_private(spec, result)
    kinds = {touch.kind for touch in spec.touches if arguments.get(touch.argument) is not None}
    if "url" in kinds:
        return _of_page(action, result), private
    if not spec.built_in:
        return ("none" if kinds & {"command", "write", "delete"} else "handed" if action.private_read else "all"), private
    if not result.ok or AGENT & read:
        return "none", private
    if spec.gives_values:
        return "all", private
    return ("all" if kinds and kinds <= {"read", "list"} else "none"), private


def _of_page(action: Action, result: ToolResult) -> LinkOrigin:
    """A page gives links where nothing that was read can stand in its address; with content from outside in play its address must have been known, or no
    more than a host."""
    if not result.ok:
        return "none"
    named = [action.arguments[touch.argument] for touch in action.spec.touches if touch.kind == "url" and action.arguments.get(touch.argument)]
    composed = [address for address in map(str, named) if plain_link(address) not in action.known_links]
    if not action.private_read or not composed:
        return "all"
    bare = all(link_place(address).endswith("/") and link_place(address).count("/") == 1 for address in composed)
    return "handed" if bare or not is_external(action.labels - {WORKSPACE}) else "none"


def _is_private(spec: ToolSpec, result: ToolResult) -> bool:
    """Whether a result holds private data. Pages do where they say so; so do tools of the program that only compute, or write files."""
    kinds = {touch.kind for touch in spec.touches}
    if spec.built_in and not result.ok and "command" not in kinds:
        return False
    if not spec.gives_values and ("url" in kinds or (spec.built_in and (not kinds or kinds <= {"write", "delete"}))):
        return bool(result.labels & {PRIVATE, SECRET})
    return "public" not in result.labels or bool(result.labels & {PRIVATE, SECRET})


def _texts(value: Any) -> Iterator[str]:
    """The texts in the arguments of a call."""
    if isinstance(value, str | int | float):
        yield str(value)
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
        yield from value
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)
