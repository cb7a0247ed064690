"""`neuralclaw init`: asks the few things needed, calls the model once for real, and only then saves."""

import argparse
import sys
from typing import Any

import anyio
import msgspec

from ..app.setup.model_download import DEFAULT_URL, FetchedFile, fetch
from ..app.setup.procedure import FirstCall, Setup, SetupChoice, missing_for
from ..channels.command_hints import typed
from ..config.process_environment import environ
from ..errors import ConfigError, UsageError
from ..types.suggestions import joined
from . import output
from .interrupts import CANCELLED
from .interview import Interview, choice_of
from .line_prompts import InputEnded, LinePrompts
from .parsing import Command, with_json


def _options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--model", metavar="P:M", help="the model, for instance groq:llama-3.3-70b-versatile or local:/path/model.gguf; nothing is asked then")
    add("--fallback", metavar="P:M", action="append", help="a model for when that one is unavailable; may be given several times")
    add("--base-url", metavar="URL", help="the address of a service of your own, named by --model NAME:M")
    add("--key-stdin", action="store_true", help="read the service's key from standard input")
    add("--fetch-model", metavar="URL", nargs="?", const=DEFAULT_URL, help="download a GGUF file once and use it (without URL a small one, 145 MB)")
    add("--no-check", action="store_true", help="save without calling the model")
    add("--yes", action="store_true", help="take what is proposed and ask nothing")
    with_json(parser)


def _init(args: argparse.Namespace) -> int:
    if args.key_stdin and not args.model:
        raise UsageError("--key-stdin requires --model")
    if args.base_url and ":" not in (args.model or ""):
        raise UsageError("--base-url requires --model NAME:MODEL")
    setup = Setup(args.home, environ)
    prompts = LinePrompts(silent=args.json and bool(args.model or args.yes or args.fetch_model))
    try:
        return _done(args, setup, prompts, *_chosen(args, setup, prompts))
    except (InputEnded, KeyboardInterrupt):
        prompts.screen.line("Left: nothing was changed.")
        return CANCELLED


def _chosen(args: argparse.Namespace, setup: Setup, prompts: LinePrompts) -> tuple[SetupChoice, list[FirstCall], FetchedFile | None]:
    """What was decided, the calls that showed that it works, and the file that was fetched for it."""
    fetched = _fetched(args, setup, prompts) if args.fetch_model else None
    if args.model or fetched or args.yes:
        choice = _from_options(args, setup, prompts, fetched)
        return (choice, [] if args.no_check else checked(setup, choice, prompts), fetched)
    interview = Interview(setup, prompts, check=not args.no_check)
    choice, calls = interview.run()
    return choice, calls, interview.fetched


def _fetched(args: argparse.Namespace, setup: Setup, prompts: LinePrompts) -> FetchedFile:
    prompts.tell(f"fetching {args.fetch_model}")
    file = anyio.run(fetch, setup.gate, args.fetch_model, setup.loaded.home, prompts.tell)
    prompts.tell(f"{'already there' if file.already else 'fetched'}: {file.path}, {file.size:,} bytes, SHA-256 {file.sha256}")
    return file


def _from_options(args: argparse.Namespace, setup: Setup, prompts: LinePrompts, fetched: FetchedFile | None) -> SetupChoice:
    """The choice that the options spell out, or the proposal."""
    if args.model:
        choice = anyio.run(setup.named, msgspec.structs.replace(choice_of(args.model), base_url=args.base_url or ""))
    elif fetched:
        choice = SetupChoice(service="local", model=fetched.path)
    else:
        found = anyio.run(setup.find)
        proposed = Interview(setup, prompts, check=False).proposal(found, unasked=True)
        choice = SetupChoice(service=proposed, model=setup.default_model(proposed, found))
    key = ""
    if args.key_stdin:
        key = sys.stdin.readline().strip() if sys.stdin else ""
        if not key:
            raise UsageError("--key-stdin: standard input is empty")
    elif prompts.person and not args.yes and setup.needs_key(choice.service):
        key = prompts.secret(f"Key for {choice.service} ({setup.key_variable(choice.service)}; what you type is not shown): ")
    fallback = tuple(args.fallback) if args.fallback else None
    return setup.complete(msgspec.structs.replace(choice, key=key, base_url=args.base_url or "", fallback=fallback))


def checked(setup: Setup, choice: SetupChoice, prompts: LinePrompts) -> list[FirstCall]:
    """The real calls. Raises the failure of the first that fails: then nothing is saved."""
    if missing := missing_for(choice.service):
        raise ConfigError("no library that runs a model in this process is installed; nothing was saved", hint=missing)
    calls = anyio.run(setup.call, choice, prompts.tell)
    error = calls[-1].error()
    if error is not None:
        raise type(error)(joined(f"{calls[-1].model} does not work: {error.text}", "nothing was saved"), hint=error.hint or "--no-check saves without a call")
    return calls


def _done(args: argparse.Namespace, setup: Setup, prompts: LinePrompts, choice: SetupChoice, calls: list[FirstCall], fetched: FetchedFile | None) -> int:
    """Save, and say what next."""
    existed = setup.exists
    written = setup.save(choice)
    overruled = setup.overruled(choice)
    if args.json:
        report: dict[str, Any] = {"saved": True, "file": setup.file, "written": written, "model": choice.name, "fallback": list(choice.fallback or ())}
        report["checked"] = [{"model": one.model, "text": one.text, "ms": one.ms} for one in calls]
        report["fetched"] = msgspec.to_builtins(fetched) if fetched else None
        report["notice"] = overruled or None
        output.json_line(report)
        return 0
    for one in calls:
        if one.ms:
            prompts.screen.line(f"{one.model} answered {one.text[:60]!r} after {one.ms / 1000:.1f} s.")
    output.out().line(f"saved: {setup.file}")
    if existed:
        prompts.screen.line(f"The previous file was saved as {setup.file}.bak.")
    if choice.key:
        place = "in the secret store, encrypted" if setup.in_secret_store(choice) else "in .env beside it, readable for you alone"
        prompts.screen.line(f"The key is {place}, as {setup.key_variable(choice.service)}.")
    if overruled:
        prompts.screen.line(f"But {overruled}.", "yellow")
    prompts.screen.line(typed('Next: neuralclaw (the chat), neuralclaw run "list .", neuralclaw doctor'))
    return 0


COMMANDS = (
    Command(
        "init",
        "Choose the model: finds what is there, asks, calls it once for real, and only then saves.",
        example="neuralclaw init --model groq:llama-3.3-70b-versatile --key-stdin < key.txt",
        run=_init,
        options=_options,
    ),
)
