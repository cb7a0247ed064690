"""The pages that show what a person sees are what the program does."""

import difflib

import pytest

from .play import Page, Scene, heading, pages, section
from .stage import normalised

LONG = {"wrong_key", "unknown_model", "full_disk", "read_only_home", "ten_megabytes", "stubborn_command", "second_terminal", "killed_run"}
PLAYED = [(page, scene) for page in pages() for scene in page.scenes]


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.path.name)
def test_a_page_has_every_scene_in_order_and_no_other(page: Page) -> None:
    shown = page.parts()
    assert shown[0].strip() == page.introduction.strip()
    assert [part.partition("\n")[0] for part in shown[1:]] == [heading(scene) for scene in page.scenes]


def _long(page: Page, scene: Scene) -> bool:
    return scene.__name__ in LONG or page.path.name == "models.md"


@pytest.mark.parametrize(("page", "scene"), [pytest.param(p, s, marks=[pytest.mark.full] if _long(p, s) else [], id=s.__name__) for p, s in PLAYED])
def test_a_person_sees_what_the_page_shows(page: Page, scene: Scene) -> None:
    shown, now = normalised(page.part(scene)), normalised(section(scene))
    assert shown == now, "\n".join(difflib.unified_diff(shown.splitlines(), now.splitlines(), "the page", "the run", lineterm=""))


def test_only_times_and_made_up_names_may_differ() -> None:
    shown = "question gkpab575z2 at 2026-11-21T06:05:48.321Z, 12 ms, pid 7, head d6d66d4daff40dc9\n"
    other = "question aaaaaaaaaa at 2027-01-01T00:00:00.000Z, 3 ms, pid 12, head 0000000000000000\n"
    assert normalised(shown) == normalised(other)
    assert normalised(shown) != normalised(shown.replace("at ", "since "))
    assert normalised("❌ the disk is full\n") != normalised("❌ the disk is gone\n")
