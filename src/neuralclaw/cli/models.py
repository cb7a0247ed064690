"""`neuralclaw models`: which models can be chosen, what is known of one, and what one achieves."""

import argparse
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from .. import config
from ..channels.command_hints import typed
from ..config.process_environment import environ
from ..plugins import load
from . import output
from .model_trials import TRY
from .parsing import Command, with_json


async def _read(args: argparse.Namespace, verb: Callable[[Any], Awaitable[Any]]) -> Any:
    """The value of a verb; needs the configuration and nothing else of the home."""
    async with load("models.reading")(config.SettingsRequest(args.home, environ)) as verbs:
        return output.plain(await verb(verbs))


def _list_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "service",
        metavar="SERVICE",
        nargs="?",
        help="every model of this service: what a server of your own lists, what is known of the others (else those that can be used now)",
    )
    with_json(parser)


def _list(args: argparse.Namespace) -> int:
    rows, notice = anyio.run(_read, args, _listed(args.service))
    if notice:
        output.err().line(notice, "yellow")
    if args.json:
        output.json_line(rows)
        return 0
    lines = [{**row, "tools": tools(row), "images": yes(row["images"]), "price": price(row["price"]), "key": key(row)} for row in rows]
    output.table(lines, ("model", "context", "tools", "images", "price", "key"), empty=f"{args.service} has no models")
    if args.service is None and all(row["model"].startswith("offline:") for row in rows):
        output.err().line(typed("No service has a key and no Ollama runs: neuralclaw init sets a model up."), "yellow")
    return 0


def _listed(service: str | None) -> Callable[[Any], Awaitable[Any]]:
    """Gives the rows, and what they do not tell."""

    async def ask(verbs: Any) -> Any:
        return await verbs.list(service), verbs.notice

    return ask


def _show_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="P:M", nargs="?", help="a model, or a service alone (else the one that is used)")
    with_json(parser)


def _show(args: argparse.Namespace) -> int:
    row = anyio.run(_read, args, lambda verbs: verbs.show(args.model))
    if args.json:
        output.json_line(row)
        return 0
    told = {
        "model": row["model"],
        "window": f"{row['context']:,} tokens",
        "tools": tools(row),
        "pictures": yes(row["images"]),
        "price": price(row["price"]) + (" USD per million tokens in and out" if row["price"] and any(row["price"].values()) else ""),
        "known from": row["source"],
        "address": row["address"] or "this process",
        "key": key(row),
    }
    output.fields(told)
    return 0


def tools(row: dict[str, Any]) -> str:
    return {True: "yes", False: "as JSON", "none": "no"}[row["tools"]]


def yes(value: bool) -> str:
    return "yes" if value else "no"


def price(found: dict[str, Any] | None) -> str:
    """`2.5 / 10`: USD per million tokens in and out."""
    if found is None:
        return "unknown"
    return f"{found['input']:g} / {found['output']:g}" if found["input"] or found["output"] else "free"


def key(row: dict[str, Any]) -> str:
    if row["key"] is None:
        return "none needed"
    return row["key"] if row["key_present"] else f"{row['key']} is not set"


COMMANDS = (
    Command(
        "models list",
        "The models that can be used now, or all that are known of one service.",
        example="neuralclaw models list openai",
        run=_list,
        options=_list_options,
    ),
    Command(
        "models show",
        "One model: window, tools, pictures, price, where that is known from, and whether its key is there.",
        example="neuralclaw models show openai:gpt-4o",
        run=_show,
        options=_show_options,
    ),
    TRY,
)
