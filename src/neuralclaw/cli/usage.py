"""The page that `neuralclaw --help` prints."""

from .help_layout import columns, fitted

HEAD = """\
usage: neuralclaw [--home DIR] [COMMAND …]

NeuralClaw is a personal agent: every action passes one gate, is on record, and survives a crash.
Without a command it opens the chat.
"""
OWN = {
    "run": ("run [TASK]", "do one task and print the answer; without TASK it is read from standard input"),
    "recover": ("recover", "finish every turn that was interrupted"),
    "init": ("init", "choose a model: finds what is there, asks, checks with a real call"),
    "doctor": ("doctor", "what works here, what is missing and how to get it"),
    "config": ("config", "show, check, set, schema, example, path: the settings and where they come from"),
    "policy": ("policy", "explain, check, simulate, rules: what is allowed, asked about or forbidden, and why"),
    "completion": ("completion SHELL", "print the script that completes commands in bash, zsh or fish"),
}
"""Noun -> how it is written, and what it does. The rows of capabilities say that of theirs; the chat is what there is without a command."""
REST = """\
  --home DIR          the data directory (else NEURALCLAW_HOME, else the XDG directories)
  --version           print the version
  COMMAND --help      options and an example

exit codes: 0 done, 1 failed, 2 wrong usage, 3 needs approval, 4 limit, 5 forbidden by policy,
78 configuration, 124 timed out, 130 cancelled

example:
  neuralclaw run "list ."\
"""


def page(order: list[str], built_in: dict[str, str], more: dict[str, str]) -> str:
    """The page: built-in commands in their order, those of built-in capabilities among them, and then those of the enabled ones: noun -> summary.

    Raises `KeyError` for a command of `order` that has no line.
    """
    own = OWN | {noun: (noun, summary) for noun, summary in built_in.items()}
    first = [f"  {written:18}  {summary}" for written, summary in (own[noun] for noun in order if noun != "chat")]
    width = max(18, *map(len, more)) if more else 18
    return fitted("\n".join([HEAD, *first, *(f"  {noun:{width}}  {summary}" for noun, summary in more.items()), "", REST]), columns())
