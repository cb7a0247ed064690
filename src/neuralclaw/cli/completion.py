"""`neuralclaw completion SHELL`: a script that completes commands, options and values; it is made from the rows of the commands."""

import argparse
import re
from importlib import import_module
from typing import Any, NamedTuple

import anyio

from .. import config
from ..app.capabilities import Capabilities
from ..config.process_environment import environ
from ..errors import NeuralClawError
from ..plugins import GROUPS, load
from . import output
from .capability_nouns import perhaps
from .capability_rows import built_in_commands, command_of, loaded
from .completion_scripts import SCRIPTS
from .main import built_in_nouns
from .opening import opened_record
from .parsing import Command, choice

_WORDS = re.compile(r"[a-z][a-z-]*(\|[a-z-]+)*")
_BY_NAME = {
    "session": "sessions",
    "resume": "sessions",
    "fork": "sessions",
    "approval_id": "approvals",
    "grant_id": "grants",
    "key": "settings",
    "model": "models",
    "models": "models",
    "fallback": "models",
}
_BY_METAVAR = {"DIR": "dirs", "FILE": "files", "PATH": "files"}
_RECORDED = {"sessions": "session", "approvals": "approval_id", "grants": "grant_id"}
KINDS = (*_RECORDED, "models", "settings")
"""Values that are looked up when they are completed."""


class CompletedValue(NamedTuple):
    """What can stand in one place: `kind` is `words`, `files`, `dirs`, one of `KINDS`, or "" for any text."""

    kind: str
    words: tuple[str, ...] = ()


class CompletedOption(NamedTuple):
    """An option with its spellings; `value` None: it takes none."""

    names: tuple[str, ...]
    value: CompletedValue | None
    help: str


class CompletedCommand(NamedTuple):
    """A command as completion sees it."""

    name: str
    summary: str
    options: tuple[CompletedOption, ...]
    places: tuple[CompletedValue, ...]


def offers(home: str | None = None) -> list[CompletedCommand]:
    """Every command with its options and the values of its places, those of the capabilities of this home last."""
    return [_offer(command) for command in (*built_in(), *_of_capabilities(home))]


def built_in() -> list[Command]:
    """The commands that need no enabled capability, in the order of the help."""
    found: list[Command] = []
    for noun in built_in_nouns():
        found += import_module(f"{__package__}.{GROUPS[noun]}").COMMANDS if noun in GROUPS else built_in_commands(noun)
    return found


def _of_capabilities(home: str | None) -> list[Command]:
    """The commands that capabilities bring; none, and a line on standard error, where the settings cannot be read."""
    if not perhaps(home):
        return []
    try:
        return [command_of(row) for one in loaded(home).enabled for row in one.capability.verbs]
    except NeuralClawError as error:
        output.err().line(f"The commands of capabilities are not completed: {error.text}", "yellow")
        return []


def _offer(command: Command) -> CompletedCommand:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--help", action="store_true", help="options and an example")
    parser.add_argument("--home", metavar="DIR", help="the data directory")
    parser.add_argument("--verbose", action="store_true", help="say more")
    if command.options is not None:
        command.options(parser)
    shown = [action for action in parser._actions if action.help != argparse.SUPPRESS]
    options = tuple(CompletedOption(tuple(one.option_strings), None if one.nargs == 0 else _value(one), one.help or "") for one in shown if one.option_strings)
    return CompletedCommand(command.name, command.summary, options, tuple(_value(one) for one in shown if not one.option_strings))


def _value(action: argparse.Action) -> CompletedValue:
    metavar = str(action.metavar or "")
    if _WORDS.fullmatch(metavar):
        return CompletedValue("words", tuple(metavar.split("|")))
    return CompletedValue(_BY_NAME.get(action.dest) or _BY_METAVAR.get(metavar, ""))


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="|".join(SCRIPTS), nargs="?", type=choice(*SCRIPTS), help="the shell that the script is for")
    parser.add_argument("--values", type=choice(*KINDS), help=argparse.SUPPRESS)


def _completion(args: argparse.Namespace) -> int:
    if args.values:
        for name in values(args.home, args.values):
            output.out().line(name)
    else:
        output.out().write(SCRIPTS[args.shell or _own_shell()](offers(args.home)))
    return 0


def _own_shell() -> str:
    """The shell that the person uses, as far as it is known."""
    name = environ.get("SHELL", "").rpartition("/")[2]
    return name if name in SCRIPTS else "bash"


def values(home: str | None, kind: str) -> list[str]:
    """The values of that kind which are there now. Nothing is written and no service is asked."""
    if kind == "models":
        return models(home)
    if kind == "settings":
        return [value.key for value in config.load(home=home, environ=environ, extensions=Capabilities.load).values]
    return anyio.run(_recorded, home, kind)


async def _recorded(home: str | None, kind: str) -> list[str]:
    """Sessions, questions that wait, or standing grants, as they stand in the record."""
    async with opened_record(home) as desk:
        rows: list[dict[str, Any]] = await desk.do(f"{kind}.list")
    return [row[_RECORDED[kind]] for row in rows]


def models(home: str | None) -> list[str]:
    """The models that are set, and the default of each service that is ready. No service is asked, so that it is known at once."""
    settings = config.load(home=home, environ=environ, extensions=Capabilities.load)
    providers = {name: {"models": told.models} for name, told in settings.settings.llm.providers.items()}
    known = load("provider.known")
    names = [f"{name}:{model}" for name, told in providers.items() for model in told["models"] or {}]
    names += [f"{name}:{known[name].model}" for name in load("provider.with_key")({}, settings.env) if name in known]
    return [*dict.fromkeys([*names, "offline"])]


COMMANDS = (
    Command(
        "completion",
        "Print the script that completes commands, options, sessions and models in your shell.",
        example='eval "$(neuralclaw completion bash)"   # in ~/.bashrc; zsh the same; fish: neuralclaw completion fish | source',
        run=_completion,
        options=_options,
    ),
)
