"""Pictures in what a person said and in results of tools, in the spellings of the services."""

from base64 import b64encode
from collections.abc import Sequence

import msgspec

from ..types.messages import ChatMessage, Image, ModelInfo, ToolMessage, UserMessage


def base64(image: Image) -> str:
    return b64encode(image.data).decode()


def data_url(image: Image) -> str:
    """`data:image/png;base64,…`"""
    return f"data:{image.media_type};base64,{base64(image)}"


def seen(message: UserMessage | ToolMessage, info: ModelInfo) -> tuple[str, tuple[Image, ...]]:
    """The text and the pictures that the model gets: each picture that it cannot see, or whose bytes are not kept any more, is named in the text."""
    if not info.images:
        return without_images(message), ()
    text = _text(message)
    if lost := [image for image in message.images if not image.data]:
        text = f"{text}\n[attached, but not kept any more: {_names(lost)}]"
    return text, tuple(image for image in message.images if image.data)


def without_images(message: UserMessage | ToolMessage) -> str:
    """The text for a model that cannot see: each picture is named in it."""
    text = _text(message)
    return f"{text}\n[attached, but this model takes no pictures: {_names(message.images)}]" if message.images else text


def of_result(message: ToolMessage, images: Sequence[Image]) -> str:
    """Says whose the pictures are, where they cannot be in the result itself."""
    return f"[{'picture' if len(images) == 1 else 'pictures'} in the result of {message.name}: {_names(images)}]"


def behind_results(messages: Sequence[ChatMessage], info: ModelInfo) -> tuple[ChatMessage, ...]:
    """The messages for formats whose results are text alone: pictures follow the results of a reply, in a message of the user that names the tools."""
    made: list[ChatMessage] = []
    names: list[str] = []
    pictures: list[Image] = []
    for place, message in enumerate(messages, 1):
        if not isinstance(message, ToolMessage):
            made.append(message)
            continue
        text, images = seen(message, info)
        made.append(msgspec.structs.replace(message, content=text, images=()) if message.images else message)
        if images:
            names.append(of_result(message, images))
            pictures.extend(images)
        if pictures and (place == len(messages) or not isinstance(messages[place], ToolMessage)):
            made.append(UserMessage("\n".join(names), "nudge", tuple(pictures)))
            names, pictures = [], []
    return tuple(made)


def _text(message: UserMessage | ToolMessage) -> str:
    return message.content if isinstance(message, ToolMessage) else message.text


def _names(images: Sequence[Image]) -> str:
    return ", ".join(image.name or image.media_type for image in images)
