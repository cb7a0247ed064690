"""The tables of the gate: every example in them runs through the whole analysis, and a damaged table is refused by file and row."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from neuralclaw import safety
from neuralclaw.errors import ConfigError
from neuralclaw.safety import (
    awk_script,
    blocks,
    git,
    interpreters,
    network,
    possible_powers,
    programs,
    ran_files,
    reading_calls,
    reading_programs,
    rule_words,
    running_options,
    wrappers,
)
from neuralclaw.types.datafile import by_name, decode_table, read_data_file
from neuralclaw.types.risk import Risk

from .parts import judge

pytestmark = pytest.mark.anyio

PLACE = Path(safety.__file__).parent / "tables"
KINDS: dict[str, Any] = {
    "awk.json": awk_script.AwkTable,
    "blocks.json": blocks.Blocks,
    "git.json": git.GitTable,
    "global_options.json": rule_words.GlobalOptionsTable,
    "interpreters.json": interpreters.NameSet,
    "network.json": network.NetworkTable,
    "possible_powers.json": possible_powers.PossiblePowerTable,
    "programs.json": programs.Programs,
    "ran_files.json": ran_files.RanFilesTable,
    "reading_calls.json": reading_calls.ReadingCallTable,
    "readers.json": reading_programs.ReaderTable,
    "running_options.json": running_options.RunningOptionsTable,
    "wrappers.json": wrappers.Wrappers,
}


def rows(table: Any, *path: str) -> Iterator[tuple[str, Any]]:
    """Everything in a table that has a name, wherever it stands."""
    if isinstance(table, msgspec.Struct):
        if hasattr(table, "examples"):
            yield ".".join(path), table
        for field in table.__struct_fields__:
            yield from rows(getattr(table, field), *path, field)
    elif isinstance(table, tuple):
        for number, part in enumerate(table):
            yield from rows(part, *path, str(number))


RISKS = [
    (place, text, risk)
    for table in (awk_script.TABLE, programs.TABLE, reading_calls.TABLE, reading_programs.TABLE, interpreters.TABLE, git.TABLE, network.TABLE, blocks.CONTENT)
    for place, row in rows(table, type(table).__name__)
    for text, risk in row.examples.items()
]
WRAPPED = [(row.names, text, inner) for row in wrappers.TABLE.wrappers for text, inner in row.examples.items()]


def test_every_file_of_tables_is_known() -> None:
    assert {path.name for path in PLACE.iterdir()} == set(KINDS)


@pytest.mark.parametrize(("place", "text", "risk"), RISKS)
async def test_an_example_has_the_risk_that_its_row_says(place: str, text: str, risk: Risk) -> None:
    verdict = await judge(text)
    assert (text, verdict.risk) == (text, risk), verdict.rules


@pytest.mark.parametrize(("names", "text", "inner"), WRAPPED)
async def test_a_wrapper_is_taken_off_and_leaves_its_inner_command(names: tuple[str, ...], text: str, inner: str) -> None:
    verdict = await judge(text)
    found = [command for command in verdict.commands if command.argv == tuple(inner.split())]
    assert found, verdict.commands
    assert any(via.split()[0] in names for via in found[0].via)


@pytest.mark.parametrize("table", [programs.TABLE, reading_programs.TABLE, interpreters.TABLE, git.TABLE, wrappers.TABLE])
def test_an_example_uses_what_its_row_is_about(table: Any) -> None:
    beginnings = programs.DANGEROUS_BEGINNINGS
    for place, row in rows(table):
        words = re.split(r"[\s;|=&]+", " ".join(row.examples))
        assert set(words) & set(row.names) or any(word.startswith(beginnings) for word in words), place


@pytest.mark.parametrize("name", sorted(KINDS))
def test_no_name_stands_twice_in_a_row(name: str) -> None:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len({key for key, _ in pairs}) == len(pairs), pairs
        for key, value in pairs:
            assert not isinstance(value, list) or len({json.dumps(each) for each in value}) == len(value), key
        return dict(pairs)

    json.loads((PLACE / name).read_text(), object_pairs_hook=once)


def damaged(name: str, change: Any) -> str:
    """What is said of the table after `change` was made to it."""
    data = json.loads((PLACE / name).read_text())
    change(data)
    with pytest.raises(ConfigError) as caught:
        decode_table(f"safety/tables/{name}", json.dumps(data).encode(), KINDS[name])
    assert "install it again" in caught.value.hint
    return caught.value.text


def test_a_damaged_table_is_refused_by_file_and_row() -> None:
    said = damaged("programs.json", lambda data: data["acts"][3].update(risk="SMALL"))
    assert said.startswith("safety/tables/programs.json, acts[3].risk ([")
    assert "'SMALL'" in said
    said = damaged("programs.json", lambda data: data["subcommands"][1]["subcommands"][0].pop("examples"))
    assert said.startswith('safety/tables/programs.json, subcommands[1].subcommands[0] (["ls"')
    assert "missing required field `examples`" in said
    assert "unknown field `nonsense`" in damaged("git.json", lambda data: data["network"][0].update(nonsense=1))
    assert 'wrappers[0].examples (["env"])' in damaged("wrappers.json", lambda data: data["wrappers"][0].update(examples={}))
    assert "rules[2].yes (" in damaged("blocks.json", lambda data: data["rules"][2].update(yes=[]))
    assert 'rules[1] ("rm"): rm does not begin with' in damaged("blocks.json", lambda data: data["rules"][1].update(id="rm"))
    assert "curl_sends.names" in damaged("network.json", lambda data: data["curl_sends"].update(names=[""]))


def test_a_table_that_is_no_json_names_the_line() -> None:
    with pytest.raises(ConfigError, match=r"safety/tables/git\.json, line 2: JSON is malformed"):
        decode_table("safety/tables/git.json", b'{\n "writes": nothing}', git.GitTable)
    with pytest.raises(ConfigError, match=r"safety/tables/git\.json, line 3: "):
        decode_table("safety/tables/git.json", b'{\n "writes":\n {', git.GitTable)


def test_a_row_of_a_map_is_named_by_its_keys() -> None:
    with pytest.raises(ConfigError, match=r"models\.json, b/d: expected `int`, got `str`"):
        decode_table("providers/models.json", b'{"a": {"c": 1}, "b": {"d": "x"}}', dict[str, dict[str, int]])


def test_two_rows_with_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"safety/tables/git\.json, push: two rows have this name"):
        by_name("safety/tables/git.json", [("push", "pull"), ("fetch", "push")], lambda row: row)


@pytest.mark.parametrize("name", ["../pyproject.json", "/etc/passwd", "safety/tables/../../errors.json", "config.py"])
def test_only_data_files_of_the_package_are_read(name: str) -> None:
    with pytest.raises(ValueError, match="names no data file"):
        read_data_file(name, dict)


def test_a_table_that_is_missing_is_said_to_be() -> None:
    with pytest.raises(ConfigError, match=r"safety/tables/absent\.json cannot be read: No such file"):
        read_data_file("safety/tables/absent.json", dict)
