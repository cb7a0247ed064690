"""Ollama in its own form, streaming: unlike its compatible endpoint it takes the window, and refuses a prompt that does not fit."""

import msgspec

from ..ports import Net
from ..types.actions import Grant
from ..types.messages import ModelInfo, Price, Request
from . import ollama_request
from .http import Decoder, HttpProvider
from .jsonlines import JSONLinesDecoder
from .ollama_reply import OllamaParts
from .service import Service, is_local

DEFAULT_WINDOW = 8192
"""Tokens of a model's window where the owner does not say.

Ollama gives a model 4,096 tokens on a machine with less than 24 GiB of video memory, 32,768 or 262,144 above, whatever the model could
take, and one cannot know which from here. This is low enough for a long session to be shortened in time on most machines, and high
enough not to turn away a first request that Ollama would take: what does not fit it refuses itself.
"""

FREE = Price(0, 0, 0)


class OllamaFormat:
    """`POST /api/chat`; the base URL carries no `/v1`."""

    path = "/api/chat"
    accept = "application/x-ndjson"
    optional: tuple[str, ...] = ("format",)

    def headers(self, service: Service) -> dict[str, str]:
        return {"Authorization": f"Bearer {service.api_key}"} if service.api_key else {}

    def body(self, request: Request, info: ModelInfo, service: Service, without: frozenset[str]) -> bytes:
        window = info.context if request.model in service.windows else None
        return ollama_request.encode(request, info, window=window, without=without)

    def decoder(self) -> Decoder:
        return JSONLinesDecoder()

    def parts(self, request: Request) -> OllamaParts:
        return OllamaParts()


class OllamaProvider(HttpProvider):
    """Ollama, on this machine or elsewhere."""

    def __init__(self, net: Net, grant: Grant, service: Service) -> None:
        super().__init__(net, grant, service, OllamaFormat())

    def info(self, model: str) -> ModelInfo:
        """What the owner said, the window only where it was said, and no costs where the model runs on this machine."""
        name = model or self._service.default_model
        told = super().info(name)
        context = told.context if name in self._service.windows else DEFAULT_WINDOW
        free = told.price is None and is_local(self._service.host) and not name.endswith("cloud")  # `NAME:cloud` runs elsewhere
        return msgspec.structs.replace(told, context=context, price=FREE if free else told.price)
