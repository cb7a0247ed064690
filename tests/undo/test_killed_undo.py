"""An undo that is killed between any two of its steps is brought to its end by the next."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from neuralclaw.sandbox.undo.restoring import Restoration

from .hostile_day import Day
from .trees import standing

pytestmark = pytest.mark.full

STEPS = frozenset({"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.chown", "os.link", "os.symlink", "os.utime", "os.truncate", "open"})


def first(root: Path) -> None:
    for name in ("d", "d/in", "swap", "closed", "plain"):
        (root / name).mkdir()
    for name in ("d/a", "d/in/b", "swap/c", "closed/e", "f", "g", "plain/h"):
        (root / name).write_text(name)
    os.link(root / "f", root / "hard")
    (root / "link").symlink_to("f")
    os.mkfifo(root / "pipe")
    os.chmod(root / "d", 0o2755)
    os.chmod(root / "closed", 0o500)


def changed(root: Path) -> None:
    for name in ("d/a", "d/in/b", "swap/c", "link", "pipe", "hard"):
        os.unlink(root / name)
    for name in ("d/in", "d", "swap"):
        os.rmdir(root / name)
    (root / "swap").write_text("a file now")
    (root / "f").write_text("other")
    os.unlink(root / "g")
    (root / "g").mkdir()
    (root / "g" / "new").write_text("new")
    (root / "link").mkdir()
    os.chmod(root / "closed", 0o700)
    (root / "closed" / "e").write_text("changed")
    os.chmod(root / "closed", 0o500)
    os.chmod(root / "plain", 0o711)


def die_at(step: int) -> None:
    """This process ends at that step, as by a signal."""
    count = 0

    def counted(event: str, _: tuple[Any, ...]) -> None:
        nonlocal count
        if event in STEPS:
            count += 1
            if count == step:
                os._exit(9)

    sys.addaudithook(counted)


@pytest.mark.parametrize("redo", [False, True])
@pytest.mark.invariant("undo.nothing-lost")
def test_an_undo_killed_at_any_step_is_finished_by_the_next(tmp_path: Path, redo: bool) -> None:
    step = 0
    while True:
        step += 1
        (place := tmp_path / str(step)).mkdir()
        day = Day(place)
        first(day.root)
        before = standing(day.root)
        day.begin()
        changed(day.root)
        after = standing(day.root)
        changes = [change.reversed for change in day.end()]
        if redo:
            assert Restoration(changes, [str(day.root)], day.contents).run()[1] == []
            changes, before = [change.reversed for change in changes], after
        child = os.fork()
        if not child:
            die_at(step)
            Restoration(changes, [str(day.root)], day.contents, "name").run()
            os._exit(0)
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        _, left = Restoration(changes, [str(day.root)], day.contents, "name", again=True).run()
        assert left == [], step
        assert bare(standing(day.root), place) == bare(before, place), step
        if ended == 0:
            break
    assert step > 50


def bare(stands: dict[bytes, Any], place: Path) -> dict[bytes, Any]:
    return {path: (*value[:3], value[3].removeprefix(os.fsencode(place))) for path, value in stands.items()}
