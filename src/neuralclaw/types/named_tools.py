"""Names of tools in the owner's rules that no tool has."""

from collections.abc import Iterator, Sequence, Set

from .options import OwnerRule
from .suggestions import did_you_mean


def idle_rules(rules: Sequence[OwnerRule], known: Set[str]) -> Iterator[str]:
    """A sentence for each rule about a tool that is not there: it holds for no call. A tool of an MCP server (`SERVER::TOOL`) is not known before its server
    is asked, and is taken as it stands."""
    for rule in rules:
        if rule.tool is not None and "::" not in rule.tool and rule.tool not in known:
            near = did_you_mean(rule.tool, sorted(known)) or "."
            yield f"The rule {rule.id} names the tool {rule.tool!r}, which is not there, and holds for no call{near}"
