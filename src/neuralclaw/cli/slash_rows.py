"""The slash commands that capabilities bring: the same rows as their subcommands, for the chat that is open."""

import argparse
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ..app.capabilities import Capabilities
from ..capability import Verb
from ..errors import UsageError
from ..foreign_code import run_foreign_command
from ..types.suggestions import did_you_mean
from . import output, verb_rows
from .capability_rows import command_of
from .conversation import Chat, SlashCommand
from .parsing import arguments_of, asks_for_help, slash_help

_INSTALLED, _BUILT_IN = "Capabilities", "The record"
"""Groups in `/help`."""


def slash_commands(capabilities: Capabilities, nouns: Sequence[str]) -> dict[str, SlashCommand]:
    """A command for each of these nouns: `/reading add URL` for `reading.add`."""
    brought, found = capabilities.nouns(), {}
    for noun in nouns:
        one = brought[noun].capability
        rows = [row for row in one.verbs if row.in_chat and row.name.partition(".")[0] == noun]
        if rows:
            group, summary = (_INSTALLED, one.summary) if brought[noun].row is None else (_BUILT_IN, one.summary)
            found[noun] = _command(noun, group, summary, rows)
    return found


def _command(noun: str, group: str, summary: str, rows: Sequence[Verb]) -> SlashCommand:
    verbs = {row.name.partition(".")[2]: row for row in rows}
    summary = verbs[""].summary if "" in verbs else summary

    async def run(chat: Chat, rest: str) -> None:
        await run_foreign_command(f"the command /{noun}", partial(_run, chat, noun, verbs, rest))

    takes = "|".join(name for name in verbs if name) or " ".join(verb_rows.example(rows[0]).split()[2:]) or "[--json]"
    return SlashCommand(group, takes, summary, run, help=partial(_help_text, noun, verbs, ()))


async def _run(chat: Chat, noun: str, verbs: Mapping[str, Verb], rest: str) -> None:
    """One line of the noun: the help where it is asked for, else the verb, and what it gives."""
    words = _words(noun, rest)
    if asks_for_help(words):
        chat.say(_help_text(noun, verbs, words))
        return
    row = verbs.get("")
    if row is None:
        if not words or words[0] not in verbs:
            wrong = f"has no {words[0]!r}{did_you_mean(words[0], verbs)}" if words else "requires a verb"
            raise UsageError(f"/{noun} {wrong}", hint=f"it has: {', '.join(verbs)}")
        row, words = verbs[words[0]], words[1:]
    args = arguments_of(command_of(row), words)
    given = verb_rows.arguments_given(row, args)
    value = await chat.desk.do(row.name, **given, **_progress(chat, row))
    show(chat, row, value, given, as_json=verb_rows.as_json(args))


def _help_text(noun: str, verbs: Mapping[str, Verb], words: Sequence[str]) -> str:
    """The help of the verb that the words name, else that of the noun: its verbs."""
    row = verbs.get("") or next((verbs[word] for word in words[:1] if word in verbs), None)
    if row is not None:
        return slash_help(command_of(row))
    width = max(map(len, verbs))
    return "\n".join([f"/{noun} VERB …", *(f"  /{noun} {name:{width}}  {one.summary}" for name, one in verbs.items()), f"/{noun} VERB --help tells more"])


def _progress(chat: Chat, row: Verb) -> dict[str, Any]:
    """The argument by which the verb says how far it is, where it does."""
    tell = row.progress
    if tell is None:
        return {}

    def saw(value: Any) -> None:
        if line := tell(output.plain(value)):
            chat.say(verb_rows.shown(line))

    return {"progress": saw}


def options_of(row: Verb) -> list[tuple[str, str]]:
    """The options of a verb, and what they mean."""
    parser = argparse.ArgumentParser(add_help=False)
    verb_rows.add_arguments(row, parser)
    return [(name, (action.help or "").replace("%%", "%")) for action in parser._actions for name in action.option_strings]


def _words(noun: str, rest: str) -> list[str]:
    try:
        return shlex.split(rest)
    except ValueError as error:
        raise UsageError(f"/{noun} cannot parse its arguments: {str(error).lower()}", hint="close the quotation mark") from None


def show(chat: Chat, row: Verb, value: Any, given: Mapping[str, Any], *, as_json: bool) -> None:
    """Show what a verb gave in the chat, and what of it failed."""
    if row.json_lines:
        chat.say("\n".join(map(output.compact, value)))
    elif as_json:
        chat.say(output.compact(value))
    else:
        _show(chat, verb_rows.value_for_people(row, value, given))
    for failure in verb_rows.failures_of(row, value):
        chat.show_error(failure)


def _show(chat: Chat, seen: verb_rows.ValueForPeople) -> None:
    if seen.lines:
        chat.say("\n".join(line for line, _ in seen.lines))
    if seen.table:
        chat.table(seen.table, drop=seen.drop)
    if seen.fields:
        chat.table(seen.fields)
    for told in filter(None, (seen.empty, seen.hint)):
        chat.say(told)
