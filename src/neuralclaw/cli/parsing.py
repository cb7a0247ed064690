"""Parsing of one command. Only the parser of the command that was chosen is built; a wrong word is answered with the nearest right one."""

import argparse
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, NoReturn

from ..channels import command_hints as printed
from ..errors import UsageError
from ..types.planned_commands import NOUNS, is_later
from ..types.suggestions import did_you_mean
from .help_layout import columns, fitted
from .main import is_noun

if TYPE_CHECKING:
    from .interrupts import CommandRun  # a command that is over at once does not load it


class Command:
    """One command: how it is called, what it does, an example, its options, and the function that does it and gives the exit code.

    `name` is the noun and the verb (`sessions list`), or the noun alone. `run` is an async function where the command takes its time: then
    `interrupts.run_command` runs it. A plain one is for what is over at once or has the terminal for itself. `prepare` comes before: it checks the
    arguments, and may wait for standard input.
    """

    __slots__ = ("example", "name", "options", "prepare", "run", "summary")

    def __init__(
        self,
        name: str,
        summary: str,
        *,
        example: str,
        run: Callable[[argparse.Namespace], int] | Callable[[argparse.Namespace, "CommandRun"], Awaitable[int]],
        prepare: Callable[[argparse.Namespace], None] | None = None,
        options: Callable[[argparse.ArgumentParser], None] | None = None,
    ) -> None:
        self.name, self.summary, self.example, self.run, self.prepare, self.options = name, summary, example, run, prepare, options

    @property
    def takes_time(self) -> bool:
        """Whether `run` is an async function."""
        return iscoroutinefunction(self.run)


class _Once(argparse._StoreAction):
    """An option with one value: given twice it is refused, since nobody knows which one was meant."""

    given = False

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: str | Sequence[Any] | None, option_string: str | None = None
    ) -> None:
        if self.given and self.option_strings:
            raise argparse.ArgumentError(self, "it is given twice, and takes one value; nothing was done")
        self.given = True
        super().__call__(parser, namespace, values, option_string)


class _Parser(argparse.ArgumentParser):
    """Raises `UsageError` where argparse would leave the program."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.register("action", None, _Once)
        self.register("action", "store", _Once)

    def _get_formatter(self) -> argparse.HelpFormatter:
        """With a width of our own: to ask for the terminal's, argparse loads `shutil` and its compressors for every option it is given."""
        return self.formatter_class(prog=self.prog, width=min(100, columns() or 100))  # type: ignore[call-arg]  # every formatter of argparse takes it

    def error(self, message: str) -> NoReturn:
        raise UsageError(_reworded(self.prog, message), hint=_hint(self))


def _hint(parser: argparse.ArgumentParser) -> str:
    """Where it is said what a command takes; a slash command is told by its own usage."""
    return f"{parser.prog} --help shows what it takes" if not parser.prog.startswith("/") else " ".join(parser.format_usage().split())


def _reworded(prog: str, message: str) -> str:
    """A complaint of argparse in our words: `argument --x: …` is about the option `--x`."""
    missing = message.removeprefix("the following arguments are required: ")
    if missing != message:
        return f"{prog} needs {missing.replace(', ', ' and ')}"
    if not message.startswith("argument "):
        return message
    name, _, what = message.removeprefix("argument ").partition(": ")
    if what.startswith("expected "):
        return f"{name} needs a value"
    if what.startswith("ignored explicit argument "):
        return f"{name} takes no value"
    return f"{name}: {what}"


def chosen(noun: str, commands: Sequence[Command], arguments: list[str], home: str | None) -> tuple[Command, argparse.Namespace] | None:
    """The command of this noun that is meant, and its arguments; None where help was asked for, which is printed. Raises `UsageError`."""
    printed.opened(home, partial(is_noun, home))
    single = commands[0] if len(commands) == 1 and " " not in commands[0].name else None
    if single is not None:
        return _parsed(single, arguments, home)
    verbs = {c.name.split(" ", 1)[1]: c for c in commands}
    while arguments and (arguments[0] == "--home" or arguments[0].startswith("--home=")):
        taken = 2 if arguments[0] == "--home" else 1
        home, arguments = arguments[taken - 1].removeprefix("--home="), arguments[taken:]
    if not arguments:
        raise UsageError(f"neuralclaw {noun} requires a verb: {', '.join(verbs)}", hint=f"neuralclaw {noun} --help")
    if arguments[0] in ("--help", "-h"):
        print(fitted(_group_help(noun, commands), columns()))
        return None
    if is_later(noun, arguments[0]):
        raise not_yet(f"neuralclaw {noun} {arguments[0]}")
    if arguments[0] not in verbs:
        raise UsageError(f"neuralclaw {noun} has no {arguments[0]!r}{did_you_mean(arguments[0], verbs)}", hint=f"it has: {', '.join(verbs)}")
    return _parsed(verbs[arguments[0]], arguments[1:], home)


def _parsed(command: Command, arguments: list[str], home: str | None) -> tuple[Command, argparse.Namespace] | None:
    parser = _parser(command, f"neuralclaw {command.name}", command.example)
    parser.add_argument("-h", "--help", action="store_true", help="show this")
    parser.add_argument("--home", metavar="DIR", default=home, help="the data directory (else NEURALCLAW_HOME, else the XDG directories)")
    parser.add_argument("--verbose", action="store_true", help="say more, tracebacks too")
    if command.options is not None:
        command.options(parser)
    if asks_for_help(arguments):
        print(fitted(parser.format_help(), columns()), end="")
        return None
    given, extra = parser.parse_known_args(arguments)
    if extra:
        raise _extra(parser, extra[0])
    printed.opened(given.home, partial(is_noun, given.home))
    return command, given


def _parser(command: Command, prog: str, example: str = "") -> _Parser:
    return _Parser(
        prog=prog,
        description=command.summary,
        epilog=f"example:\n  {example}" if example else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )


def arguments_of(command: Command, words: list[str]) -> argparse.Namespace:
    """The arguments of a slash command, parsed as those of its subcommand. Raises `UsageError`."""
    parser = _slash_parser(command)
    given, extra = parser.parse_known_args(words)
    if extra:
        raise _extra(parser, extra[0])
    return given


def slash_help(command: Command) -> str:
    """What `--help` of a slash command shows."""
    return _slash_parser(command).format_help().rstrip("\n")


def _slash_parser(command: Command) -> _Parser:
    own = f"neuralclaw {command.name}"
    parser = _parser(command, f"/{command.name}", f"/{command.example.removeprefix('neuralclaw ')}" if command.example.startswith(own) else "")
    if command.options is not None:
        command.options(parser)
    return parser


def asks_for_help(words: list[str]) -> bool:
    """Whether the words of a command hold `--help`; what stands behind `--` is no option."""
    return any(word in ("-h", "--help") for word in _before_dashes(words))


def _before_dashes(arguments: list[str]) -> list[str]:
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _extra(parser: argparse.ArgumentParser, word: str) -> UsageError:
    hint = _hint(parser)
    if word.startswith("-"):
        known = [o for action in parser._actions if action.help != argparse.SUPPRESS for o in action.option_strings]
        name = word.split("=", 1)[0]
        if name == "--json" and "--output" in known:
            return UsageError(f"{parser.prog} has no option --json; did you mean '--output json'?", hint=hint)
        return UsageError(f"{parser.prog} has no option {name}{did_you_mean(name, known)}", hint=hint)
    return UsageError(f"{parser.prog} does not take a further {word!r}; put quotes around a text of several words", hint=hint)


def _group_help(noun: str, commands: Sequence[Command]) -> str:
    width = max(len(c.name) for c in commands)
    lines = [f"usage: neuralclaw {noun} VERB …", "", *(f"  neuralclaw {c.name:{width}}  {c.summary}" for c in commands)]
    return "\n".join([*lines, "", "example:", f"  {commands[0].example}"])


def unknown_noun(word: str, nouns: Sequence[str]) -> UsageError:
    """What to say when the first word is no command."""
    if word in NOUNS:
        return UsageError(f"neuralclaw {word} is not available yet", hint=f"there is: {', '.join(nouns)}")
    return UsageError(
        f"there is no command {word!r}{did_you_mean(word, nouns)}", hint=f'there is: {", ".join(nouns)}; a task is given with: neuralclaw run "…"'
    )


def choice(*names: str) -> Callable[[str], str]:
    """An option's type: one of these words; another is answered with the nearest."""

    def parse(word: str) -> str:
        if word not in names:
            raise argparse.ArgumentTypeError(f"{word!r} is not one of {', '.join(names)}{did_you_mean(word, names)}")
        return word

    return parse


def positive(word: str) -> float:
    """An option's type: a number above 0."""
    try:
        value = float(word)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{word!r} is not a number above 0")
    return value


def count(word: str) -> int:
    """An option's type: a whole number from 1."""
    if not word.isascii() or not word.isdigit() or int(word) < 1:
        raise argparse.ArgumentTypeError(f"{word!r} is not a whole number from 1")
    return int(word)


def whole(word: str) -> int:
    """An option's type: a whole number from 0."""
    if not word.isascii() or not word.isdigit():
        raise argparse.ArgumentTypeError(f"{word!r} is not a whole number from 0")
    return int(word)


def names(word: str) -> tuple[str, ...]:
    """An option's type: names with commas between them, one at least."""
    found = tuple(name.strip() for name in word.split(","))
    if not all(found):
        raise argparse.ArgumentTypeError(f"{word!r} is not a list of names (NAME,NAME)")
    return found


def directory(word: str) -> str:
    """An option's type: the path of a directory that is there."""
    if not os.path.isdir(word):  # noqa: PTH112
        raise argparse.ArgumentTypeError(f"{word} is not a directory; make it first, or name another; nothing was done")
    return word


def not_yet(option: str) -> UsageError:
    """An option or command that is promised and not available yet: said, never ignored."""
    return UsageError(f"{option} is not available yet")


def with_json(parser: argparse.ArgumentParser) -> None:
    """The option `--json` of a command that prints data."""
    parser.add_argument("--json", action="store_true", help="print one JSON value")


def input_bytes() -> bytes:
    """Standard input to its end; nothing where it is closed."""
    return sys.stdin.buffer.read() if sys.stdin is not None else b""


def input_text() -> str:
    """Standard input to its end. Bytes that are not UTF-8 are read in the screen's own encoding."""
    return text_of(input_bytes())


def text_of(data: bytes) -> str:
    """Text of bytes that came from outside; what cannot be read becomes U+FFFD."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode(sys.stdin.encoding if sys.stdin else "utf-8", "replace")


def clean(word: str) -> str:
    """An argument as text that can be stored: bytes that are no text in this locale become U+FFFD."""
    return word.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
