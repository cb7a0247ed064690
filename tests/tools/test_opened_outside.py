"""A yes to a path outside the workspace opens exactly that path, by file tool and by command, and nothing that it turns into."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..agent import kit

pytestmark = pytest.mark.anyio


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    place = tmp_path.resolve() / "outside"
    (place / "d").mkdir(parents=True)
    for name in ("o.txt", "other.txt", "d/p.txt"):
        (place / name).write_text(f"in {name}\n")
    (place.parent / "work").mkdir()
    return place


async def run(home: Path, call: Any, before: Callable[[], None] = lambda: None) -> Any:
    """What became of one call to which the person says yes once, after `before` happened; a second question is answered with no."""
    answers = iter(("once", "no"))

    def approve(question: Any) -> str:
        answer = next(answers)
        if answer == "once":
            before()
        return answer

    async with kit.agent(home, kit.calls(call), "done", approvals="ask", approver=approve) as agent:
        seen = await kit.events(agent)
    return seen.of("tool.finished")[0].body


async def test_each_file_tool_does_outside_what_the_person_said_yes_to(home: Path, outside: Path) -> None:
    assert "in o.txt" in (await run(home, kit.call("read_file", path=f"{outside}/o.txt"))).content
    assert "p.txt" in (await run(home, kit.call("list_files", path="../outside/d"))).content
    assert "other.txt" in (await run(home, kit.call("search_files", path=str(outside), pattern="in other"))).content
    assert (await run(home, kit.call("write_file", path="../outside/o.txt", content="new\n"))).ok
    assert (await run(home, kit.call("edit_file", path=f"{outside}/other.txt", old="in", new="out"))).ok
    assert (await run(home, kit.call("write_file", path=f"{outside}/made/here.txt", content="made\n"))).ok
    assert (await run(home, kit.call("delete_file", path=f"{outside}/d/p.txt"))).ok
    assert [(outside / name).read_text() for name in ("o.txt", "other.txt", "made/here.txt")] == ["new\n", "out other.txt\n", "made\n"]
    assert not (outside / "d/p.txt").exists()


async def test_a_no_or_nobody_leaves_all_as_it_is(home: Path, outside: Path) -> None:
    calls = [kit.call(name, path=f"{outside}/o.txt", **more) for name, more in (("read_file", {}), ("write_file", {"content": "x"}), ("delete_file", {}))]
    async with kit.agent(home, kit.calls(*calls), "done", approvals="auto", trust="high") as agent:
        seen = await kit.events(agent)
    assert [event.body.ok for event in seen.of("tool.finished")] == [False] * 3
    assert (outside / "o.txt").read_text() == "in o.txt\n"


@pytest.mark.invariant("gate.outside-asks")
@pytest.mark.parametrize("name", ["read_file", "write_file", "delete_file"])
async def test_what_the_path_became_after_the_yes_is_not_touched(home: Path, outside: Path, name: str) -> None:
    link = outside.parent / "work" / "link"
    link.symlink_to(outside / "d")

    def turn() -> None:
        link.unlink()
        link.symlink_to(outside.parent / "elsewhere")

    (outside.parent / "elsewhere").mkdir()
    (outside.parent / "elsewhere" / "p.txt").write_text("kept\n")
    more = {"content": "evil\n"} if name == "write_file" else {}
    ended = await run(home, kit.call(name, path="link/p.txt", **more), before=turn)
    assert not ended.ok
    assert "kept" not in str(ended)
    assert (outside.parent / "elsewhere" / "p.txt").read_text() == "kept\n"
    assert (outside / "d/p.txt").read_text() == "in d/p.txt\n"


async def test_a_directory_that_becomes_a_link_on_the_way_is_not_followed(home: Path, outside: Path) -> None:
    def turn() -> None:
        (outside / "d").rename(outside / "was")
        (outside / "d").symlink_to("/etc")

    ended = await run(home, kit.call("write_file", path=f"{outside}/d/p.txt", content="evil\n"), before=turn)
    assert not ended.ok
    assert not Path("/etc/p.txt").exists()
    assert (outside / "was/p.txt").read_text() == "in d/p.txt\n"


async def test_a_search_around_the_agents_data_and_keys_does_not_look_into_them(home: Path, tmp_path: Path) -> None:
    person = home.parent
    (person / ".ssh").mkdir()
    (person / ".ssh" / "id_rsa").write_text("needle-key\n")
    (home / "kept.txt").write_text("needle-data\n")
    (person / "notes.txt").write_text("needle-note\n")
    calls = kit.calls(kit.call("search_files", path=".", pattern="needle"), kit.call("find_files", path=".", pattern="*"))
    async with kit.agent(home, calls, "done", workspace=person, approvals="ask", approver=lambda _: "once") as agent:
        told = [str(event.body.content) for event in (await kit.events(agent)).of("tool.finished")]
    assert "needle-note" in str(told)
    assert "needle-key" not in str(told)
    assert "needle-data" not in str(told)
    assert "id_rsa" not in str(told)


async def test_what_the_kernel_does_not_walk_is_not_found(home: Path, outside: Path) -> None:
    work = outside.parent / "work"
    (work / "a.txt").write_text("here\n")
    (work / "sub").mkdir()
    (work / "a..b.txt").write_text("dots\n")
    for path, found in (
        ("missing/../a.txt", False),
        ("a.txt/../a.txt", False),
        ("a.txt/", False),
        ("sub/../a.txt", True),
        ("a..b.txt", True),
        ("sub/.././/a.txt", True),
    ):
        ended = await run(home, kit.call("read_file", path=path))
        assert ended.ok == found, (path, ended)
    assert not (await run(home, kit.call("write_file", path="missing/../b.txt", content="x"))).ok
    assert not (await run(home, kit.call("write_file", path="new/", content="x"))).ok
    assert (await run(home, kit.call("write_file", path="sub/../b.txt", content="x"))).ok
    assert sorted(one.name for one in work.iterdir()) == ["a..b.txt", "a.txt", "b.txt", "sub"]
