"""What undo did not look at, or could not keep, it does not take away."""

import os
import socket
import time
from pathlib import Path

import pytest

from neuralclaw.app.undo.undo_events import UndoSettings
from neuralclaw.app.undo.undo_store import UndoStore
from neuralclaw.sandbox.undo.present_contents import keep_present
from neuralclaw.sandbox.undo.saved_tree import LATER_THAN_DEATH, SavedTree
from neuralclaw.sandbox.undo.tree_scan import ScanLimits

from .hostile_day import CALL, Day
from .trees import standing


@pytest.fixture
def day(tmp_path: Path) -> Day:
    return Day(tmp_path)


def limited(day: Day, *, files: int = 50_000, tree_bytes: int = 100_000_000) -> None:
    day.tree = SavedTree(str(day.root), f"{day.root.parent}/kept/trees", day.contents, ScanLimits(1_000_000, tree_bytes, files))


def names(day: Day) -> set[str]:
    return {os.path.relpath(os.path.join(place, file), day.root) for place, _, files in os.walk(day.root) for file in files}


@pytest.mark.invariant("undo.nothing-lost")
def test_a_file_that_was_too_large_to_be_kept_and_was_moved_stays_where_it_is(day: Day) -> None:
    day.run("mkdir d; head -c 2000000 /dev/urandom > d/big; echo small > d/small")
    day.begin()
    day.run("mv d e; echo more >> e/small")
    left = day.undo(day.end())
    assert names(day) == {"e/big", "d/small"}
    assert any(one.startswith(f"{day.root}/d/big: what was there was not kept") for one in left)
    assert any(one.startswith(f"{day.root}/e/big: ") for one in left)


def test_files_beyond_what_is_kept_of_a_workspace_stay_where_a_command_moved_them(day: Day) -> None:
    limited(day, tree_bytes=1_000_000)
    day.run("for i in 1 2 3 4; do head -c 400000 /dev/urandom > f$i; done")
    day.begin()
    day.run("mkdir out; mv f* out/")
    day.undo(day.end())
    assert {name.removeprefix("out/") for name in names(day)} == {"f1", "f2", "f3", "f4"}


@pytest.mark.parametrize(
    ("there", "command", "person"),
    [
        ("mkdir d; echo precious > d/a", "mv d/a b", "rmdir d"),
        ("mkdir d; echo precious > d/a; echo b > b", "mv -T d/a b", "rmdir d; echo file > d"),
        ("mkdir -p d/x; echo precious > d/x/a; echo two > d/x/b", "mkdir arch; mv d/x/* arch", "rm -r d"),
        ("echo precious > a", "mv a b; echo more >> b", "echo new > a"),
        ("echo precious > a; echo b > b; echo c > c", "mv a t; mv b a; mv c b; mv t c", "echo mine >> b"),
    ],
)
def test_what_was_moved_from_where_it_cannot_go_back_stays(day: Day, there: str, command: str, person: str) -> None:
    day.run(there)
    day.begin()
    day.run(command)
    changes = day.end()
    day.run(person)
    for _ in range(2):
        assert day.undo(changes)
        assert any(path.read_text().startswith("precious") for path in day.root.rglob("*") if path.is_file())


def test_where_the_clock_was_set_back_nobody_can_tell_what_a_dead_command_changed(day: Day) -> None:
    day.run("echo one > a")
    day.begin()
    day.run("echo two > a")
    day.tree.leave(CALL)
    ahead = time.time() + 3_600
    for note in Path(day.tree._directory).glob("running-*"):
        os.utime(note, (ahead, ahead))
    _, orphans = day.tree.look()
    assert [change.shared for change in orphans[0].changes] == [LATER_THAN_DEATH]


def test_a_content_that_is_kept_again_while_others_are_cleaned_up_stays(tmp_path: Path) -> None:
    kept = UndoStore(str(tmp_path), UndoSettings())
    digest = kept.contents.keep_bytes(b"precious")
    [(path, _)] = list(kept.contents.files())
    os.utime(path, (1, 1))
    kept.clean(lambda: not kept.contents.keep_bytes(b"precious"))  # asked after the times were read
    assert kept.contents.read(digest) == b"precious"


def test_a_socket_that_was_moved_is_not_removed(day: Day) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        at = os.open(day.root, os.O_RDONLY)
        bound.bind(f"/proc/self/fd/{at}/sock")
        os.close(at)
        day.begin()
        day.run("mv sock elsewhere")
        day.undo(day.end())
        assert names(day) == {"elsewhere"}


def test_a_file_that_a_command_made_too_large_is_brought_back_by_redo(day: Day) -> None:
    day.run("echo 1 > f")
    day.begin()
    day.run("head -c 2000000 /dev/zero > f; head -c 1500000 /dev/zero > new")
    after = standing(day.root)
    changes = keep_present([change.reversed for change in day.end()], day.contents)
    assert day.redo(changes) == []
    assert ((day.root / "f").read_text(), names(day)) == ("1\n", {"f"})
    assert day.undo(changes) == []
    assert standing(day.root) == after


@pytest.mark.invariant("undo.nothing-lost")
def test_where_a_kept_content_is_damaged_the_moved_file_stays(day: Day) -> None:
    day.run("head -c 3000 /dev/urandom > a")
    day.begin()
    content = (day.root / "a").read_bytes()
    day.run("mv a b")
    changes = day.end()
    for path, _ in day.contents.files():
        kept = bytearray(Path(path).read_bytes())
        kept[-1] ^= 1
        Path(path).write_bytes(kept)
    assert len(day.undo(changes)) == 2
    assert (day.root / "b").read_bytes() == content


def test_what_is_put_back_twice_at_the_old_name_does_not_cost_the_moved_file(day: Day) -> None:
    day.run("echo precious > a")
    day.begin()
    day.run("mv a b")
    changes = day.end()
    (day.root / "a").write_text("mine\n")
    assert len(day.undo(changes)) == 2
    assert ((day.root / "a").read_text(), (day.root / "b").read_text()) == ("mine\n", "precious\n")


@pytest.mark.parametrize("command", ["rm f{1..20}", "mkdir x; mv f{1..20} x", "for i in {1..60}; do echo 1 > n$i; done", "rm f{1..20}; mv f21 n"])
@pytest.mark.invariant("undo.nothing-lost")
def test_files_beyond_the_number_that_is_looked_at_are_never_taken_away(day: Day, command: str) -> None:
    limited(day, files=20)
    day.run("for i in {1..40}; do echo person $i > f$i; done")
    assert day.begin() == ["there are more than 20 files"]
    day.run(command)
    stood = {text for name in names(day) if "person" in (text := (day.root / name).read_text())}
    day.undo(day.end())
    assert stood <= {(day.root / name).read_text() for name in names(day)}


def test_a_look_that_was_cut_does_not_make_later_undos_take_the_rest_for_new(day: Day) -> None:
    limited(day, files=50)
    day.run("mkdir a; for i in {1..9}; do mkdir n$i; echo precious > n$i/f; done")
    before = names(day)
    day.begin()
    day.run("for i in {1..100}; do echo t > a/x$i; done")
    day.end()
    day.begin()
    day.run("rm -r a; mkdir a")
    day.undo(day.end())
    assert before <= names(day)


def test_what_a_command_deletes_comes_back_though_it_makes_more_than_is_looked_at(day: Day) -> None:
    limited(day, files=30)
    day.run("mkdir zz; for i in {1..9}; do echo $i > f$i; echo $i > zz/f$i; done")
    before = {name: (day.root / name).read_text() for name in names(day)}
    assert day.begin() == []
    day.run("mkdir a; for i in {1..100}; do echo $i > a/x$i; done; rm f1 zz/f2; echo lost > f3; mv f4 a/y")
    state = day.tree.finish(CALL)
    assert [one.why for one in state.not_kept] == ["there are more than 30 files"]
    day.undo(state.changes)
    assert {name: (day.root / name).read_text() for name in before} == before


def test_what_was_too_deep_to_be_looked_at_stays_where_it_was_moved(day: Day) -> None:
    day.run("p=.; for i in {1..110}; do p=$p/d; mkdir $p; echo $i > $p/f; done")
    texts = sorted((day.root / name).read_text() for name in names(day))
    day.begin()
    day.run("mv d/d/d/d/d/d/d/d/d/d/d/d up")
    day.undo(day.end())
    assert set(texts) <= {(day.root / name).read_text() for name in names(day)}
