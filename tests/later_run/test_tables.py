"""The tables say of their own examples what they are for."""

import os
from pathlib import Path

import pytest

from neuralclaw.sandbox.later_run.git_settings import FILE as SETTINGS
from neuralclaw.sandbox.later_run.git_settings import GitSettings, running_lines
from neuralclaw.sandbox.later_run.place_manifest import PlaceManifest
from neuralclaw.sandbox.later_run.place_names import FILE, PlaceTable, named_place
from neuralclaw.sandbox.later_run.place_scan import scan
from neuralclaw.types.datafile import read_data_file

EXAMPLES = [(path, found and row.where != "named") for row in read_data_file(FILE, PlaceTable).rows for path, found in row.examples.items()]
GIVEN = read_data_file(SETTINGS, GitSettings)
SET = [one for names in (GIVEN.plain, GIVEN.named, GIVEN.addresses, GIVEN.choices) for one in names.examples.items()]


@pytest.mark.parametrize(("path", "expected"), EXAMPLES)
def test_an_example_of_a_place_is_found(tmp_path: Path, path: str, expected: bool) -> None:
    root = tmp_path.resolve()
    (root / ".git").mkdir()
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / ".git" / "modules" / "lib").mkdir(parents=True, exist_ok=True)
    (root / ".git" / "modules" / "lib" / "HEAD").write_text("ref: refs/heads/main\n")
    (root / path).write_text("x")
    found = scan(PlaceManifest(str(root)), None)
    assert (os.path.join(root, path) in found.places) == expected  # noqa: PTH118
    assert named_place(str(root / path)) or not expected


@pytest.mark.parametrize(("setting", "expected"), SET)
def test_an_example_of_a_setting_is_judged(setting: str, expected: bool) -> None:
    key, _, value = setting.partition("=")
    section, *names, name = key.split(".")
    header = f'[{section} "{".".join(names)}"]' if names else f"[{section}]"
    assert (running_lines(f"{header}\n\t{name} = {value}\n".encode()) == []) == expected


@pytest.mark.parametrize(
    "text",
    [
        '[remote "x"] uploadpack = evil\n',
        "[user]\nname = a \\\nx = b\n",
        "[user\nname = x\n",
        "name = x\n",
        '[branch "a\\"]\nmerge = b\n',
        "[alias.st]\nx = y\n",
        "[include]\n  path = x\n",
        "[core]\neditor\n",
        "\ufeff[core]\nhooksPath=x\n",
        "[CORE]\nHooksPath=x\n",
        "[core]\n\tbare = false\n[core]\tfsmonitor = x\n",
    ],
)
def test_what_is_not_plain_counts_as_run(text: str) -> None:
    assert running_lines(text.encode())
