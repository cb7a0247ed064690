"""The file tools on real files."""

import os
from pathlib import Path
from typing import Any

import pytest

from neuralclaw.errors import PermissionDeniedError, ToolError, ToolExecutionError, ToolValidationError
from neuralclaw.tools.registry import Registry
from neuralclaw.types.tools import FileChange, ToolResult

from .grants import call, context, digest, grant_for

pytestmark = pytest.mark.anyio


async def test_a_file_is_read_as_it_is(registry: Registry, workspace: Path) -> None:
    (workspace / "a.txt").write_text("one\ntwo\r\n\tdrei ö\n")
    result = await call(registry, workspace, "file_read", path="a.txt")
    assert result.content == "one\ntwo\r\n\tdrei ö\n"
    assert result.metadata == {"path": "a.txt", "size": 18, "lines": 3, "encoding": "utf-8", "first": 1, "last": 3, "whole": True}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"offset": 2}, "2\n3"),
        ({"offset": 2, "limit": 1}, "2\n"),
        ({"limit": 2}, "1\n2\n"),
        ({"offset": 0, "limit": "1"}, "1\n"),
        ({"offset": 3}, "3"),
        ({"limit": 99}, "1\n2\n3"),
    ],
)
async def test_lines_of_a_file_are_counted_from_one(registry: Registry, workspace: Path, arguments: dict[str, Any], expected: str) -> None:
    (workspace / "a.txt").write_text("1\n2\n3")
    assert (await call(registry, workspace, "read_file", path="a.txt", **arguments)).content == expected


async def test_an_offset_beyond_the_end_says_how_long_the_file_is(registry: Registry, workspace: Path) -> None:
    (workspace / "a.txt").write_text("1\n2\n3\n")
    with pytest.raises(ToolError, match="has 3 lines"):
        await call(registry, workspace, "read_file", path="a.txt", offset=4)
    with pytest.raises(ToolValidationError, match="'offset'"):
        await call(registry, workspace, "read_file", path="a.txt", offset=-1)


async def test_an_empty_file_is_empty(registry: Registry, workspace: Path) -> None:
    (workspace / "a.txt").touch()
    assert (await call(registry, workspace, "read_file", path="a.txt")).content == ""


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        ("\ufeffhé".encode(), "utf-8"),
        (b"\xff\xfe" + "hé".encode("utf-16-le"), "utf-16-le"),
        (b"\xfe\xff" + "hé".encode("utf-16-be"), "utf-16-be"),
        ("hé".encode("latin-1"), "latin-1"),
    ],
)
async def test_encodings_are_read_and_kept_by_an_edit(registry: Registry, workspace: Path, data: bytes, encoding: str) -> None:
    (workspace / "a.txt").write_bytes(data)
    result = await call(registry, workspace, "read_file", path="a.txt")
    assert (result.content, result.metadata["encoding"]) == ("hé", encoding)
    await call(registry, workspace, "edit_file", path="a.txt", old="h", new="H")
    mark = data[: len(data) - len("hé".encode(encoding))]
    assert (workspace / "a.txt").read_bytes() == mark + "Hé".encode(encoding)


async def test_a_character_the_encoding_has_not_is_refused(registry: Registry, workspace: Path) -> None:
    (workspace / "a.txt").write_bytes("hé".encode("latin-1"))
    with pytest.raises(ToolError, match="latin-1, which has no '€'"):
        await call(registry, workspace, "edit_file", path="a.txt", old="h", new="€")
    assert (workspace / "a.txt").read_bytes() == "hé".encode("latin-1")


@pytest.mark.parametrize(
    ("name", "data", "match"),
    [
        ("a.bin", b"\x00\x01\x02" * 100, "a binary file of 300 bytes"),
        ("a.png", b"\x89PNG\r\n\x1a\n" + b"\0" * 20, "a PNG image of 28 bytes"),
        ("a.pdf", b"%PDF-1.7\nabc", "a.pdf is a damaged PDF"),
        ("a.docx", b"PK\x03\x04" + b"\0" * 30, "a.docx is no Word document"),
        ("a.so", b"\x7fELF" + b"\x01\0" * 9, r"a program \(ELF\)"),
    ],
)
async def test_what_is_no_text_is_named_with_its_size(registry: Registry, workspace: Path, name: str, data: bytes, match: str) -> None:
    (workspace / name).write_bytes(data)
    with pytest.raises(ToolError, match=match):
        await call(registry, workspace, "read_file", path=name)


async def test_a_very_large_file_is_read_in_part_and_says_so(registry: Registry, workspace: Path) -> None:
    (workspace / "big.txt").write_text("123456789\n" * 1_000_001)
    result = await call(registry, workspace, "read_file", path="big.txt", offset=1_000_000)
    assert result.content.startswith("123456789\n[the file continues")
    assert result.metadata["whole"] is False
    (workspace / "line.txt").write_text("é" * 5_000_001)
    line = await call(registry, workspace, "read_file", path="line.txt")
    assert line.content.startswith("é" * 5_000_000 + "[the file continues")
    with pytest.raises(ToolError, match="larger than"):
        await call(registry, workspace, "edit_file", path="big.txt", old="1", new="2")


async def test_what_is_not_there_is_an_error_with_its_name(registry: Registry, workspace: Path) -> None:
    for tool, arguments in [
        ("read_file", {}),
        ("edit_file", {"old": "a", "new": "b"}),
        ("delete_file", {}),
        ("list_files", {}),
        ("search_files", {"pattern": "x"}),
    ]:
        with pytest.raises(ToolExecutionError, match=r"gone\.txt: not found"):
            await call(registry, workspace, tool, path="gone.txt", **arguments)


async def test_nothing_outside_the_roots_is_touched(registry: Registry, workspace: Path) -> None:
    outside = workspace.parent / "secret.txt"
    outside.write_text("secret")
    (workspace / "link").symlink_to(outside)
    for path in ("../secret.txt", str(outside), "link"):
        for tool, arguments in [
            ("read_file", {}),
            ("write_file", {"content": "x"}),
            ("edit_file", {"old": "secret", "new": "x"}),
            ("search_files", {"pattern": "s"}),
        ]:
            with pytest.raises(PermissionDeniedError):
                await call(registry, workspace, tool, path=path, **arguments)
    for path in ("../secret.txt", str(outside)):
        with pytest.raises(PermissionDeniedError):
            await call(registry, workspace, "delete_file", path=path)
    assert outside.read_text() == "secret"


async def test_a_directory_is_listed_one_entry_a_line(registry: Registry, workspace: Path) -> None:
    (workspace / "b.txt").write_text("12345")
    (workspace / "a").mkdir()
    (workspace / "l").symlink_to("b.txt")
    result = await call(registry, workspace, "list_files")
    assert result.content == "a/\nb.txt (5 bytes)\nl@"
    assert result.metadata["entries"][1] == {"name": "b.txt", "kind": "file", "size": 5}
    assert (await call(registry, workspace, "list_files", path="a")).content == "a is an empty directory"


async def test_writing_makes_a_file_with_its_parents_and_reports_the_change(registry: Registry, workspace: Path) -> None:
    result = await call(registry, workspace, "write_file", path="new/dir/a.txt", content="hé\n")
    file = workspace / "new/dir/a.txt"
    assert file.read_bytes() == "hé\n".encode()
    assert result.content == "Created new/dir/a.txt: 3 characters."
    assert result.changes == (FileChange(str(file), None, digest(file)),)
    before = digest(file)
    again = await call(registry, workspace, "file_write", path=str(file), content="x")
    assert again.content == "Replaced new/dir/a.txt: 1 character."
    assert again.changes == (FileChange(str(file), before, digest(file)),)


async def test_half_a_character_is_not_written(registry: Registry, workspace: Path) -> None:
    with pytest.raises(ToolError, match="half a character"):
        await call(registry, workspace, "write_file", path="a.txt", content="a\ud800")
    assert not (workspace / "a.txt").exists()


async def test_an_edit_replaces_exactly_one_place(registry: Registry, workspace: Path) -> None:
    file = workspace / "a.py"
    file.write_text("x = 1\ny = 1\n")
    result = await call(registry, workspace, "edit_file", path="a.py", old="x = 1", new="x = 2")
    assert file.read_text() == "x = 2\ny = 1\n"
    assert result.content == "Replaced 1 occurrence in a.py."
    assert result.changes[0].after == digest(file)


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("z", "x", r"not in a\.py \(0 occurrences\)"),
        ("1", "2", "occurs 2 times"),
        ("", "x", "old is empty"),
        ("x", "x", "the same text"),
    ],
)
async def test_an_edit_that_is_not_clear_changes_nothing(registry: Registry, workspace: Path, old: str, new: str, match: str) -> None:
    (workspace / "a.py").write_text("x = 1\ny = 1\n")
    with pytest.raises(ToolError, match=match):
        await call(registry, workspace, "edit_file", path="a.py", old=old, new=new)
    assert (workspace / "a.py").read_text() == "x = 1\ny = 1\n"


async def test_all_replaces_every_place(registry: Registry, workspace: Path) -> None:
    (workspace / "a.py").write_text("x = 1\ny = 1\n")
    result = await call(registry, workspace, "edit_file", path="a.py", old="1", new="2", all="true")
    assert ((workspace / "a.py").read_text(), result.metadata["replaced"]) == ("x = 2\ny = 2\n", 2)


async def test_windows_line_ends_are_kept(registry: Registry, workspace: Path) -> None:
    (workspace / "a.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    await call(registry, workspace, "edit_file", path="a.txt", old="one\ntwo\n", new="1\n2\n")
    assert (workspace / "a.txt").read_bytes() == b"1\r\n2\r\nthree\r\n"


async def test_a_file_that_changed_since_it_was_judged_is_left(registry: Registry, workspace: Path) -> None:
    file = workspace / "a.txt"
    file.write_text("one")
    for tool, arguments in [("write_file", {"content": "x"}), ("edit_file", {"old": "one", "new": "x"}), ("delete_file", {})]:
        grant = grant_for(workspace, tool, registry.prepare(tool, {"path": "a.txt", **arguments}))
        file.write_text("one, two")
        with pytest.raises(ToolExecutionError, match="has changed since it was judged"):
            await registry.call(grant, context(workspace))
        assert file.read_text() == "one, two"
        file.write_text("one")


async def test_a_file_is_deleted_and_a_directory_is_not(registry: Registry, workspace: Path) -> None:
    file = workspace / "a.txt"
    file.write_text("x")
    before = digest(file)
    result = await call(registry, workspace, "delete_file", path="a.txt")
    assert not file.exists()
    assert result.changes == (FileChange(str(file), before, None),)
    (workspace / "d").mkdir()
    with pytest.raises(ToolExecutionError, match="is a directory"):
        await call(registry, workspace, "delete_file", path="d")


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("a b a b", {"old": "a b a", "new": "c"}),
        ("one two", {"old": "two", "new": "one"}),
        ("one two", {"old": " two", "new": ""}),
        ("x x x", {"old": "x", "new": "y", "all": True}),
        ("one\r\ntwo\r\n", {"old": "one\ntwo", "new": "1\n2"}),
    ],
)
async def test_an_interrupted_edit_can_be_told_by_its_digests(registry: Registry, workspace: Path, text: str, arguments: dict[str, Any]) -> None:
    file = workspace / "a.txt"
    file.write_bytes(text.encode())
    grant = grant_for(workspace, "edit_file", registry.prepare("edit_file", {"path": "a.txt", **arguments}))
    before = digest(file)
    assert await registry.probe(grant, context(workspace)) is False
    done = await registry.call(grant, context(workspace))
    found = await registry.probe(grant, context(workspace))
    assert isinstance(found, ToolResult)
    assert found.changes == (FileChange(str(file), before, digest(file)),)
    assert found.changes == done.changes
    file.write_text("something else")
    assert await registry.probe(grant, context(workspace)) is None
    file.unlink()
    assert await registry.probe(grant, context(workspace)) is None


async def test_an_interrupted_delete_can_be_told_by_looking(registry: Registry, workspace: Path) -> None:
    file = workspace / "a.txt"
    file.write_text("x")
    grant = grant_for(workspace, "delete_file", {"path": "a.txt"})
    assert await registry.probe(grant, context(workspace)) is False
    file.write_text("y")
    assert await registry.probe(grant, context(workspace)) is None
    file.unlink()
    found = await registry.probe(grant, context(workspace))
    assert isinstance(found, ToolResult)
    assert found.changes[0].after is None


def _plant(workspace: Path) -> None:
    for name in ("a.py", "src/b.py", "src/deep/c.py", "src/deep/c.txt", ".git/d.py", "src/{odd}.md"):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(f"# {name}\ndef f(x):\n    return 'Grüße'\n")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"pattern": "*.py"}, ["a.py", "src/b.py", "src/deep/c.py"]),
        ({"pattern": "src/*.py"}, ["src/b.py"]),
        ({"pattern": "src/**/*.py"}, ["src/b.py", "src/deep/c.py"]),
        ({"pattern": "**/c.*"}, ["src/deep/c.py", "src/deep/c.txt"]),
        ({"pattern": "**/deep/*.py"}, ["src/deep/c.py"]),
        ({"pattern": "src/**"}, ["src/b.py", "src/deep/", "src/deep/c.py", "src/deep/c.txt", "src/{odd}.md"]),
        ({"pattern": "[ab].py"}, ["a.py", "src/b.py"]),
        ({"pattern": "[!a].py"}, ["src/b.py", "src/deep/c.py"]),
        ({"pattern": "?.{txt,py}", "path": "src/deep"}, ["src/deep/c.py", "src/deep/c.txt"]),
        ({"pattern": "deep"}, ["src/deep/"]),
        ({"pattern": "*.PY"}, []),
        ({"pattern": "a?py*"}, ["a.py"]),
    ],
)
async def test_files_are_found_by_name(registry: Registry, workspace: Path, arguments: dict[str, str], expected: list[str]) -> None:
    _plant(workspace)
    result = await call(registry, workspace, "find_files", **arguments)
    assert result.metadata["files"] == expected
    assert result.content == ("\n".join(expected) or "no file matches *.PY below .")


async def test_a_directory_behind_a_link_is_searched_by_its_own_names(registry: Registry, workspace: Path) -> None:
    _plant(workspace)
    (workspace / "link").symlink_to("src")
    assert (await call(registry, workspace, "find_files", pattern="deep/*.py", path="link")).metadata["files"] == ["src/deep/c.py"]


@pytest.mark.parametrize("pattern", ["../*", "/etc/*", ""])
async def test_a_pattern_that_leaves_its_directory_is_refused(registry: Registry, workspace: Path, pattern: str) -> None:
    with pytest.raises(ToolError, match="pattern"):
        await call(registry, workspace, "find_files", pattern=pattern)


async def test_a_search_names_file_and_line(registry: Registry, workspace: Path) -> None:
    _plant(workspace)
    result = await call(registry, workspace, "search_files", pattern=r"def \w+\(", glob="*.py")
    assert result.content == "a.py:2: def f(x):\nsrc/b.py:2: def f(x):\nsrc/deep/c.py:2: def f(x):"
    one = await call(registry, workspace, "search_files", pattern="grüße", path="src/b.py", ignore_case=True)
    assert one.content == "src/b.py:3: return 'Grüße'"
    assert (await call(registry, workspace, "search_files", pattern="nowhere")).content == "no line matches nowhere in 5 files"


async def test_a_pattern_that_is_no_regular_expression_is_plain_text(registry: Registry, workspace: Path) -> None:
    (workspace / "a.txt").write_text("f(x\nF(X\n")
    result = await call(registry, workspace, "search_files", pattern="f(")
    assert (result.content, result.metadata["plain"]) == ("a.txt:1: f(x", True)
    assert (await call(registry, workspace, "search_files", pattern="f(", ignore_case=True)).metadata["count"] == 2


async def test_what_cannot_be_searched_is_said(registry: Registry, workspace: Path) -> None:
    (workspace / "a.bin").write_bytes(b"x\0" * 100)
    (workspace / "b.txt").write_bytes(b"x\n" * 3_000_000)
    (workspace / "bad.txt").write_bytes(b"\xff\xfe\x00")
    os.mkfifo(workspace / "pipe")
    result = await call(registry, workspace, "search_files", pattern="x")
    assert result.content == "no line matches x in 0 files\n[not searched: 2 binary, 1 over 5 MB]"


async def test_a_search_is_bounded(registry: Registry, workspace: Path) -> None:
    (workspace / "a.txt").write_text(("x" * 1_000 + "\n") * 1_000)
    result = await call(registry, workspace, "search_files", pattern="x")
    assert (result.metadata["count"], len(result.metadata["hits"])) == (1_000, 200)
    assert result.content.endswith("[200 of 1,000 hits are shown; narrow the search with path, glob or a longer pattern. Not shown: a.txt (800)]")
    assert len(result.content) < 200 * 330


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(a|aa)+$", r"(a*)*b", r"^(a*)*b$", "a*" * 30 + "b"])
async def test_a_pattern_that_would_run_for_ever_ends(registry: Registry, workspace: Path, pattern: str) -> None:
    (workspace / "a.txt").write_text(("a" * 200 + "!\n") * 20)
    assert (await call(registry, workspace, "search_files", pattern=pattern)).metadata["count"] == 0


async def test_a_name_pattern_that_would_run_for_ever_ends(registry: Registry, workspace: Path) -> None:
    (workspace / ("a" * 200)).touch()
    assert (await call(registry, workspace, "find_files", pattern="*a" * 30 + "*b")).metadata["count"] == 0
