"""`neuralclaw doctor`: what works here, what is missing and how to get it."""

import argparse
from typing import Any

from ..channels.command_hints import typed
from ..errors import ConfigError, StoreError
from . import output, verb_dispatch
from .parsing import Command, with_json


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rebuild", action="store_true", help="rebuild the tables that are derived from the record")
    parser.add_argument("--call", action="store_true", help="call the chosen model and its fallbacks once for real; without it only free questions are asked")
    parser.add_argument("--prove", action="store_true", help="run live checks: an escape attempt, an approval, a crash and recovery, audit, backup")
    with_json(parser)


def _checks(args: argparse.Namespace) -> list[dict[str, Any]]:
    """All checks, or the one that stands in the way of the others."""
    try:
        found: list[dict[str, Any]] = verb_dispatch.ask(args, "doctor", call=args.call, needed=True)
    except ConfigError as error:
        found = [{"check": "config", "ok": False, "text": error.text, "fix": error.hint or "neuralclaw config path", "needed": True}]
    except StoreError as error:
        found = [{"check": "store", "ok": False, "text": error.text, "fix": error.hint or "neuralclaw audit verify", "needed": True}, *_beside(args)]
    return found


def _beside(args: argparse.Namespace) -> list[dict[str, Any]]:
    """What else can be checked where the store cannot be written; nothing where it cannot be read either."""
    try:
        found = verb_dispatch.look(args, "doctor", call=args.call)
    except StoreError:
        return []
    return [check for check in found if check["check"] != "store"]


def _doctor(args: argparse.Namespace) -> int:
    if args.rebuild or args.prove:
        checks = verb_dispatch.ask(args, "doctor", rebuild=args.rebuild, call=args.call, prove=args.prove, needed=True)
    else:
        checks = _checks(args)
    needed = [check.pop("needed", True) for check in checks]
    if args.json:
        output.json_line(checks)
    else:
        screen = output.out()
        for check, must in zip(checks, needed, strict=True):
            word = "ok" if check["ok"] else ("MISSING" if must else "absent")
            screen.line(f"{word:8}{check['check']}: {check['text']}")
            if check["fix"] and not check["ok"]:
                screen.line(f"        {typed(check['fix'])}", "dim")
    return int(any(must and not check["ok"] for check, must in zip(checks, needed, strict=True)))


COMMANDS = (Command("doctor", "Check what works here; 1 when something needed is missing.", example="neuralclaw doctor --json", run=_doctor, options=_options),)
