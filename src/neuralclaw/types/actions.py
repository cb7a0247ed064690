"""One proposed call: the action, whom it speaks for, and the hash that binds an answer to it."""

import hashlib
from collections.abc import Sequence, Set
from typing import Any, Literal

import msgspec

from .grants import Envelope
from .labels import NONE, Labels
from .risk import Trust
from .tools import ToolSpec

Who = Literal["owner", "program", "schedule", "agent"]


class Origin(msgspec.Struct, frozen=True):
    """Who a session speaks for, and whether someone can answer a question now. `channel` is "" outside chat channels, `parent` the session that
    started this one, for its call `call`."""

    who: Who = "program"
    present: bool = False
    channel: str = ""
    parent: str = ""
    call: str = ""


class ReadValues(msgspec.Struct, frozen=True, kw_only=True):
    """The values that reading mode gave in a session: texts and numbers, and the `sources` outside that chose them. `whole` false: there were others.
    `sessions`: those that read them."""

    values: tuple[str | int | float, ...] = ()
    sources: frozenset[str] = frozenset()
    whole: bool = True
    sessions: tuple[str, ...] = ()


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """One proposed call in its canonical final form: arguments are validated and coerced, paths still as the model wrote them."""

    session: str
    turn: int
    call_id: str
    spec: ToolSpec
    arguments: dict[str, Any]
    workspace: str
    """Absolute and real."""
    trust: Trust = Trust.LOW
    origin: Origin = Origin()
    soul: str = ""
    labels: Labels = NONE
    """Joined labels of what the model had read when it proposed the call."""
    said: tuple[str, ...] = ()
    """The owner's messages of the session that the model still sees."""
    private_results: Sequence[str] = ()
    """The texts of results that are private and that the model still sees, as `types.web_links.bare_letters` gives them."""
    private_links: Set[str] = frozenset()
    """The web addresses that stand whole in them, or stood in those of earlier turns."""
    private_read: bool = False
    """Whether the model could have read private data besides what the owner wrote."""
    known_links: Set[str] = frozenset()
    """The web addresses that the owner or others wrote, as `types.web_links.plain_link` gives them: no model composed them from what it had read."""
    read_values: ReadValues = ReadValues()


def action_hash(action: Action, envelope: Envelope) -> str:
    """SHA-256 (hex) of the canonical final form: the tool as it describes itself, arguments, directory, resolved programs, digests of the files to change.

    An answer is one to this very tool: another one of its name has another hash.
    """
    form = (action.spec.digest, action.arguments, action.workspace, envelope)
    return _sha256(form)


def earlier_hash(action: Action, envelope: Envelope) -> str | None:
    """The hash that earlier versions gave a call of a built-in tool, which they knew by its name alone; None for any other tool."""
    return _sha256((action.spec.name, action.arguments, action.workspace, envelope)) if action.spec.built_in else None


def _sha256(form: tuple[Any, ...]) -> str:
    return hashlib.sha256(msgspec.json.encode(form, order="deterministic")).hexdigest()
