"""Grants as the gate would make them, for tests of tools alone."""

import hashlib
from pathlib import Path
from typing import Any

from neuralclaw.tools.registry import Registry
from neuralclaw.types.grants import Envelope, Grant
from neuralclaw.types.tools import ToolContext, ToolResult


def digest(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def grant_for(workspace: Path, tool: str, arguments: dict[str, Any], **envelope: Any) -> Grant:
    """A grant that reads and writes the workspace and may execute, with the digests of the file named `path`."""
    root = str(workspace)
    parts: dict[str, Any] = {"read": (root,), "write": (root,), "execute": True}
    if isinstance(arguments.get("path"), str):
        path = workspace / arguments["path"]
        parts["digests"] = {str(path): digest(path)}
    return Grant(session="s", call_id="c", tool=tool, arguments=arguments, workspace=root, hash="h", envelope=Envelope(**{**parts, **envelope}))


def context(workspace: Path) -> ToolContext:
    return ToolContext(session="s", turn=1, call_id="c", workspace=str(workspace))


async def call(registry: Registry, workspace: Path, tool: str, **arguments: Any) -> ToolResult:
    """Prepare and call, under a grant for exactly that call."""
    spec = registry.find(tool)
    assert spec is not None
    final = registry.prepare(tool, arguments)
    return await registry.call(grant_for(workspace, spec.name, final), context(workspace))
