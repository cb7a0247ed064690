"""What a command asks for by name beside its words, after its sandbox refused it: a path to read or to change, or a place of the network.

Each that the command does not have anyway is asked about every time, and the yes opens exactly this for this call. What is refused to every call stays
refused.
"""

from posixpath import dirname

from ..types.actions import Action
from ..types.cut_texts import cut_text
from ..types.facts import FactSheet, PathFact
from ..types.options import Policy
from ..types.risk import Power, Risk, Sink, Tier
from ..types.urls import NO_PLACE, place_of
from .accesses import Access
from .findings import Findings
from .outbound_places import OPEN_PLACE, why_never
from .path_rules import instructions, kept, later_run, roots, whole_home
from .paths import in_data_home, instructs, is_device, is_startup, is_system, person_home, secret, under
from .run_later import runs_later

RULE = "access"
UNFIT = "access.unfit"
FORM = "it is none of `read PATH`, `write PATH`, `connect HOST:PORT`"
LONGEST = 200


def judge(findings: Findings, action: Action, policy: Policy, wanted: tuple[Access, ...], sheet: FactSheet) -> None:
    """Raises `LookupError` for a path without a fact."""
    facts = {(fact.path, fact.op): fact for fact in sheet.paths}
    for one in wanted:
        if one.want is not None:
            _path(findings, action, policy, facts[one.want.path, one.want.op])
        elif one.place:
            _place(findings, action, policy, one.place)
        else:
            findings.forbid(UNFIT, f"{cut_text(one.text, LONGEST)!r} cannot be asked for: {FORM}")


def _path(findings: Findings, action: Action, policy: Policy, fact: PathFact) -> None:
    path = fact.resolved
    write = fact.op == "write"
    findings.powers.add(Power.WRITE if write else Power.READ)
    kept(findings, fact, action, policy)
    if not in_data_home(path, policy, action.workspace):
        whole_home(findings, RULE, path, policy, action.workspace)
    if not write and not fact.exists:
        findings.forbid(UNFIT, f"{path} is not there", "a path that is there")
    elif not fact.exists and not fact.inside:
        alternative = f"a line of its own that makes it, such as cp or mkdir, and then write {path}"
        findings.forbid(UNFIT, f"{path} is not there, and to make it all of {dirname(path)} would be open to the command", alternative)
    if write and is_device(path):
        findings.forbid("block.device", f"it writes to the device {path}", "a regular file, or /dev/null")
    if _has(findings, action, policy, fact):
        return
    shown = path if fact.exists or not write else f"{path}, which is not there"
    if not write:
        findings.ask(RULE, f"also reads {shown}")
        findings.read.append(path)
        return
    instructions(findings, fact, action.workspace)
    later_run(findings, fact, roots(action, policy), action.workspace, person_home(policy))
    if not fact.inside:
        findings.sinks.add(Sink.WRITE)
    findings.raise_tier(Tier.SYSTEM_CRITICAL if is_system(path) else Tier.EXECUTE)
    findings.raise_risk(Risk.HIGH if is_system(path) or is_startup(path) else Risk.MEDIUM)
    findings.ask(RULE, f"also changes {shown}")
    findings.write.append(path)


def _has(findings: Findings, action: Action, policy: Policy, fact: PathFact) -> bool:
    """Whether the command may do it without being given it: it lies where it reads or writes anyway, and nothing there is excepted from that."""
    allowed = roots(action, policy)
    mine = findings.write if fact.op == "write" else (*findings.read, *findings.write)
    excepted = any(secret(path) or (fact.op == "write" and (instructs(path) or runs_later(path, allowed, fact))) for path in (fact.path, fact.resolved))
    return any(under(fact.resolved, root) for root in mine) and not excepted


def _place(findings: Findings, action: Action, policy: Policy, text: str) -> None:
    url = place_of(text)
    findings.powers.add(Power.NETWORK)
    findings.sinks.add(Sink.NETWORK_SEND)
    findings.raise_risk(Risk.MEDIUM)
    if never := why_never(policy, action, url):
        rule = UNFIT if url.unfit or url.problem == NO_PLACE else RULE
        findings.forbid(rule, f"{cut_text(text, LONGEST)} cannot be reached: {never}", "connect HOST:PORT" if url.problem else OPEN_PLACE)
        return
    if findings.network and (not findings.hosts or url.place in findings.hosts):
        return  # the command reaches it already
    findings.ask(RULE, f"also connects to {url.place}")
    if not findings.network:
        findings.hosts = [url.place]
    else:
        findings.hosts.append(url.place)
    findings.network = True
