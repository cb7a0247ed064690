"""The first copy of a workspace: one that is stopped is gone on with, by whichever process comes next, and nothing is read twice."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from neuralclaw.app.settings_loading import load_settings
from neuralclaw.app.undo.change_recorder import ChangeRecorder
from neuralclaw.app.undo.undo_events import UndoSettings
from neuralclaw.app.undo.undo_store import UndoStore
from neuralclaw.sandbox.undo.saved_tree import SavedTree
from neuralclaw.sandbox.undo.tree_manifest import contents_of
from neuralclaw.sandbox.undo.tree_scan import RACY_NS, Stopped

from ..agent import kit
from ..waiting import until_blocking


def filled(place: Path, count: int) -> Path:
    for number in range(count):
        directory = place / f"d{number % 10}"
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"f{number}").write_text(f"{number} " * 600)
    newest = max(path.stat().st_ctime_ns for path in place.rglob("*"))
    until_blocking(lambda: time.time_ns() - newest > 2 * RACY_NS)  # a file that was just written is read again, whoever copied it
    return place


def after(answers: int) -> Callable[[], bool]:
    """A `stop` that is true once it was asked so often."""
    left = iter(range(answers))
    return lambda: next(left, None) is None


def tree_of(home: Path, root: Path) -> SavedTree:
    """As a process that has just begun has it."""
    return UndoStore(str(home), UndoSettings()).tree(str(root))


def test_a_copy_that_was_stopped_is_gone_on_with_and_reads_nothing_again(home: Path, tmp_path: Path) -> None:
    root = filled(tmp_path / "w", 300)
    read = 0
    for _ in range(5):
        tree = tree_of(home, root)
        try:
            read = tree.refresh(after(90)).read
            break
        except Stopped:
            assert not tree.known
    assert 0 < read <= 90  # each process had time for so many
    assert tree.not_kept() == []
    assert len(contents_of(tree._directory)) == 300


def test_what_changed_since_it_was_stopped_is_read_again(home: Path, tmp_path: Path) -> None:
    root = filled(tmp_path / "w", 100)
    with pytest.raises(Stopped):
        tree_of(home, root).refresh(after(60))
    for path in root.rglob("f*"):
        path.write_text(f"other {path.name}")
    (root / "d1" / "f11").unlink()
    kept = UndoStore(str(home), UndoSettings())
    assert kept.tree(str(root)).refresh().read == 99
    for digest in contents_of(kept.tree(str(root))._directory):
        assert kept.contents.read(bytes.fromhex(digest)).startswith(b"other f")


def test_what_a_stopped_copy_has_is_not_cleaned_up(home: Path, tmp_path: Path) -> None:
    root = filled(tmp_path / "w", 100)
    kept = UndoStore(str(home), UndoSettings())
    with pytest.raises(Stopped):
        kept.tree(str(root)).refresh(after(60))
    there = {path for path, _ in kept.contents.files()}
    UndoStore(str(home), UndoSettings(keep_days=0.000_01)).clean()
    assert {path for path, _ in kept.contents.files()} == there


def test_a_process_that_ends_while_it_copies_saves_what_it_has(home: Path, tmp_path: Path) -> None:
    root = filled(tmp_path / "w", 2_000)
    recorder = ChangeRecorder(load_settings(str(home), {}, None), None, None, places=None, allowed=(), protected=())  # type: ignore[arg-type]
    tree = recorder.kept.tree(str(root))
    assert not recorder._copied(tree, time.monotonic())
    until_blocking(lambda: sum(1 for _ in recorder.kept.contents.files()) > 100)
    recorder.close()
    assert not any(thread.name == "neuralclaw-first-copy" for thread in threading.enumerate())
    assert not tree.known
    done = len(contents_of(tree._directory))
    assert 100 < done < 2_000
    assert tree_of(home, root).refresh().read <= 2_000 - done


@pytest.mark.anyio
async def test_a_question_that_comes_because_undo_does_not_cover_says_why(home: Path, tmp_path: Path) -> None:
    root = filled(tmp_path / "w", 1)
    (root / "film").write_bytes(b"x" * 1_100_000)
    made = [kit.calls(kit.call("terminal", command=command)) for command in ("touch x", "foo x", "rm film")]
    async with kit.agent(home, *made, workspace=root, approvals="park", settings={"undo": {"max_file_mb": 1}}) as agent:
        seen = await kit.events(agent, session="a")
        assert seen.one("approval.requested").body.summary == "touch x: writes x, undo cannot bring back film (it is larger than 1 MB)"
        seen = await kit.events(agent, session="b")
        assert seen.one("approval.requested").body.summary.endswith("undo cannot bring back film (it is larger than 1 MB)")
        seen = await kit.events(agent, session="c")
        assert seen.one("approval.requested").body.summary == "rm film: deletes 1 file"


def test_an_allowed_path_whose_first_copy_is_not_finished_is_named(home: Path, tmp_path: Path) -> None:
    workspace, allowed = filled(tmp_path / "w", 1), filled(tmp_path / "allowed", 2_000)
    recorder = ChangeRecorder(load_settings(str(home), {}, None), None, None, places=None, allowed=[str(allowed)], protected=())  # type: ignore[arg-type]
    recorder.kept.tree(str(workspace)).refresh()
    found = recorder._lacks([str(workspace), str(allowed)], str(workspace), time.monotonic())
    assert found == f"the first copy of {allowed}, which undo needs, is not finished"
    recorder.close()
