"""The examples of the owner's rules: each rule must match what it says that it matches, and nothing of what it says that it does not.

They are judged by the text of the call alone: no file, program or address is looked up, and what is relative lies in `WORKSPACE`.
"""

from collections.abc import Callable, Iterator

import msgspec

from ..types.actions import Action, Origin
from ..types.facts import FactSheet, PathFact, Wants
from ..types.options import OwnerRule, Policy, RuleExample
from ..types.risk import Decision
from ..types.tools import ToolSpec
from .analysis import Analysis, UnfitArgument, analyse
from .bounds import AnalysisBounds, Exceeded
from .command_line import CommandLine
from .paths import normal, person_home, under
from .rules import decide

WORKSPACE = "/workspace"
"""Where a call of an example is made that names no workspace."""
ADDRESS = "203.0.113.1"
"""What every host of an example is taken to lead to."""
STEPS = 400_000
"""Units of work on one example, some 10 ms: a longer command is no example."""
BY_OP = {"read": "read_file", "list": "list_files", "write": "write_file", "delete": "delete_file"}

SpecOf = Callable[[str], ToolSpec | None]
"""A tool by its name, or another name of it; None where it is not known before a turn begins."""


class FailedExample(msgspec.Struct, frozen=True):
    """An example that does not hold. `key` is its place in the settings: `safety.rules[2].match[0]`."""

    key: str
    text: str


class ExampleJudge:
    """Judges examples under one policy, which has the rules as the gate gets them. `shell` is `safety.shell.analyse`."""

    def __init__(self, policy: Policy, spec_of: SpecOf, shell: Callable[..., CommandLine]) -> None:
        self._policy, self._spec_of, self._shell = policy, spec_of, shell

    def failed(self, rules: tuple[OwnerRule, ...]) -> Iterator[FailedExample]:
        """Each example of these rules that does not hold, and what to do about it."""
        for number, rule in enumerate(rules):
            for name, wanted in (("match", True), ("not_match", False)):
                for place, example in enumerate(getattr(rule, name)):
                    problem = self._problem(self._policy.rules[number], example, wanted=wanted)
                    if problem:
                        yield FailedExample(f"safety.rules[{number}].{name}[{place}]", problem)

    def _problem(self, rule: OwnerRule, example: str | RuleExample, *, wanted: bool) -> str:
        """What is wrong with an example of a rule, "" where it holds."""
        call = example_of(example, rule)
        shown = shown_example(example)
        try:
            action = self._action(call, rule)
            analysis = analyse(action, self._policy, self._shell, AnalysisBounds(steps=STEPS))
        except (Exceeded, UnfitArgument, TypeError) as error:
            return f"the example {shown} of the rule {rule.id} cannot be judged: {error}. Change the example"
        alone = msgspec.structs.replace(self._policy, rules=(rule,))
        findings = decide(action, alone, analysis, assumed_facts(action, analysis.wants, self._policy))
        matched = any(match.id == f"owner.{rule.id}" for match in findings.matches)
        if matched and rule.decision is Decision.ALLOW and not findings.understood:
            matched = False  # it would answer nothing
        if matched is wanted:
            return ""
        why = self._why(rule, call, analysis) if wanted else ""
        verb = "must match" if wanted else "must not match"
        does = "does not" if wanted else "does"
        return f"the rule {rule.id} {verb} the example {shown} and {does}{why}: change the conditions of the rule, or take the example out"

    def _why(self, rule: OwnerRule, call: RuleExample, analysis: Analysis) -> str:
        """What is likely the reason that an example is not matched, as a part of the sentence."""
        line = analysis.line
        if call.tool is not None and self._spec_of(call.tool) is None and (rule.path or rule.host or rule.command or rule.power):
            return f" (of {call.tool}, which is not built in, only the name is known before it runs)"
        if rule.decision is Decision.ALLOW and line is not None and not (line.understood and not line.broken):
            return " (what it does cannot be worked out before it runs, and such a call is never simply allowed)"
        if rule.decision is Decision.ALLOW and rule.command:
            return " (a rule that allows needs the words as they are written, in each command of the line that does more than read)"
        return ""

    def _action(self, call: RuleExample, rule: OwnerRule) -> Action:
        home = person_home(self._policy)
        name, arguments = self._call(call, rule)
        spec = self._spec_of(name) or ToolSpec(name=name, description="", input_schema={})
        place = call.workspace or rule.workspace or WORKSPACE
        present = call.present if call.present is not None else bool(rule.present)
        return Action(
            session="example",
            turn=0,
            call_id="example",
            spec=spec,
            arguments=arguments,
            workspace=normal(home + place[1:] if place == "~" or place.startswith("~/") else place),
            origin=Origin(who=call.who or rule.who or "owner", present=present, channel=rule.channel or "" if call.channel is None else call.channel),
            soul=rule.soul or "" if call.soul is None else call.soul,
            labels=frozenset(label for label in (rule.label if call.label is None else call.label,) if label),
        )

    def _call(self, call: RuleExample, rule: OwnerRule) -> tuple[str, dict[str, object]]:
        """The tool and its arguments; a path or an address is given to the tool that the rule names, where that takes one."""
        if call.tool is not None:
            return call.tool, call.args
        if call.command is not None:
            return "terminal", {"command": call.command}
        if call.url is not None:
            name = self._taking(rule, ("url",)) or "web_fetch"
            return name, {"url": call.url if "://" in call.url else f"https://{call.url}/"}
        path = call.path or ""
        wanted = (call.op,) if call.op is not None else ("read", "list", "write", "delete")
        name = self._taking(rule, wanted) or BY_OP[call.op or "read"]
        return name, {"path": self._policy.home_dir + path[1:] if path == "~" or path.startswith("~/") else path}

    def _taking(self, rule: OwnerRule, kinds: tuple[str, ...]) -> str:
        """The tool of the rule, if one of its arguments is of these kinds."""
        spec = self._spec_of(rule.tool) if rule.tool else None
        return spec.name if spec is not None and any(touch.kind in kinds for touch in spec.touches) else ""


def example_of(example: str | RuleExample, rule: OwnerRule) -> RuleExample:
    """The example as a call. A text is a command, an address, a path or a tool's name: the first of them that the rule names."""
    if not isinstance(example, str):
        return example
    if rule.command:
        return RuleExample(command=example)
    if rule.host:
        return RuleExample(url=example)
    return RuleExample(path=example) if rule.path else RuleExample(tool=example)


def shown_example(example: str | RuleExample) -> str:
    """An example as it is told in an error."""
    if isinstance(example, str):
        return repr(example)
    said = {name: value for name, value in msgspec.to_builtins(example).items() if value is not None and value != {}}
    return f"{{{', '.join(f'{name}: {value!r}' for name, value in said.items())}}}"


def assumed_facts(action: Action, wants: Wants | None, policy: Policy) -> FactSheet:
    """What is assumed where nothing is looked up: no path leads anywhere else, every program is the system's, every host is a public one."""
    if wants is None:
        return FactSheet()
    roots = (action.workspace, *policy.allowed_paths)
    paths = tuple(
        PathFact(path=want.path, op=want.op, resolved=(real := normal(want.path)), exists=False, kind="missing", inside=any(under(real, r) for r in roots))
        for want in wants.paths
    )
    programs = {name: normal(name) if "/" in name else f"/usr/bin/{name}" for name in wants.programs}
    repositories: dict[str, tuple[PathFact, ...]] = dict.fromkeys(wants.repositories, ())
    return FactSheet(paths=paths, programs=dict(programs), addresses=dict.fromkeys(wants.hosts, (ADDRESS,)), repositories=repositories)
