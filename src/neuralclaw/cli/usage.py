"""The page that `neuralclaw --help` prints."""

TOP = """\
usage: neuralclaw [--home DIR] [COMMAND …]

NeuralClaw is a personal agent: every action passes one gate, is on record, and survives a crash.
Without a command it opens the chat.

  run [TASK]          do one task and print the answer; without TASK it is read from standard input
  recover             finish every turn that was interrupted
  init                choose a model: finds what is there, asks, checks with a real call
  doctor              what works here, what is missing and how to get it
  config              show, check, set, schema, path: the settings and where they come from
  sessions            list, show, send, cancel: what was said and done, and a word to it
  approvals           list, show, answer: questions that wait for you
  grants              list, revoke: the answers that hold for a session or a workspace
  tools               list, show, call: what the agent can do, each call through the gate
  policy              explain, check, rules: what is allowed, asked about or forbidden, and why
  audit               verify, show, export: the record of everything
  completion SHELL    print the script that completes commands in bash, zsh or fish

  --home DIR          the data directory (else NEURALCLAW_HOME, else the XDG directories)
  --version           print the version
  COMMAND --help      options and an example

exit codes: 0 done, 1 failed, 2 wrong usage, 3 needs approval, 4 limit, 5 forbidden by policy,
78 configuration, 124 timed out, 130 cancelled

example:
  neuralclaw run "list ."\
"""


def page(built_in: dict[str, str], more: dict[str, str]) -> str:
    """The page with the commands of built-in capabilities and of the enabled ones: noun -> summary."""
    width = max(18, *map(len, more)) if more else 18
    first = "".join(f"  {noun:18}  {summary}\n" for noun, summary in built_in.items())
    last = "".join(f"  {noun:{width}}  {summary}\n" for noun, summary in more.items())
    return TOP.replace("  sessions ", f"{first}  sessions ", 1).replace("\n  --home DIR ", f"{last}\n  --home DIR ", 1)
