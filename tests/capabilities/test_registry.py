"""Which capabilities take part, and what they give to a client."""

import importlib
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from neuralclaw import Agent
from neuralclaw.app.capabilities import Capabilities
from neuralclaw.app.capability_context import CapabilityClient
from neuralclaw.app.capability_problems import claims
from neuralclaw.app.defaults import ClientDefaults
from neuralclaw.app.reader import reader
from neuralclaw.capability import Capability, ContextSource, EventKind, FileFormat, Service, Table, TurnContext, Verb
from neuralclaw.errors import UsageError
from neuralclaw.plugins import CAPABILITIES, BuiltInCapability, load_target
from neuralclaw.testing import FunctionProvider, Reply
from neuralclaw.types.events import Body
from neuralclaw.types.options import StartOptions, TurnOptions

from . import shelf
from .shelf import BookAdded, package

pytestmark = pytest.mark.anyio


def loaded(*packages: Any, enabled: tuple[str, ...] = ("shelf",)) -> Capabilities:
    """The installed ones that take part, without those of this program."""
    return Capabilities.load(enabled, built_in={}, found=lambda: packages)


def without(value: Capability, name: str) -> Any:
    """A package whose capability is this value."""
    setattr(shelf, f"MADE_{name}", value)
    return package(f"MADE_{name}", name=name, distribution=f"neuralclaw-{name}")


def test_an_installed_capability_takes_part_only_where_it_is_enabled() -> None:
    assert [one.name for one in loaded(package())] == ["shelf"]
    assert list(loaded(package(), enabled=())) == []
    there = loaded(package()).get("shelf")
    assert there is not None
    assert (there.version, there.origin) == ("1.2", "neuralclaw-shelf")


def test_packages_are_not_looked_at_where_nothing_is_enabled() -> None:
    def never() -> Any:
        raise AssertionError("the packages were looked at")

    assert Capabilities.load((), found=never).enabled == ()


def test_a_built_in_capability_takes_part_without_being_enabled_and_comes_first() -> None:
    other = without(Capability(name="other", summary="x"), "other")
    found = Capabilities.load(("other",), built_in={"shelf": BuiltInCapability(f"{shelf.__name__}:SHELF", {"shelf": "books"}, True)}, found=lambda: [other])
    assert [(one.capability.name, one.origin) for one in found.loaded] == [("shelf", "built in"), ("other", "neuralclaw-other")]


def test_no_two_built_in_capabilities_have_a_name_in_common() -> None:
    taken = [claim for row in CAPABILITIES.values() for claim in claims(load_target(row.target))]
    assert len(taken) == len(set(taken))


class Other(Body, frozen=True, kw_only=True, tag="other.said"):
    pass


class Wrong(Body, frozen=True, kw_only=True, tag="somebody.said"):
    pass


class Needs(msgspec.Struct):
    most: int


class Odd(msgspec.Struct):
    when: set[int] = set()


async def nothing(context: Any) -> None:
    return None


async def starred(context: Any, *titles: str) -> None:
    return None


class Untagged(Body, frozen=True, kw_only=True):
    pass


def plain(*arguments: Any) -> Any:
    return ()


async def bare() -> None:
    return None


async def of_path(context: Any, place: Path) -> None:
    return None


async def of_bool(context: Any, on: bool) -> None:
    return None


async def untyped(context: Any, title) -> None:  # type: ignore[no-untyped-def]
    return None


def verb(name: str, run: Any = nothing) -> Verb:
    return Verb(name=name, summary="x", run=run)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("text", "its entry point gives str, which is not a Capability"),
        (Capability(name="another", summary="x"), "its entry point is named other and the capability another: both must be the same"),
        (Capability(name="other", summary="x", verbs=(verb("sessions.all"),)), "the command sessions is taken: it is built in"),
        (Capability(name="other", summary="x", verbs=(verb("memory.add"),)), "the command memory is taken: it is built in"),
        (Capability(name="other", summary="x", verbs=(verb("shelf.all"),)), "the command shelf is taken: the capability shelf has it"),
        (Capability(name="other", summary="x", verbs=(verb("o.a"), verb("o.a"))), "it brings the verb o.a twice"),
        (Capability(name="other", summary="x", verbs=(verb("o.a", starred),)), "the verb o.a cannot be a command: the parameter titles must have a name"),
        (Capability(name="other", summary="x", verbs=(verb("o.a", untyped),)), "the verb o.a cannot be a command: the parameter title has no type"),
        (Capability(name="other", summary="x", verbs=(verb("O A"),)), "'O A' cannot be the name of a verb"),
        (Capability(name="other", summary="x", settings=Needs), "the setting most has no default"),
        (Capability(name="other", summary="x", settings=Odd), "the setting when has a type that settings cannot have"),
        (Capability(name="other", summary="x", events=(EventKind(body=Wrong, sentence=str),)), "the event kind somebody.said must begin with other."),
        (
            Capability(name="other", summary="x", events=(EventKind(body=Other, sentence=str, version=3),)),
            "the event kind other.said of version 3 has no",
        ),
        (
            Capability(name="other", summary="x", tables=(Table(name="shelf_2", columns={"a": "text"}, key=("a",), kinds=(), fold=print),)),
            "the table shelf_2 must be",
        ),
        (Capability(name="other", summary="x", services=(Service(name="shelf", run=nothing),)), "the service shelf is taken: the capability shelf has it"),
        (
            Capability(name="other", summary="x", formats=(FileFormat(name="x", title="x", suffixes=(".XY",), recognise=bool, reader="x"),)),
            "the file format x cannot have the ending '.XY'",
        ),
        (Capability(name="other", summary="x", verbs=3), "verbs is int, not a list of Verb"),  # type: ignore[arg-type]
        (Capability(name="other", summary="x", verbs=verb("o.a")), "verbs is one Verb, not a list of them: write (verb,) with a comma"),  # type: ignore[arg-type]
        (Capability(name="other", summary="x", events=(Other,)), "events has the class Other, which is not an EventKind"),  # type: ignore[arg-type]
        (Capability(name="other", summary="x", events=(EventKind(body=Untagged, sentence=str),)), "the event kind 'Untagged' of"),
        (Capability(name="other", summary="x", tools=plain), "tools is not an async function"),
        (Capability(name="other", summary="x", tools=[]), "tools is list, not a function"),  # type: ignore[arg-type]
        (Capability(name="other", summary="x", wrap=nothing), "wrap is an async function"),  # type: ignore[arg-type]
        (Capability(name="other", summary="x", checks=nothing), "checks yields nothing: it is an async function that must yield"),  # type: ignore[arg-type]
        (Capability(name="other", summary="x", services=(Service(name="o", run=plain),)), "run of the service o is not an async function"),
        (Capability(name="other", summary="x", channels={"o": nothing}), "the channel o is an async function"),  # type: ignore[dict-item]
        (Capability(name="other", summary="x", channels=[nothing]), "channels is list, not a mapping from a name"),  # type: ignore[arg-type]
        (Capability(name="other", summary="x", sources=(ContextSource(name="o", read=plain),)), "read of the source o is not an async function"),
        (
            Capability(name="other", summary="x", sources=(ContextSource(name="o", read=shelf.tell, place="first"),)),  # type: ignore[arg-type]
            "the source o has the place 'first', which is none of system, before_last",
        ),
        (Capability(name="other", summary="x", sources=(ContextSource(name="o", read=shelf.tell, share=12),)), "the source o has the share 12"),
        (Capability(name="other", summary="x", verbs=(verb("o.a", bare),)), "the verb o.a cannot be a command: its first parameter must be the context"),
        (Capability(name="other", summary="x", verbs=(verb("o.a", of_path),)), "the parameter place of the verb o.a has a type that is not JSON"),
        (Capability(name="other", summary="x", verbs=(verb("o.a", of_bool),)), "the parameter on of the verb o.a is a bool without a default"),
    ],
)
def test_a_capability_that_does_not_fit_is_left_out_with_its_reason_and_the_others_stay(value: Any, why: str) -> None:
    found = loaded(package(), without(value, "other"), enabled=("shelf", "other"))
    assert [one.name for one in found] == ["shelf"]
    assert [one.name for one in found.left_out] == ["other"]
    assert found.left_out[0].why.startswith(why)
    assert found.left_out[0].origin == "neuralclaw-other"


@pytest.mark.parametrize("name", ["settings", "home", "workspace", "llm"])
def test_a_section_that_an_agent_has_already_is_taken(name: str) -> None:
    found = loaded(without(Capability(name=name, summary="x", settings=shelf.Shelf), name), enabled=(name,))
    assert [one.why for one in found.left_out] == [f"the section {name} is taken: it is built in"]


def test_code_that_raises_when_it_is_imported_and_names_that_nobody_brings_are_left_out() -> None:
    broken = package("SHELF", name="gone", module="neuralclaw_no_such_module")
    found = loaded(broken, package("NO_SUCH", name="less"), enabled=("gone", "less", "missing"))
    assert [(one.name, one.why) for one in found.left_out] == [
        ("gone", "it cannot be loaded (ModuleNotFoundError: No module named 'neuralclaw_no_such_module')"),
        ("less", f"it cannot be loaded (AttributeError: module {shelf.__name__!r} has no attribute 'NO_SUCH')"),
        ("missing", "no installed package brings it"),
    ]
    assert [bool(one.origin) for one in found.left_out] == [True, True, False]


def test_two_packages_with_one_name_are_both_left_out() -> None:
    found = loaded(package(), package(distribution="neuralclaw-shelf-2"))
    assert [(one.why, one.fix) for one in found.left_out] == [
        ("several packages bring it: neuralclaw-shelf and neuralclaw-shelf-2", "Uninstall all but one of neuralclaw-shelf and neuralclaw-shelf-2")
    ]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("documents", "documents has no effect in capabilities.enabled (config.yaml:1): it is built in and always takes part. Take it out there."),
        (
            "shelv",
            "The capability shelv is left out: no installed package brings it; did you mean 'shelf'?"
            " Correct the name, or take it out of capabilities.enabled (config.yaml:1).",
        ),
        (
            "weather",
            "The capability weather is left out: no installed package brings it."
            " Install the package that brings it, or take it out of capabilities.enabled (config.yaml:1).",
        ),
    ],
)
def test_an_enabled_name_without_effect_says_why_and_what_to_do(name: str, told: str) -> None:
    found = Capabilities.load((name,), found=lambda: [package()])
    assert [one.told("config.yaml:1") for one in found.left_out] == [told]


def test_an_error_of_code_that_others_wrote_names_the_line_of_that_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tmp_path / "neuralclaw_fails_to_load.py"
    monkeypatch.syspath_prepend(str(tmp_path))
    broken = package(name="broken", distribution="neuralclaw-broken", module="neuralclaw_fails_to_load")
    for code, said in (
        ("import json\n\njson.loads('{')\n", rf"\(JSONDecodeError: .*, {module}:3\)"),
        ("x = 1\nx = = 2\n", rf"\(SyntaxError: invalid syntax, {module}:2\)"),
        ("import msgspec\nclass A(msgspec.Struct):\n    x: int = 0\nA(y=1)\n", rf"\(TypeError: .*, {module}:4\)"),
        ("import neuralclaw_is_not_there\n", rf"\(ModuleNotFoundError: .*, {module}:1\)"),
    ):
        module.write_text(code)
        importlib.invalidate_caches()
        [left] = loaded(broken, enabled=("broken",)).left_out
        assert re.fullmatch(f"it cannot be loaded {said}", left.why)
        assert "What it recorded and its settings are kept. Fix or update neuralclaw-broken, or take it out of" in left.told()


def client_of(agent: Agent) -> CapabilityClient:
    parts = agent._home
    return CapabilityClient(
        parts.loaded,
        agent.desk,
        parts.store,
        parts.clock,
        agent._desk.notify,
        "/w",
        "owner",
        parts.redactor,
        defaults=ClientDefaults(TurnOptions(model="", workspace="/w"), StartOptions()),
    )


async def test_a_client_gets_verbs_sources_and_services_with_the_context_of_their_capability(home: Path, tmp_path: Path) -> None:
    async with Agent.open(home=home, workspace=tmp_path, environ={}) as agent:
        given = loaded(package()).for_client(client_of(agent))
        assert sorted(given.verbs()) == ["shelf.add", "shelf.list"]
        [(source, context)] = given.sources()
        assert await source.read(context, TurnContext(session="s", options=TurnOptions(model="offline", workspace="/w")), 4) == [("s: 4", shelf.OWNER)]
        assert (context.workspace, context.who) == ("/w", "owner")
        [(service, context)] = given.services()
        await service.run(context)


async def test_tools_and_checks_that_raise_stop_nothing(home: Path, tmp_path: Path) -> None:
    async with Agent.open(home=home, workspace=tmp_path, environ={}) as agent:
        given = loaded(package()).for_client(client_of(agent))
        assert await given.tools(TurnContext(session="s", options=TurnOptions(model="offline", workspace="/w"))) == [
            ("shelf", "neuralclaw-shelf", (), f"ZeroDivisionError: no tools today ({shelf.__file__}:48)")
        ]
        found = [check async for check in given.checks()]
    assert [(check.check, check.ok) for check in found] == [("shelf", False)]
    assert found[0].text.startswith("its check failed: KeyError"), "this home's settings have no such section"


async def test_an_event_of_another_capability_and_a_turn_that_does_not_fit_are_refused(home: Path, tmp_path: Path) -> None:
    async with Agent.open(home=home, workspace=tmp_path, environ={}) as agent:
        context = loaded(package()).for_client(client_of(agent)).context("shelf")
        with pytest.raises(UsageError, match="shelf has no event Other; nothing was recorded"):
            await context.record(Other())
        with pytest.raises(UsageError, match="turn 2 does not fit the session home"):
            await context.record(BookAdded(title="x"), turn=2)
        with pytest.raises(UsageError, match="turn 0 does not fit the session s"):
            await context.record(BookAdded(title="x"), session="s")
        assert await context.record() == ()


async def test_a_provider_is_wrapped_in_the_order_of_the_table(home: Path, tmp_path: Path) -> None:
    said = []

    def wrapper(name: str) -> Any:
        def wrap(context: Any, turn: TurnContext, provider: Any) -> Any:
            said.append((name, turn.session))
            return provider

        return wrap

    first, second = (without(Capability(name=name, summary="x", wrap=wrapper(name)), name) for name in ("first", "second"))
    async with Agent.open(home=home, workspace=tmp_path, environ={}) as agent:
        given = loaded(first, second, enabled=("second", "first")).for_client(client_of(agent))

        async def reply(request: Any) -> Reply:
            return Reply("x")

        provider = FunctionProvider(reply)
        assert await given.wrap(TurnContext(session="s", options=TurnOptions(model="offline", workspace="/w")), provider) is provider
    assert said == [("second", "s"), ("first", "s")]


async def test_a_home_without_capabilities_opens_as_before(home: Path, tmp_path: Path) -> None:
    async with Agent.open(home=home, workspace=tmp_path, environ={}) as agent:
        assert set(agent.settings.sections) == {"audit", "undo"}
    async with reader(str(home)) as desk:
        assert await desk.do("sessions.list") == []


async def test_a_turn_has_the_tools_and_sources_of_enabled_capabilities_and_its_program_their_verbs(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(shelf.install(tmp_path / "packages", "titles", TITLES)))
    seen = []

    async def reply(request: Any) -> Reply:
        seen.append(request)
        return Reply("ok")

    options: dict[str, Any] = {"home": home, "workspace": tmp_path, "environ": {}, "provider": FunctionProvider(reply)}
    async with Agent.open(**options, capabilities={"enabled": ["titles"]}) as agent:
        assert (await agent.ask("hello")).text == "ok"
        assert "the shelf has two titles" in str(seen[0])
        assert "next_title" in [tool.name for tool in seen[0].tools]
        assert "next_title" in [row["name"] for row in await agent.do("tools.list")]
        assert await agent.do("titles") == ["Dune", "Emma"]
    async with Agent.open(**options) as agent:
        assert (await agent.ask("hello")).text == "ok"
    assert "the shelf has two titles" not in str(seen[1])
    assert "next_title" not in [tool.name for tool in seen[1].tools]


TITLES = """
from neuralclaw import tool
from neuralclaw.capability import Capability, ContextSource, Verb
from neuralclaw.types.labels import OWNER

@tool
async def next_title() -> str:
    "The title to read next."
    return "Dune"

async def tools(context, turn):
    return [next_title]

async def read(context, turn, room):
    return [("the shelf has two titles", OWNER)]

async def titles(context):
    return ("Dune", "Emma")

capability = Capability(name="titles", summary="Titles.", tools=tools, sources=(ContextSource(name="titles", read=read),),
    verbs=(Verb(name="titles", summary="All titles.", run=titles, reads=True),))
"""
