"""Questions to a person, and what a standing answer covers."""

from collections.abc import Callable, Sequence
from posixpath import dirname
from typing import Any

import msgspec

from ..types.actions import Action, Envelope, FactSheet, PathFact, Question, Scope, Shown, Verdict
from ..types.labels import is_external
from ..types.options import Policy
from ..types.tools import Touch
from .analysis import Analysis
from .findings import AUTO_RULES
from .paths import in_data_home, is_system, person_home


class Judged(msgspec.Struct, frozen=True):
    """An action as it was judged: the verdict, what a grant would allow, and what both rest on."""

    verdict: Verdict
    envelope: Envelope = Envelope()
    analysis: Analysis = Analysis()
    sheet: FactSheet = FactSheet()


def build(action: Action, judged: Judged, scopes: tuple[Scope, ...], *, hash: str, expires: float, make_id: Callable[[], str]) -> Question:
    """The question about one call. Without a scope that a standing answer could cover, only `once` and `no` are offered."""
    verdict = judged.verdict
    choices = ("once", "session", "always", "no") if scopes else ("once", "no")
    return Question(
        approval_id=make_id(),
        call_id=action.call_id,
        hash=hash,
        action=Shown(tool=action.spec.name, show=shown(action), diff=diff(action, judged.sheet.paths)),
        risk=verdict.risk,
        tier=verdict.tier,
        reasons=verdict.reasons,
        sources=tuple(sorted(label for label in action.labels if is_external((label,)))),
        choices=choices,
        expires=expires,
        scopes=scopes,
        auto=verdict.auto,
        verdict=verdict,
    )


def diff(action: Action, facts: Sequence[PathFact]) -> str | None:
    """The change as a unified diff, where the tool says which arguments make it and the file's text is known."""
    for touch in action.spec.touches:
        fact = next((f for f in facts if f.op in ("write", "delete")), None)
        after = None if fact is None or (fact.exists and fact.text is None) else changed(action, touch, fact.text or "")
        if fact is not None and after is not None:
            return unified(fact.path, fact.text or "", after)
    return None


def changed(action: Action, touch: Touch, before: str) -> str | None:
    """The file's text after the call."""
    arguments = action.arguments
    if touch.kind == "delete":
        return ""
    if touch.content is not None:
        return str(arguments.get(touch.content, ""))
    if touch.replaces is not None:
        old, new = (str(arguments.get(name, "")) for name in touch.replaces)
        return before.replace(old, new, -1 if arguments.get("all") else 1)
    return None


def unified(path: str, before: str, after: str) -> str:
    import difflib  # costs start-up time, and only questions come here

    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), path, path, lineterm="", n=3)
    return "\n".join(lines)


def shown(action: Action) -> str:
    """The exact command, path or address; for a tool that touches nothing, its arguments."""
    kinds = {t.kind: t.argument for t in action.spec.touches}
    for kind in ("command", "url", "delete", "write", "read", "list"):
        value: Any = action.arguments.get(kinds.get(kind, ""))
        if value:
            return str(value)
    return ", ".join(f"{k}={v!r}" for k, v in action.arguments.items()) or action.spec.name


def scopes_of(action: Action, policy: Policy, analysis: Analysis, verdict: Verdict) -> tuple[Scope, ...]:
    """What an answer for the session or for ever would cover, or () when this call must be asked about every time."""
    if not verdict.understood or any(r.decision == "ask" and r.id not in AUTO_RULES for r in verdict.rules):
        return ()
    tool = action.spec.name
    if analysis.line is not None:
        commands = [c for c in analysis.line.commands if not c.only_reads]
        if not commands or any(not c.subject or c.critical or "/" in c.program for c in commands):
            return ()
        return tuple(dict.fromkeys(Scope("program", c.subject, tool) for c in commands))
    if analysis.urls:
        return tuple(dict.fromkeys(Scope("host", u.host, tool) for u in analysis.urls))
    if analysis.paths:
        return _directories(verdict, policy, action)
    return (Scope("tool", tool, tool),)


def _directories(verdict: Verdict, policy: Policy, action: Action) -> tuple[Scope, ...]:
    directory = dirname(verdict.resolved or "/")
    if directory in ("/", person_home(policy)) or is_system(directory) or in_data_home(directory, policy, action.workspace):
        return ()
    return (Scope("directory", directory, action.spec.name),)


def covered(scopes: tuple[Scope, ...], standing: tuple[Scope, ...]) -> bool:
    """Whether standing answers cover every part of the call. Each scope covers exactly itself, a directory all below it."""
    return bool(scopes) and all(any(_covers(given, asked) for given in standing) for asked in scopes)


def _covers(given: Scope, asked: Scope) -> bool:
    if given.kind != asked.kind or given.tool != asked.tool:
        return False
    if given.kind == "directory":
        return asked.value == given.value or asked.value.startswith(given.value.rstrip("/") + "/")
    return asked.value == given.value
