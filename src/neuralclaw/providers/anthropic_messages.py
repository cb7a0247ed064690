"""Anthropic's Messages, streaming, for Anthropic and every service that speaks it."""

from ..ports import Net
from ..types.grants import Grant
from ..types.messages import ModelInfo, Request
from . import anthropic_messages_request
from .anthropic_messages_reply import MessagesParts
from .http import Decoder, HttpProvider
from .model_service import ModelEndpoint
from .sse import SSEDecoder

VERSION = "2026-10-21"
"""The current version, the one the service's own SDK sends.

It has no `temperature`, `top_p` and `top_k`. With the older 2023-06-01 they exist, but the current models refuse them there too, and
both of the first two together even older models refuse: our settings always have both, so every model would cost refused requests.
"""


class MessagesFormat:
    """`POST /v1/messages`; the base URL carries no `/v1`."""

    path = "/v1/messages"
    accept = "text/event-stream"
    optional: tuple[str, ...] = ("output_config", "cache_control")

    def headers(self, service: ModelEndpoint) -> dict[str, str]:
        """The key as the service documents it; other addresses get it in the common form too, since some servers look only there."""
        headers = {"anthropic-version": VERSION}
        if service.api_key:
            headers["x-api-key"] = service.api_key
            if not service.own:
                headers["Authorization"] = f"Bearer {service.api_key}"
        return headers

    def body(self, request: Request, info: ModelInfo, service: ModelEndpoint, without: frozenset[str]) -> bytes:
        return anthropic_messages_request.encode(request, info, without=without)

    def decoder(self) -> Decoder:
        return SSEDecoder()

    def parts(self, request: Request) -> MessagesParts:
        return MessagesParts(request.model)


class MessagesProvider(HttpProvider):
    """A service that speaks Messages."""

    def __init__(self, net: Net, grant: Grant, service: ModelEndpoint) -> None:
        super().__init__(net, grant, service, MessagesFormat())
