"""What a command is held to from its question to its run: the code that it runs, where its words lead, and what it changes."""

from ..types.facts import FactSheet
from ..types.grants import Binding
from .analysis import Analysis
from .findings import Findings


def bind(findings: Findings, analysis: Analysis, sheet: FactSheet) -> None:
    """Hold a command that does more than read to what was looked up of it."""
    line = analysis.line
    if line is None or line.only_reads:
        return
    wanted = {(want.path, want.op) for command in line.commands for want in command.wants if want.op in ("write", "delete")}
    changed = [fact for fact in sheet.paths if (fact.path, fact.op) in wanted]
    places = {analysis.cwd, *(command.cwd for command in line.commands)}
    targets = {f"{fact.op} {fact.path}": fact.resolved for fact in changed}
    targets |= {f"in {fact.path}": fact.resolved for fact in sheet.paths if fact.op == "list" and fact.path in places}
    digests = {fact.resolved: fact.digest for fact in changed if fact.kind in ("file", "missing")}
    files = {**sheet.scripts, **sheet.code, **{path: digest for of_place in sheet.hooks.values() for path, digest in of_place.items()}}
    findings.binding = Binding(files=files, targets=targets, changed=digests)
