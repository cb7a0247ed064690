"""`neuralclaw policy`: what is allowed, asked about or forbidden, and why. Runs nothing; needs no model and no network."""

import argparse
import os
import shlex
import sys
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import msgspec

from ..app.policy_verbs import policy_desk
from ..channels.control_characters import exact
from ..channels.line_reader import LineReader
from ..errors import NeuralClawError, UsageError
from ..plugins import load
from ..ports import VerbCaller
from . import output
from .opening import NO_WORKSPACE, workspace_of
from .option_choices import TRUST
from .parsing import Command, choice, clean, count, whole, with_json

_TARGETS = ("command", "url", "path", "tool", "call_id")
_BOUND = (*_TARGETS, "op", "args", "resolve")
"""A target and what belongs to it: those of the command line do not count for a line with a target of its own."""
_CONTEXT = ("op", "args", "resolve", "workspace", "trust", "soul", "origin", "channel", "label")


def _explain_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("call_id", metavar="CALL_ID", nargs="?", help="a recorded call; SESSION/CALL_ID where several sessions have that id")
    add("--command", metavar="TEXT", help="a shell command")
    add("--url", metavar="URL")
    add("--resolve", metavar="HOST=ADDR,ADDR", action="append", help="what a look-up of HOST answers, instead of DNS; again for the next look-up")
    add("--path", metavar="PATH")
    add("--op", type=choice("read", "write", "list", "delete"), metavar="read|write|list|delete")
    add("--tool", metavar="NAME")
    add("--args", metavar="JSON", help="the arguments of --tool")
    add("--workspace", metavar="DIR")
    add("--trust", type=choice(*TRUST), metavar="|".join(TRUST))
    add("--soul", metavar="ID")
    add("--origin", type=choice("owner", "program", "schedule", "agent"), metavar="WHO")
    add("--channel", metavar="NAME")
    add("--label", metavar="LABEL", action="append", help="what the model had read: external:web, …")
    add("--batch", metavar="-", help="JSON lines from standard input, one answer a line")
    with_json(parser)


def _explain(args: argparse.Namespace) -> int:
    wanted = {name: getattr(args, name) for name in (*_TARGETS, *_CONTEXT) if getattr(args, name) is not None}
    if "args" in wanted:
        wanted["args"] = _object(wanted["args"])
    if "resolve" in wanted:
        wanted["resolve"] = _answers(wanted["resolve"])
    if args.batch is not None:
        if args.batch != "-":
            raise UsageError("--batch reads standard input: --batch -")
        return anyio.run(_batch, args, wanted)
    named = [f"--{name}" if name != "call" else "a recorded call" for name in _TARGETS if name in wanted]
    if len(named) > 1:
        raise UsageError(f"policy explain judges one action at a time, and got {' and '.join(named)}; nothing was judged", hint="give one of them")
    if not named:
        raise UsageError(
            "policy explain requires one of --command, --url, --path, --tool or a recorded call", hint='neuralclaw policy explain --command "git push"'
        )
    verdict = _ask(args, "policy.explain", **wanted)
    if args.json:
        output.json_line(verdict)
    else:
        tell(verdict)
    return 0


def _judging(args: argparse.Namespace) -> AbstractAsyncContextManager[VerbCaller]:
    """The policy verbs of the home, which is only read."""
    workspace = getattr(args, "workspace", None)
    if workspace is None and not workspace_of(args):
        workspace = NO_WORKSPACE
        if hasattr(args, "workspace"):
            output.err().line(f"The current directory was deleted: this is judged as in {workspace}, which is read-only.", "yellow")
    return policy_desk(args.home, workspace=workspace, trust=getattr(args, "trust", None))


def _ask(args: argparse.Namespace, verb: str, /, **arguments: Any) -> Any:
    async def ask() -> Any:
        async with _judging(args) as desk:
            return output.plain(await desk.do(verb, **arguments))

    return anyio.run(ask)


def _object(text: str) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(clean(text))
    except msgspec.DecodeError as error:
        raise UsageError(f"--args is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise UsageError("--args must be one JSON object")
    return value


def _answers(given: list[str]) -> dict[str, list[list[str]]]:
    """`HOST=ADDR,ADDR` as one answer list a look-up."""
    answers: dict[str, list[list[str]]] = {}
    for one in given:
        host, equals, addresses = one.partition("=")
        if not equals or not host:
            raise UsageError(f"--resolve {one!r} is not HOST=ADDR,ADDR")
        answers.setdefault(host, []).append([a for a in addresses.split(",") if a])
    return answers


_SAID = {"allow": "Allowed", "ask": "Asks first", "forbid": "Forbidden"}
_EACH = {"allow": "allows", "ask": "asks", "forbid": "forbids"}


def tell(verdict: dict[str, Any]) -> None:
    """The verdict in words: what would happen, why, and what it is about."""
    screen = output.out()
    powers = f"; it may {_listed(verdict['powers'])}" if verdict["powers"] else ""
    screen.line(f"{_SAID[verdict['decision']]}. Risk {verdict['risk']}, tier {verdict['tier']}{powers}.", "bold")
    if not verdict["understood"]:
        screen.line("Some part of it cannot be worked out before it runs.")
    for rule in verdict["rules"]:
        screen.line(f"  {_EACH[rule['decision']]}: {exact(rule['reason'])} ({rule['id']})")
        if rule.get("alternative"):
            screen.line(f"    instead: {exact(rule['alternative'])}")
    for command in verdict["commands"]:
        under = f", under {', '.join(command['via'])}" if command["via"] else ""
        does = f": {', '.join(command['powers'])}" if command["powers"] else ""
        screen.line(f"  command {exact(shlex.join(command['argv']))}{exact(under)}{does}, risk {command['risk']}")
    if verdict["addresses"]:
        screen.line(f"  addresses {exact(', '.join(verdict['addresses']))}")
    if verdict["resolved"] is not None:
        screen.line(f"  path {exact(verdict['resolved'])}, {'in' if verdict['inside'] else 'outside'} the workspace and the allowed paths")


def _listed(words: list[str]) -> str:
    shown = ["use the network" if word == "network" else "take more rights" if word == "privilege" else word for word in words]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


async def _batch(args: argparse.Namespace, given: dict[str, Any]) -> int:
    lines = LineReader(sys.stdin.fileno())
    async with _judging(args) as desk:
        while (line := await lines.next()) is not None:
            if line.strip():
                output.json_line(await _one(desk, line, given))
    return 0


def _line(line: str) -> Any:
    """What a line of a batch says. Raises `UsageError`."""
    try:
        return msgspec.json.decode(line)
    except msgspec.DecodeError as error:
        raise UsageError(
            f"the line is not JSON: {str(error).partition(': ')[2] or error}", hint='a line is one JSON object: {"id": 1, "command": "ls"}'
        ) from None


async def _one(desk: VerbCaller, line: str, given: dict[str, Any]) -> dict[str, Any]:
    """The verdict on one line with its `id`. Whatever fails means forbid, and the next line is read."""
    name: Any = None
    try:
        asked = _line(line)
        if not isinstance(asked, dict):
            raise UsageError("a line must be one JSON object")
        name = asked.pop("id", None)
        own = {n: v for n, v in given.items() if n not in _BOUND or not any(t in asked for t in _TARGETS)}
        verdict = output.plain(await desk.do("policy.explain", **{**own, **asked}))
    except Exception as error:  # a named guard: any failure inside is forbid
        return {"id": name, "decision": "forbid", "error": error.text if isinstance(error, NeuralClawError) else f"{type(error).__name__}: {error}"}
    return {"id": name, **verdict}


def _check_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE")
    with_json(parser)


def _check(args: argparse.Namespace) -> int:
    report = _ask(args, "policy.check", file=os.path.abspath(args.file))  # noqa: PTH100
    if args.json:
        output.json_line(report)
    else:
        output.out().line("valid" if report["ok"] else "\n".join(report["errors"]))
        for notice in report["notices"]:
            output.err().line(notice, "yellow")
    return 0 if report["ok"] else 1


def _selection_options(parser: argparse.ArgumentParser) -> None:
    """Which recorded actions are looked at."""
    parser.add_argument("--session", metavar="ID", help="actions of this session alone")
    parser.add_argument("--since", metavar="WHEN", help="actions from then on: a date, a time, or 30m, 12h, 7d for that long ago")
    parser.add_argument("--limit", metavar="N", type=count, help="the newest N actions alone")


def _simulate_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a list of rules, a safety section, or a configuration")
    parser.add_argument("--add", action="store_true", help="the rules of FILE come behind those in force, not in place of them")
    _selection_options(parser)
    parser.add_argument("--samples", metavar="N", type=whole, default=5, help="actions shown of each change (5)")
    with_json(parser)


def _simulate(args: argparse.Namespace) -> int:
    chosen = {name: getattr(args, name) for name in ("add", "session", "since", "limit", "samples")}
    found = _ask(args, "policy.simulate", file=os.path.abspath(args.file), **chosen)  # noqa: PTH100
    if args.json:
        output.json_line(found)
    else:
        screen = output.out()
        for line, style in load("policy.simulated")(found):
            screen.line(line, style)
    return 0


def _suggest_options(parser: argparse.ArgumentParser) -> None:
    _selection_options(parser)
    parser.add_argument("--least", metavar="N", type=count, default=3, help="yeses before something is suggested (3)")
    with_json(parser)


def _suggest(args: argparse.Namespace) -> int:
    found = _ask(args, "policy.suggest", **{name: getattr(args, name) for name in ("session", "since", "limit", "least")})
    if args.json:
        output.json_line(found)
        return 0
    told, screen = output.err(), output.out()
    for line, style in load("policy.suggested")(found):
        told.line(line, style)
    for line in found["yaml"].splitlines():
        screen.line(line)
    return 0


def _rules(args: argparse.Namespace) -> int:
    rules = _ask(args, "policy.rules")
    if args.json:
        output.json_line(rules)
        return 0
    screen = output.out()
    for rule in rules:
        for line in load("policy.rule_lines")(rule):
            screen.line(line)
    return 0


COMMANDS = (
    Command(
        "policy explain",
        "Say what the gate would decide about an action, and why. Always exits 0.",
        example='neuralclaw policy explain --command "git push origin main"',
        run=_explain,
        options=_explain_options,
    ),
    Command("policy check", "Check a policy file: 0 valid, 1 not.", example="neuralclaw policy check rules.yaml", run=_check, options=_check_options),
    Command(
        "policy simulate",
        "Decide recorded actions again under another policy: what would be newly allowed, asked or forbidden. Runs nothing.",
        example="neuralclaw policy simulate rules.yaml --since 7d",
        run=_simulate,
        options=_simulate_options,
    ),
    Command(
        "policy suggest",
        "Suggest rules that would have spared questions you answered with yes. Applies nothing.",
        example="neuralclaw policy suggest > more.yaml",
        run=_suggest,
        options=_suggest_options,
    ),
    Command(
        "policy rules", "The rules in force, built-in ones too, as a file of rules has them.", example="neuralclaw policy rules", run=_rules, options=with_json
    ),
)
