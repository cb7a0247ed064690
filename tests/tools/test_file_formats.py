"""A file format that another capability brings: the file tools read and write it as they do the built-in ones."""

import asyncio
import codecs
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from neuralclaw.capability import FileFormat
from neuralclaw.conversion import Head
from neuralclaw.documents.document_formats import DOCUMENTS
from neuralclaw.errors import ToolError, ToolExecutionError
from neuralclaw.sandbox.confined_files import ConfinedFiles
from neuralclaw.sandbox.converter import Conversion
from neuralclaw.sandbox.process import ProcessSandbox
from neuralclaw.tools.builtin import workspace_tools
from neuralclaw.tools.file_formats import FileFormats
from neuralclaw.tools.files import edit_file, read_file, write_file
from neuralclaw.tools.registry import Registry

from .grants import call

pytestmark = pytest.mark.anyio

DIARY = FileFormat(
    name="diary",
    title="diary",
    suffixes=(".diary", ".diary.old"),
    recognise=lambda head: head.startswith(b"DIARY\n"),
    reader="diary.reading",
    writer="diary.writing",
    layout="as plain text",
)
SEALED = FileFormat(name="sealed", title="sealed letter", suffixes=(".sealed",), recognise=lambda head: True, reader="sealed", unwritable="Write a diary.")


class Turning:
    """A converter in this process, whose two modules turn the alphabet by thirteen letters."""

    async def convert(self, module: str, data: bytes) -> Conversion:
        if module == "sealed":
            return Conversion("done", answered(Head(refused="cannot be opened", hint="Ask its writer."), b""))
        text = data.removeprefix(b"DIARY\n").decode()
        turned = codecs.encode(text, "rot13").encode()
        return Conversion("done", answered(Head({"letters": len(text)}), turned if module == "diary.reading" else b"DIARY\n" + turned))


def answered(head: Head, made: bytes) -> bytes:
    encoded = msgspec.json.encode(head)
    return len(encoded).to_bytes(8, "big") + encoded + made


@pytest.fixture
def tools(tmp_path: Path) -> Registry:
    files, formats = ConfinedFiles(str(tmp_path / "pre")), FileFormats([*DOCUMENTS.formats, DIARY, SEALED], Turning())
    return Registry([read_file(files, formats), write_file(files, formats), edit_file(files, formats)])


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    path = tmp_path / "work"
    path.mkdir()
    return path.resolve()


async def test_it_is_written_and_read_as_text(tools: Registry, workspace: Path) -> None:
    written = await call(tools, workspace, "write_file", path="a.diary", content="Dear diary\n")
    assert (workspace / "a.diary").read_bytes() == b"DIARY\nQrne qvnel\n"
    assert written.content == "Created a.diary: 11 characters as a diary of 17 bytes."
    read = await call(tools, workspace, "read_file", path="a.diary")
    assert read.content == "Dear diary\n"
    assert (read.metadata["format"], read.metadata["letters"]) == ("diary", 11)
    again = await call(tools, workspace, "write_file", path="a.diary", content="Dear me\n")
    assert again.metadata["diff"].splitlines()[-2:] == ["-Dear diary", "+Dear me"]


async def test_what_it_cannot_do_is_refused_with_its_own_words(tools: Registry, workspace: Path) -> None:
    (workspace / "a.sealed").write_bytes(b"wax")
    with pytest.raises(ToolError, match=r"a\.sealed cannot be opened") as opened:
        await call(tools, workspace, "read_file", path="a.sealed")
    with pytest.raises(ToolError, match="write_file makes no sealed letter") as made:
        await call(tools, workspace, "write_file", path="b.sealed", content="x")
    with pytest.raises(ToolError, match="is a sealed letter, which cannot be changed") as edited:
        await call(tools, workspace, "edit_file", path="a.sealed", old="w", new="x")
    assert (opened.value.hint, made.value.hint) == ("Ask its writer.", "Write a diary.")
    assert edited.value.hint.endswith("write the changed text to a .docx, .diary, .diary.old or .md file.")
    assert [path.name for path in workspace.iterdir()] == ["a.sealed"]


async def test_the_name_alone_does_not_make_it_one(tools: Registry, workspace: Path) -> None:
    (workspace / "a.diary").write_text("just text\n")
    assert (await call(tools, workspace, "read_file", path="a.diary")).content == "just text\n"
    (workspace / "b.diary").write_bytes(b"\x89PNG\r\n\x1a\n")
    with pytest.raises(ToolError, match=r"b\.diary is a PNG image, not a diary"):
        await call(tools, workspace, "read_file", path="b.diary")


def test_the_model_is_told_of_every_format(tools: Registry) -> None:
    told: dict[str, Any] = {spec.name: spec.description for spec in tools.tools()}
    assert "the text of a .docx (as Markdown), .pdf (page by page), .diary or .diary.old (as plain text) or .sealed. Use it" in told["read_file"]
    assert "For a .docx path the content is Markdown; for a .diary or .diary.old path the content is text; a .pdf or .sealed cannot be" in told["write_file"]


async def test_a_format_that_fails_to_look_at_a_file_is_an_error_of_that_call_alone() -> None:
    class Halt(BaseException):
        pass

    def recognise(head: bytes) -> bool:
        raise Halt("no luck")

    formats = FileFormats([FileFormat(name="odd", title="odd file", suffixes=(".odd",), recognise=recognise, reader="odd")], Turning())
    with pytest.raises(ToolError, match="the file format odd failed on it: Halt: no luck"):
        formats.of(b"x", "a.odd")
    assert await formats.text_of("a.odd", b"x") is None
    assert formats.of(b"x", "a.txt") is None


async def test_a_format_that_cancels_the_task_it_runs_in_fails_that_call_alone(tmp_path: Path, workspace: Path) -> None:
    def recognise(head: bytes) -> bool:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        return False

    formats = FileFormats([FileFormat(name="odd", title="odd file", suffixes=(".odd",), recognise=recognise, reader="odd")], Turning())
    tools = Registry(workspace_tools(ConfinedFiles(str(tmp_path / "pre")), ProcessSandbox(), {}, formats=formats))
    (workspace / "a.odd").write_bytes(b"x")
    with pytest.raises(ToolExecutionError, match="cancelled from within"):
        await call(tools, workspace, "read_file", path="a.odd")
    await anyio.lowlevel.checkpoint()
