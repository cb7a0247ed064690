"""`policy suggest`: rules and grants that would have spared questions which a person answered with yes. Nothing is applied."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from ...config.semantics import rule_problems
from ...types.grants import StandingGrant
from ...types.labels import is_external
from ...types.options import OwnerRule, Policy
from ...types.risk import Decision
from ..home import Home
from ..settings_loading import failed_examples
from .recorded_actions import ActionSelection, RecordedAction, RecordedActions
from .simulated_policy import NOTES, ActionJudge, run_simulation
from .suggested_rules import SuggestedRule, named, suggested, written, yaml_of

LEAST = 3
"""Yeses before something is suggested, where nothing else is said."""
MOST, MOST_GROUPS, MOST_CALLS = 50, 5_000, 5
"""Suggestions, different questions that are kept apart, and calls that each suggestion names."""
NO_PERSON = frozenset("auto policy agent schedule nobody withdrawn expired cancelled unreadable".split())
"""Answers of these are nobody's word: a mode or the program itself answered."""
EXTERNAL = "content from outside was in play"
YES = ("once", "session", "always")
SETTLED = "it is allowed by now"
FORBIDDEN = "it is forbidden by now"
REFUSED = "you said no to the same as well"
TOO_FEW = "fewer yeses than --least"
TOO_MANY = "there are more different questions than are kept apart"
RULES_NOTE = "A rule that allows holds from then on also while content from outside is in play; a yes that was given then is not counted here."
NO_EFFECT = "the rule or grant would not answer it"


class AnsweredQuestions(msgspec.Struct):
    """The questions that one suggestion answers."""

    found: SuggestedRule
    yes: int = 0
    no: int = 0
    calls: list[str] = msgspec.field(default_factory=list)


class Suggestions:
    """Collects answers, and makes suggestions of them."""

    def __init__(self, home: Home, chosen: ActionSelection, least: int) -> None:
        self._home, self._chosen, self._least = home, chosen, least
        self._judge = ActionJudge(home, home.policy)
        self._groups: dict[str, AnsweredQuestions] = {}
        self.questions = 0
        self.left_out: Counter[str] = Counter()
        self.actions = RecordedActions(home.store, chosen)

    async def collect(self) -> None:
        """Look at every answer of a person."""
        async for one in self.actions:
            if one.question is not None and one.answer is not None and one.answer.by not in NO_PERSON and one.answer.decision is not None:
                self.questions += 1
                if why := await self._add(one):
                    self.left_out[why] += 1

    async def _add(self, one: RecordedAction) -> str:
        """Put the answer to those that the same suggestion answers; why there is none, else ""."""
        judged = await self._judge.judge(one)
        if isinstance(judged, str):
            return judged
        action, verdict, _ = judged
        if verdict.decision is not Decision.ASK:
            return SETTLED if verdict.decision is Decision.ALLOW else FORBIDDEN
        assert one.question is not None, "only answers to questions come here"
        assert one.answer is not None, "only answers come here"
        found = suggested(action, verdict, one.question, self._home.policy)
        if isinstance(found, str):
            return found
        if one.answer.decision in YES and is_external(action.labels):
            return EXTERNAL
        if found.grant is not None and not await self._judge.spared(action, await self._standing(one, found)):
            return NO_EFFECT
        if found.key not in self._groups and len(self._groups) >= MOST_GROUPS:
            return TOO_MANY
        group = self._groups.setdefault(found.key, AnsweredQuestions(found))
        if one.answer.decision not in YES:
            group.no += 1
            return ""
        group.yes += 1
        if len(group.calls) < MOST_CALLS:
            group.calls.append(one.name)
        return ""

    async def _standing(self, one: RecordedAction, found: SuggestedRule) -> list[StandingGrant]:
        """The grants of the session with the suggested one."""
        workspace = one.around.workspace
        added = StandingGrant(
            grant_id="suggested",
            lasts="always",
            session="",
            turn=0,
            workspace=workspace,
            tool="",
            covers="",
            by="",
            since="",
            scopes=(found.scope,),
        )
        return [*await self._home.store.grants(one.session, workspace), added]

    def chosen(self) -> list[AnsweredQuestions]:
        """The suggestions, those that spare most first."""
        found = []
        for group in self._groups.values():
            if group.no:
                self.left_out[REFUSED] += group.yes + group.no
            elif group.yes < self._least:
                self.left_out[TOO_FEW] += group.yes
            else:
                found.append(group)
        return sorted(found, key=lambda group: (-group.yes, group.found.key))[:MOST]


def usable(home: Home, groups: Sequence[AnsweredQuestions]) -> tuple[list[tuple[OwnerRule, AnsweredQuestions]], Policy]:
    """The rules of the suggestions that the configuration takes, and the policy with them."""
    settings = home.loaded.settings
    taken = {rule.id for rule in settings.safety.rules}
    pairs = [(named(group.found.rule, group.yes, taken), group) for group in groups if group.found.rule is not None]

    def with_rules(rules: Sequence[OwnerRule]) -> Any:
        return msgspec.structs.replace(settings, safety=msgspec.structs.replace(settings.safety, rules=(*settings.safety.rules, *rules)))

    before = len(settings.safety.rules)
    tried = with_rules([rule for rule, _ in pairs])
    bad = {number - before for number, _ in rule_problems(tried)}
    bad |= {int(key.split("[")[1].split("]")[0]) - before for key, _ in failed_examples(tried, home.loaded.env.get("HOME", ""))}
    good = [pair for number, pair in enumerate(pairs) if number not in bad]
    return good, home.policy_of(with_rules([rule for rule, _ in good]))


async def suggest(home: Home, chosen: ActionSelection, *, least: int) -> dict[str, Any]:
    """See `PolicyVerbs.suggest`."""
    found = Suggestions(home, chosen, least)
    await found.collect()
    groups = found.chosen()
    pairs, policy = usable(home, groups)
    simulated = await run_simulation(home, policy, chosen, samples=0)
    allowed: dict[str, int] = simulated.pop("allowed_by")
    for rule, group in pairs:
        if not allowed.get(f"owner.{rule.id}"):
            found.left_out[NO_EFFECT] += group.yes
    kept = [(rule, group) for rule, group in pairs if allowed.get(f"owner.{rule.id}")]
    grants = [group for group in groups if group.found.grant is not None]
    actions = found.actions
    return {
        "questions": found.questions,
        "spared": sum(group.yes for _, group in kept) + sum(group.yes for group in grants),
        "rules": [{"rule": written(rule), "questions": group.yes, "calls": group.calls} for rule, group in kept],
        "grants": [_grant(group) for group in grants],
        "yaml": yaml_of([rule for rule, _ in kept]),
        "simulated": {name: simulated[name] for name in ("judged", "same", "newly")},
        "not_suggested": [{"why": why, "count": count} for why, count in sorted(found.left_out.items())],
        "damaged": {"count": actions.damaged_count, "entries": actions.damaged},
        "notes": [*NOTES, RULES_NOTE],
    }


def _grant(group: AnsweredQuestions) -> dict[str, Any]:
    assert group.found.grant is not None, "asked of grants alone"
    op, path = group.found.grant
    return {"op": op, "path": path, "workspace": group.found.workspace, "questions": group.yes, "calls": group.calls}
