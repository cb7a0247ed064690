"""Pictures in user messages, in the spellings of the services."""

from base64 import b64encode

from ..types.messages import Image, UserMessage


def base64(image: Image) -> str:
    return b64encode(image.data).decode()


def data_url(image: Image) -> str:
    """`data:image/png;base64,…`"""
    return f"data:{image.media_type};base64,{base64(image)}"


def without_images(message: UserMessage) -> str:
    """The text for a model that cannot see: each picture is named in it."""
    names = ", ".join(image.name or image.media_type for image in message.images)
    return f"{message.text}\n[attached, but this model takes no pictures: {names}]"
