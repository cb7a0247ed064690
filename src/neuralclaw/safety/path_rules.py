"""Rules for the paths that a tool's own arguments name."""

from posixpath import relpath

from ..types.actions import Action
from ..types.facts import FactSheet, PathFact
from ..types.options import Policy
from ..types.risk import Power, Risk, Sink, Tier
from .analysis import Analysis
from .findings import Findings
from .paths import absolute, holds_data_home, in_data_home, in_own_code, instructs, is_system, secret, under
from .run_later import runs_later

POWERS = {"read": Power.READ, "list": Power.READ, "write": Power.WRITE, "delete": Power.DELETE}


def roots(action: Action, policy: Policy) -> tuple[str, ...]:
    """Where file tools may work: the workspace and the allowed paths."""
    return (action.workspace, *policy.allowed_paths)


def judge(findings: Findings, action: Action, policy: Policy, analysis: Analysis, sheet: FactSheet) -> None:
    """File tools work inside allowed paths only. A change there counts as a read: `Files` confines it and undo covers it.

    Raises `LookupError` for a path without a fact: what was not looked up is not judged.
    """
    allowed = roots(action, policy)
    facts = {(fact.path, fact.op): fact for fact in sheet.paths}
    for want in analysis.paths:
        fact = facts[want.path, want.op]
        findings.resolved, findings.inside = fact.resolved, fact.inside
        findings.powers.add(POWERS[want.op])
        _place(findings, fact, action, policy)
        if want.op in ("write", "delete"):
            own_code(findings, fact, action, policy)
            _change(findings, fact, allowed, action, policy)
    findings.read += allowed


def _place(findings: Findings, fact: PathFact, action: Action, policy: Policy) -> None:
    if in_data_home(fact.resolved, policy, action.workspace):
        findings.raise_risk(Risk.HIGH)
        findings.forbid("path.protected", f"{fact.resolved} belongs to the agent's own data, which no tool call may touch", f"a path in {action.workspace}")
    elif not fact.inside:
        findings.forbid(
            "path.outside",
            f"{fact.resolved} is outside the workspace {action.workspace}",
            "a path in the workspace, or a directory listed in tools.filesystem.allowed_paths",
        )
    guard(findings, fact.resolved, inside=fact.inside)
    if fact.kind == "other":
        findings.forbid("path.special", f"{fact.resolved} is neither a regular file nor a directory", "a regular file")


def own_code(findings: Findings, fact: PathFact, action: Action, policy: Policy) -> None:
    """What is written there runs at the agent's next start, outside of every sandbox."""
    if in_own_code(fact.resolved, policy, action.workspace):
        findings.raise_risk(Risk.HIGH)
        reason = f"{fact.resolved} belongs to the program of the agent itself, which no tool call may change"
        findings.forbid("path.protected", reason, "another environment (`python3 -m venv DIR`); the person can change this one in a terminal")


def guard(findings: Findings, resolved: str, *, inside: bool) -> None:
    """Known places of secrets: password hashes, keys and tokens are not touched; what looks like one inside the workspace only after a person said yes."""
    kind = secret(resolved)
    if kind == "forbid":
        findings.raise_risk(Risk.HIGH)
        findings.forbid("path.secrets", f"{resolved} holds password hashes", "a file without secrets")
    elif kind == "ask" and not inside:
        findings.raise_risk(Risk.HIGH)
        reason = f"{resolved} is a place where keys and passwords are kept, which no tool call may touch"
        findings.forbid("path.secrets", reason, "a file without secrets; a directory in tools.filesystem.allowed_paths is asked about")
    elif kind == "ask":
        findings.raise_risk(Risk.HIGH)
        findings.ask("path.secrets", f"{resolved} is a place where keys and passwords are kept")


def instructions(findings: Findings, fact: PathFact, workspace: str) -> None:
    """What later turns are told is not written without the person's word."""
    if fact.op == "write" and (instructs(fact.resolved) or instructs(fact.path)):
        findings.sinks.add(Sink.SELF)
        path = fact.resolved if instructs(fact.resolved) else fact.path
        shown = relpath(path, workspace) if under(path, workspace) else path
        findings.ask("path.instructions", f"writes {shown}, which later turns take as instructions", "a file of another name")


def later_run(findings: Findings, fact: PathFact, allowed: tuple[str, ...], workspace: str) -> None:
    """What is run later, by the person's own programs, is not written without the person's word. What a command writes there without naming it is put back."""
    for path in dict.fromkeys((fact.resolved, absolute(fact.path, workspace))):
        if (who := runs_later(path, allowed, fact.git)) and not instructs(path):
            shown = relpath(path, workspace) if under(path, workspace) else path
            verb = "deletes" if fact.op == "delete" else "writes"
            findings.ask("path.later_run", f"{verb} {shown}, which {who} runs or follows later, outside of any sandbox", "a file of another name")
            return


def whole_home(findings: Findings, rule: str, path: str, policy: Policy, workspace: str) -> bool:
    """Whether a place is too much to be opened to a command, which is refused without a question."""
    if not holds_data_home(path, policy, workspace):
        return False
    findings.forbid(rule, f"{path} holds the agent's own data or a whole home, which is not opened to a command", "a directory or file in it, by its full name")
    return True


def too_much(findings: Findings, root: str, workspace: str) -> None:
    """A home, or all of the disk, is written only after the person's word, whichever setting names it."""
    if root == workspace:
        findings.ask("path.readonly", f"{root} is too much to be a writable workspace unasked", "a workspace of its own: --workspace DIR")
    else:
        reason = f"{root}, which tools.filesystem.allowed_paths names, is too much to be written unasked"
        findings.ask("path.readonly", reason, "a smaller directory in tools.filesystem.allowed_paths")


def _change(findings: Findings, fact: PathFact, allowed: tuple[str, ...], action: Action, policy: Policy) -> None:
    instructions(findings, fact, action.workspace)
    later_run(findings, fact, allowed, action.workspace)
    root = next((r for r in allowed if under(fact.resolved, r)), None)
    if fact.op == "delete":
        findings.raise_risk(Risk.HIGH)
        findings.why = findings.why or f"it deletes {fact.resolved}"
    if not fact.inside or root is None:
        findings.raise_tier(Tier.WRITE)
        findings.sinks.add(Sink.WRITE)
        return
    if root in policy.protected_paths:
        findings.raise_tier(Tier.WRITE)
        too_much(findings, root, action.workspace)
    if is_system(root):
        findings.raise_risk(Risk.HIGH)
    findings.write.append(root)
    findings.digests[fact.resolved] = fact.digest
