"""Which narrow rule or grant answers a question that a person answered with yes: the same words in the same workspace, and never what must not get a
standing yes."""

import re
from posixpath import dirname, relpath
from typing import Any

import msgspec

from ...errors import UsageError
from ...safety.findings import ANSWERED, AUTO_RULES
from ...safety.interpreters import INTERPRETERS, unversioned
from ...types.actions import Action
from ...types.events import ApprovalRequested
from ...types.grants import Scope
from ...types.options import OwnerRule, Policy
from ...types.risk import Decision, Power, Risk, Sink
from ...types.verdicts import Verdict
from ..record.giving_grants import place_of

NEVER = frozenset({Power.DELETE, Power.PRIVILEGE})
HELD_HOOKS = frozenset({"git"})
"""Programs that run code of the workspace only from places where writing asks, and which are read-only in the sandbox."""
OTHER = "it asks for more than its risk, its tier or its program"
NOT_UNDERSTOOD = "it could not be understood completely"
DELETES = "it deletes, or takes more rights"
RUNS_CODE = "it runs code that may be another one the next time"
NETWORK = "it sends or gets something over the network, which its words do not fix"
SEVERAL = "it is more than one plain command, or its words are no fixed text"
NO_RULE = "no narrow rule describes it"
_WORD = re.compile(r"[^\s*?\[\]{}|&;<>()`\"'\\$~#!^]+")
_PATH = re.compile(r"[^*?$\x00-\x1f]+")


class SuggestedRule(msgspec.Struct, frozen=True):
    """A rule that allows exactly what was asked, or a place to grant: `grant` is its operation and directory."""

    rule: OwnerRule | None = None
    grant: tuple[str, str] | None = None
    workspace: str = ""

    @property
    def key(self) -> str:
        """What two questions share that the same rule or grant answers."""
        return msgspec.json.encode((self.rule, self.grant, self.workspace), order="deterministic").decode()

    @property
    def scope(self) -> Scope:
        """What the grant covers."""
        assert self.grant is not None, "asked of grants alone"
        return Scope("below", self.grant[1], self.grant[0])


def suggested(action: Action, verdict: Verdict, asked: ApprovalRequested, policy: Policy) -> SuggestedRule | str:
    """The rule or grant, or why there is none for this question."""
    if not verdict.understood:
        return NOT_UNDERSTOOD
    if NEVER & {*verdict.powers} or verdict.risk is Risk.CRITICAL or Sink.SELF in verdict.sinks:
        return DELETES
    asks = {rule.id for rule in verdict.rules if rule.decision is Decision.ASK} - ANSWERED
    in_command = any(touch.kind == "command" for touch in action.spec.touches)
    if asks - AUTO_RULES:
        return _grant(action, verdict, policy) if asks <= AUTO_RULES | {"path.outside"} and not in_command else OTHER
    if not action.spec.built_in:
        return NO_RULE
    return _of_command(action, verdict, asked) if in_command else _of_path(action, verdict)


def _of_command(action: Action, verdict: Verdict, asked: ApprovalRequested) -> SuggestedRule | str:
    """A rule with the words of the command and no others."""
    if len(verdict.commands) != 1 or verdict.commands[0].via or any(action.arguments.get(name) for name in ("env_vars", "working_dir", "access")):
        return SEVERAL
    (command,) = verdict.commands
    words = command.argv
    if not words or not all(_WORD.fullmatch(word) for word in words) or str(action.arguments.get("command", "")).split() != list(words):
        return SEVERAL
    held = words[0] in HELD_HOOKS
    if Power.NETWORK in verdict.powers and not held:
        return NETWORK
    if asked.action.files or "/" in words[0] or unversioned(words[0]) in INTERPRETERS or (Power.EXECUTE in verdict.powers and not held):
        return RUNS_CODE
    text = " ".join(words)
    rule = OwnerRule(id="", decision=Decision.ALLOW, command=text, exact=True, workspace=action.workspace, match=(text,))
    return SuggestedRule(rule, workspace=action.workspace)


def _of_path(action: Action, verdict: Verdict) -> SuggestedRule | str:
    """A rule for the tool and this very file."""
    path = verdict.resolved
    if path is None or not verdict.inside or not _PATH.fullmatch(path) or {touch.kind for touch in action.spec.touches} - {"read", "write", "list"}:
        return NO_RULE
    named = relpath(path, action.workspace) if path.startswith(f"{action.workspace}/") else path
    rule = OwnerRule(id="", decision=Decision.ALLOW, tool=action.spec.name, path=named, workspace=action.workspace, match=(named,))
    return SuggestedRule(rule, workspace=action.workspace)


def _grant(action: Action, verdict: Verdict, policy: Policy) -> SuggestedRule | str:
    """A grant for the directory of a file outside."""
    kinds = {touch.kind for touch in action.spec.touches}
    if verdict.resolved is None or kinds - {"read", "write", "list"} or not action.spec.built_in:
        return OTHER
    op = "write" if "write" in kinds else "read"
    place = verdict.resolved if kinds == {"list"} else dirname(verdict.resolved)
    try:
        return SuggestedRule(grant=(op, place_of(place, op, policy, action.workspace)), workspace=action.workspace)  # type: ignore[arg-type]  # a PlaceOp
    except UsageError:
        return OTHER


def named(rule: OwnerRule, count: int, taken: set[str]) -> OwnerRule:
    """The rule with an id of its own, and the reason that it is there for."""
    said = rule.command or f"{rule.tool} {rule.path}"
    stem = "yes-" + (re.sub(r"[^a-z0-9]+", "-", said.lower()).strip("-")[:40].strip("-") or "rule")
    name = next(one for number in range(1, 10_000) if (one := stem if number == 1 else f"{stem}-{number}") not in taken)
    taken.add(name)
    times = "once" if count == 1 else f"{count} times"
    return msgspec.structs.replace(rule, id=name, reason=f"you said yes {times} to {said} in {rule.workspace}")


def yaml_of(rules: list[OwnerRule]) -> str:
    """The rules as a file that `policy check` and `policy simulate` take."""
    return "".join(_yaml_rule(rule) for rule in rules) or "[]\n"


def written(rule: OwnerRule) -> dict[str, Any]:
    """The fields of a rule that say something, as a file has them."""
    said = {field.name for field in msgspec.structs.fields(rule) if field.required or getattr(rule, field.name) != field.default}
    return {name: value for name, value in msgspec.to_builtins(rule).items() if name in said}


def _yaml_rule(rule: OwnerRule) -> str:
    fields = written(rule).items()
    return "".join(f"{'- ' if number == 0 else '  '}{name}: {_scalar(name, value)}\n" for number, (name, value) in enumerate(fields))


def _scalar(name: str, value: Any) -> str:
    """A value as YAML: names of ours as they are, everything else as JSON, which YAML reads."""
    if name in ("id", "decision", "tool"):
        return str(value)
    text = msgspec.json.encode(value).decode()
    return "".join(one if one.isprintable() else f"\\U{ord(one):08x}" for one in text)
