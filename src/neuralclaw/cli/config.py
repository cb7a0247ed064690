"""`neuralclaw config`: the settings in effect, where each comes from, and the setting of one."""

import argparse
from typing import Any

import anyio

from .. import config
from ..config.process_environment import environ
from ..plugins import load
from . import output
from .parsing import Command, clean, with_json


def _verbs(args: argparse.Namespace) -> Any:
    return load("config.verbs")(config.SettingsRequest(args.home, environ))


def _tell(notices: tuple[str, ...]) -> None:
    for notice in notices:
        output.err().line(notice, "yellow")


def _show(args: argparse.Namespace) -> int:
    verbs = _verbs(args)
    _tell(verbs.loaded().notices)
    values = anyio.run(verbs.show)
    if args.json:
        output.json_line(values)
        return 0
    screen = output.out()
    for key, one in values.items():
        screen.line(f"{key}: {one['value'] if isinstance(one['value'], str) else output.compact(one['value'])}  ({one['origin']})")
    return 0


def _check(args: argparse.Namespace) -> int:
    checked = anyio.run(_verbs(args).check)
    _tell(checked["notices"])
    if args.json:
        output.json_line(checked)
    else:
        output.out().line(f"valid: {checked['file']}" if checked["file"] else "valid: there is no file, the defaults hold")
    return 0


def _schema(args: argparse.Namespace) -> int:
    output.json_line(anyio.run(_verbs(args).schema))
    return 0


def _example(args: argparse.Namespace) -> int:
    example = anyio.run(_verbs(args).example)
    if args.json:
        output.json_line(example)
    else:
        output.out().write(example["text"])
    return 0


def _path(args: argparse.Namespace) -> int:
    """Works for a file that cannot be read too: that is when one looks for it."""
    path = anyio.run(_verbs(args).path)
    if args.json:
        output.json_line(path)
    else:
        output.out().line(path["file"])
    return 0


def _set_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("key", metavar="KEY", help="the key with its dots, as config show lists it")
    parser.add_argument("value", metavar="VALUE", help="a word, a number, true, false, null or any other YAML; -- before one that begins with a dash")
    with_json(parser)


def _set(args: argparse.Namespace) -> int:
    verbs = _verbs(args)
    done = anyio.run(lambda: verbs.set(key=clean(args.key), value=clean(args.value)))
    _tell(done["notices"])
    if args.json:
        output.json_line(done)
    else:
        value = done["value"]
        output.out().line(f"{done['key']}: {value if isinstance(value, str) else output.compact(value)}  ({done['file']})")
    return 0


COMMANDS = (
    Command(
        "config show", "Every setting in effect and where it comes from; secrets are masked.", example="neuralclaw config show", run=_show, options=with_json
    ),
    Command(
        "config check",
        "Read the configuration; 78 and file, line and key where it is wrong.",
        example="neuralclaw config check",
        run=_check,
        options=with_json,
    ),
    Command(
        "config set",
        "Set one key in the configuration file; comments and everything else stay as they are.",
        example="neuralclaw config set llm.temperature 0.2",
        run=_set,
        options=_set_options,
    ),
    Command("config schema", "The JSON Schema of the configuration.", example="neuralclaw config schema > schema.json", run=_schema, options=with_json),
    Command(
        "config example",
        "Every variable that is read, as a .env to start from.",
        example="neuralclaw config example > .env.example",
        run=_example,
        options=with_json,
    ),
    Command(
        "config path",
        "Print the path of the configuration file, also if it does not exist yet.",
        example="neuralclaw config path",
        run=_path,
        options=with_json,
    ),
)
