"""Questions to a person: the sentence, the exact command or change, and which answers are offered."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ..types.actions import Action
from ..types.entries import CALLS
from ..types.facts import FactSheet, PathFact
from ..types.grants import Binding, Envelope
from ..types.labels import is_external, join, value_sources
from ..types.questions import Question, Shown
from ..types.tools import Touch
from ..types.verdicts import Verdict
from .analysis import Analysis
from .flow_reads import labels_read
from .scopes import ScopePart, covers


class JudgedAction(msgspec.Struct, frozen=True):
    """An action as it was judged: the verdict, what a grant would allow, and what both rest on.

    Where it asks: the sentence for a person, and the parts that a standing answer would cover.
    """

    verdict: Verdict
    envelope: Envelope = Envelope()
    analysis: Analysis = Analysis()
    sheet: FactSheet = FactSheet()
    summary: str = ""
    parts: tuple[ScopePart, ...] = ()


def build(action: Action, judged: JudgedAction, *, hash: str, expires: float, make_id: Callable[[], str]) -> Question:
    """The question about one call. It offers only answers that can be given: without `parts` no standing one."""
    verdict, analysis = judged.verdict, judged.analysis
    offered = covers(judged.parts)
    if action.session == CALLS:  # it lasts for ever: a yes for "this session" would have no end
        offered = msgspec.structs.replace(offered, session=None)
    lasting = [name for name, words in (("session", offered.session), ("always", offered.always)) if words is not None]
    variables = action.arguments.get("env_vars") if analysis.line is not None else None
    headers = {use.at: use.text for use in analysis.secrets} if analysis.line is None else {}
    return Question(
        approval_id=make_id(),
        call_id=action.call_id,
        hash=hash,
        action=Shown(
            tool=action.spec.name,
            show=shown(action),
            diff=diff(action, judged.sheet.paths),
            cwd=analysis.cwd if analysis.line is not None else "",
            variables={str(name): str(value) for name, value in variables.items()} if isinstance(variables, dict) else {},
            headers=headers,
            **_bound(judged),
        ),
        risk=verdict.risk,
        tier=verdict.tier,
        summary=judged.summary,
        reasons=verdict.reasons,
        sources=tuple(sorted(label for label in join(action.labels, labels_read(analysis, judged.sheet)) if is_external((label,)) or value_sources((label,)))),
        choices=("once", *lasting, "no"),
        covers=offered,
        workspace=action.workspace,
        expires=expires,
        scopes=tuple(part.scope for part in judged.parts),
        auto=verdict.auto,
        verdict=verdict,
    )


def _bound(judged: JudgedAction) -> dict[str, Any]:
    """What the answer is held to beside the command's words."""
    binding = judged.envelope.binding
    if not isinstance(binding, Binding):
        return {}
    changed = {f"{fact.op} {fact.resolved}": None for fact in judged.sheet.paths if f"{fact.op} {fact.path}" in binding.targets}
    return {"programs": judged.envelope.programs, "files": binding.files, "targets": tuple(changed)}


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
