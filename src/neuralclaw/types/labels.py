"""Where content came from and who may see it. Labels only ever grow: joining two contents joins their labels.

Integrity says whose word it is: `owner` (the person, or a program that speaks for them), `agent` (the agent itself and its own tools) or
`external:SOURCE` (`external:web/HOST`, `external:mcp/NAME`, `external:tool/NAME`, `external:workspace` for its `AGENTS.md`). Confidentiality says
who may see it: `public`, `private` or `secret`; of several the last of these holds. Content without a confidentiality label counts as `private`.

`value:SOURCE` names a source outside that chose a value, by reading mode, and no words: the content itself was not read.
"""

from collections.abc import Iterable

Labels = frozenset[str]

NONE: Labels = frozenset()
LABEL_KINDS = ("owner", "agent", "external", "value", "public", "private", "secret")
"""What labels begin with, before the first colon."""
PRIVATE, SECRET = "private", "secret"
OWNER: Labels = frozenset({"owner", "private"})
"""What the owner says."""
AGENT: Labels = frozenset({"agent"})
"""What the agent itself says."""
"""From the least to the most confidential."""


def join(*parts: Iterable[str]) -> Labels:
    """The labels of a content made from all of these."""
    return frozenset().union(*parts)


def checked_labels(given: object) -> Labels:
    """Labels that others gave. Raises `TypeError` for what is no set, list or tuple of texts: a text alone would be taken letter by letter."""
    if not isinstance(given, frozenset | set | list | tuple) or not all(isinstance(label, str) for label in given):
        raise TypeError(f"labels are a set of texts, not {given!r:.80}")
    return frozenset(given)


def external(source: str) -> Labels:
    """The integrity label of content from `source`."""
    return frozenset({f"external:{source}"})


def external_sources(labels: Iterable[str]) -> tuple[str, ...]:
    """The sources outside that are named in these labels, in order; "" for a label that names none."""
    return tuple(sorted(label.partition(":")[2] for label in labels if is_external((label,))))


_VALUE = "value:"


def labels_of_value(labels: Iterable[str]) -> Labels:
    """The labels of a value that was read from content with these: its sources outside chose the value, and said nothing beside it."""
    kept = frozenset(label for label in labels if not is_external((label,)))
    return kept | {f"{_VALUE}{source}" for source in external_sources(labels)}


def value_sources(labels: Iterable[str]) -> tuple[str, ...]:
    """The sources outside that chose a value, in order."""
    return tuple(sorted(label.removeprefix(_VALUE) for label in labels if label.startswith(_VALUE)))


def is_external(labels: Iterable[str]) -> bool:
    """Whether any part of the content came from outside the owner's words and the agent's own tools."""
    return any(label == "external" or label.startswith("external:") for label in labels)
