"""Commands that capabilities bring: found under the settings of the home, parsed and shown by their rows."""

import argparse
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import anyio

from ..app.capabilities import Capabilities, capabilities_of
from ..app.settings_loading import load_settings
from ..capability import Capability, Verb
from ..config import process_environment
from ..errors import NeuralClawError
from ..plugins import CAPABILITIES, load, load_target
from . import capability_nouns, output, verb_rows
from .opening import opened_for
from .parsing import Command, unknown_noun


def loaded(home: str | None) -> Capabilities:
    """The capabilities that take part in this home; the cache of `--help` is made anew where it does not hold. Raises `ConfigError`."""
    found = capabilities_of(load_settings(home, process_environment.environ, None))
    if capability_nouns.cached(home) is None:
        _keep(home, found)
    return found


def _keep(home: str | None, found: Capabilities) -> None:
    told = [{"name": one.name, "version": one.version, "origin": one.origin, "nouns": nouns_of(one.capability)} for one in found.enabled]
    files = {getattr(sys.modules.get(verb.run.__module__), "__file__", None) for one in found.enabled for verb in one.capability.verbs}
    capability_nouns.keep(home, told, sorted(file for file in files if file))


def nouns_of(capability: Capability) -> dict[str, str]:
    """Noun -> the line that `--help` shows of it."""
    lines: dict[str, str] = {}
    for noun in dict.fromkeys(verb.name.partition(".")[0] for verb in capability.verbs):
        rows = [verb for verb in capability.verbs if verb.name.partition(".")[0] == noun]
        words = ", ".join(verb.name.partition(".")[2] for verb in rows)
        lines[noun] = f"{words}: {capability.summary}" if words else rows[0].summary
    return lines


def nouns(home: str | None) -> dict[str, str]:
    """Noun -> summary of every enabled capability. A configuration that cannot be read is said on standard error: the help is shown all the same."""
    known = capability_nouns.cached(home)
    if known is not None:
        return known
    try:
        return {noun: text for one in loaded(home).enabled for noun, text in nouns_of(one.capability).items()}
    except NeuralClawError as error:
        output.err().line(f"The commands of capabilities are not known: {error.text}", "yellow")
        return {}


def brings(home: str | None, noun: str) -> bool:
    """Whether an enabled capability brings this noun; no where the configuration cannot be read, of which nothing is said here."""
    known = capability_nouns.cached(home)
    try:
        return noun in (known if known is not None else loaded(home).nouns())
    except NeuralClawError:
        return False


def built_in_commands(noun: str | None = None) -> list[Command]:
    """The commands of the built-in capabilities, or those of one noun."""
    values: list[Capability] = [load_target(one.target) for one in CAPABILITIES.values() if noun is None or noun in one.nouns]
    return [command_of(row) for one in values for row in one.verbs if noun is None or row.name.partition(".")[0] == noun]


def installed_commands(noun: str, home: str | None, built_in: tuple[str, ...]) -> list[Command]:
    """The commands of a noun of a capability that is not built in. Raises `UsageError` for a noun that none brings, with the notices that say why."""
    found = loaded(home)
    rows = [verb for one in found.enabled for verb in one.capability.verbs if verb.name.partition(".")[0] == noun]
    if not rows:
        for left in found.left_out:
            output.err().line(left.told(), "yellow")
        raise unknown_noun(noun, (*built_in, *(noun for one in found.enabled for noun in nouns_of(one.capability))))
    return [command_of(row) for row in rows]


def command_of(row: Verb) -> Command:
    """The row as a command."""
    return Command(
        row.name.replace(".", " "),
        row.summary,
        example=verb_rows.example(row),
        run=partial(run_row, row),
        options=partial(verb_rows.add_arguments, row),
    )


def run_row(row: Verb, args: argparse.Namespace) -> int:
    """Run the verb with what the command line gave, and show its value; the exit code of the command."""
    given = verb_rows.arguments_given(row, args)
    if row.hidden or row.filters:
        given = load("verbs.input")(row, given)
    if row.progress is not None:
        return int(load("verbs.progress")(row, given, partial(_value, row, args), partial(shown_value, row, args, given)))
    return shown_value(row, args, given, anyio.run(_value, row, args, given, _notice))


def shown_value(row: Verb, args: argparse.Namespace, given: Mapping[str, Any], value: Any) -> int:
    """Show the value, and what of it failed; the exit code."""
    if row.filters:
        return 0
    if row.json_lines:
        for one in value:
            output.json_line(one)
    elif verb_rows.as_json(args):
        output.json_line(value)
    else:
        verb_rows.show(row, value, given)
    failures, err = verb_rows.failures_of(row, value), output.err()
    for failure in failures:
        err.trouble(failure.kind, failure.text)
        if failure.hint:
            err.line(f"   {failure.hint}", "dim")
    return 1 if failures or not (row.succeeded is None or row.succeeded(value)) else 0


def _notice(text: str) -> None:
    output.err().line(text, "yellow")


async def _value(row: Verb, args: argparse.Namespace, given: Mapping[str, Any], notice: Callable[[str], None]) -> Any:
    """What the verb gives."""
    async with opened_for(row, args, notice) as desk:
        return output.plain(await desk.do(row.name, **given))
