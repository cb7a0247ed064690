"""Where content came from. A set of labels only ever grows: joining two contents joins their labels.

A label is `origin` or `origin:detail`: `user`, `own` (the agent or its tools), `external:web`, `external:mcp/NAME`.
"""

from collections.abc import Iterable

Labels = frozenset[str]

NONE: Labels = frozenset()
USER: Labels = frozenset({"user"})


def join(*parts: Iterable[str]) -> Labels:
    """The labels of a content made from all of these."""
    return frozenset().union(*parts)


def is_external(labels: Iterable[str]) -> bool:
    """Whether any part of the content came from outside the owner's words and the agent's own tools."""
    return any(label == "external" or label.startswith("external:") for label in labels)
