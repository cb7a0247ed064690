"""What tools give back besides one text: parts, their text form, and values as JSON can keep them."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from .messages import ContentPart, Image, ImageContent, StructuredContent, TextContent

IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The kinds of pictures that every service takes."""
MAX_IMAGE_BYTES = 5 * 1024 * 1024
"""The largest picture that every service takes (Anthropic's limit, the smallest of theirs)."""
MAX_NESTING = 200
"""Lists and objects inside each other, in a value that is kept: far below what any decoder or walk over values gives up at (about 900)."""


def text_of(parts: Sequence[ContentPart]) -> str:
    """The parts as one text, a line break between them: structured values as JSON, pictures named. The values must be plain JSON."""
    return "\n".join(_text(part) for part in parts)


def picture_text(image: Image) -> str:
    """`[picture cat.png, image/png, 12,345 bytes]`: what stands for a picture in a text."""
    return f"[{f'picture {image.name}'.rstrip()}, {image.media_type}, {image.size or len(image.data):,} bytes]"


def plain_json(value: Any) -> Any:
    """The value as it comes back from JSON: structs and dataclasses as objects, NaN and infinities as None, halves of characters replaced.

    Raises `ValueError` for what JSON cannot hold, and for more than `MAX_NESTING` levels.
    """
    try:
        made = msgspec.json.decode(_encoded(value))
    except RecursionError:
        raise ValueError(f"it is nested deeper than {MAX_NESTING} levels, or contains itself") from None
    except (TypeError, ValueError, OverflowError, msgspec.MsgspecError) as error:
        raise ValueError(str(error)) from error
    if nested_too_deeply(made):
        raise ValueError(f"it is nested deeper than {MAX_NESTING} levels")
    return made


def nested_too_deeply(value: Any) -> bool:
    """Whether a JSON value has more than `MAX_NESTING` lists and objects inside each other."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_NESTING):
        level = [inner for outer in level for inner in (outer.values() if isinstance(outer, dict) else outer) if isinstance(inner, dict | list)]
        if not level:
            return False
    return True


def scalars(value: Any) -> Iterator[str | int | float]:
    """The texts and numbers in a JSON value, in order; booleans are none."""
    if isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from scalars(inner)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield value


def mend(text: str) -> str:
    """The text with halves of characters joined; a half alone becomes the replacement character."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _encoded(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(json.loads(mend(json.dumps(msgspec.to_builtins(value, str_keys=True), ensure_ascii=False))))


def _text(part: ContentPart) -> str:
    match part:
        case TextContent(text):
            return text
        case ImageContent(image):
            return picture_text(image)
        case StructuredContent(value):
            return msgspec.json.encode(value).decode()
