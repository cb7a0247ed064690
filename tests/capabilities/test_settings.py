"""The sections that capabilities bring, in Python: options of an agent, defaults, secrets, checks of their own."""

from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest

from neuralclaw import Agent, Settings, config
from neuralclaw.config.descriptions import descriptions
from neuralclaw.config.settings import AgentSection, CapabilitiesSection
from neuralclaw.errors import ConfigError, UsageError
from neuralclaw.secrets import Redactor

from .shelf import Shelf, install

pytestmark = pytest.mark.anyio
CODE = """
from {here} import SHELF as shelf
import msgspec
capability = msgspec.structs.replace(shelf, tools=None, services=(), sources=())
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> Path:
    """A home that enables the shelf, which a package on the path brings."""
    monkeypatch.syspath_prepend(str(install(tmp_path / "packages", "shelf", CODE.format(here=Shelf.__module__))))
    (home / "config.yaml").write_text("capabilities: {enabled: [shelf]}\n")
    return home


async def test_a_section_is_an_option_of_the_agent_and_stands_in_its_settings(installed: Path, tmp_path: Path) -> None:
    async with Agent.open(home=installed, workspace=tmp_path, environ={}, shelf={"most": 7, "topics": ["a"]}) as agent:  # type: ignore[call-arg]
        assert agent.settings.section("shelf") == Shelf(most=7, topics=["a"])
        assert (await agent.do("config.show"))["shelf.most"] == {"value": 7, "origin": "Agent.open"}
    async with Agent.open(home=installed, workspace=tmp_path, environ={}, settings={"shelf.most": 8, "shelf": {"order": "new"}}) as agent:
        assert agent.settings.section("shelf") == Shelf(most=8, order="new")


async def test_what_it_does_not_take_is_refused_when_it_is_used_and_what_the_caller_says_at_once(installed: Path, tmp_path: Path) -> None:
    for wrong, said in (
        ({"most": 0}, r"shelf\.most: expected a whole number of at least 1"),
        ({"mots": 1}, r"unknown key shelf\.mots; did you mean shelf\.most"),
    ):
        for given in ({"shelf": wrong}, {"settings": {"shelf": wrong}}):
            with pytest.raises(ConfigError, match=rf"Agent\.open: {said}"):
                async with Agent.open(home=installed, workspace=tmp_path, environ={}, **given):  # type: ignore[arg-type]
                    pass
    async with Agent.open(home=installed, workspace=tmp_path, environ={"NEURALCLAW_SHELF__TOPICS": "a"}, shelf={"most": 4}):  # type: ignore[call-arg]
        pass
    (installed / "config.yaml").write_text("capabilities: {enabled: [shelf]}\nshelf: {most: 0, mots: 1}\n")
    async with Agent.open(home=installed, workspace=tmp_path, environ={}) as agent:
        shown = await agent.do("config.show")
        assert shown["shelf.mots"] == {"value": 1, "origin": "config.yaml:2"}
        with pytest.raises(ConfigError, match=r"config.yaml:2: shelf\.most: expected a whole number of at least 1, found the number 0"):
            await agent.do("shelf.add", title="Dune")
        assert await agent.do("shelf.list") == []
    with pytest.raises(UsageError, match="an agent has no option 'shlef'"):
        async with Agent.open(home=installed, workspace=tmp_path, environ={}, shlef={"most": 0}):  # type: ignore[call-arg]
            pass
    with pytest.raises(ConfigError, match=r"Agent\.open: unknown key shlef; did you mean shelf"):
        async with Agent.open(home=installed, workspace=tmp_path, environ={}, settings={"shlef.most": 0}):
            pass


async def test_a_whole_value_enables_capabilities_too_with_their_defaults(installed: Path, tmp_path: Path) -> None:
    settings = Settings(capabilities=CapabilitiesSection(enabled=("shelf",)))
    async with Agent.open(home=installed, workspace=tmp_path, environ={}, settings=settings) as agent:
        assert agent.settings.section("shelf") == Shelf()
    async with Agent.open(home=installed, workspace=tmp_path, environ={}, settings=Settings()) as agent:
        assert set(agent.settings.sections) == {"audit", "undo"}
        with pytest.raises(UsageError, match=r"there is no command 'shelf.list'"):
            await agent.do("shelf.list")


async def test_arguments_of_its_verbs_are_checked_like_those_of_every_other(installed: Path, tmp_path: Path) -> None:
    async with Agent.open(home=installed, workspace=tmp_path, environ={}) as agent:
        with pytest.raises(UsageError, match=r"shelf.add needs the argument 'title'"):
            await agent.do("shelf.add")
        with pytest.raises(UsageError, match=r"shelf.add has no argument 'tilte'; did you mean 'title'\?"):
            await agent.do("shelf.add", tilte="x")
        with pytest.raises(UsageError, match=r"urgent of shelf.add cannot be 3"):
            await agent.do("shelf.add", title="x", urgent=3)
        with pytest.raises(UsageError, match=r"copies of shelf.add cannot be -1: expected a whole number >= 1"):
            await agent.do("shelf.add", title="x", copies=-1)
        assert await agent.do("shelf.list") == []


async def test_a_choice_that_does_not_fit_is_answered_with_the_choices(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(install(tmp_path / "packages", "mood", MOOD)))
    async with Agent.open(home=home, workspace=tmp_path, environ={}, capabilities={"enabled": ["mood"]}) as agent:
        for arguments, said in (
            ({"mood": "goood"}, "mood of mood.set cannot be 'goood': it is one of good, bad; did you mean 'good'?"),
            ({"mood": "good", "level": "x"}, "level of mood.set cannot be 'x': it is one of easy, hard"),
            ({"mood": "good", "levels": ["easy", "x"]}, "levels of mood.set cannot be ['easy', 'x']: it is one of easy, hard"),
        ):
            with pytest.raises(UsageError) as caught:
                await agent.do("mood.set", **arguments)
            assert caught.value.text == said
        assert await agent.do("mood.set", mood="good", level=None, levels=["hard"]) == "good"


MOOD = """
import enum
from typing import Literal
from neuralclaw import capability as nc

class Level(enum.Enum):
    EASY = "easy"
    HARD = "hard"

async def set_mood(context: nc.CapabilityContext, mood: Literal["good", "bad"], *, level: Level | None = None, levels: list[Level] = []) -> str:
    return mood

capability = nc.Capability(name="mood", summary="x", verbs=(nc.Verb(name="mood.set", summary="x", run=set_mood),))
"""


def test_the_schema_refuses_the_keys_that_loading_refuses_whatever_the_struct_is_called() -> None:
    class Depth(msgspec.Struct):
        deep: int = 1

    for name in ("Shelf", "Settings", "Agent", "AgentSection", "LLM"):
        section = msgspec.defstruct(name, [("most", int, 3), ("inner", Depth, msgspec.field(default_factory=Depth))])
        validator = jsonschema_rs.validator_for(config.schema(config.with_sections({"shelf": section})))
        assert validator.is_valid({"shelf": {"most": 4, "inner": {"deep": 2}}, "agent": {"name": "Ada"}})
        for wrong in ({"shelf": {"mots": 4}}, {"shelf": {"inner": {"deeep": 2}}}, {"agent": {"most": 3}}, {"$schemas": "x"}):
            assert not validator.is_valid(wrong), (name, wrong)


def test_secrets_of_a_section_are_taken_out_of_texts_also_where_nobody_reads_it(home: Path) -> None:
    (home / "config.yaml").write_text("capabilities: {enabled: [nobody]}\nnobody: {api_key: abcdef-0123456789, other: {smtp_password: '${PASS}'}}\n")
    loaded = config.load(home=str(home), environ={"PASS": "hunter2-hunter2"})
    assert (
        Redactor(config.secret_values(loaded)).redact("abcdef-0123456789 hunter2-hunter2") == "[REDACTED:nobody.api_key] [REDACTED:nobody.other.smtp_password]"
    )


async def test_a_variable_that_is_not_set_counts_when_the_section_is_used(installed: Path, tmp_path: Path) -> None:
    (installed / "config.yaml").write_text("capabilities: {enabled: [shelf]}\nshelf: {api_key: '${SHELF_KEY}'}\n")
    async with Agent.open(home=installed, workspace=tmp_path, environ={}) as agent:
        assert (await agent.do("config.check"))["ok"] is True
        with pytest.raises(ConfigError, match=r"config.yaml:2: shelf.api_key needs the environment variable SHELF_KEY, which is not set"):
            agent.settings.section("shelf")


class Checked(msgspec.Struct, frozen=True):
    low: int = 1
    """The least."""
    high: "int" = 2

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("low must not be above high")


class Longer(Checked, frozen=True):
    more: tuple[str, ...] = ()
    """And what follows,
    over two lines."""


def test_a_check_of_its_own_is_an_error_with_its_place(home: Path) -> None:
    class Brought:
        names = ("pair",)
        sections: dict[str, Any] = {"pair": Longer}  # noqa: RUF012
        left_out = ()

        def installed(self) -> tuple[str, ...]:
            return ()

    (home / "config.yaml").write_text("pair:\n  low: 5\n")
    loaded = config.load(home=str(home), environ={}, extensions=lambda enabled: Brought())
    with pytest.raises(ConfigError, match=r"config.yaml:1: pair: low must not be above high"):
        loaded.section("pair")
    with pytest.raises(ConfigError, match="low must not be above high"):
        loaded.check_sections()
    (home / "config.yaml").write_text("pair:\n  low: 5\n  high: 6\n  more: [a]\n")
    loaded = config.load(home=str(home), environ={}, extensions=lambda enabled: Brought())
    assert loaded.section("pair") == Longer(low=5, high=6, more=("a",))
    assert loaded.origin("pair.high") == "config.yaml:3"
    with pytest.raises(ConfigError, match=r"unknown key pair\.lwo; did you mean pair\.low"):
        loaded.origin("pair.lwo")


def test_what_stands_under_a_key_is_its_description_also_of_derived_structs_and_none_where_there_is_no_source() -> None:
    assert descriptions(Longer) == {"low": "The least.", "more": "And what follows, over two lines."}
    assert descriptions(AgentSection)["max_consecutive_errors"].startswith("Errors in a row that end a turn")
    assert descriptions(msgspec.defstruct("Made", [("x", int, 1)])) == {}


def test_the_schema_tells_what_stands_under_each_key() -> None:
    agent = config.schema()["$defs"]["Agent"]["properties"]
    assert agent["project_instructions"]["description"].startswith("Whether the model is told what `AGENTS.md`")
