"""`SECRETS`: the capability that brings the commands about the secret store, and the one that takes secrets out of a text."""

from collections.abc import Callable

import anyio.to_thread
import msgspec

from ...capability import Capability, Verb
from ...config import secret_values
from ...errors import UsageError
from ...plugins import load
from ...secrets import Redactor
from ...secrets.scrubbing import scrub
from ...secrets.secret_store import SecretStore
from ...secrets.spellings import unfit
from ..capability_context import BuiltInContext

ReadBytes = Callable[[int], bytes]
"""Gives at most so many bytes, none at the end."""
WriteBytes = Callable[[bytes], object]


class SecretRow(msgspec.Struct, frozen=True, kw_only=True):
    """A secret without its value. `kind`: the format of key that it has, or `text`; `updated`: when it was set."""

    name: str
    kind: str
    updated: str


def _store(context: BuiltInContext) -> SecretStore:
    store: SecretStore = load("secrets.store")(context.loaded.home, context.loaded.env)
    return store


async def set_secret(context: BuiltInContext, name: str, value: str) -> SecretRow:
    """Keep the value under the name, encrypted, in place of an earlier one. It holds from the next start of each program."""
    done = await anyio.to_thread.run_sync(_store(context).put, name, value)
    if why := unfit(value):
        context.notice(f"The value is {why}: it is not taken out of texts, and given to no command or request by its name.")
    origin = context.loaded.variable_origin(name) if name in context.loaded.env else ""
    if origin.startswith((".env", "environment")):
        context.notice(f"{name} is set in {origin} too, which wins over the secret store.")
    return SecretRow(name=done.name, kind=done.kind, updated=done.set)


async def list_secrets(context: BuiltInContext) -> list[SecretRow]:
    """Every secret, by name, without its value."""
    found = await anyio.to_thread.run_sync(_store(context).secrets)
    return [SecretRow(name=one.name, kind=one.kind, updated=one.set) for one in found]


async def remove_secret(context: BuiltInContext, name: str) -> dict[str, str]:
    """Erase the secret from the store. Raises `UsageError` where there is none of the name."""
    await anyio.to_thread.run_sync(_store(context).remove, name)
    context.notice("Files that had the value, and what undo keeps of them, stay as they are.")
    return {"removed": name}


async def scrub_text(context: BuiltInContext, *, read: ReadBytes | None = None, write: WriteBytes | None = None) -> None:
    """Copy what `read` gives to `write`, with `[REDACTED:kind]` in place of each secret. Both block, in a thread."""
    if read is None or write is None:
        raise UsageError("secrets.scrub needs the functions read and write", hint="on the command line: neuralclaw secrets scrub < FILE")
    redactor = Redactor(secret_values(context.loaded))
    await anyio.to_thread.run_sync(scrub, redactor, read, write, abandon_on_cancel=True)


SECRETS = Capability(
    name="secrets",
    summary="store keys and passwords encrypted; remove them from texts",
    verbs=(
        Verb(
            name="secrets.set",
            summary="Keep a secret, encrypted: read from standard input, or typed without being shown.",
            run=set_secret,
            example="neuralclaw secrets set OPENAI_API_KEY < key.txt",
            help={"name": "a name such as OPENAI_API_KEY: the settings find it like a variable of that name"},
            hidden={"value": "Value of {name}"},
            in_chat=False,
            needs="settings",
        ),
        Verb(
            name="secrets.list",
            summary="The names of the secrets, the kind of each, and when it was set; no values.",
            run=list_secrets,
            example="neuralclaw secrets list",
            columns=("name", "kind", "updated"),
            empty="there is no secret yet",
            hint=lambda rows, given: "" if rows else "neuralclaw secrets set NAME",
            reads=True,
            needs="settings",
        ),
        Verb(
            name="secrets.remove",
            summary="Erase a secret.",
            run=remove_secret,
            example="neuralclaw secrets remove OPENAI_API_KEY",
            help={"name": "its name"},
            needs="settings",
        ),
        Verb(
            name="secrets.scrub",
            summary="Copy standard input to standard output, with [REDACTED:kind] in place of each secret and of each key of a known format.",
            run=scrub_text,
            example="neuralclaw secrets scrub < build.log > shareable.log",
            filters=True,
            in_chat=False,
            reads=True,
            needs="settings",
        ),
    ),
)
