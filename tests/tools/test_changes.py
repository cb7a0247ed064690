"""The diff of a change: it says exactly what changed, with the right line numbers, and stays small."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralclaw.tools.diffs import bounded_diff
from neuralclaw.tools.registry import Registry
from tests.growth import assert_linear

from .grants import call

TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "\n", "ab\n", "+x\n", "- y\n"]), max_size=60).map("".join)


def applied(diff: str, before: str) -> str:
    """The text after a unified diff, whose every context line and number must be right."""
    lines, out, at = before.split("\n")[:-1], [], 0
    for line in diff.split("\n")[2:]:
        if line.startswith("@@"):
            found = re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,\d+)? @@", line)
            assert found is not None
            first = int(found[1]) - (found[2] != "0")
            out += lines[at:first]
            at = first
            assert int(found[3]) in (len(out), len(out) + 1)
        else:
            if line[0] in " -":
                assert lines[at] == line[1:]
                at += 1
            if line[0] in " +":
                out.append(line[1:])
    return "".join(f"{line}\n" for line in out + lines[at:])


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_a_diff_says_exactly_what_changed(begin: str, old: str, new: str, end: str) -> None:
    before, after = begin + old + end, begin + new + end
    diff = bounded_diff("f", before, after)
    assert (diff is None) == (before == after)
    if diff is not None:
        assert applied(diff, before) == after


def test_a_large_file_costs_no_more_than_its_change() -> None:
    def changed(lines: int) -> str | None:
        half = "line of text\n" * lines
        return bounded_diff("f", f"{half}x\n{half}", f"{half}y\n{half}")

    assert_linear(changed, 200_000)
    diff = changed(700_000)
    assert diff is not None
    assert "@@ -699998,7 +699998,7 @@" in diff
    assert diff.count("\n") == 10


def test_a_long_diff_is_cut_and_says_so() -> None:
    diff = bounded_diff("f", "", "line\n" * 1_000)
    assert diff is not None
    assert diff.endswith("+line\n[803 more lines]")
    assert bounded_diff("f", "", "x" * 40_000) is None


@pytest.mark.anyio
async def test_a_written_and_an_edited_file_tell_their_diff(registry: Registry, workspace: Path) -> None:
    made = await call(registry, workspace, "write_file", path="a.txt", content="one\ntwo\n")
    assert made.metadata["diff"] == "--- a.txt\n+++ a.txt\n@@ -0,0 +1,2 @@\n+one\n+two"
    written = await call(registry, workspace, "write_file", path="a.txt", content="one\n2\n")
    assert written.metadata["diff"].endswith("@@ -1,2 +1,2 @@\n one\n-two\n+2")
    edited = await call(registry, workspace, "edit_file", path="a.txt", old="one", new="1")
    assert edited.metadata["diff"].endswith("@@ -1,2 +1,2 @@\n-one\n+1\n 2")
    same = await call(registry, workspace, "write_file", path="a.txt", content="1\n2\n")
    assert "diff" not in same.metadata
    (workspace / "b.bin").write_bytes(b"\0\1\2")
    assert "diff" not in (await call(registry, workspace, "write_file", path="b.bin", content="text\n")).metadata
