"""The image of the container sandbox, built by the engine from the Dockerfile beside this file."""

import io
import os
import tarfile
from collections.abc import Callable, Mapping

import msgspec

from ...errors import ToolExecutionError
from .engine import EngineError, engine_at

DOCKERFILE = os.path.join(os.path.dirname(__file__), "Dockerfile")


class BuiltImage(msgspec.Struct, frozen=True):
    """The name that was given to it, its id, and its size in megabytes."""

    image: str
    id: str
    size_mb: int


def build(image: str, env: Mapping[str, str], tell: Callable[[str], None], dockerfile: bytes | None = None) -> BuiltImage:
    """Build the image and name it so; `tell` gets each line of the engine's. Blocks for as long as that takes; a base image is pulled from the network.

    `dockerfile` in place of the one that comes with the program.

    Raises `ToolExecutionError` with the engine's own words.
    """
    try:
        engine = engine_at(env)
        for line in engine.lines("/build", _context(dockerfile), t=image, rm="1", forcerm="1"):
            if "error" in line:
                raise EngineError(str(line["error"]).strip())
            if text := str(line.get("stream", "")).strip():
                tell(text)
        told = engine.call("GET", f"/images/{image}/json")
    except EngineError as error:
        hint = error.fix or f"The engine needs the network for its base image. Or make an image that has bash in another way and name it {image}."
        raise ToolExecutionError(f"the image {image} was not built: {error.text}", hint=hint) from error
    return BuiltImage(image, told["Id"], round(told["Size"] / 1e6))


def _context(dockerfile: bytes | None) -> bytes:
    if dockerfile is None:
        with open(DOCKERFILE, "rb") as file:
            dockerfile = file.read()
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        entry = tarfile.TarInfo("Dockerfile")
        entry.size = len(dockerfile)
        archive.addfile(entry, io.BytesIO(dockerfile))
    return data.getvalue()
