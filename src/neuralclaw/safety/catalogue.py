"""All built-in rules with what they decide and why, and the owner's in the same form: what `policy rules` shows."""

from typing import Any

import msgspec

from ..types.options import OwnerRule, Policy
from ..types.risk import Decision
from .blocks import TABLE
from .findings import AUTO_RULES
from .owner_rules import described

CONDITIONS = ("tool", "command", "path", "host", "power", "label", "soul", "who", "present", "channel", "workspace", "exact")

OTHERS = (
    ("gate.error", "forbid", "the safety check itself failed"),
    ("tool.unknown", "forbid", "the tool is not known"),
    ("gate.asked_again", "forbid", "the safety check asks again what was answered with a yes"),
    ("approval.no", "forbid", "a person said no to this very call"),
    (
        "path.outside",
        "ask",
        "it reads, changes or runs what lies outside the workspace and the allowed paths; public places of the system are read",
    ),
    ("path.protected", "forbid", "the agent's own data is not touched by any call"),
    ("path.special", "forbid", "it is no regular file or directory"),
    ("path.secrets", "forbid", "keys and passwords are kept there; in the workspace and the allowed paths it asks"),
    ("path.readonly", "ask", "a home directory or / is too much to be a writable workspace unasked"),
    ("path.instructions", "ask", "later turns take an AGENTS.md as instructions"),
    ("path.later_run", "ask", "a call names a file that git, a shell or an editor runs later, and changes it"),
    ("url.refused", "forbid", "only plain http and https addresses are fetched"),
    ("url.unfit", "forbid", "it is no web address; an error to the model, not a refusal"),
    ("argument.unfit", "forbid", "a path, address or command holds a zero byte; an error to the model, not a refusal"),
    ("access.unfit", "forbid", "what a command asks for cannot be read, or is not there; an error to the model, not a refusal"),
    ("access", "ask", "a command asks for what its sandbox refused; what is refused to every call is forbidden"),
    ("network.refused", "forbid", "a command names only places that no command reaches: this machine, its own network, metadata services"),
    ("url.unresolved", "forbid", "the host has no address"),
    ("url.address", "forbid", "private, loopback, link-local and metadata addresses are not connected to"),
    ("url.released", "allow", "a rule of the owner opens this host, which is inside: private networks and this machine, never metadata services"),
    ("secret.given", "ask", "a stored secret that goes to a program or a host is asked about every time"),
    ("secret.unknown", "forbid", "there is no stored secret of that name"),
    ("secret.unfit", "forbid", "it is no reference to a secret, or a variable or header that no call may give; an error to the model, not a refusal"),
    ("secret.refused", "forbid", "a secret is given by its name alone, and sent over https, or to a host inside that the owner opened"),
    ("shell.strict", "forbid", "with tools.terminal.shell strict: one program, no operators"),
    ("shell.bounds", "ask", "the command is too long, too deep or grows too much to work out what it does; one of more than 256,000 characters is forbidden"),
    ("shell.syntax", "ask", "the command cannot be read as shell code"),
    ("shell.unconfined", "ask", "no sandbox holds commands, and it is more than one program that reads, run without a shell"),
    ("shell.unclear", "ask", "no sandbox holds commands, and what it does cannot be worked out: only a person's yes to this very call runs it"),
    (
        "program.unlisted",
        "ask",
        "the program is not on the list, and it neither only reads nor is held by a sandbox under undo; safety.unlisted_commands forbids",
    ),
    (
        "flow.external",
        "ask",
        "content from outside is in play, the call sends, writes outside or runs code, and the owner's own words do not fix recipient, path, address or amount",
    ),
    (
        "flow.value",
        "ask",
        "the call sends, writes outside or runs code with a value that reading mode took from outside, and the owner's own words do not name it",
    ),
    (
        "flow.private",
        "ask",
        "a web address was composed after private data was read: with content from outside in play, or with a piece of that data in it",
    ),
    ("tool.confirmation", "ask", "the tool is configured to ask every time"),
    ("risk.low", "ask", "its risk is in safety.require_confirmation_for"),
    ("risk.medium", "ask", "its risk is in safety.require_confirmation_for"),
    ("risk.high", "ask", "its risk is in safety.require_confirmation_for"),
    ("risk.critical", "ask", "its risk is in safety.require_confirmation_for"),
    ("tier.read", "ask", "its tier is above what the trust level allows"),
    ("tier.write", "ask", "its tier is above what the trust level allows"),
    ("tier.execute", "ask", "its tier is above what the trust level allows"),
    ("tier.system-critical", "ask", "what changes the system itself always asks"),
)


def rules() -> list[dict[str, str | None]]:
    """Every built-in rule, those that forbid for good first."""
    shown: list[dict[str, str | None]] = [{"id": rule.id, "decision": "forbid", "reason": rule.reason, "alternative": rule.alternative} for rule in TABLE]
    shown += [{"id": name, "decision": decision, "reason": reason, "alternative": None} for name, decision, reason in OTHERS]
    return shown


def in_force(policy: Policy) -> list[dict[str, Any]]:
    """The owner's rules, then the built-in ones, each with the same fields. `silences`: the built-in questions that a rule which allows answers."""
    none: dict[str, Any] = dict.fromkeys(CONDITIONS)
    return [*(_shown(rule) for rule in policy.rules), *({**rule, **none, "silences": []} for rule in rules())]


def _shown(rule: OwnerRule) -> dict[str, Any]:
    fields = msgspec.to_builtins(rule)
    silences = sorted(AUTO_RULES) if rule.decision is Decision.ALLOW else []
    told = {"id": f"owner.{rule.id}", "decision": str(rule.decision), "reason": rule.reason or described(rule), "alternative": rule.alternative}
    return {**told, **{name: fields[name] for name in CONDITIONS}, "exact": fields["exact"] or None, "silences": silences}
