"""The entry point. `--version` and `--help` load nothing but this file and a page of text; a command loads its own group only."""

import gc
import os
import sys
from importlib import import_module

_program = False
"""Whether this process was started as `neuralclaw`: then it is ours, with every library's logging in it."""


def entry() -> None:
    """What the installed program calls: `main`, and then the end at once. All is closed and flushed by then, and to free it piece by piece costs 20 ms."""
    global _program
    _program = True
    code = main()
    if sys.stderr is not None:
        sys.stderr.flush()
    os._exit(code)


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit code. The one top-level guard: nothing a command raises leaves as a traceback."""
    arguments = sys.argv[1:] if argv is None else argv
    if sys.stdout is None or sys.stderr is None:
        _part("failure").fill_closed()
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
        return code
    except BaseException as error:
        code = _part("failure").report(error, arguments)
        return int(code)


def _part(name: str):  # type: ignore[no-untyped-def]  # a module of this package, by name
    return import_module(f"{__package__}.{name}")


def _dispatch(arguments: list[str]) -> int:
    home, rest = _leading_home(arguments)
    first = rest[0] if rest else None
    if first == "--version":
        print(_part("version").text())
        return 0
    if first in ("--help", "-h", "help"):
        return _help(rest[1] if len(rest) == 2 and first == "help" else "", _any_home(rest[1:]) or home)
    if first is None or first.startswith("-"):
        return _run("run" if "-p" in rest else "chat", rest, home)
    return _run(first, rest[1:], home)


def _built_in() -> dict[str, str]:
    """The commands that built-in capabilities bring: noun -> summary. None of them is loaded for it."""
    rows = import_module("..plugins", __package__).CAPABILITIES.values()
    return {noun: summary for row in rows for noun, summary in row.nouns.items()}


def built_in_nouns() -> list[str]:
    """The first words of all built-in commands, in the order of the help: those of capabilities stand behind `config`."""
    brought = _built_in()
    own = [noun for noun in _groups() if noun not in brought]
    place = own.index("config") + 1
    return [*own[:place], *brought, *own[place:]]


def _groups() -> dict[str, str]:
    groups: dict[str, str] = import_module("..plugins", __package__).GROUPS
    return groups


def _help(noun: str, home: str | None) -> int:
    """The page of all commands, or of one noun. Without an enabled capability nothing else is looked at."""
    built_in = _built_in()
    if noun in _groups() or noun in built_in:
        return _run(noun, ["--help"], home)
    more = _part("capability_rows").nouns(home) if _part("capability_nouns").perhaps(home) else {}
    if noun in more:
        return _run(noun, ["--help"], home)
    print(_part("usage").page(built_in_nouns(), built_in, more))
    return 0


def _commands(noun: str, home: str | None):  # type: ignore[no-untyped-def]  # the commands of this noun
    """Raises `UsageError` for a noun that is not built in and that no capability of the home brings."""
    if noun in _groups():
        return _part(_groups()[noun]).COMMANDS
    if noun in _built_in():
        return _part("capability_rows").built_in_commands(noun)
    there = tuple(name for name in built_in_nouns() if name != "chat")
    if not _part("capability_nouns").perhaps(home):
        raise _part("parsing").unknown_noun(noun, there)
    return _part("capability_rows").installed_commands(noun, home, there)


def is_noun(home: str | None, word: str) -> bool:
    """Whether the word begins a command in this home: a built-in one, or one of an enabled capability."""
    return word in built_in_nouns() or bool(_part("capability_nouns").perhaps(home) and _part("capability_rows").brings(home, word))


def _any_home(arguments: list[str]) -> str | None:
    """The `--home` that stands behind a noun: it decides which capabilities there are."""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    for place, word in enumerate(own):
        if word.startswith("--home="):
            return word.removeprefix("--home=")
        if word == "--home" and place + 1 < len(own):
            return own[place + 1]
    return None


def _run(noun: str, rest: list[str], home: str | None) -> int:
    """Find the command, and run it: from here on it is its own."""
    gc.disable()  # what is loaded now stays to the end: to look through it again and again costs 10 ms
    import_module("..config.process_environment", __package__).ours = _program  # type: ignore[attr-defined]
    commands = _commands(noun, _any_home(rest) or home)
    chosen = _part("parsing").chosen
    gc.freeze()
    gc.enable()
    found = chosen(noun, commands, rest, home)
    if found is None:  # its help was printed
        return 0
    command, given = found
    if command.prepare is not None:
        command.prepare(given)
    return int(_part("interrupts").run_command(command.run, given) if command.takes_time else command.run(given))


def _leading_home(arguments: list[str]) -> tuple[str | None, list[str]]:
    """`--home` may stand before the noun too; the noun's own parser knows it again."""
    if arguments and arguments[0].startswith("--home="):
        return arguments[0].removeprefix("--home="), arguments[1:]
    if len(arguments) > 1 and arguments[0] == "--home":
        return arguments[1], arguments[2:]
    return None, arguments
