"""Which neighbouring calls must not run at the same time: one writes what the other touches."""

import posixpath

from ..types.actions import Action
from ..types.grants import Grant

_PATH_KINDS = ("read", "list", "write", "delete", "cwd")


def written(grant: Grant) -> tuple[str, ...]:
    """The files the grant lets its call change, or whole roots where the files are not known beforehand."""
    envelope = grant.envelope
    return tuple(envelope.digests) or envelope.write


def touched(action: Action, grant: Grant) -> tuple[str, ...]:
    """What the call writes, and the paths its arguments name."""
    named = (action.arguments.get(t.argument) for t in action.spec.touches if t.kind in _PATH_KINDS)
    return (*written(grant), *(posixpath.normpath(posixpath.join(action.workspace, p)) for p in named if isinstance(p, str)))


def conflict(action: Action, grant: Grant, other: Action, other_grant: Grant) -> bool:
    """Whether either call writes a place that the other touches."""
    return overlap(written(grant), touched(other, other_grant)) or overlap(written(other_grant), touched(action, grant))


def overlap(some: tuple[str, ...], others: tuple[str, ...]) -> bool:
    return any(within(a, b) or within(b, a) for a in some for b in others)


def within(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")
