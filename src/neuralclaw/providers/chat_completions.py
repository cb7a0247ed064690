"""OpenAI's Chat Completions, streaming, for every service that speaks it. Why this adapter is our own: docs/decisions/0001."""

from ..ports import Net
from ..types.grants import Grant
from ..types.messages import ModelInfo, Request
from . import chat_completions_request
from .chat_completions_reply import ChatParts
from .http import Decoder, HttpProvider
from .model_service import ModelEndpoint
from .sse import SSEDecoder


class ChatFormat:
    """`POST /chat/completions`."""

    path = "/chat/completions"
    accept = "text/event-stream"
    optional: tuple[str, ...] = ("stream_options", "temperature", "top_p", "max_tokens", "response_format")

    def headers(self, service: ModelEndpoint) -> dict[str, str]:
        return {"Authorization": f"Bearer {service.api_key}"} if service.api_key else {}

    def body(self, request: Request, info: ModelInfo, service: ModelEndpoint, without: frozenset[str]) -> bytes:
        return chat_completions_request.encode(
            request, info, without=without, echo_reasoning=service.echo_reasoning, signed=service.name == "google" and service.own
        )

    def decoder(self) -> Decoder:
        return SSEDecoder()

    def parts(self, request: Request) -> ChatParts:
        return ChatParts(request.model)


class ChatProvider(HttpProvider):
    """A service that speaks Chat Completions."""

    def __init__(self, net: Net, grant: Grant, service: ModelEndpoint) -> None:
        super().__init__(net, grant, service, ChatFormat())
