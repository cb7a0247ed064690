"""docs/sandbox.md counts what the tests try."""

import re

from tests.sandbox.conformance.cases import CASES
from tests.sandbox.everyday import COMMANDS

from .pages import ROOT

PAGE = (ROOT / "docs" / "sandbox.md").read_text(encoding="utf-8")


def test_the_page_counts_the_attempts_of_each_subject() -> None:
    subjects = [case.subject for case in CASES.values()]
    rows = dict(re.findall(r"^\| (\w+) \| (\d+) \|", PAGE, re.MULTILINE))
    assert rows == {**{subject: str(subjects.count(subject)) for subject in subjects}, "all": str(len(subjects))}


def test_the_page_names_every_attempt_that_is_open_somewhere_and_no_other() -> None:
    named = re.findall(r"Open (?:in|under) (\w+), as root and as user: ([\w ,]+)\.", PAGE)
    said = {(kind.lower(), name.replace(" ", "_")) for kind, names in named for name in names.split(", ")}
    assert said == {(kind, name) for name, case in CASES.items() for kind in case.open}


def test_the_page_counts_the_everyday_commands() -> None:
    assert f"runs {len(COMMANDS)} everyday commands" in PAGE
