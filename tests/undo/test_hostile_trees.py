"""Workspaces that nobody would wish for: nothing is lost, nothing hangs, nothing elsewhere is touched."""

import os
import socket
import struct
import threading
from pathlib import Path

import pytest

from neuralclaw.sandbox.running_call import RunningCall
from neuralclaw.sandbox.undo.restoring import LATER
from neuralclaw.sandbox.undo.saved_tree import SavedTree

from .hostile_day import CALL, LIMITS, Day
from .trees import standing

pytestmark = pytest.mark.full


@pytest.fixture
def day(tmp_path: Path) -> Day:
    return Day(tmp_path)


def test_pipes_sockets_devices_and_huge_files_are_named_and_never_opened(day: Day) -> None:
    os.mkfifo(day.root / "pipe")
    with socket.socket(socket.AF_UNIX) as bound:
        at = os.open(day.root, os.O_RDONLY)
        bound.bind(f"/proc/self/fd/{at}/sock")
        os.close(at)
    (day.root / "sparse").touch()
    os.truncate(day.root / "sparse", 10_000_000_000)
    assert sorted(day.begin()) == ["it is a socket or a device", "it is larger than 1 MB"]
    before = standing_of_others(day)
    os.unlink(day.root / "pipe")
    os.unlink(day.root / "sparse")
    left = day.undo(day.end())
    assert left == [f"{day.root}/sparse: what was there was not kept"]
    assert standing_of_others(day) == before


def standing_of_others(day: Day) -> object:
    return {path: stands[0] for path, stands in standing_without(day.root, b"sparse").items()}


def standing_without(root: Path, name: bytes) -> dict[bytes, tuple[object, ...]]:
    found = {}
    for entry in os.scandir(os.fsencode(root)):
        if entry.name != name:
            found[entry.name] = (entry.stat(follow_symlinks=False).st_mode,)
    return found


def test_five_thousand_files_with_odd_names_come_back(day: Day) -> None:
    for number in range(5_000):
        directory = os.fsencode(day.root) + b"/d%d" % (number % 50)
        os.makedirs(directory, exist_ok=True)
        Path(os.fsdecode(directory + b"/\xff\nname \x1b%d" % number)).write_text(str(number % 100))
    day.begin()
    before = standing(day.root)
    for entry in list(os.scandir(day.root)):
        for one in list(os.scandir(entry.path)):
            os.unlink(one.path)
        os.rmdir(entry.path)
    assert day.undo(day.end()) == []
    assert standing(day.root) == before


def test_a_hard_link_into_another_place_is_not_written_through(day: Day, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("theirs")
    os.link(elsewhere, day.root / "mine")
    day.begin()
    os.unlink(day.root / "mine")
    (day.root / "mine").write_text("new")
    changes = day.end()
    os.unlink(day.root / "mine")
    os.link(elsewhere, day.root / "mine")
    elsewhere.write_text("new")
    assert day.undo(changes) == []
    assert (elsewhere.read_text(), (day.root / "mine").read_text()) == ("new", "theirs")


def test_a_directory_that_became_a_link_is_not_followed(day: Day, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "f").write_text("changed")
    (day.root / "d").mkdir()
    (day.root / "d" / "f").write_text("first")
    (day.root / "d" / "gone").write_text("gone")
    day.begin()
    (day.root / "d" / "f").write_text("changed")
    os.unlink(day.root / "d" / "gone")
    changes = day.end()
    os.rename(day.root / "d", day.root / "old")
    os.symlink(elsewhere, day.root / "d")
    left = day.undo(changes)
    assert len(left) == 2
    assert all(LATER in one for one in left)
    assert sorted(os.listdir(elsewhere)) == ["f"]
    assert (elsewhere / "f").read_text() == "changed"


def test_directories_that_are_swapped_for_links_while_undo_runs_lead_nowhere(day: Day, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for number in range(200):
        (day.root / f"d{number}").mkdir()
        (day.root / f"d{number}" / "f").write_text("first")
    day.begin()
    for number in range(200):
        (day.root / f"d{number}" / "f").write_text("changed")
    changes = day.end()
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for number in range(0, 200, 7):
                place = day.root / f"d{number}"
                os.rename(place, f"{place}-away")
                os.symlink(elsewhere, place)
                os.unlink(place)
                os.rename(f"{place}-away", place)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(3):
            day.undo(changes)
    finally:
        stop.set()
        thread.join(5)
    assert os.listdir(elsewhere) == []
    assert day.undo(changes) == []
    assert {(day.root / f"d{number}" / "f").read_text() for number in range(200)} == {"first"}


def test_what_changes_while_it_is_copied_is_named_or_kept_whole(day: Day) -> None:
    stop, place = threading.Event(), day.root / "busy"
    place.write_text("0" * 500_000)

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            place.write_text(str(number % 10) * 500_000)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        reasons = day.begin()
    finally:
        stop.set()
        thread.join(5)
    assert set(reasons) <= {"it changed while it was copied"}
    day.end()


def test_a_command_that_was_killed_leaves_its_changes_to_who_looks_next(day: Day) -> None:
    (day.root / "f").write_text("first")
    day.begin()
    (day.root / "f").write_text("second, by the command")
    os.close(day.tree._running.pop(CALL))  # its process dies
    again = SavedTree(str(day.root), day.tree._directory.rsplit("/", 1)[0], day.contents, LIMITS)
    assert again.interrupted()
    _, (orphan,) = again.look()
    assert (orphan.call, [os.fsdecode(change.path) for change in orphan.changes]) == (CALL, [f"{day.root}/f"])
    again.recorded(CALL)
    assert not again.interrupted()
    assert day.undo(list(orphan.changes)) == []
    assert (day.root / "f").read_text() == "first"


def test_what_two_commands_at_once_changed_is_on_record_for_both_as_shared(day: Day) -> None:
    day.begin()
    (day.root / "a").write_text("by the first")
    other = RunningCall("t", 1, "d", "terminal")
    assert day.tree.begin(other)[1] == []
    (day.root / "b").write_text("by somebody")
    first = {os.path.basename(os.fsdecode(change.path)): change.shared for change in day.end()}
    (day.root / "c").write_text("by the other")
    second = {os.path.basename(os.fsdecode(change.path)): change.shared for change in day.tree.finish(other).changes}
    day.tree.recorded(other)
    assert first == {"a": "", "b": "terminal of session t, turn 1"}
    assert second == {"b": "terminal of session s, turn 1", "c": ""}


def test_attributes_of_a_file_that_was_written_to_stay(day: Day) -> None:
    place = day.root / "f"
    place.write_text("first")
    os.setxattr(place, "user.note", b"mine")
    day.begin()
    place.write_text("second")
    assert day.undo(day.end()) == []
    assert (place.read_text(), os.getxattr(place, "user.note")) == ("first", b"mine")


def test_deep_trees_are_bounded_and_said(day: Day) -> None:
    at = os.open(day.root, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d", dir_fd=at)
        below = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)
    assert day.begin() == ["it is nested deeper than 100 directories"]
    assert day.end() == []


def test_what_is_below_a_path_that_is_too_long_to_be_named_is_said(day: Day) -> None:
    at = os.open(day.root, os.O_RDONLY)
    for _ in range(25):
        os.mkdir("d" * 200, dir_fd=at)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(os.open("precious", os.O_CREAT, dir_fd=at))
    os.close(at)
    assert day.begin() == ["its path is longer than 3,800 bytes"]
    assert day.end() == []


def test_a_file_has_no_access_list_that_it_did_not_have(day: Day) -> None:
    place = day.root / "d" / "f"
    place.parent.mkdir()
    place.write_text("first")
    entries = ((1, 7, 2**32 - 1), (2, 7, 12_345), (4, 5, 2**32 - 1), (16, 7, 2**32 - 1), (32, 5, 2**32 - 1))  # another user may do all
    os.setxattr(place.parent, "system.posix_acl_default", struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries))
    day.begin()
    place.write_text("second")
    changes = day.end()
    assert day.undo(changes) == []
    assert os.listxattr(place) == []
    assert day.redo(changes) == []
    assert place.read_text() == "second"


def test_a_call_that_was_killed_and_runs_again_has_what_both_tries_changed(day: Day) -> None:
    call = RunningCall("s", 1, "c1", "terminal")
    (day.root / "kept.txt").write_text("one")
    day.tree.begin(call)
    (day.root / "first.txt").write_text("of the first try")
    day.tree.leave(call)  # as its process's end does
    again = SavedTree(str(day.root), day.tree._directory.rsplit("/", 1)[0], day.contents, LIMITS)
    assert again.begin(call)[1] == []
    (day.root / "second.txt").write_text("of the second")
    assert sorted(change.path.decode().rsplit("/", 1)[-1] for change in again.finish(call).changes) == ["first.txt", "second.txt"]
    again.recorded(call)
    assert again.begin(call)[1] == []
    assert again.finish(call).changes == []
