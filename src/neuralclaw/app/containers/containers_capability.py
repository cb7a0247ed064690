"""`SANDBOX`: the capability that brings the command about the container sandbox."""

from typing import Any

import anyio.from_thread
import anyio.to_thread

from ...capability import Capability, Verb
from ...plugins import load
from ..capability_context import BuiltInContext


async def build_image(context: BuiltInContext) -> Any:
    """Build the image that `tools.terminal.docker_image` names. Raises `ToolExecutionError` with what the engine said."""
    loaded = context.loaded

    def tell(line: str) -> None:
        anyio.from_thread.run_sync(context.notice, line)

    return await anyio.to_thread.run_sync(load("sandbox.build"), loaded.settings.tools.terminal.docker_image, loaded.env, tell)


SANDBOX = Capability(
    name="sandbox",
    summary="the image of the container sandbox",
    verbs=(
        Verb(
            name="sandbox.build",
            summary="Build the image that commands run in, in containers, from the Dockerfile that comes with the program.",
            run=build_image,
            example="neuralclaw sandbox build",
            in_chat=False,
            needs="settings",
        ),
    ),
)
