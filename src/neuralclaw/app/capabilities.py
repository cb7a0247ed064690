"""The capabilities of this program: the built-in ones, and the installed ones that `capabilities.enabled` names.

A broken one stops nothing: it is left out, and `left_out` says which and why.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Container, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import anyio
import msgspec

from ..capability import Capability, CapabilityContext, ContextSource, DoctorCheck, EventKind, FileFormat, Service, Table, TurnContext, Verb
from ..config import LeftOut, LoadedSettings, SettingsRequest, enabled_names
from ..errors import AgentError, UsageError
from ..foreign_code import call_foreign, place_of, reason, reason_with_place, run_foreign
from ..plugins import CAPABILITIES, BuiltInCapability, InstalledCapability, installed, load, load_target
from ..ports import Channel, Desk, Provider
from ..types.codec import BUILT_IN as BUILT_IN_KINDS
from ..types.codec import Codec
from ..types.events import Body
from ..types.sentences import sentence
from ..types.suggestions import did_you_mean
from .capability_context import BuiltInContext, CapabilityClient, ClientContext, in_one_line
from .capability_tools import BroughtTools
from .capability_verbs import CapabilityVerb
from .lazy_parts import LazyChannel

BUILT_IN = "built in"
CHECK_SECONDS = 30.0
"""Seconds that a capability's checks may take together."""
TOOLS_SECONDS = 2.0
"""How long a capability is waited for that is asked for its tools outside a turn; in a turn, the time limit of the turn holds."""
Packages = Callable[[], Sequence[InstalledCapability]]
"""What packages bring, enabled or not."""


class LoadedCapability:
    """A capability that takes part. `origin`: the package that brings it, or `built in`: then it is imported when it is first used."""

    def __init__(self, name: str, version: str, origin: str, *, value: Capability | None = None, row: BuiltInCapability | None = None) -> None:
        self.name, self.version, self.origin, self.row, self._value = name, version, origin, row, value

    @cached_property
    def capability(self) -> Capability:
        """The value; of a built-in one, its code is imported now."""
        if self._value is not None:
            return self._value
        assert self.row is not None
        value: Capability = load_target(self.row.target)
        return value

    def brings(self, part: str) -> bool:
        """Whether the value may have this part; what is known of a built-in one is asked, and nothing imported."""
        return self.row is None or self.row.brings(part)

    @property
    def verbs(self) -> tuple[str, ...]:
        """The names of its verbs."""
        if self.row is not None and self.row.parts is not None:
            return self.row.verbs
        return tuple(verb.name for verb in self.capability.verbs)

    def verb(self, name: str) -> Verb:
        """The row of its verb of that name."""
        return next(verb for verb in self.capability.verbs if verb.name == name)


class Capabilities:
    """What takes part, in order: built-in ones first, then those of `capabilities.enabled`. The same for every client of the home."""

    def __init__(self, loaded: Sequence[LoadedCapability] = (), left_out: Sequence[LeftOut] = (), found: Packages = installed) -> None:
        self.loaded, self.left_out, self._found = tuple(loaded), tuple(left_out), found
        self._with_part: dict[str, tuple[LoadedCapability, ...]] = {}

    @classmethod
    def load(
        cls,
        enabled: Sequence[str] = (),
        *,
        built_in: Mapping[str, BuiltInCapability] = CAPABILITIES,
        found: Packages = installed,
    ) -> "Capabilities":
        """The built-in capabilities and the enabled ones. Where none is enabled, no package is looked at.

        Imports the code of the enabled ones, and raises nothing of it; of a built-in one it is imported when it is used.
        """
        ready = [LoadedCapability(name, "", BUILT_IN, row=row) for name, row in built_in.items()]
        if not enabled:
            return cls(ready, found=found)
        names = load("capabilities.names")()
        for one in ready:
            if one.row is None or not names.taken_by_row(one.name, one.row):
                names.taken_by(one.capability)
        left: list[LeftOut] = []
        there = found()
        for name in dict.fromkeys(enabled):
            packages = [one for one in there if one.name == name]
            if len(packages) != 1:
                left.append(_not_one(name, packages, built_in, [one.name for one in there]))
                continue
            first = packages[0]
            value, why = _loaded(first, names)
            if value is None:
                left.append(LeftOut(name, why, *_from(first), f"Fix or update {_from(first)[0]}"))
            else:
                ready.append(LoadedCapability(name, value.version or first.version, first.distribution, value=names.taken_by(value)))
        return cls(ready, left, found)

    def __iter__(self) -> Iterator[Capability]:
        """Every one, imported."""
        return (one.capability for one in self.loaded)

    def bringing(self, part: str) -> Iterator[Capability]:
        """Those that may have this part (`tools`, `events` …); no other is imported."""
        return (one.capability for one in self.loaded_with(part))

    def loaded_with(self, part: str) -> tuple[LoadedCapability, ...]:
        """The same, none imported."""
        if part not in self._with_part:
            self._with_part[part] = tuple(one for one in self.loaded if one.brings(part))
        return self._with_part[part]

    @property
    def enabled(self) -> tuple[LoadedCapability, ...]:
        """Those that are not built in."""
        return tuple(one for one in self.loaded if one.row is None)

    def get(self, name: str) -> LoadedCapability | None:
        """The capability of that name, where it takes part."""
        return next((one for one in self.loaded if one.name == name), None)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Those that take part."""
        return tuple(one.name for one in self.loaded)

    def check_settings(self, loaded: LoadedSettings) -> None:
        """Decode what is set of the built-in ones, which are needed by all that runs. Raises `ConfigError` that names every problem with file, line and key."""
        for one in self.loaded:
            section = loaded.sections.get(one.name)
            if one.row is not None and section is not None and section.node is not None:
                loaded.section(one.name)

    def installed(self) -> tuple[str, ...]:
        """Names of all that packages bring, enabled or not. Looks at every package."""
        return tuple(one.name for one in self._found())

    @cached_property
    def sections(self) -> dict[str, type[msgspec.Struct]]:
        """Sections of the settings that they bring."""
        return {one.name: one.settings for one in self.bringing("settings") if one.settings is not None}

    def nouns(self) -> dict[str, LoadedCapability]:
        """The first words of their commands, and whose they are."""
        return {verb.partition(".")[0]: one for one in self.loaded for verb in one.verbs}

    def verbs(self) -> dict[str, Verb]:
        """The rows of their commands by name."""
        return {verb.name: verb for one in self.bringing("verbs") for verb in one.verbs}

    def events(self) -> tuple[EventKind, ...]:
        """The kinds of events that the store's codec must know."""
        return tuple(kind for one in self.bringing("events") for kind in one.events)

    def sentence_of(self, body: Body) -> str:
        """What happened, in a sentence for a person; theirs for their kinds. One that fails says so in its place."""
        try:
            told = call_foreign("its sentence", partial(sentence, body, self._sentences))
        except AgentError as error:
            return f"{body.type} (its capability has no sentence for it: {reason(error.__cause__ or error)})"
        return told if isinstance(told, str) else f"{body.type} (its capability has no sentence for it: it gave {type(told).__name__})"

    @cached_property
    def _sentences(self) -> dict[str, Callable[[Any], str]]:
        return {kind.kind: kind.sentence for kind in self.events()}

    @cached_property
    def codec(self) -> Codec:
        """The codec of a store that knows their kinds."""
        kinds = self.events()
        return Codec(kinds) if kinds else BUILT_IN_KINDS

    def tables(self) -> tuple[Table, ...]:
        """The derived tables that the store keeps."""
        return tuple(table for one in self.bringing("tables") for table in one.tables)

    def formats(self) -> tuple[FileFormat, ...]:
        """The kinds of files that tools read and write as text."""
        return tuple(made for one in self.bringing("formats") for made in one.formats)

    def for_client(self, client: CapabilityClient, reading: Container[str] = ()) -> "ClientCapabilities":
        """The same for one client: with contexts, so that they can be used. `reading`: the other verbs of the client that write nothing of the record."""
        return ClientCapabilities(self, client, reading)


def capabilities_of_home(asked: SettingsRequest) -> Capabilities:
    """The capabilities that take part in a home, also where its configuration has problems elsewhere; the built-in ones where it cannot be read at all."""
    return Capabilities.load(enabled_names(asked))


def capabilities_of(loaded: LoadedSettings) -> Capabilities:
    """The capabilities that take part under these settings: those that were loaded with them, else loaded now."""
    if isinstance(loaded.extensions, Capabilities):
        return loaded.extensions
    return Capabilities.load(loaded.settings.capabilities.enabled)


def _from(one: InstalledCapability) -> tuple[str, str]:
    return one.distribution or "a package without a name", one.version


def _not_one(name: str, packages: Sequence[InstalledCapability], built_in: Collection[str], there: Sequence[str]) -> LeftOut:
    """Why an enabled name stands for no capability of a package, or for those of several."""
    if not packages and name in built_in:
        return LeftOut(name, "it is built in and always takes part", fix="")
    if not packages:
        near = did_you_mean(name, {*there, *built_in}, alike=0.7)
        return LeftOut(name, f"no installed package brings it{near}", fix="Correct the name" if near else "Install the package that brings it")
    brought = [_from(one)[0] for one in packages]
    return LeftOut(name, f"several packages bring it: {' and '.join(brought)}", *_from(packages[0]), f"Uninstall all but one of {' and '.join(brought)}")


def _loaded(package: InstalledCapability, names: Any) -> tuple[Capability | None, str]:
    """The capability that an entry point names, or None and why it cannot take part. A package is foreign code: what it raises is the reason."""
    try:
        value = call_foreign(package.name, package.load)
        why = call_foreign(package.name, partial(load("capabilities.problem"), value, package.name, names))
    except AgentError as failure:
        error = failure.__cause__ or failure
        place = place_of(error)
        return None, f"it cannot be loaded ({reason(error)}{f', {place}' if place else ''})"
    return (None, why) if why else (value, "")


class ClientCapabilities:
    """What the capabilities bring, for one client."""

    def __init__(self, capabilities: Capabilities, client: CapabilityClient, reading: Container[str]) -> None:
        self.capabilities, self._client, self._reading = capabilities, client, reading
        self._contexts: dict[str, ClientContext] = {}

    def context(self, name: str) -> CapabilityContext:
        """The context of the capability of that name. Raises `KeyError` where it does not take part."""
        if name not in self._contexts:
            there = self.capabilities.get(name)
            if there is None:
                raise KeyError(name)
            self._contexts[name] = self._context_of(there, self._client)
        return self._contexts[name]

    def _context_of(self, one: LoadedCapability, client: CapabilityClient) -> ClientContext:
        if one.row is None:
            return ClientContext(one.capability, client)
        return BuiltInContext(one.capability, client, self.capabilities.sentence_of)

    def tell(self, text: str) -> None:
        """Tell the person who gave the command a sentence beside the value of a verb."""
        if self._client.tell is not None:
            self._client.tell(text)

    def verbs(self) -> dict[str, CapabilityVerb]:
        """Their commands by name, to be called with the arguments."""
        return {
            name: CapabilityVerb(partial(one.verb, name), partial(self._context_for, one), foreign=one.row is None)
            for one in self.capabilities.loaded
            for name in one.verbs
        }

    def _context_for(self, one: LoadedCapability, verb: Verb) -> CapabilityContext:
        """What the verb works with. Raises `UsageError` where it needs more than is open."""
        if self._client.opened not in ("home", verb.needs):
            raise UsageError(f"{verb.name} needs more than the {self._client.opened}, and nothing else is open here")
        return self._context_of(one, self._client.only_reading(verb.name, self._reads)) if verb.reads else self.context(one.name)

    def _reads(self, name: str) -> bool:
        """Whether the verb of that name writes nothing of the record; no for one that is not there."""
        row = self.capabilities.verbs().get(name)
        return row.reads if row is not None else name in self._reading

    def sources(self) -> list[tuple[ContextSource, CapabilityContext]]:
        """What tells the model something, each with the context that its `read` takes."""
        return [(source, self.context(one.name)) for one in self.capabilities.bringing("sources") for source in one.sources]

    async def tools(self, turn: TurnContext) -> list[BroughtTools]:
        """The tools of a turn by capability. One whose function raises brings none to this turn, and says why."""
        return [await self._tools_of(one, tools, turn) for one in self.capabilities.loaded_with("tools") if (tools := one.capability.tools)]

    async def _tools_of(self, one: LoadedCapability, ask: Callable[..., Awaitable[Sequence[Any]]], turn: TurnContext) -> BroughtTools:
        """The tools that a capability gives; none where its code fails, gives no list, or takes longer than `TOOLS_SECONDS` outside a turn."""
        late = f"it did not name its tools within {TOOLS_SECONDS:g} s"
        with anyio.move_on_after(None if turn.turn else TOOLS_SECONDS) as limit:
            try:
                brought = await run_foreign("it", partial(ask, self.context(one.name), turn))
            except AgentError as error:
                return BroughtTools(one.name, one.origin, problem=late if limit.cancel_called else reason_with_place(error.__cause__ or error))
        if limit.cancelled_caught:
            return BroughtTools(one.name, one.origin, problem=late)
        if not isinstance(brought, list | tuple):
            return BroughtTools(one.name, one.origin, problem=f"it gave {type(brought).__name__} in place of a list of tools")
        return BroughtTools(one.name, one.origin, tuple(brought))

    async def wrap(self, turn: TurnContext, provider: Provider) -> Provider:
        """The turn's provider inside those of the capabilities; the first is the innermost. Raises `AgentError` where one fails or gives no provider."""
        for one in self.capabilities.bringing("wrap"):
            if one.wrap is not None:
                provider = await self._wrapped_by(one, one.wrap, turn, provider)
        return provider

    async def _wrapped_by(self, one: Capability, wrap: Callable[..., Any], turn: TurnContext, provider: Provider) -> Provider:
        cause: BaseException | None = None
        try:
            given = await run_foreign("it", partial(_wrapped, partial(wrap, self.context(one.name), turn, provider)))
            why = call_foreign("it", partial(load("capabilities.no_provider"), given, wrap))
        except AgentError as error:
            cause = error.__cause__ or error
            why = reason_with_place(cause)
        if why:
            told = f"the capability {one.name} could not wrap the model: {why}; what was recorded is kept, and the turn stays unfinished"
            go_on = f", then continue the turn: neuralclaw run --resume {turn.session}" if turn.session else ""
            raise AgentError(told, hint=f"fix or update {one.name}, or take it out of capabilities.enabled{go_on}") from cause
        return given

    def services(self) -> list[tuple[Service, CapabilityContext]]:
        """The work in the background, each with the context that its `run` takes."""
        found = [(service, one) for one in self.capabilities.bringing("services") for service in one.services]
        return [(service, self._context_with(one, self.channel_desk())) for service, one in found]

    def channels(self) -> dict[str, Channel]:
        """The channels by name, each made when it is first used."""
        return {
            name: LazyChannel(partial(self._channel_of, one, name, make))
            for one in self.capabilities.bringing("channels")
            for name, make in one.channels.items()
        }

    def _channel_of(self, one: Capability, name: str, make: Callable[[CapabilityContext], Channel]) -> Channel:
        """A channel, made with a context whose desk is the one that its `serve` is given."""
        return make(self._context_with(one, self.channel_desk(name)))

    def channel_desk(self, channel: str = "") -> Desk:
        """The desk of the channel of that name, or of a service. Raises `AgentError` where the home is not open."""
        client = self._client
        if client.desk is None or client.store is None or client.loaded is None or client.defaults is None:
            raise AgentError("channels and services work in a home that is open")
        desk: Desk = load("channel.desk")(client.desk, client.store, client.loaded.home, client.defaults.turn, channel)
        return desk

    def _context_with(self, one: Capability, desk: Desk) -> CapabilityContext:
        there = self.capabilities.get(one.name)
        assert there is not None, "it takes part"
        return self._context_of(there, self._client._replace(desk=desk))

    async def checks(self, seconds: float = CHECK_SECONDS) -> AsyncIterator[DoctorCheck]:
        """What their checks find. One that raises, or takes longer than `seconds`, is a failed check that names its capability."""
        for one in self.capabilities.bringing("checks"):
            if one.checks is not None:
                for check in await self._checked(one.name, one.checks, seconds):
                    yield check

    async def _checked(self, name: str, checks: Callable[[CapabilityContext], AsyncIterator[DoctorCheck]], seconds: float) -> list[DoctorCheck]:
        done: list[DoctorCheck] = []

        async def find() -> None:
            async for check in checks(self.context(name)):
                done.append(_in_lines(check) if isinstance(check, DoctorCheck) else _no_check(name, check))  # noqa: PERF401  # what was found before an error counts

        with anyio.move_on_after(seconds) as limit:
            try:
                await run_foreign("its check", find)
            except AgentError as error:
                fix = getattr(error.__cause__, "hint", None)
                done.append(DoctorCheck(check=name, ok=False, text=error.text, fix=fix))
        if limit.cancelled_caught:
            done.append(DoctorCheck(check=name, ok=False, text=f"its check did not end within {seconds:g} s and was stopped"))
        return done


async def _wrapped(wrap: Callable[[], Provider]) -> Provider:
    """What a wrapper gives; a coroutine, so that it runs under the guard of those."""
    return wrap()


def _in_lines(check: DoctorCheck) -> DoctorCheck:
    """The check with each of its texts in one line."""
    return msgspec.structs.replace(
        check, check=in_one_line(check.check), text=in_one_line(check.text), fix=None if check.fix is None else in_one_line(check.fix)
    )


def _no_check(name: str, found: object) -> DoctorCheck:
    return DoctorCheck(check=name, ok=False, text=f"its check gave {type(found).__name__}, which is not a DoctorCheck")
