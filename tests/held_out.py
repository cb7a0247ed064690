"""How many hostile cases the suites have, and how many of them do what they must: `python -m tests.held_out` runs them and prints the table of the page.

Each counts its cases by itself (`record_property`); a test that fails counts none of its own as held.
"""

import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
SUITES = {
    "addresses of a table, fetched": ("tests/sandbox/test_public_addresses.py", "test_every_case_of_the_table"),
    "special and oddly spelled addresses, fetched in four ways": ("tests/sandbox/test_public_addresses.py", "test_special_addresses"),
    "paths outside, over seven file tools": ("tests/tools/test_paths_outside.py", "test_no_spelling_of_a_path"),
    "secrets in a text, in every spelling": ("tests/secrets/test_nowhere.py", "test_no_spelling_of_a_secret"),
    "forged values, rows and orders of the record": ("tests/store/test_tampering.py", "test_every_value_row_and_order"),
    "turns of everyday commands, undone": ("tests/undo/test_turns.py", "test_a_hundred_turns"),
    "turns of a hostile day, undone": ("tests/undo/test_hostile_day.py", "test_a_hostile_day"),
}


def counted() -> dict[str, tuple[int, int]]:
    """By suite: its cases, and those of tests that passed."""
    with tempfile.TemporaryDirectory() as place:
        report = Path(place, "report.xml")
        files = dict.fromkeys(file for file, _ in SUITES.values())
        names = " or ".join(name for _, name in SUITES.values())
        command = [sys.executable, "-m", "pytest", "-q", "-m", "full or not full", "-o", "junit_family=xunit1", f"--junitxml={report}", "-k", names, *files]
        subprocess.run(command, cwd=ROOT, check=False, stdout=sys.stderr)
        tests = list(ElementTree.parse(report).iter("testcase"))
    cases, held = Counter[str](), Counter[str]()
    for test in tests:
        suite = next(suite for suite, (_, name) in SUITES.items() if test.get("name", "").startswith(name))
        count = next((int(one.get("value", 0)) for one in test.iter("property") if one.get("name") == "cases"), 1)
        cases[suite] += count
        held[suite] += count if not any(test.find(kind) is not None for kind in ("failure", "error", "skipped")) else 0
    return {suite: (cases[suite], held[suite]) for suite in SUITES}


def table(found: dict[str, tuple[int, int]]) -> str:
    rows = [f"| {suite} | {cases:,} | {held:,} |" for suite, (cases, held) in found.items()]
    return "\n".join(["| | cases | held |", "|---|---:|---:|", *rows])


if __name__ == "__main__":
    print(table(counted()))  # noqa: T201
