"""Rules for the paths that a tool's own arguments name."""

from posixpath import relpath

from ..types.actions import Action
from ..types.facts import FactSheet, PathFact
from ..types.options import Policy
from ..types.risk import Power, Risk, Sink, Tier
from .analysis import Analysis
from .findings import Findings
from .paths import (
    holds_data_home,
    holds_own_code,
    hook_at,
    import_place_at,
    in_data_home,
    in_own_code,
    instructs,
    is_public,
    is_startup,
    is_system,
    normal,
    person_home,
    secret,
    under,
)
from .run_later import runs_later

_OWN_ENVIRONMENT = "to start NeuralClaw from an environment of its own, without PYTHONPATH"
POWERS = {"read": Power.READ, "list": Power.READ, "write": Power.WRITE, "delete": Power.DELETE}


def roots(action: Action, policy: Policy) -> tuple[str, ...]:
    """Where file tools may work: the workspace and the allowed paths."""
    return (action.workspace, *policy.allowed_paths)


def judge(findings: Findings, action: Action, policy: Policy, analysis: Analysis, sheet: FactSheet) -> None:
    """A change in the workspace or an allowed path counts as a read: `Files` confines it and undo covers it. What lies outside asks, and the yes opens exactly
    that path.

    Raises `LookupError` for a path without a fact: what was not looked up is not judged.
    """
    allowed = roots(action, policy)
    facts = {(fact.path, fact.op): fact for fact in sheet.paths}
    for want in analysis.paths:
        fact = facts[want.path, want.op]
        findings.resolved, findings.inside = fact.resolved, fact.inside
        findings.powers.add(POWERS[want.op])
        kept(findings, fact, action, policy)
        if fact.kind == "other" and not fact.link:
            findings.forbid("path.special", f"{fact.resolved} is neither a regular file nor a directory", "a regular file")
        if want.op in ("write", "delete"):
            _change(findings, fact, allowed, action, policy)
        elif not fact.inside:
            reads_outside(findings, fact, fact.resolved, action, policy)
            findings.read += [fact.resolved] if shown_to_all(fact) else []
    findings.read += allowed


def kept(findings: Findings, fact: PathFact, action: Action, policy: Policy) -> None:
    """Places that no call may touch, by whatever name: the agent's own, and those of keys and passwords."""
    names = dict.fromkeys((*fact.names, normal(fact.path)))
    for name in names:
        if in_data_home(name, policy, action.workspace):
            _own(findings)
            findings.forbid(
                "path.protected", f"{_called(fact, name)} belongs to the agent's own data, which no tool call may touch", f"a path in {action.workspace}"
            )
        guard(findings, name, inside=fact.inside and name not in fact.others and not _own_keys(name, action, policy))
    if fact.op in ("write", "delete"):
        own_code(findings, fact, action, policy)
    elif (
        not fact.inside
        and in_own_code(fact.resolved, policy, action.workspace)
        and not is_public(fact.resolved)
        and fact.op in ("read", "list")
        and fact.exists
    ):
        _own(findings)
        findings.forbid(
            "path.protected", f"{fact.resolved} belongs to the program of the agent itself, which lies outside the workspace", "a path in the workspace"
        )


def _own_keys(name: str, action: Action, policy: Policy) -> bool:
    """Whether it lies in a place of keys of the person's home, which neither the workspace nor an allowed path names."""
    home = person_home(policy)
    place = f"{home}/{name[len(home) + 1 :].partition('/')[0]}" if home not in ("", "/") and name != home and under(name, home) else ""
    return bool(place) and secret(place) is not None and not any(under(root, place) for root in roots(action, policy))


def _own(findings: Findings) -> None:
    findings.raise_risk(Risk.HIGH)
    findings.sinks.add(Sink.SELF)


def _called(fact: PathFact, name: str) -> str:
    """The name by which a place is kept, and that by which it was named where the two are not the same place to a reader."""
    return name if name not in fact.others else f"{fact.resolved}, which is {name} too,"


def own_code(findings: Findings, fact: PathFact, action: Action, policy: Policy) -> None:
    """What is written there runs at the agent's next start, outside of every sandbox."""
    for name in fact.names:
        if file := hook_at(name, policy, below=fact.op == "delete"):
            _own(findings)
            findings.forbid("path.protected", f"{file} is a hook of the owner, which no tool call may change", "the person can change it in a terminal")
            return
        if in_own_code(name, policy, action.workspace):
            _own(findings)
            reason = f"{_called(fact, name)} belongs to the program of the agent itself, which no tool call may change"
            findings.forbid("path.protected", reason, "another environment (`python3 -m venv DIR`); the person can change this one in a terminal")
            return
        if place := import_place_at(name, policy, action.workspace):
            _own(findings)
            reason = (
                f"{_called(fact, name)} lies in {place}, from which the program of the agent itself imports its code"
                if name != place
                else (f"the program of the agent itself imports its code from {place}")
            )
            findings.forbid("path.protected", f"{reason}, so that no tool call may change it", _OWN_ENVIRONMENT)
            return
        if fact.op == "delete" and holds_own_code(name, policy, action.workspace):
            _own(findings)
            reason = f"{_called(fact, name)} holds a part of the program of the agent itself, which no tool call may change"
            findings.forbid("path.protected", reason, "a directory or file in it, by its full name")
            return


def shown_to_all(fact: PathFact) -> bool:
    """Whether it lies in the system's public places, and everybody on the machine may read it."""
    return is_public(fact.resolved) and not fact.closed


def reads_outside(findings: Findings, fact: PathFact, place: str, action: Action, policy: Policy) -> None:
    """What is read outside is asked about, and then shown, apart from the system's public places. A whole home never is: a yes to it would show all of it
    or, in a sandbox, nothing. `place`: what the yes opens."""
    if not shown_to_all(fact) and not whole_home(findings, "path.outside", place, policy, action.workspace):
        findings.ask("path.outside", f"it reads {fact.resolved}, which is outside the workspace", "a path in the workspace")
        findings.read.append(place)


def changes_outside(findings: Findings, fact: PathFact) -> None:
    """What is changed outside is asked about; `Files` and the sandboxes open what the caller adds."""
    path = fact.resolved
    findings.sinks.add(Sink.WRITE)
    if is_system(path) or is_startup(path):
        findings.raise_risk(Risk.HIGH)
        findings.raise_tier(Tier.SYSTEM_CRITICAL if is_system(path) else Tier.EXECUTE)
        findings.why = f"it writes to {path}, which belongs to the system" if is_system(path) else f"it changes {path}, which runs at the next log-in"
    findings.ask("path.outside", f"it changes {path}, which is outside the workspace", "a path in the workspace")


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


def later_run(findings: Findings, fact: PathFact, allowed: tuple[str, ...], workspace: str, home: str) -> None:
    """What is run later, by the person's own programs, is not written without the person's word. What a command writes there without naming it is put back."""
    around = (*allowed, *filter(None, (home,)), "/")
    for path in dict.fromkeys((fact.resolved, normal(fact.path))):
        if (who := runs_later(path, around, fact)) and not instructs(path):
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
    later_run(findings, fact, allowed, action.workspace, person_home(policy))
    root = next((r for r in allowed if under(fact.resolved, r)), None)
    if fact.op == "delete":
        findings.raise_risk(Risk.HIGH)
        findings.why = findings.why or f"it deletes {fact.resolved}"
    findings.digests[fact.resolved] = fact.digest
    if not fact.inside or root is None:
        findings.raise_tier(Tier.WRITE)
        if not whole_home(findings, "path.outside", fact.resolved, policy, action.workspace):
            changes_outside(findings, fact)
            findings.write.append(fact.resolved)
        return
    if root in policy.protected_paths:
        findings.raise_tier(Tier.WRITE)
        too_much(findings, root, action.workspace)
    if is_system(root):
        findings.raise_risk(Risk.HIGH)
    findings.write.append(root)
