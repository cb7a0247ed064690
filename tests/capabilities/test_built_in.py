"""The rows of built-in capabilities say what their values bring, and the values are imported when they are used."""

import subprocess
import sys
from pathlib import Path

import pytest

from neuralclaw import Agent
from neuralclaw.app.capabilities import Capabilities
from neuralclaw.app.models.models_capability import TASK_NAMES
from neuralclaw.app.trials.tasks import TASKS
from neuralclaw.capability import Capability
from neuralclaw.cli import verb_rows
from neuralclaw.cli.capability_rows import nouns_of
from neuralclaw.cli.main import built_in_nouns
from neuralclaw.cli.slash import SLASH
from neuralclaw.cli.usage import page
from neuralclaw.plugins import CAPABILITIES, GROUPS, NOUNS, BuiltInCapability, load_target

from ..cli.program import Claw
from . import shelf
from .shelf import package

pytestmark = pytest.mark.full

RECORD = "neuralclaw.app.record.record_capabilities"
PARTS = frozenset(Capability.__struct_fields__) - {"name", "summary", "version", "settings", "verbs"}


@pytest.mark.parametrize(("name", "row"), CAPABILITIES.items())
def test_a_row_and_its_value_say_the_same(name: str, row: BuiltInCapability) -> None:
    value = load_target(row.target)
    assert isinstance(value, Capability)
    assert (value.name, nouns_of(value), row.settings) == (name, dict(row.nouns), value.settings is not None)
    assert row.verbs == tuple(verb.name for verb in value.verbs)
    assert row.parts is None or row.parts == {part for part in PARTS if getattr(value, part)}


async def imported(home: Path, *words: str) -> set[str]:
    """The modules that a command imports."""
    program = "import sys; from neuralclaw.cli.main import main; code = main(sys.argv[1:]); print(*sys.modules, file=sys.stderr); sys.exit(code)"
    done = subprocess.run([sys.executable, "-c", program, *words, "--home", str(home)], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stderr.split())


@pytest.mark.anyio
@pytest.mark.parametrize(("words", "used"), [(("--help",), set()), (("run", "calculate 6*7"), {RECORD}), (("sessions", "list"), {RECORD})])
async def test_no_code_of_a_built_in_capability_is_imported_before_it_is_used(home: Path, words: tuple[str, ...], used: set[str]) -> None:
    found = await imported(home, *words)
    assert "neuralclaw.plugins" in found
    assert {row.target.partition(":")[0] for row in CAPABILITIES.values() if row.parts == frozenset()} & found == used


@pytest.mark.anyio
async def test_a_command_that_reads_the_record_loads_neither_the_agent_nor_a_model(home: Path) -> None:
    found = await imported(home, "sessions", "list")
    assert not {"neuralclaw.app.agent", "neuralclaw.app.home", "neuralclaw.agent.loop", "neuralclaw.safety.gate", "neuralclaw.tools.builtin"} & found


@pytest.mark.anyio
async def test_a_place_that_stays_empty_has_the_default_of_the_verb(home: Path, tmp_path: Path) -> None:
    claw = Claw(home, tmp_path / "work")
    assert (await claw("models", "show", "--json", env={"OLLAMA_HOST": "127.0.0.1:9"})).json["model"] == "offline:grammar"


@pytest.mark.anyio
async def test_a_command_that_needs_the_settings_alone_works_where_the_store_is_damaged(home: Path, tmp_path: Path) -> None:
    claw = Claw(home, tmp_path / "work")
    (home / "neuralclaw.db").write_bytes(b"no database " * 999)
    assert (await claw("run", "calculate 6*7")).code == 1
    listed = await claw("models", "list", "--json", env={"OLLAMA_HOST": "127.0.0.1:9"})
    assert (listed.code, [row["model"] for row in listed.json]) == (0, ["offline:grammar"])


def test_a_list_without_rows_says_what_there_is_none_of(capsys: pytest.CaptureFixture[str]) -> None:
    row = next(verb for verb in load_target(CAPABILITIES["models"].target).verbs if verb.name == "models.list")
    verb_rows.show(row, [], {"service": "mine"})
    assert capsys.readouterr() == ("", "mine has no models\n")


def test_the_help_of_trials_names_every_task() -> None:
    assert tuple(task.name for task in TASKS) == TASK_NAMES


@pytest.mark.anyio
async def test_a_program_is_told_which_argument_of_a_built_in_verb_is_wrong(home: Path, tmp_path: Path) -> None:
    async with Agent.open(home=home, workspace=tmp_path, environ={}) as agent:
        with pytest.raises(Exception, match=r"models\.show has no argument 'modle'; did you mean 'model'"):
            await agent.do("models.show", modle="x")


def test_an_enabled_capability_cannot_take_a_name_of_a_built_in_one() -> None:
    shelf.MADE_models = Capability(name="models", summary="x")  # type: ignore[attr-defined]
    found = Capabilities.load(("models",), found=lambda: [package("MADE_models", name="models", distribution="neuralclaw-models")])
    assert [(one.name, one.why) for one in found.left_out] == [("models", "the name models is taken: the capability models has it")]
    assert found.names == tuple(CAPABILITIES)


def test_one_row_in_the_table_makes_a_noun_of_the_help_and_of_the_command_line() -> None:
    program = """
from neuralclaw.cli.main import is_noun, main
from neuralclaw.plugins import CAPABILITIES, BuiltInCapability
CAPABILITIES["shelf"] = BuiltInCapability("nothing:HERE", {"shelf": "list: what stands there"}, verbs=("shelf.list",))
assert is_noun(None, "shelf")
main(["--help"])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert "\n  shelf               list: what stands there\n" in done.stdout


def test_the_help_has_a_line_for_every_command_but_the_chat_and_refuses_one_without() -> None:
    nouns = [noun for row in CAPABILITIES.values() for noun in row.nouns]
    assert set(built_in_nouns()) == {*GROUPS, *nouns}
    lines = page(built_in_nouns(), dict.fromkeys(nouns, "x"), {}).splitlines()
    assert [noun for noun in built_in_nouns() if sum(line.startswith(f"  {noun} ") for line in lines) != 1] == ["chat"]
    with pytest.raises(KeyError, match="shelf"):
        page(["shelf"], {}, {})


def test_no_other_capability_may_take_a_command_or_a_slash_command_that_is_there() -> None:
    brought = {noun for row in CAPABILITIES.values() for noun in row.nouns}
    assert not ({*GROUPS, *SLASH} - NOUNS - brought)
