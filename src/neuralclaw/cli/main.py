"""The entry point. `--version` and `--help` load nothing but this file and a page of text; a command loads its own group only."""

import gc
import os
import sys
from importlib import import_module

GROUPS = {
    "run": "run",
    "chat": "chat",
    "recover": "recover",
    "init": "init",
    "doctor": "doctor",
    "config": "config",
    "models": "models",
    "sessions": "sessions",
    "approvals": "approvals",
    "grants": "grants",
    "tools": "tools",
    "policy": "policy",
    "audit": "audit",
    "completion": "completion",
}
"""Noun -> the file of this package that has its commands."""

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
        if len(rest) == 2 and first == "help" and rest[1] in GROUPS:
            return _run(rest[1], ["--help"], home)
        print(_part("usage").TOP)
        return 0
    if first is None or first.startswith("-"):
        return _run("run" if "-p" in rest else "chat", rest, home)
    if first not in GROUPS:
        raise _part("parsing").unknown_noun(first, tuple(n for n in GROUPS if n != "chat"))
    return _run(first, rest[1:], home)


def _run(noun: str, rest: list[str], home: str | None) -> int:
    gc.disable()  # what is loaded now stays to the end: to look through it again and again costs 10 ms
    import_module("..config.process_environment", __package__).ours = _program  # type: ignore[attr-defined]
    commands, run = _part(GROUPS[noun]).COMMANDS, _part("parsing").run
    gc.freeze()
    gc.enable()
    return int(run(noun, commands, rest, home))


def _leading_home(arguments: list[str]) -> tuple[str | None, list[str]]:
    """`--home` may stand before the noun too; the noun's own parser knows it again."""
    if arguments and arguments[0].startswith("--home="):
        return arguments[0].removeprefix("--home="), arguments[1:]
    if len(arguments) > 1 and arguments[0] == "--home":
        return arguments[1], arguments[2:]
    return None, arguments
