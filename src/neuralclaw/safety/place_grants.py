"""Grants for a place ("write below ~/docs"): which calls they cover. They answer what asks because of risk and tier, and because it lies outside."""

from collections.abc import Sequence

from ..types.actions import Action
from ..types.facts import FactSheet, PathFact
from ..types.grants import Scope, StandingGrant
from ..types.options import Policy
from ..types.verdicts import Verdict
from .analysis import Analysis
from .command_line import SimpleCommand
from .command_rules import EXACT, INTO, exact_changes, stray
from .findings import AUTO_RULES
from .paths import instructs, is_startup, secret, under
from .run_later import runs_later
from .scopes import INERT

ANSWERED = AUTO_RULES | {"path.outside"}


def covering(
    action: Action, policy: Policy, analysis: Analysis, verdict: Verdict, sheet: FactSheet, standing: Sequence[StandingGrant]
) -> tuple[StandingGrant, ...]:
    """The grants that cover all that the call changes, and all that it reads outside; () where something of it is not covered.

    Of commands one alone is covered, whose program changes exactly what its words name.
    """
    places = [grant for grant in standing if any(scope.kind == "below" for scope in grant.scopes)]
    if not places or not verdict.understood or any(rule.decision == "ask" and rule.id not in ANSWERED for rule in verdict.rules):
        return ()
    if analysis.urls or analysis.access or analysis.secrets or (analysis.line is None and not analysis.paths):
        return ()
    command = None
    if analysis.line is not None:
        acting = [one for one in analysis.line.commands if one.program or not one.argv or one.argv[0] not in INERT]
        if len(acting) != 1 or not exact_changes(analysis.line) or acting[0].program not in EXACT or acting[0].open or acting[0].critical:
            return ()
        command = acting[0]
        if stray(command.program, action, policy, sheet):
            return ()
    wanted = {(want.path, want.op) for want in (command.wants if command is not None else analysis.paths)}
    facts = [fact for fact in sheet.paths if (fact.path, fact.op) in wanted and (fact.op in ("write", "delete") or not fact.inside)]
    found = [_grant_for(fact, command, places) for fact in facts]
    if not found or None in found:
        return ()
    return tuple(dict.fromkeys(grant for grant in found if grant is not None))


def _grant_for(fact: PathFact, command: SimpleCommand | None, places: Sequence[StandingGrant]) -> StandingGrant | None:
    """The grant for what is done to one path. The place itself is only written into: what lies below it is covered, not what becomes of it."""
    op = "read" if fact.op == "list" else fact.op
    into = op == "read" or (op == "write" and fact.kind == "directory" and command is not None and command.program in INTO)

    def covers(scope: Scope) -> bool:
        kept = op != "read" and any(instructs(path) or is_startup(path) or secret(path) or _run_later(path, scope, fact) for path in (fact.resolved, fact.path))
        return not kept and scope.kind == "below" and scope.tool == op and under(fact.resolved, scope.value) and (into or fact.resolved != scope.value)

    return next((grant for grant in places if any(covers(scope) for scope in grant.scopes)), None)


def _run_later(path: str, scope: Scope, fact: PathFact) -> bool:
    """Whether code is later run from there, wherever a repository begins: that asks, whatever was given."""
    return bool(runs_later(path, ("/",), fact) or runs_later(path, (scope.value,), fact))
