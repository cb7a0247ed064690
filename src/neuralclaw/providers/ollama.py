"""Ollama in its own form, streaming: unlike its compatible endpoint it takes the window, and refuses a prompt that does not fit."""

from ..ports import Net
from ..types.grants import Grant
from ..types.messages import ModelInfo, Request
from . import ollama_request
from .http import Decoder, HttpProvider
from .jsonlines import JSONLinesDecoder
from .model_service import ModelEndpoint
from .ollama_reply import OllamaParts


class OllamaFormat:
    """`POST /api/chat`; the base URL carries no `/v1`."""

    path = "/api/chat"
    accept = "application/x-ndjson"
    optional: tuple[str, ...] = ("format",)

    def headers(self, service: ModelEndpoint) -> dict[str, str]:
        return {"Authorization": f"Bearer {service.api_key}"} if service.api_key else {}

    def body(self, request: Request, info: ModelInfo, service: ModelEndpoint, without: frozenset[str]) -> bytes:
        window = info.context if request.model in service.windows else None
        return ollama_request.encode(request, info, window=window, without=without)

    def decoder(self) -> Decoder:
        return JSONLinesDecoder()

    def parts(self, request: Request) -> OllamaParts:
        return OllamaParts()


class OllamaProvider(HttpProvider):
    """Ollama, on this machine or elsewhere."""

    def __init__(self, net: Net, grant: Grant, service: ModelEndpoint) -> None:
        super().__init__(net, grant, service, OllamaFormat())
