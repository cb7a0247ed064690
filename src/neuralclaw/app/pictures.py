"""Pictures that a person sends with a message: from files and bytes to values, checked before anything is recorded."""

import os
from collections.abc import Iterable

from ..errors import UsageError
from ..types.messages import IMAGE_ENDINGS, Image

MAX_BYTES = 5 * 1024 * 1024
"""The largest picture that every service takes (Anthropic's limit, the smallest of theirs)."""

_KINDS = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF87a", "image/gif"), (b"GIF89a", "image/gif"))

ImageInput = Image | bytes | str | os.PathLike[str]


def pictures(inputs: Iterable[ImageInput]) -> tuple[Image, ...]:
    """The pictures as values. A text is a path. Raises `UsageError`, naming which one and why."""
    if isinstance(inputs, str | bytes) or not isinstance(inputs, Iterable):
        raise UsageError(f"images cannot be {inputs!r:.80}; nothing was recorded", hint="images is a list of paths, bytes or Image values")
    return tuple(one if isinstance(one, Image) else _picture(one) for one in inputs)


def mentioned(text: str, workspace: str) -> tuple[Image, ...]:
    """The pictures that a text names as `@path` (a path with spaces is in quotes): files that are there, relative to the workspace."""
    found = []
    for word in _mentions(text):
        path = os.path.join(workspace, os.path.expanduser(word))  # noqa: PTH111, PTH118
        if path.lower().endswith(IMAGE_ENDINGS) and os.path.isfile(path):  # noqa: PTH113
            found.append(_picture(path))
    return tuple(found)


def _mentions(text: str) -> list[str]:
    words, rest = [], text
    while "@" in rest:
        before, _, rest = rest.partition("@")
        if before and not before[-1].isspace():
            continue  # an address, not a file
        quote = rest[:1] if rest[:1] in ("'", '"') else ""
        word = rest[1:].partition(quote)[0] if quote else rest.split(maxsplit=1)[0] if rest.strip() and not rest[0].isspace() else ""
        words.append(word if quote else word.rstrip(".,;:!?)"))
    return [word for word in words if word]


def _picture(source: bytes | str | os.PathLike[str]) -> Image:
    if not isinstance(source, bytes | str | os.PathLike):
        raise UsageError(f"{source!r:.80} is not a picture: a path, bytes or an Image value is needed; nothing was recorded")
    name, data = ("picture", source) if isinstance(source, bytes) else _read(os.fspath(source))
    kind = next((kind for magic, kind in _KINDS if data.startswith(magic)), "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else "")
    if len(data) > MAX_BYTES:
        raise UsageError(f"{name} is too large: more than {MAX_BYTES >> 20} MB", hint="send a smaller version of it")
    if not kind:
        raise UsageError(f"{name} is not a PNG, JPEG, GIF or WebP picture")
    return Image(kind, data, name)


def _read(path: str) -> tuple[str, bytes]:
    name = os.path.basename(path)  # noqa: PTH119
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return name, file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
