"""A command made from the row of a verb: its arguments from the signature, its help, and the text that people read of its value."""

import argparse
import datetime
import enum
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import msgspec

from ..app.capability_verbs import VerbParameter, parameters_of
from ..capability import Verb
from ..channels.command_hints import typed
from ..channels.control_characters import visible
from ..errors import NeuralClawError
from ..types.suggestions import did_you_mean
from . import output
from .parsing import clean, with_json

LISTS = (list, tuple, set, frozenset)
_LARGEST = 2**63 - 1
"""The largest number that the database and JSON readers of 64 bits keep."""
_KINDS = {
    int: "a whole number",
    float: "a number",
    datetime.date: "a date such as 2026-03-01",
    datetime.time: "a time such as 07:30:00",
    datetime.datetime: "a date and time such as 2026-03-01T07:30:00",
    datetime.timedelta: "a duration such as PT1H30M",
}
"""Types in words, for an argument that does not fit."""


def stripped(kind: Any) -> Any:
    """A type without its bounds and without None."""
    if get_origin(kind) is Annotated:
        return stripped(get_args(kind)[0])
    if get_origin(kind) in (types.UnionType, Union):
        inner = [one for one in get_args(kind) if one is not types.NoneType]
        return stripped(inner[0]) if len(inner) == 1 else kind
    return kind


def add_arguments(row: Verb, parser: argparse.ArgumentParser) -> None:
    """The arguments of the row. What is not given is not in the namespace: the verb's own default holds."""
    for each in parameters_of(row.run):
        if not each.in_process and each.name not in row.for_people and each.name not in row.hidden:
            _add(parser, each, row.help.get(each.name, ""), row.spelled.get(each.name, ""))
    if not (row.json_lines or row.filters):
        with_json(parser)


def _add(parser: argparse.ArgumentParser, each: VerbParameter, told: str, spelled: str) -> None:
    kind = stripped(each.kind)
    named, place = spelled.split() if " " in spelled else ("", spelled)
    flag = named or f"--{each.name.replace('_', '-')}"
    if kind is bool:
        name = f"--no-{flag[2:]}" if each.default is True else flag
        action = "store_false" if each.default is True else "store_true"
        parser.add_argument(name, dest=each.name, action=action, default=argparse.SUPPRESS, help=told or None)
        return
    many = get_origin(kind) in LISTS or kind in LISTS
    metavar = place or _metavar(each, kind)
    text = _with_default(told, each)
    if each.option:
        action = "extend" if many else "store"
        kinds = _several(each.kind) if many else _one(each.kind)
        parser.add_argument(flag, dest=each.name, action=action, type=kinds, required=each.required, default=argparse.SUPPRESS, metavar=metavar, help=text)
    else:
        nargs = ("+" if each.required else "*") if many else None if each.required else "?"
        parser.add_argument(each.name, type=_one(_inner(kind) if many else each.kind), nargs=nargs, default=argparse.SUPPRESS, metavar=metavar, help=text)


def _with_default(told: str, each: VerbParameter) -> str | None:
    if each.required or each.default in (None, "", (), []) or isinstance(each.default, enum.Enum):
        return told.replace("%", "%%") or None
    return f"{told} ({output.worded(each.default)})".strip().replace("%", "%%")


def _metavar(each: VerbParameter, kind: Any) -> str:
    words = _words(_inner(kind) if get_origin(kind) in LISTS else kind)
    if words:
        return "|".join(words)
    return "N" if each.option and kind in (int, float) else each.name.upper().replace("_", "-")


def _words(kind: Any) -> list[str]:
    """The words of a closed choice."""
    kind = stripped(kind)
    if get_origin(kind) is Literal:
        return [str(word) for word in get_args(kind)]
    return [str(member.value) for member in kind] if isinstance(kind, type) and issubclass(kind, enum.Enum) else []


def _inner(kind: Any) -> Any:
    inner = get_args(stripped(kind))
    return inner[0] if inner else str


def _one(kind: Any) -> Callable[[str], Any]:
    """The type of an argument for `argparse`: text in the type that the verb takes. What does not fit is one sentence."""
    plain = stripped(kind)
    words = _words(plain)

    def parse(word: str) -> Any:
        if word is argparse.SUPPRESS:  # argparse passes the default of a place that may stay empty through its type
            return word
        word = clean(word)
        if words:
            if word not in words:
                raise argparse.ArgumentTypeError(f"{word!r} is not one of {', '.join(words)}{did_you_mean(word, words)}")
            return next(one for one in get_args(plain) if str(one) == word) if get_origin(plain) is Literal else word
        if plain is str or plain is Any:
            return word
        return _converted(word, kind)

    return parse


def _converted(word: str, kind: Any) -> Any:
    plain = stripped(kind)
    words = _KINDS | {int: f"a whole number{_range(kind)}"}
    wanted = words.get(plain, "JSON that fits" if word[:1] in "{[" else "of the type that it takes")
    try:
        value = _whole(word, _LARGEST) if plain is int else msgspec.json.decode(word) if word[:1] in ("{", "[") else word
        msgspec.convert(value, kind, strict=False)  # its type; what it is given as is decided by the verb
        return msgspec.convert(value, plain, strict=False) if plain in (int, float) else value
    except msgspec.ValidationError as error:
        said = str(error)
        bound = f" {said.partition('` ')[2]}" if plain is not int and any(sign in said for sign in ("<", ">")) else ""
        raise argparse.ArgumentTypeError(f"{word!r} is not {wanted}{bound}") from None
    except ValueError:
        raise argparse.ArgumentTypeError(f"{word!r} is not {wanted}") from None


def _whole(word: str, largest: int) -> int:
    """Digits, with zeros before them if there are; a sign before a number below zero. Raises `ValueError`."""
    digits = word.removeprefix("-")
    if not digits.isascii() or not digits.isdigit():
        raise ValueError(word)
    if len(digits) > len(str(largest)) or abs(number := int(word)) > largest:
        raise argparse.ArgumentTypeError(f"{word} is larger than any number there is room for")
    return number


def _range(kind: Any) -> str:
    """The bounds of a whole number: ` from 0`, ` from 1 to 100`, "" for none."""
    if get_origin(kind) is not Annotated:
        return next(filter(None, map(_range, get_args(kind))), "")
    bounds = [meta for meta in get_args(kind)[1:] if isinstance(meta, msgspec.Meta)]
    least = [meta.ge if meta.gt is None else meta.gt + 1 for meta in bounds if (meta.ge, meta.gt) != (None, None)]
    most = [meta.le if meta.lt is None else meta.lt - 1 for meta in bounds if (meta.le, meta.lt) != (None, None)]
    return "".join((*(f" from {number}" for number in least), *(f" to {number}" for number in most if number != _LARGEST)))


def _several(kind: Any) -> Callable[[str], list[Any]]:
    """Values with commas between them; the option may stand several times."""
    one = _one(_inner(kind))

    def parse(words: str) -> list[Any]:
        return [one(word.strip()) for word in words.split(",") if word.strip()]

    return parse


def arguments_given(row: Verb, args: argparse.Namespace) -> dict[str, Any]:
    """The arguments that the command line named, and those that a value for people is made with."""
    given = {each.name: getattr(args, each.name) for each in parameters_of(row.run) if hasattr(args, each.name)}
    return given if as_json(args) else {**given, **row.for_people}


def as_json(args: argparse.Namespace) -> bool:
    """Whether a program reads the value."""
    return bool(getattr(args, "json", True))


def example(row: Verb) -> str:
    """The row's example, or one made of its arguments."""
    if row.example:
        return row.example
    words = [each.name.upper().replace("_", "-") for each in parameters_of(row.run) if each.required and not each.option and each.name not in row.hidden]
    return " ".join(["neuralclaw", *row.name.split("."), *words])


class ValueForPeople(NamedTuple):
    """What people see of a verb's value, on whichever screen: one of `lines`, `table` and `fields`, or `empty` in their place.

    `lines`: each with its style. `table`: the texts of its cells, the heading first; a narrow screen does without the columns `drop`, the first one first.
    `fields`: name and text. `empty`: what is told of an empty list. `hint`: the advice behind the value, "" for none.
    """

    lines: Sequence[tuple[str, str]] = ()
    table: Sequence[Sequence[str]] = ()
    drop: Sequence[int] = ()
    fields: Sequence[tuple[str, str]] = ()
    empty: str = ""
    hint: str = ""


def value_for_people(row: Verb, value: Any, given: Mapping[str, Any]) -> ValueForPeople:
    """What people see of the value: what the row renders, a table, an object's fields, or a line; and the row's advice."""
    hint = typed(row.hint(value, given)) if row.hint is not None else ""
    return _seen(row, displayed(row, value), given)._replace(hint=hint)


def _seen(row: Verb, value: Any, given: Mapping[str, Any]) -> ValueForPeople:
    if value == []:
        return ValueForPeople(empty=empty_text(row, given))
    if row.render is not None and (made := row.render(value)) is not None:
        return ValueForPeople(lines=[(shown(made), "")] if isinstance(made, str) else made)
    if isinstance(value, list) and all(isinstance(one, dict) for one in value):
        columns = list(row.columns) or list(dict.fromkeys(name for one in value for name in one))
        drop = columns[:0:-1] if row.drop is None else [name for name in row.drop if name in columns]
        return ValueForPeople(table=output.cells(value, columns), drop=[columns.index(name) for name in drop])
    if isinstance(value, dict):
        wanted = {name: value.get(name) for name in row.columns or value}
        return ValueForPeople(fields=[(name, shown(text)) for name, text in output.field_texts(wanted)])
    lines = value if isinstance(value, list) else [value] if value is not None else []
    return ValueForPeople(lines=[(shown(output.worded(one)), "") for one in lines])


def failures_of(row: Verb, value: Any) -> Sequence[NeuralClawError]:
    """What of the value failed."""
    return row.failures(value) if row.failures is not None else ()


def displayed(row: Verb, value: Any) -> Any:
    """The value with what people see in place of its rows, or of the object."""
    if row.display is None:
        return value
    return [dict(row.display(one)) for one in value] if isinstance(value, list) else dict(row.display(value)) if isinstance(value, dict) else value


def empty_text(row: Verb, given: Mapping[str, Any]) -> str:
    """What is said of an empty list."""
    if not isinstance(row.empty, str):
        return row.empty(given)
    text = row.empty
    for name, value in given.items():
        text = text.replace(f"{{{name}}}", str(value))
    return text


def show(row: Verb, value: Any, given: Mapping[str, Any]) -> None:
    """Print the value for a person: on standard output, and on standard error what is told of an empty one, and the row's advice."""
    seen, screen = value_for_people(row, value, given), output.out()
    for line, style in seen.lines:
        screen.line(line, style)
    if seen.table:
        output.lay_out(seen.table, seen.drop)
    for name, text in seen.fields:
        screen.line(f"{name}: {text}")
    if seen.empty:
        output.err().line(seen.empty)
    if seen.hint:
        output.err().line(seen.hint, "yellow")


def shown(text: str) -> str:
    """Text of a capability on the screen: its lines, without what a terminal would obey."""
    return "\n".join(map(visible, text.rstrip("\n").split("\n")))
