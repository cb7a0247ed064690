"""`neuralclaw config`: the settings in effect and where each comes from."""

import argparse

from .. import config
from ..config.process import environ
from ..plugins import load
from . import output
from .parsing import Command, with_json


def _loaded(args: argparse.Namespace) -> config.Loaded:
    loaded = config.load(home=args.home, environ=environ)
    for notice in loaded.notices:
        output.err().line(notice, "yellow")
    return loaded


def _show(args: argparse.Namespace) -> int:
    values = _loaded(args).values
    if args.json:
        output.json_line({value.key: {"value": value.value, "origin": value.origin} for value in values})
        return 0
    screen = output.out()
    for value in values:
        screen.line(f"{value.key}: {value.value if isinstance(value.value, str) else output.compact(value.value)}  ({value.origin})")
    return 0


def _check(args: argparse.Namespace) -> int:
    loaded = _loaded(args)
    if args.json:
        output.json_line({"ok": True, "file": loaded.file, "notices": loaded.notices})
    else:
        output.out().line(f"valid: {loaded.file}" if loaded.file else "valid: there is no file, the defaults hold")
    return 0


def _schema(args: argparse.Namespace) -> int:
    output.json_line(config.schema())
    return 0


def _example(args: argparse.Namespace) -> int:
    output.out().write(load("config.example")(load("config.services")(load("provider.known"))))
    return 0


def _path(args: argparse.Namespace) -> int:
    """Works for a file that cannot be read too: that is when one looks for it."""
    home, _ = config.places(args.home, environ)
    file, exists = config.target(args.home, environ)
    if args.json:
        output.json_line({"file": file, "exists": exists, "home": home})
    else:
        output.out().line(file)
    return 0


COMMANDS = (
    Command(
        "config show", "Every setting in effect and where it comes from; secrets are masked.", example="neuralclaw config show", run=_show, options=with_json
    ),
    Command(
        "config check", "Read the configuration; 78 and file, line and key where it is wrong.", example="neuralclaw config check", run=_check, options=with_json
    ),
    Command("config schema", "The JSON Schema of the configuration.", example="neuralclaw config schema > schema.json", run=_schema, options=with_json),
    Command("config example", "Every variable that is read, as a .env to start from.", example="neuralclaw config example > .env.example", run=_example),
    Command("config path", "Where the configuration stands, or would stand.", example="neuralclaw config path", run=_path, options=with_json),
)
