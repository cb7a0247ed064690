"""What the grammar says of itself."""

from collections.abc import Collection

SENTENCES = (
    ("list DIR", "list_files"),
    ("read FILE", "read_file"),
    ("search TEXT in PATH", "search_files"),
    ("find files PATTERN in DIR", "find_files"),
    ("write TEXT to FILE", "write_file"),
    ('edit FILE replace "OLD" with "NEW"', "edit_file"),
    ("delete FILE", "delete_file"),
    ("run COMMAND", "terminal"),
    ("fetch URL", "web_fetch"),
    ("remember TEXT", "remember"),
    ("recall TEXT", "recall"),
    ("calculate EXPR", "calculate"),
    ("system info", "system_info"),
    ("echo TEXT", "echo"),
    ("who are you", "about_me"),
    ("call TOOL {JSON}", ""),
    ("help", ""),
)
"""The sentences, and the tool each one proposes."""

WHAT = "I am NeuralClaw's offline grammar: fixed sentences, no language model. No key is needed and nothing is sent anywhere."
CONFIGURE = "For everything else a language model is needed: neuralclaw init sets one up."
HELLO = f"Hello. {WHAT} Say help for what I understand."
THANKS = "You are welcome."


def help_text(tools: Collection[str]) -> str:
    """The sentences; those whose tool is not among `tools` are marked."""
    lines = [f"  {words}{'' if not tool or tool in tools else '   (not available yet)'}" for words, tool in SENTENCES]
    notes = "Join steps with `then`; a step that fails stops those after it. Put quotes around a name with blanks, or a text that holds `then`."
    example = "Example: list . then read notes.md then calculate 6*7"
    return "\n".join([WHAT, "I understand:", *lines, notes, example, CONFIGURE])
