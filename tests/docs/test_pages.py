"""The pages say what is so."""

import ast
import re
from pathlib import Path

import pytest

from tests.house.source import SRC, modules
from tests.house.test_arrows import ROOTS
from tests.invariants import LATER, STANDING

from .pages import ROOT, blocks, fits, pages
from .transcript import differences, report

ARCHITECTURE = ROOT / "docs" / "architecture.md"
PAGES = [page for page in pages() if page.name != "CHANGELOG.md"]
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)")


@pytest.mark.full
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_of_a_page_does_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    found = differences(page.read_text(encoding="utf-8"), tmp_path)
    assert not found, "\n\n".join(report(page, difference) for difference in found)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_of_a_page_leads_to_a_file(page: Path) -> None:
    assert [link for link in LINK.findall(page.read_text(encoding="utf-8")) if not (page.parent / link).exists()] == []


def test_every_file_that_a_page_names_exists() -> None:
    named = re.compile(r"`((?:src|tests|docs|benchmarks)/[\w./-]+)`")
    wrong = {page.name: [name for name in named.findall(page.read_text(encoding="utf-8")) if not (ROOT / name).exists()] for page in PAGES}
    assert {page: names for page, names in wrong.items() if names} == {}


def test_the_architecture_names_every_room_and_no_other() -> None:
    table = ARCHITECTURE.read_text(encoding="utf-8").partition("## Rooms")[2].partition("\n## ")[0]
    named = set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))
    assert named == {module.room for module in modules()} - {"", "__main__", "_version"}
    assert named <= {path.stem for path in SRC.iterdir()}
    assert {"cli", "app", "testing"} <= ROOTS


def test_every_class_that_the_architecture_names_exists() -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    there = {node.name for module in modules() for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)}
    named = {name.rpartition(".")[2] if name[0].islower() else name.partition(".")[0] for name in re.findall(r"`((?:\w+\.)*[A-Z]\w*[a-z]\w*(?:\.\w+)*)`", text)}
    figure = text.partition("```text\n")[2].partition("\n```")[0]
    drawn = {name for line in figure.splitlines() for name in re.findall(r"\b[A-Z]\w*[a-z]\w*\b", line[:66])} - {"Python"}
    assert sorted((named | drawn) - there) == []
    assert {"SessionDesk", "TurnRecord"} <= named
    assert {"Desk", "Journal"} <= drawn


def test_the_architecture_lists_the_invariants_as_the_tests_know_them() -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    rows = [
        tuple(cell.strip(" `") for cell in line.strip("|").split(" | ")) for line in text.partition("## Invariants")[2].splitlines() if line.startswith("| `")
    ]
    assert rows == [*STANDING.items(), *((name, text, work) for name, (text, work) in LATER.items())]


def test_the_index_of_decisions_lists_every_decision_by_its_title() -> None:
    place = ROOT / "docs" / "decisions"
    listed = re.findall(r"^\| \[(\d+)\]\(([\w.-]+)\) \| (.+) \|$", (place / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    titles = {path.name: path.read_text(encoding="utf-8").splitlines()[0] for path in sorted(place.glob("[0-9]*.md"))}
    assert {name: f"# {number}. {title}" for number, name, title in listed} == titles
    assert all("**Decided:**" in (place / name).read_text(encoding="utf-8") for name in titles)


def test_no_page_shows_an_output_that_nothing_made() -> None:
    loose = [
        f"{page.name}: {block.text[:40]!r}"
        for page in PAGES
        for block in blocks(page.read_text(encoding="utf-8"))
        if block.note("output") is not None and not block.text.strip()
    ]
    assert loose == []


def test_a_shown_output_fits_other_times_and_ids_and_nothing_else() -> None:
    shown = "asked k3Jd82mQpz at 2026-11-21 04:11, took 12 ms\n[…]\nthe end of k3Jd82mQpz\n"
    pattern = fits(shown, ["k3Jd82mQpz"])
    match = pattern.fullmatch("asked AAAAAAAAA1 at 2027-01-01 23:59, took 3 ms\none\ntwo\nthe end of AAAAAAAAA1\n")
    assert match
    assert match["id0"] == "AAAAAAAAA1"
    assert not pattern.fullmatch("asked AAAAAAAAA1 at 2027-01-01 23:59, took 3 ms\nthe end of BBBBBBBBB2\n")
    assert not pattern.fullmatch("asked AAAAAAAAA1 at noon, took 3 ms\nthe end of AAAAAAAAA1\n")


def test_a_page_whose_command_fails_or_says_something_else_is_found(tmp_path: Path) -> None:
    text = "<!-- exit: 3 -->\n```sh\nexit 3\n```\n```sh\nfalse\n```\n```sh\necho one\n```\n<!-- output -->\n```text\ntwo\n```\n"
    assert [difference.why for difference in differences(text, tmp_path)] == ["exit code 1, not 0", "another output"]
