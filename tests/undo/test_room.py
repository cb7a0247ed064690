"""What is kept has bounds: what undo needs is never what goes, and where it would be, commands ask."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from neuralclaw.app.undo.undo_events import UndoSettings
from neuralclaw.app.undo.undo_store import UndoStore
from neuralclaw.errors import ConfigError
from neuralclaw.sandbox.preimages import Preimages
from neuralclaw.sandbox.running_call import RunningCall
from neuralclaw.sandbox.undo.contents import KeptContents

from ..agent import kit
from ..cli.program import Claw
from .test_verbs import opened, replies

pytestmark = pytest.mark.anyio

CALL = RunningCall("s", 1, "c", "terminal")


async def test_a_command_asks_where_what_it_may_replace_is_more_than_may_be_kept(home: Path, workspace: Path) -> None:
    (workspace / "film").write_bytes(os.urandom(700_000))
    settings = {"undo": {"max_mb": 1}}
    async with kit.agent(home, *replies("truncate -s 0 film"), workspace=workspace, approvals="none", settings=settings) as agent:
        seen = await kit.events(agent, session="s")
        assert "undo cannot bring back film (the files together are larger than 0.45 MB, its share of undo.max_workspace_mb and undo.max_mb)" in " ".join(
            seen.one("decision").body.reasons
        )
        assert (workspace / "film").stat().st_size == 700_000


async def test_a_workspace_that_was_kept_under_a_higher_bound_asks_under_a_lower_one(home: Path, workspace: Path) -> None:
    (workspace / "film").write_bytes(os.urandom(700_000))
    async with opened(home, workspace, "touch x") as agent:
        await kit.events(agent, session="s")
    async with kit.agent(home, *replies("truncate -s 0 film"), workspace=workspace, approvals="none", settings={"undo": {"max_mb": 1}}) as agent:
        await kit.events(agent, session="s")
        assert (workspace / "film").stat().st_size == 700_000


def written(place: Path) -> None:
    place.mkdir(exist_ok=True)
    (place / "film").write_bytes(os.urandom(440_000))


def test_copies_of_other_workspaces_go_before_what_the_newest_command_replaced(home: Path, tmp_path: Path) -> None:
    kept = UndoStore(str(home), UndoSettings(max_mb=1))
    other, tree = kept.tree(str(tmp_path / "other")), kept.tree(str(tmp_path / "w"))
    written(tmp_path / "other")
    other.refresh()
    written(tmp_path / "w")
    tree.begin(CALL)
    written(tmp_path / "w")
    (change,) = tree.finish(CALL).changes
    kept.keep_list([change])
    assert change.before is not None
    assert change.before.content is not None
    kept.clean()
    assert len(kept.contents.read(change.before.content)) == 440_000  # what an undo needs
    assert (tree.known, other.known) == (True, False)
    written(tmp_path / "other")
    other.refresh()
    kept.clean()
    assert (tree.known, other.known) == (True, True)  # a command is noted as running in the one, and the other was used last
    tree.recorded(CALL)
    other.refresh()
    kept.clean()
    assert (tree.known, other.known) == (False, True)
    assert len(kept.contents.read(change.before.content)) == 440_000


@pytest.mark.invariant("undo.nothing-lost")
def test_what_a_running_command_replaced_is_kept_whatever_others_clean_up(home: Path, workspace: Path) -> None:
    kept = UndoStore(str(home), UndoSettings(keep_days=1))
    tree = kept.tree(str(workspace))
    while time.time() - (workspace / "a.txt").stat().st_ctime < 0.2:
        tree.refresh()  # until its time of change tells that nobody wrote to it
    for path, _ in kept.contents.files():
        os.utime(path, (time.time() - 100_000,) * 2)
    tree.begin(CALL)
    (workspace / "a.txt").write_text("two\n")
    tree.refresh()  # somebody else's command: "one" is in the note of the first one alone
    kept.clean()
    (change,) = tree.finish(CALL).changes
    assert change.before is not None
    assert kept.contents.read(change.before.content or b"") == b"one\n"


def test_what_a_file_tool_replaces_is_kept_from_then_on(home: Path, workspace: Path) -> None:
    with (workspace / "a.txt").open("rb") as file:
        name = Preimages(str(home / "preimages")).keep(file.fileno())
        os.utime(home / "preimages" / name, (time.time() - 100_000,) * 2)
        assert Preimages(str(home / "preimages")).keep(file.fileno()) == name
    UndoStore(str(home), UndoSettings(keep_days=1)).clean()
    assert (home / "preimages" / name).exists()


async def test_what_a_redo_needs_is_kept_from_the_undo_on(home: Path, workspace: Path) -> None:
    async with opened(home, workspace, "echo two > a.txt", settings={"undo": {"keep_days": 1}}) as agent:
        await kit.events(agent, session="s")
        for path in (home / "undo" / "contents").rglob("*"):
            if path.is_file():
                os.utime(path, (time.time() - 100_000,) * 2)
        assert (await agent.do("undo"))["restored"]
        assert not (await agent.do("redo"))["left"]
        assert (workspace / "a.txt").read_text() == "two\n"


async def test_all_directories_are_their_owners_alone(home: Path, workspace: Path) -> None:
    before = os.umask(0o022)
    try:
        async with opened(home, workspace, "touch x") as agent:
            await kit.events(agent, session="s")
    finally:
        os.umask(before)
    assert {oct(path.stat().st_mode & 0o777) for path in (home / "undo", *(home / "undo").rglob("*")) if path.is_dir()} == {"0o700"}


WRONG = {
    "max_mb": ("many", "a whole number from 1 to 1000000000"),
    "max_files": (10**20, "a whole number from 1 to 1000000000"),
    "keep_days": (100_000_000, "a number above 0 and at most 36500"),
}


@pytest.mark.parametrize("name", WRONG)
async def test_a_wrong_setting_is_refused_before_anything_runs(home: Path, workspace: Path, name: str) -> None:
    value, expected = WRONG[name]
    settings: dict[str, Any] = {"undo": {name: value}}
    with pytest.raises(ConfigError, match=f"undo.{name}: expected {expected}, found"):
        async with kit.agent(home, workspace=workspace, settings=settings):
            pass


async def test_a_run_with_a_wrong_setting_ends_with_78_and_doctor_names_it(home: Path, workspace: Path) -> None:
    (home / "config.yaml").write_text("undo:\n  max_mb: many\n")
    claw = Claw(home, workspace)
    ran = await claw("run", "run ls")
    assert (ran.code, "undo.max_mb" in ran.err) == (78, True)
    ran = await claw("doctor")
    assert (ran.code, "MISSING config" in ran.out, "undo.max_mb" in ran.out) == (1, True, True)
    (home / "config.yaml").unlink()
    assert (await claw("run", "run ls", env={"NEURALCLAW_UNDO__MAX_FILE_MB": "abc"})).code == 78


def test_a_file_of_holes_takes_no_room_when_it_is_kept(tmp_path: Path) -> None:
    with (tmp_path / "holes").open("wb") as file:
        file.truncate(100_000_000)
    contents = KeptContents(str(tmp_path / "c"))
    with (tmp_path / "holes").open("rb") as file:
        digest = contents.keep(file.fileno(), 2**62)
    assert sum(status.st_blocks for _, status in contents.files()) < 100
    assert sum(map(len, contents.pieces(digest))) == 100_000_000
