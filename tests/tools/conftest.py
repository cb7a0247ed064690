"""The built-in tools on real files and a real sandbox."""

import os
from pathlib import Path
from typing import Any

import pytest

from neuralclaw.documents.document_formats import DOCUMENTS
from neuralclaw.sandbox.confined_files import ConfinedFiles
from neuralclaw.sandbox.converter import ChildConverter
from neuralclaw.sandbox.environment import clean_env
from neuralclaw.sandbox.process import ProcessSandbox
from neuralclaw.tools.builtin import own_tools, workspace_tools
from neuralclaw.tools.file_formats import FileFormats
from neuralclaw.tools.registry import Registry
from neuralclaw.types.tools import ToolContext

LONG = "".join(f"line {n}\n" for n in range(20_000))


async def kept(session: str, call_id: str) -> str | None:
    """The one shortened result of these tests."""
    return LONG if (session, call_id) == ("s", "long") else None


async def about(ctx: ToolContext) -> dict[str, Any]:
    return {"name": "NeuralClaw", "tools": ["echo"]}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    path = tmp_path / "work"
    path.mkdir()
    return path.resolve()


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    files = ConfinedFiles(str(tmp_path / "preimages"))
    environment = clean_env(os.environ)
    return Registry(
        [
            *workspace_tools(files, ProcessSandbox(), environment, formats=FileFormats(DOCUMENTS.formats, ChildConverter())),
            *own_tools(kept, about, 40_000),
        ]
    )
