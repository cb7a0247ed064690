"""The page that shows what a person sees when something is in the way is what the program does."""

import difflib

import pytest

from .scenes import INTRODUCTION, PAGE, SCENES, Scene, heading, section, sections
from .stage import normalised

LONG = {"wrong_key", "unknown_model", "full_disk", "read_only_home", "ten_megabytes", "stubborn_command", "second_terminal", "killed_run"}
SHOWN = sections(PAGE.read_text(encoding="utf-8"))


def test_the_page_has_every_scene_in_order_and_no_other() -> None:
    assert SHOWN[0].strip() == INTRODUCTION.strip()
    assert [part.partition("\n")[0] for part in SHOWN[1:]] == [heading(scene) for scene in SCENES]


@pytest.mark.parametrize("scene", [pytest.param(s, marks=[pytest.mark.full] if s.__name__ in LONG else [], id=s.__name__) for s in SCENES])
def test_a_person_sees_what_the_page_shows(scene: Scene) -> None:
    shown = normalised(next(part for part in SHOWN if part.startswith(heading(scene) + "\n")))
    now = normalised(section(scene))
    assert shown == now, "\n".join(difflib.unified_diff(shown.splitlines(), now.splitlines(), "the page", "the run", lineterm=""))


def test_only_times_and_made_up_names_may_differ() -> None:
    shown = "question gkpab575z2 at 2026-11-21T06:05:48.321Z, 12 ms, pid 7, head d6d66d4daff40dc9\n"
    other = "question aaaaaaaaaa at 2027-01-01T00:00:00.000Z, 3 ms, pid 12, head 0000000000000000\n"
    assert normalised(shown) == normalised(other)
    assert normalised(shown) != normalised(shown.replace("at ", "since "))
    assert normalised("❌ the disk is full\n") != normalised("❌ the disk is gone\n")
