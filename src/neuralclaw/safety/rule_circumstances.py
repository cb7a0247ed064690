"""The conditions of an owner's rule that are about the circumstances of a call: workspace, soul, origin, channel, and where content came from."""

from ..types.actions import Action
from ..types.options import OwnerRule
from ..types.risk import Decision


def holds(rule: OwnerRule, action: Action) -> bool:
    """Whether the call is made in the circumstances that the rule names; a circumstance that it does not name may be any."""
    origin = action.origin
    return (
        rule.soul in (None, action.soul)
        and rule.who in (None, origin.who)
        and rule.present in (None, origin.present)
        and rule.channel in (None, origin.channel)
        and rule.workspace in (None, action.workspace)
        and (rule.label is None or _labelled(rule.label, rule, action))
    )


def _labelled(label: str, rule: OwnerRule, action: Action) -> bool:
    """Whether something that was read has the label, or one below it: `external` holds for `external:web/example.com`. A rule that allows needs it of
    all that came from outside."""
    below = {name for name in action.labels if name == label or name.startswith((f"{label}:", f"{label}/"))}
    return bool(below) and (rule.decision is not Decision.ALLOW or all(name in below for name in action.labels if name.startswith("external")))
