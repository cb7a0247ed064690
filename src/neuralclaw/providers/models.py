"""Facts of models: what the owner says (`llm.providers.NAME.models`), under it the table that is shipped, under it cautious defaults.

The table, models.json, is made by scripts/models.py from PyPI genai-prices 0.2.3 and models.dev (both MIT); it is read when a
model of a service is first asked for. What is nowhere has a window of 128,000 tokens, tools, no images and no known price.
"""

import re
import time
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

import msgspec

from ..types.datafile import read_data_file
from ..types.messages import ModelInfo, Price
from .model_service import ModelEndpoint, is_local
from .withdrawn import withdrawn

T = TypeVar("T")

UNKNOWN = ModelInfo()
OLLAMA_WINDOW = 8192

DATED = re.compile(r"[-:@](?:(?:preview|exp|beta)-)?(?:\d{3,8}|\d{2}-\d{2}|\d{2}-\d{4}|\d{4}-\d{2}-\d{2}|latest)$")
"""The end of a name that only says which edition of a model it is: `gpt-4o-2024-11-20`, `claude-sonnet-4-5@20250929`."""


class _Row(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """One model. `can`: `t` calls tools, `i` sees pictures. `price`: input, output, cached; `above`: prompt tokens, then the price above them."""

    can: str
    context: int
    price: tuple[float, ...] = ()
    above: tuple[float, ...] = ()


TABLE_TYPE = dict[str, dict[str, _Row]]


def info(service: ModelEndpoint, model: str) -> ModelInfo:
    """What is known of a model: the owner's word, else what `base` says."""
    configured = service.models.get(model)
    return base(service, model) if configured is None else configured


def base(service: ModelEndpoint, model: str) -> ModelInfo:
    """What is known without the owner: the shipped table, else the defaults. At another address than the service's own nobody knows the price.

    Ollama's own small window is what it takes where nobody says more; a model that runs on this machine costs nothing.
    """
    if service.api == "ollama":
        here = is_local(service.host) and not model.endswith(("-cloud", ":cloud"))
        return ModelInfo(context=OLLAMA_WINDOW, price=Price(0, 0, 0) if here else None)
    found = shipped(service.name, model) or UNKNOWN
    return found if service.own else msgspec.structs.replace(found, price=None)


def shipped(service: str, model: str) -> ModelInfo | None:
    """The table's word on a model: by its name, else by its name without the date."""
    row = _row(table().get(service, {}), model)
    if row is None:
        return None
    price = _price(row.price) if row.price else None
    if price is not None and row.above:
        price = msgspec.structs.replace(price, above=int(row.above[0]), long=_price(row.above[1:]))
    return ModelInfo(context=row.context, tools="t" in row.can, images="i" in row.can, price=price)


def over(service: ModelEndpoint, configured: Mapping[str, Mapping[str, Any] | None]) -> dict[str, ModelInfo]:
    """The owner's word over `base`, field by field; a price is one field. Raises `msgspec.ValidationError` for facts that are none."""
    found: dict[str, ModelInfo] = {}
    for model, fields in configured.items():
        facts = {name: value for name, value in (fields or {}).items() if value is not None}
        found[model] = msgspec.convert({**msgspec.structs.asdict(base(service, model)), **facts}, ModelInfo)
    return found


def successor(service: str, model: str, today: str = "") -> str | None:
    """The model to use instead of one that the service has withdrawn by today (YYYY-MM-DD, "": the clock's), None where none is known to be."""
    names = withdrawn().get(service, {})
    found = _row(names, model) or next((names[name] for name in names if name.endswith("*") and model.startswith(name[:-1])), None)
    return found.use if found is not None and str(found.since) <= (today or time.strftime("%Y-%m-%d", time.gmtime())) else None


def _price(values: tuple[float, ...]) -> Price:
    return Price(values[0], values[1], values[2] if len(values) > 2 else None)


def _row(table: Mapping[str, T], model: str) -> T | None:
    return table[model] if model in table else table.get(DATED.sub("", model))


@cache
def table() -> dict[str, dict[str, _Row]]:
    """The shipped table, by service and model: read when it is first asked for."""
    return read_data_file("providers/models.json", TABLE_TYPE)


_REASONING = re.compile(r"(?:gpt-[5-9]|o[1-9])(?:[-.]|$)")


def unsupported_options(service: ModelEndpoint, model: str) -> frozenset[str]:
    """Sampling parameters that are never sent to a model, because it does not take them. Anthropic's Messages have none."""
    return frozenset({"temperature", "top_p"}) if service.api == "messages" else refused_parameters(service, model) & {"temperature", "top_p"}


def refused_parameters(service: ModelEndpoint, model: str) -> frozenset[str]:
    """Parameters that a model is known to refuse: at OpenAI reasoning models take neither `max_tokens` nor sampling, others have no sealed reasoning."""
    if service.name != "openai" or not service.own:
        return frozenset()
    return frozenset({"max_tokens", "temperature", "top_p"} if _REASONING.match(model) else {"include"})
