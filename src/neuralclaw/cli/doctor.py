"""`neuralclaw doctor`: what works here, what is missing and how to get it."""

import argparse

from ..errors import ConfigError, StoreError
from . import output, verbs
from .parsing import Command, not_yet, with_json


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rebuild", action="store_true", help="make the tables that are derived from the record anew")
    parser.add_argument("--prove", action="store_true", help=argparse.SUPPRESS)
    with_json(parser)


def _doctor(args: argparse.Namespace) -> int:
    if args.prove:
        raise not_yet("doctor --prove")
    if args.rebuild:
        checks = verbs.ask(args, "doctor", rebuild=True)
    else:
        try:
            checks = verbs.ask(args, "doctor")
        except ConfigError as error:
            checks = [{"check": "config", "ok": False, "text": error.text, "fix": error.hint or None, "needed": True}]
        except StoreError as error:
            checks = [{"check": "store", "ok": False, "text": error.text, "fix": error.hint or None, "needed": True}]
    checks = [check | {"fix": None} if check["ok"] else check for check in checks]
    needed = [check.pop("needed", True) for check in checks]
    if args.json:
        output.json_line(checks)
    else:
        screen = output.out()
        for check, must in zip(checks, needed, strict=True):
            word = "ok" if check["ok"] else ("MISSING" if must else "absent")
            screen.line(f"{word:8}{check['check']}: {check['text']}")
            if check["fix"] and not check["ok"]:
                screen.line(f"        {check['fix']}", "dim")
    return int(any(must and not check["ok"] for check, must in zip(checks, needed, strict=True)))


COMMANDS = (Command("doctor", "Check what works here; 1 when something needed is missing.", example="neuralclaw doctor --json", run=_doctor, options=_options),)
