"""The repositories that `git` opens where it reads: their settings may name programs, which any reading subcommand then runs."""

from posixpath import relpath

from ..types.actions import Action
from ..types.facts import FactSheet, PathFact
from ..types.options import Policy
from .command_line import CommandLine
from .findings import Findings
from .path_rules import kept, reads_outside, roots
from .paths import under


def judge(findings: Findings, action: Action, policy: Policy, line: CommandLine, sheet: FactSheet) -> bool:
    """Whether git opens no repository but the one of the workspace, or of an allowed path, whose settings no call writes unasked. One that lies outside of them
    all is read like any place outside; one that lies elsewhere inside came with files, or was made by a call.

    Raises `LookupError` for a directory in which it was not looked up.
    """
    own = {f"{root.rstrip('/')}/.git" for root in roots(action, policy)}
    missing = {fact.path for fact in sheet.paths if fact.op == "list" and fact.kind != "directory"}
    worked = {command.cwd for command in line.commands}
    trusted = all(worked <= {place, action.workspace} for place in line.read_with_git if place in missing)  # else it may work where it was before
    for place in line.read_with_git:
        for fact in sheet.repositories[place]:
            kept(findings, fact, action, policy)
            if not fact.inside:
                reads_outside(findings, fact, fact.resolved, action, policy)
            elif fact.resolved not in own:
                trusted = False
                findings.why = findings.why or f"git opens {_shown(fact, action)}, a repository whose settings can make it run other programs"
    return trusted


def _shown(fact: PathFact, action: Action) -> str:
    return relpath(fact.resolved, action.workspace) if under(fact.resolved, action.workspace) else fact.resolved
