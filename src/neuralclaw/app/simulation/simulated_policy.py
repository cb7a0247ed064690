"""`policy simulate`: the actions on record, decided by the rules in force and by those of a file. Nothing runs, nothing is written, no host is looked up."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from ...capability import TurnContext
from ...config.policyfile import PolicyFile, read
from ...errors import ToolValidationError, UsageError
from ...ports import Facts
from ...types.actions import Action
from ...types.entries import rfc3339
from ...types.facts import FactSheet, Wants
from ...types.grants import StandingGrant
from ...types.options import Policy
from ...types.risk import Decision
from ...types.tools import ToolSpec
from ...types.verdicts import Verdict
from ..explain import made
from ..home import Home
from ..settings_loading import failed_examples
from .recorded_actions import ActionSelection, RecordedAction, RecordedActions, moment_of

SAMPLES = 5
"""Samples of each change that are shown where nothing else is said."""
PUBLIC = ("1.1.1.1",)
"""Where every host name is taken to lead: to a public address."""
LONGEST = 200
"""Characters of an action that a sample shows."""
CHANGES = {Decision.ALLOW: "allowed", Decision.ASK: "asked", Decision.FORBID: "forbidden"}
NO_TOOL = "there is no tool of its name here now"
UNFIT = "its arguments do not fit the tool as it is now"
NOTES = (
    "Files, programs, the sandbox, undo, labels of files and standing grants are those of now.",
    "No host is looked up: each name is taken to lead to a public address.",
)
_FACTS = ("allowed_paths", "protected_paths", "secrets", "own_places", "hook_files", "home_dir")
"""What the facts about an action depend on."""


class SharedFacts:
    """Facts that two gates look up about the same action: once, so that both judge the same."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._last: tuple[Action, Wants, FactSheet] | None = None

    async def look(self, action: Action, wants: Wants) -> FactSheet:
        """See `ports.Facts`."""
        if self._last is None or self._last[0] is not action or self._last[1] != wants:
            self._last = action, wants, await self._facts.look(action, wants)
        return self._last[2]


async def public_address(host: str) -> Sequence[str]:
    """In place of a look-up."""
    return PUBLIC


class ActionJudge:
    """Judges actions on record under the policy of the home and under another one."""

    def __init__(self, home: Home, policy: Policy) -> None:
        self._home = home
        now = SharedFacts(home.facts_of(home.policy, resolver=public_address))
        same = all(getattr(policy, name) == getattr(home.policy, name) for name in _FACTS)
        self._now = home.gate_of(home.policy, now)
        self._then = home.gate_of(policy, now if same else home.facts_of(policy, resolver=public_address))
        self._grants: tuple[tuple[str, str], list[StandingGrant]] = (("", ""), [])
        self._brought: tuple[str, Any] = ("", None)

    async def judge(self, one: RecordedAction) -> tuple[Action, Verdict, Verdict] | str:
        """The action and the two verdicts, or why it cannot be judged."""
        action = await self.action_of(one)
        if isinstance(action, str):
            return action
        standing = await self._standing(one.session, one.around.workspace)
        return action, await self._now.judge(action, standing), await self._then.judge(action, standing)

    async def action_of(self, one: RecordedAction) -> Action | str:
        """The action as it would be judged now, or why it cannot be."""
        spec, tools = await self._spec(one)
        if spec is None:
            return NO_TOOL
        try:
            return made(spec, tools.prepare(spec.name, one.call.arguments), one.around)
        except ToolValidationError:
            return UNFIT

    async def _spec(self, one: RecordedAction) -> tuple[ToolSpec | None, Any]:
        """The tool, and the tools that it is one of; capabilities are asked once a session, and only for a name that is none of the built-in ones."""
        tools: Any = self._home.tools
        if (spec := tools.find(one.call.name)) is None:
            if self._brought[0] != one.session:
                options = msgspec.structs.replace(one.options, tools=None)
                self._brought = one.session, await self._home.turn_tools(TurnContext(session=one.session, options=options))
            tools = self._brought[1]
            spec = tools.find(one.call.name)
        return spec, tools

    async def _standing(self, session: str, workspace: str) -> list[StandingGrant]:
        if self._grants[0] != (session, workspace):
            self._grants = (session, workspace), await self._home.store.grants(session, workspace)
        return self._grants[1]


class SimulationCounts:
    """The counts and samples of a simulation."""

    def __init__(self, samples: int) -> None:
        self._most = samples
        self.judged = self.same = self.otherwise = 0
        self.newly: Counter[Decision] = Counter()
        self.rules: Counter[tuple[str, str]] = Counter()
        self.samples: dict[Decision, list[dict[str, Any]]] = {decision: [] for decision in CHANGES}

    def add(self, one: RecordedAction, now: Verdict, then: Verdict) -> None:
        """Count an action that was judged twice."""
        self.judged += 1
        self.otherwise += now.decision is not one.decision.decision
        if now.decision is then.decision:
            self.same += 1
            return
        self.newly[then.decision] += 1
        shown = self.samples[then.decision]
        if len(shown) < self._most:
            shown.append(sample(one, now, then))

    def shown(self) -> list[dict[str, Any]]:
        """The samples: what is newly allowed first, since it needs the most attention."""
        return [one for decision in CHANGES for one in self.samples[decision]]


def sample(one: RecordedAction, now: Verdict, then: Verdict) -> dict[str, Any]:
    """An action that is decided otherwise, as `--json` shows it."""
    return {
        "change": CHANGES[then.decision],
        "call": one.name,
        "time": rfc3339(one.time),
        "tool": one.call.name,
        "action": shown_action(one),
        "workspace": one.around.workspace,
        "recorded": str(one.decision.decision),
        "from": deciding(now),
        "to": deciding(then),
    }


def deciding(verdict: Verdict) -> dict[str, Any]:
    """The decision and the rule that made it; `rule` None where none matched."""
    first = next((rule for rule in verdict.rules if rule.decision is verdict.decision), None)
    return {"decision": str(verdict.decision), "rule": first.id if first is not None else None, "reason": first.reason if first is not None else ""}


def shown_action(one: RecordedAction) -> str:
    """The command, address or path of a call, else its arguments; cut where it is long."""
    arguments = one.call.arguments
    said = next((str(arguments[name]) for name in ("command", "url", "path") if arguments.get(name) is not None), None)
    text = said if said is not None else msgspec.json.encode(arguments).decode()
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def policy_of_file(home: Home, path: str, *, add: bool) -> tuple[Policy, PolicyFile]:
    """The policy of the home with what the file says in place of it, or behind it. Raises `UsageError`."""
    said, problems = read(path, failed_examples, home.loaded.env.get("HOME", ""))
    if said is None:
        raise UsageError(f"the policy file cannot be used: {'; '.join(problems)}; nothing was judged", hint=f"neuralclaw policy check {path}")
    settings = home.loaded.settings
    if add and said.form != "rules":
        raise UsageError("--add takes a file that is a list of rules; this one is a configuration, which stands in place of the one in force")
    if said.form == "whole":
        return home.policy_of(said.settings), said
    values: dict[str, Any] = (
        {name: getattr(said.settings.safety, name) for name in said.keys} if said.form == "section" else {"rules": said.settings.safety.rules}
    )
    if add:
        known = {rule.id for rule in settings.safety.rules}
        if twice := [rule.id for rule in values["rules"] if rule.id in known]:
            raise UsageError(f"a rule with the id {twice[0]} is in force already; nothing was judged", hint="give the rule in the file another id")
        values["rules"] = (*settings.safety.rules, *values["rules"])
    return home.policy_of(msgspec.structs.replace(settings, safety=msgspec.structs.replace(settings.safety, **values))), said


async def run_simulation(home: Home, policy: Policy, chosen: ActionSelection, samples: int = SAMPLES) -> dict[str, Any]:
    """What the policy would decide otherwise about the chosen actions."""
    judge, outcome, actions = ActionJudge(home, policy), SimulationCounts(samples), RecordedActions(home.store, chosen)
    left_out: Counter[str] = Counter()
    looked = 0
    async for one in actions:
        looked += 1
        found = await judge.judge(one)
        if isinstance(found, str):
            left_out[found] += 1
        else:
            outcome.add(one, found[1], found[2])
    left_out += actions.left_out
    return {
        "sessions": actions.sessions,
        "actions": looked + actions.left_out.total(),
        "judged": outcome.judged,
        "same": outcome.same,
        "newly": {word: outcome.newly[decision] for decision, word in CHANGES.items()},
        "otherwise_than_recorded": outcome.otherwise,
        "samples": outcome.shown(),
        "not_judged": [{"why": why, "count": count} for why, count in sorted(left_out.items())],
        "damaged": {"count": actions.damaged_count, "entries": actions.damaged},
        "erased": actions.erased_count,
        "notes": list(NOTES),
    }


async def simulate(home: Home, file: str, chosen: ActionSelection, *, add: bool, samples: int) -> dict[str, Any]:
    """See `PolicyVerbs.simulate`."""
    policy, said = policy_of_file(home, file, add=add)
    found = await run_simulation(home, policy, chosen, samples)
    return {"file": file, "form": said.form, "added": add, **found}


def selection(home: Home, session: str | None, since: str | None, limit: int | None) -> ActionSelection:
    """Which actions are meant. Raises `UsageError`."""
    return ActionSelection(session=session, since=moment_of(since, home.clock), limit=limit)
