"""Equips a turn: one function makes what a run works with, for its session and options; and the options themselves are filled in."""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial

import msgspec

from .. import config, lookups
from ..agent.compaction import Summarizer
from ..agent.equipment import ChosenModel, Equipment, StartRecord
from ..agent.sources import TurnSource, read_sources
from ..capability import Place, TurnContext
from ..plugins import load
from ..ports import Provider
from ..types.entries import blob_digest
from ..types.events import TurnStarted
from ..types.labels import NONE, Labels
from ..types.messages import ToolDef
from ..types.options import TurnOptions
from .builtin_sources import NO_CONTEXT
from .home import PROMPTS_KEPT, Home
from .option_checks import still_there, tools_of
from .tool_call_turns import DIRECT
from .turn_tools import TurnTools

BYTES_PER_TOKEN = 4
_definitions = msgspec.json.Decoder(tuple[ToolDef, ...])


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """What stands at the beginning of every request of a turn, and the tools behind it. `base`: the system prompt without what the sources told."""

    system: str
    tools: TurnTools
    definitions: tuple[ToolDef, ...]
    base: str = ""
    source_text: str = ""
    labels: Labels = NONE


async def equip(home: Home, session: str, number: int, options: TurnOptions, begun: TurnStarted | None) -> Equipment:
    """See `runtime.runtime_ports.MakeEquipment`."""
    still_there(options.workspace, session)
    model = await home.models.chosen(options.model)
    info = model.info
    turn = TurnContext(session=session, turn=number, options=options, window=info.context)
    if options.purpose == "reading":
        model, _ = await asked_model(home, turn, model)
        equipment: Equipment = load("reading.equipment")(model, home.gate, home.redactor, turn, home.policy_text, home.digests)
        return equipment
    tools = await home.turn_tools(turn)
    if "undo" in home.loaded.sections:
        home.early_copies.turn_begins(options.workspace, tools.tools())
        if begun is not None:
            await home.record_interrupted(session, number, options.workspace)
    prompt = await (_new_prompt(home, turn, tools, told=info.language) if begun is None else _recorded_prompt(home, turn, tools, begun))
    model, foreign = await asked_model(home, turn, model)
    return Equipment(
        model=model,
        foreign_provider=foreign,
        tools=prompt.tools,
        gate=home.gate,
        system=prompt.system,
        definitions=prompt.definitions,
        before_last=sources(home, turn, "before_last") if info.language else (),
        redaction=home.redactor,
        hooks=home.hooks,
        start=_start_record(home, prompt) if begun is None else StartRecord(),
    )


async def asked_model(home: Home, turn: TurnContext, model: ChosenModel) -> tuple[ChosenModel, bool]:
    """The model as the turn asks it: inside what capabilities wrap around it, and charged to the caps of the turn. True: its provider is others' code.

    Raises `ConfigError` for a cap of money over a model without a price.
    """
    charged = await charging(home, turn.session, turn.turn, turn.options)
    if charged is not None and home.models.given:
        model = msgspec.structs.replace(model, provider=load("provider.metered")(model.provider))
    provider = model.provider if turn.options.model == DIRECT else await home.capability_parts.wrap(turn, model.provider)
    foreign = home.models.given or provider is not model.provider
    return msgspec.structs.replace(model, provider=provider if charged is None else charged(provider)), foreign


async def summarizer(home: Home, session: str, number: int, options: TurnOptions) -> Summarizer:
    """Who summarises the session, as a turn under these options would. Raises `ConfigError` for a model that cannot be asked."""
    chosen = await home.models.chosen(options.model)
    turn = TurnContext(session=session, turn=number, options=options, window=chosen.info.context)
    model, foreign = await asked_model(home, turn, chosen)
    return Summarizer(model=model, name=options.model, foreign=foreign)


async def charging(home: Home, session: str, number: int, options: TurnOptions) -> Callable[[Provider], Provider] | None:
    """What charges the calls of a provider to the caps of a turn; None where the turn has none. Raises `ConfigError` for a model without a price."""
    if not capped(home, options):
        return None
    load("budget.check")(load("budget.caps")(home.loaded, options), home.models.infos(options.model))
    account = await load("budget.account")(home.store, home.clock, home.loaded, session, number, options)
    return lambda provider: load("provider.accounted")(provider, account)


def capped(home: Home, options: TurnOptions) -> bool:
    """Whether anything caps what the turn may cost."""
    return options.budget_usd is not None or home.loaded.settings.budget != config.BudgetSection()


def sources(home: Home, turn: TurnContext, place: Place) -> Sequence[TurnSource]:
    """What tells the model of this turn something at that place, each with its share of the window."""
    found = []
    for source, context in home.sources():
        if source.place == place:
            room = int(source.share * turn.window) * BYTES_PER_TOKEN
            found.append(TurnSource(name=source.name, read=partial(source.read, context, turn, room), room=room, foreign=context is not NO_CONTEXT))
    return found


async def _new_prompt(home: Home, turn: TurnContext, tools: TurnTools, *, told: bool) -> Prompt:
    """The prompt of this moment, without secrets. `told`: with what the sources say."""
    base = home.base_prompt(turn.options.workspace)
    said = await read_sources(sources(home, turn, "system") if told else (), home.redactor)
    return Prompt(system=_joined(base, said.text), tools=tools, definitions=tools.definitions, base=base, source_text=said.text, labels=said.labels)


async def _recorded_prompt(home: Home, turn: TurnContext, tools: TurnTools, begun: TurnStarted) -> Prompt:
    """The prompt that the turn began with, and of the tools those that it began with; the built-in one where that was not kept."""
    blobs = await lookups.blobs(home.store, list(begun.stored.values()))
    if not {"system", "tools"}.issubset(begun.stored) or len(blobs) < len(set(begun.stored.values())):
        return await _new_prompt(home, turn, tools, told=False)
    encoded = blobs[begun.stored["tools"]]
    definitions = tools.definitions if encoded == tools.encoded else _definitions.decode(encoded)
    return Prompt(system=blobs[begun.stored["system"]].decode(), tools=tools.only(definitions, turn.session), definitions=definitions)


def _start_record(home: Home, prompt: Prompt) -> StartRecord:
    """What the beginning of a turn says of its prompt and its policy."""
    system, stored = _encoded(prompt.system)
    digests = home.digests | {"prompt": _encoded(prompt.base)[1], "tools": prompt.tools.digest}
    if prompt.source_text:
        digests["instructions"] = _encoded(prompt.source_text)[1]
    policy = home.policy_text
    kept = {"system": stored, "tools": blob_digest(prompt.tools.encoded), "policy": blob_digest(policy)}
    return StartRecord(stored=kept, digests=digests, labels=prompt.labels, blobs=(system, prompt.tools.encoded, policy))


@lru_cache(maxsize=PROMPTS_KEPT)
def _joined(base: str, told: str) -> str:
    """The system prompt: one text for all turns that begin with it."""
    return f"{base}\n{told}" if told else base


@lru_cache(maxsize=3 * PROMPTS_KEPT)
def _encoded(text: str) -> tuple[bytes, str]:
    """The bytes of a text, and their digest."""
    encoded = text.encode()
    return encoded, blob_digest(encoded)


async def resolve(home: Home, defaults: TurnOptions, session: str, options: TurnOptions | None) -> TurnOptions:
    """See `runtime.runtime_ports.ResolveOptions`; `defaults` are the client's own."""
    options = options or defaults
    wanted = options.model or defaults.model or None
    await home.models.ready(wanted)
    model, workspace = home.models.full_name(wanted), options.workspace or defaults.workspace
    options = msgspec.structs.replace(options, model=model, workspace=workspace)
    if options.tools is not None:
        there = await home.turn_tools(TurnContext(session=session, options=options))
        options = msgspec.structs.replace(options, tools=tools_of(options.tools, there))
    await home.models.chosen(model)
    if capped(home, options):
        load("budget.check")(load("budget.caps")(home.loaded, options), home.models.infos(model))
    return options
