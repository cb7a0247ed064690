"""OpenAI's Responses, streaming. Nothing is stored at the service: every request carries the whole conversation and the model's sealed reasoning."""

from ..ports import Net
from ..types.grants import Grant
from ..types.messages import ModelInfo, Request
from . import responses_request
from .http import Decoder, HttpProvider
from .model_service import ModelEndpoint
from .responses_reply import ResponseParts
from .sse import SSEDecoder


class ResponsesFormat:
    """`POST /responses`."""

    path = "/responses"
    accept = "text/event-stream"
    optional: tuple[str, ...] = ("include", "parallel_tool_calls", "temperature", "top_p", "max_output_tokens", "text.format")

    def headers(self, service: ModelEndpoint) -> dict[str, str]:
        return {"Authorization": f"Bearer {service.api_key}"} if service.api_key else {}

    def body(self, request: Request, info: ModelInfo, service: ModelEndpoint, without: frozenset[str]) -> bytes:
        return responses_request.encode(request, info, without=without)

    def decoder(self) -> Decoder:
        return SSEDecoder()

    def parts(self, request: Request) -> ResponseParts:
        return ResponseParts(request.model)


class ResponsesProvider(HttpProvider):
    """A service that speaks Responses."""

    def __init__(self, net: Net, grant: Grant, service: ModelEndpoint) -> None:
        super().__init__(net, grant, service, ResponsesFormat())
