"""Commands that are promised and not available yet: one table for the command line and for `agent.do`. Nothing is imported here, for a quick start."""

NOUNS = (
    *("memory", "mcp", "schedule"),
    *("tasks", "plan", "souls", "agents", "prompts", "serve"),
)
VERBS: dict[str, tuple[str, ...]] = {}
"""Noun that is there -> those of its verbs that are not."""


ON_COMMAND_LINE = ("chat", "init", "completion")
"""Commands that are no verbs of the desk: they speak with a person or print for a shell."""


def is_later(noun: str, verb: str) -> bool:
    """Whether a command is promised and not available yet."""
    return noun in NOUNS or verb in VERBS.get(noun, ())
