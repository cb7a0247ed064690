"""Paths that lead outside, spelled in many ways, over every file tool: nothing there is read, listed or changed."""

import os
from pathlib import Path
from typing import Any

import pytest

from ..agent import kit

pytestmark = pytest.mark.anyio

SECRET = "the-word-outside"


def made(root: Path) -> tuple[Path, Path]:
    """A workspace, and beside it a directory with a file; links in the workspace lead there."""
    work, outside = root / "work", root / "outside"
    (work / "sub" / "deep").mkdir(parents=True)
    (outside / "d").mkdir(parents=True)
    for path in (outside / "f.txt", outside / "d" / "g.txt"):
        path.write_text(f"{SECRET}\n")
    (work / "own.txt").write_text("own\n")
    (work / "to-dir").symlink_to(outside)
    (work / "to-file").symlink_to(outside / "f.txt")
    (work / "sub" / "relative").symlink_to("../../outside")
    (work / "twice").symlink_to("to-dir")
    (work / "up").symlink_to("..")
    (work / "new").symlink_to(outside / "made.txt")
    (work / "root").symlink_to("/")
    (work / "process").symlink_to("/proc/self/root")
    return work, outside


def spellings(work: Path, outside: Path) -> list[str]:
    """Of the file outside, of its directory, and of a file that is not there yet."""
    at, name = str(outside), outside.name
    ways = [
        at, f"../{name}", f"./../{name}", f"sub/../../{name}", f"sub/deep/../../../{name}", f"{work}/../{name}", f"//{at}", f"/.{at}", f"{at}/.",
        f"{at}/../{name}",
        "to-dir", "twice", "sub/relative", f"up/{name}", "to-dir/d/..", f"root{at}", f"process{at}", f"/proc/self/root{at}", f"/proc/{os.getpid()}/root{at}",
        f"/proc/thread-self/root{at}", f"/proc/self/cwd/root{at}",
    ]  # fmt: skip
    files = [f"{way}/{file}" for way in ways for file in ("f.txt", "made.txt")]
    return [*files, *ways, "to-file", "new", "~", "~root/x", "/etc/shadow", f"file://{at}/f.txt", f"{at}\\f.txt"]


def calls(path: str) -> list[Any]:
    return [
        kit.call("read_file", path=path),
        kit.call("write_file", path=path, content="changed"),
        kit.call("edit_file", path=path, old=SECRET, new="changed"),
        kit.call("delete_file", path=path),
        kit.call("list_files", path=path),
        kit.call("find_files", path=path, pattern="*"),
        kit.call("search_files", path=path, pattern="the-word"),
    ]


def state(outside: Path) -> list[tuple[str, str, int]]:
    return [(str(path), path.read_text() if path.is_file() else "", path.stat().st_mode) for path in sorted(outside.rglob("*"))]


async def test_no_spelling_of_a_path_leads_a_file_tool_outside(home: Path, tmp_path: Path, record_property: Any) -> None:
    work, outside = made(tmp_path.resolve())
    before, tried, ran = state(outside), spellings(work, outside), 0
    replies = [reply for path in tried for reply in (kit.calls(*calls(path)), "done")]
    async with kit.agent(home, *replies, workspace=work, approvals="auto", trust="high") as agent:
        for path in tried:
            seen = await kit.events(agent, session="s")
            assert SECRET not in str([event.body for event in seen.of("tool.finished")]), path
            assert state(outside) == before, path
            ran += len(seen.of("tool.finished")) + len(seen.of("tool.denied"))
            work.joinpath("own.txt").write_text("own\n")
    record_property("cases", ran)
    assert ran >= 120


async def test_the_same_calls_inside_do_what_they_say(home: Path, tmp_path: Path) -> None:
    work, _ = made(tmp_path.resolve())
    (work / "own").mkdir()
    inside, below = work / "own" / "f.txt", "sub/../own"
    for call, expected in zip(calls(f"{below}/f.txt")[:4], (SECRET, "changed", "changed", None), strict=True):
        inside.write_text(f"{SECRET}\n")
        async with kit.agent(home, kit.calls(call), "done", workspace=work, approvals="ask", approver=lambda _: "once", trust="high") as agent:
            seen = await kit.events(agent)
        assert seen.one("tool.finished").ok
        assert (inside.read_text().strip() if inside.exists() else None) == expected
    inside.write_text(f"{SECRET}\n")
    async with kit.agent(home, kit.calls(*calls(below)[4:]), "done", workspace=work, approvals="auto", trust="high") as agent:
        said = [str(event.body) for event in (await kit.events(agent)).of("tool.finished")]
    assert len(said) == 3
    assert all("f.txt" in one for one in said)
    assert any(SECRET in one for one in said)  # they run side by side, and end in any order
