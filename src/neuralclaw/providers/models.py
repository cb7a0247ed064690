"""Facts of common models; settings win over them (`llm.providers.NAME.models`). Prices are those of the PyPI package genai-prices 0.2.3.

A name stands for every longer name that begins with it (`gpt-4o` for `gpt-4o-2024-11-20`), the longest match wins. What is not
here has a window of 128,000 tokens, tools, no images and no known price. Prices are USD per million tokens.
"""

from collections.abc import Mapping

from ..types.messages import ModelInfo, Price
from .service import Service

UNKNOWN = ModelInfo()


def _m(context: int, given: float | None = None, made: float = 0.0, cached: float | None = None, *, images: bool = False, tools: bool = True) -> ModelInfo:
    return ModelInfo(context=context, tools=tools, images=images, price=None if given is None else Price(given, made, cached))


SHIPPED: dict[str, dict[str, ModelInfo]] = {
    "openai": {
        "gpt-4o": _m(128_000, 2.5, 10, 1.25, images=True),
        "gpt-4o-mini": _m(128_000, 0.15, 0.6, 0.075, images=True),
        "gpt-4.1": _m(1_047_576, 2, 8, 0.5, images=True),
        "gpt-4.1-mini": _m(1_047_576, 0.4, 1.6, 0.1, images=True),
        "gpt-4.1-nano": _m(1_047_576, 0.1, 0.4, 0.025, images=True),
        "gpt-5": _m(400_000, 1.25, 10, 0.125, images=True),
        "o3": _m(200_000, 2, 8, 0.5, images=True),
        "o4-mini": _m(200_000, 1.1, 4.4, 0.275, images=True),
    },
    "anthropic": {
        "claude-sonnet-5-5": _m(1_000_000, 2, 10, 0.1, images=True),
        "claude-sonnet-5": _m(1_000_000, 2, 10, 0.2, images=True),
        "claude-sonnet-4-6": _m(1_000_000, 3, 15, 0.3, images=True),
        "claude-sonnet-4-5": _m(200_000, 3, 15, 0.3, images=True),
        "claude-opus-5-5": _m(1_000_000, 4, 20, 0.2, images=True),
        "claude-opus-5": _m(1_000_000, 5, 25, 0.5, images=True),
        "claude-opus-4-8": _m(1_000_000, 5, 25, 0.5, images=True),
        "claude-opus-4-7": _m(1_000_000, 5, 25, 0.5, images=True),
        "claude-opus-4-6": _m(1_000_000, 5, 25, 0.5, images=True),
        "claude-opus-4-5": _m(200_000, 5, 25, 0.5, images=True),
        "claude-haiku-5-5": _m(1_000_000, images=True),  # a price of its own above 100,000 tokens
        "claude-haiku-4-5": _m(200_000, 1, 5, 0.1, images=True),
        "claude-fable-5-2": _m(1_000_000, 8, 40, 0.2, images=True),
    },
    "groq": {
        "llama-3.3-70b-versatile": _m(131_072, 0.59, 0.79),
        "llama-3.1-8b-instant": _m(131_072, 0.05, 0.08),
        "openai/gpt-oss-120b": _m(131_072, 0.15, 0.6, 0.075),
        "openai/gpt-oss-20b": _m(131_072, 0.075, 0.3, 0.0375),
    },
    "google": {
        "gemini-2.5-flash": _m(1_048_576, 0.3, 2.5, 0.03, images=True),
        "gemini-2.5-pro": _m(1_048_576, images=True),
    },
    "xai": {
        "grok-4": _m(256_000, images=True),
    },
}


def info(service: Service, model: str) -> ModelInfo:
    """What is known of a model: the owner's word, else the shipped table where the address is the service's own, else the defaults."""
    if (told := service.models.get(model)) is not None:
        return told
    if not service.own:
        return UNKNOWN
    return _longest(SHIPPED.get(service.name, {}), model) or UNKNOWN


def _longest(table: Mapping[str, ModelInfo], model: str) -> ModelInfo | None:
    names = [name for name in table if model == name or model.startswith(f"{name}-")]
    return table[max(names, key=len)] if names else None


_REASONING = ("gpt-5", "o1", "o3", "o4")


def refused_parameters(service: Service, model: str) -> frozenset[str]:
    """Parameters that a model is known to refuse: OpenAI's reasoning models take neither `max_tokens` nor sampling."""
    if service.name == "openai" and service.own and any(model == name or model.startswith(f"{name}-") or model.startswith(f"{name}.") for name in _REASONING):
        return frozenset({"max_tokens", "temperature", "top_p"})
    return frozenset()
