"""Makes src/neuralclaw/providers/models.json, the table of models that is shipped.

    pip download --no-deps --dest /tmp/sources genai-prices==0.2.3     # MIT: prices, windows
    git clone https://github.com/anomalyco/models.dev /tmp/models.dev  # MIT: abilities, windows; the table was made at f3fc69229
    python scripts/models.py /tmp/sources/genai_prices-0.2.3-py3-none-any.whl /tmp/models.dev

Prices are those of genai-prices on the day given with `--date`. Where a price depends on the hour the dearer one is taken, so that
no budget is overspent. Windows and abilities are what models.dev says of the model at this service, else of the model anywhere
(the smallest window, and only the abilities that all agree on); what is younger than it gets those of its family.
"""

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec

from neuralclaw.providers.models import DATED

SERVICES = {  # ours: (genai-prices, models.dev)
    "openai": ("openai", "openai"),
    "anthropic": ("anthropic", "anthropic"),
    "groq": ("groq", "groq"),
    "openrouter": ("openrouter", "openrouter"),
    "nvidia": ("", "nvidia"),
    "google": ("google", "google"),
    "mistral": ("mistral", "mistral"),
    "deepseek": ("deepseek", "deepseek"),
    "together": ("together", "togetherai"),
    "cerebras": ("cerebras", "cerebras"),
    "xai": ("x-ai", "xai"),
    "fireworks": ("fireworks", "fireworks-ai"),
    "perplexity": ("perplexity", "perplexity"),
    "moonshot": ("moonshotai", "moonshotai"),
    "zai": ("zai", "zai"),
    "minimax": ("minimax", "minimax"),
    "cohere": ("cohere", "cohere"),
}
MAKERS = re.compile(r"^(openai|anthropic|google|meta-llama|mistralai|deepseek|x-ai|qwen|moonshotai|z-ai|minimax|nvidia|openrouter)/")
"""OpenRouter sells 900 models: those of these makers are taken."""

OTHER = re.compile(
    r"embed|whisper|tts|audio|realtime|transcri|image|moderation|ocr|voice|guard|davinci|curie|babbage|\bada\b|live|rerank|veo|imagen|lyria|safety|voxtral|orpheus"
    r"|computer-use|robotics|deep-research|nano-banana|instruct-?\b(?<=turbo-instruct)|flux|edit|predict|transfer|translate|nemoretriever|esm|sparsedrive|bevformer|streampetr"
    r"|synthetic-video|bge-|^claude-[45]|usdcode|^ft:|^gpt-35|^gpt-\d-\d$|^gpt-\d-\d-(?!preview)|^perplexity/|-0$|active-speaker|studiovoice|gliner|cosmos|usdvalidate|paligemma|omni|rosalind|cyber|:free$|:extended$|-1\.5-8b:"
)
"""Names of what is no model for conversations, or not for everyone."""

NO_TOOLS = re.compile(
    r"^(sonar|r1-|gemma-?2|gemma-7b|llama-?2|llama-v2|claude-[12v]|claude-instant|o1-mini|o1-preview|gpt-4-vision|mistral-7b|phi|codellama)|vicuna|alpaca"
)
SEES = re.compile(
    r"^(gpt-(4o|4\.1|4\.5|4-turbo|4-vision|5|6|chat)|chatgpt|o1(?!-mini|-preview)|o3(?!-mini)|o4|claude-(3|[a-z]+-\d)|gemini|gemma-?[34]|llama-?(v?4|guard-4)|pixtral"
    r"|mistral-(small-(2503|2506|26|latest|3|4)|medium|large-(2512|3|4))|grok-(4|[5-9])|kimi-(k2[.p][5-9]|k[3-9])|qwen3[.p][5-9])|-vl|vision|maverick|scout|glm-\d[.p]?\d?v"
)
"""Families that see, for models younger than models.dev's snapshot."""


def main() -> None:
    told = argparse.ArgumentParser(description=__doc__)
    told.add_argument("prices", help="the wheel of genai-prices")
    told.add_argument("facts", type=Path, help="a checkout of models.dev")
    told.add_argument("--date", default="2026-11-21")
    given = told.parse_args()
    sys.path.insert(0, given.prices)  # a wheel of pure Python is importable as it is
    prices = Prices(datetime.fromisoformat(given.date).replace(tzinfo=UTC))
    facts = Facts(given.facts)
    table = {ours: without_dates(dict(sorted(rows(prices.of(theirs), facts, known)))) for ours, (theirs, known) in SERVICES.items()}
    lines = [f'"{name}": {{\n' + ",\n".join(f"{_json(model)}: {_json(row)}" for model, row in models.items()) + "\n}" for name, models in table.items()]
    place = Path(__file__).parent.parent / "src" / "neuralclaw" / "providers" / "models.json"
    place.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    sys.stderr.write(f"{place}: {sum(map(len, table.values()))} models, {place.stat().st_size} bytes\n")


def without_dates(models: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Without the names that are found under their name without the date."""
    return {name: row for name, row in models.items() if models.get(DATED.sub("", name)) != row or not DATED.search(name)}


def rows(priced: dict[str, tuple[int, list[float], list[float]]], facts: "Facts", service: str) -> Iterator[tuple[str, list[Any]]]:
    """(name, [abilities, window, price, price above]) of every model of a service; abilities: `t` calls tools, `i` sees pictures."""
    for name in {**dict.fromkeys(priced), **dict.fromkeys(facts.names(service))}:
        if OTHER.search(name.lower()) or (service == "openrouter" and not MAKERS.match(name)):
            continue
        window, price, above = priced.get(name, (0, [], []))
        (known_window, tools, sees), here = facts.of(service, name)
        window = (known_window or window) if here else (window or known_window)
        if not window or (not price and service != "nvidia"):
            continue
        if above and above[0] >= window:
            above = []
        yield name, [f"{'t' if tools else ''}{'i' if sees else ''}", window, *([price] if price else []), *([above] if above else [])]


class Prices:
    """What genai-prices says: name -> (window, [input, output, cached], [tokens above which, input, output, cached])."""

    def __init__(self, day: datetime) -> None:
        from genai_prices.data import providers  # type: ignore[import-not-found]

        self._day = day
        self._providers = {provider.id: provider for provider in providers}

    def of(self, service: str) -> dict[str, tuple[int, list[float], list[float]]]:
        if not service:
            return {}
        found: dict[str, tuple[int, list[float], list[float]]] = {}
        for model in self._providers[service].models:
            price = self._price(model)
            if price is None or (service == "google" and "claude" in model.id):
                continue
            for name in dict.fromkeys((*self._names(model.match), *([model.id] if service != "fireworks" else []))):
                found.setdefault(name, (model.context_window or 0, *price))
        return found

    def _names(self, match: Any) -> Iterator[str]:
        """The names that a rule spells out; without a service's prefix of its own."""
        for clause in getattr(match, "or_", [match]):
            name = getattr(clause, "equals", None) or getattr(clause, "starts_with", None)
            if name and not re.match(r"(cerebras|x-ai)[/:]|.*[-@.:]$", name):
                yield name

    def _price(self, model: Any) -> tuple[list[float], list[float]] | None:
        """The dearest of what holds on that day."""
        if not isinstance(model.prices, list):
            held = [model.prices]
        else:
            at = [model.get_prices(datetime.combine(self._day, time(hour), UTC)) for hour in range(24)]
            held = [max(at, key=lambda price: _base(price.output_mtok) or Decimal(0))]
        names = ("input_mtok", "output_mtok", "cache_read_mtok")
        values = [getattr(held[0], name, None) for name in names]
        if values[0] is None or values[1] is None:
            return None
        tiers = [tier for value in values for tier in getattr(value, "tiers", ())]
        base = [float(_base(value)) for value in values if value is not None]
        above = [min(tier.start for tier in tiers), *(float(_top(value)) for value in values if value is not None)] if tiers else []
        return base, above


def _base(value: Any) -> Any:
    return getattr(value, "base", value)


def _top(value: Any) -> Any:
    return value.tiers[-1].price if getattr(value, "tiers", None) else _base(value)


class Facts:
    """What models.dev says: of a model at a service, else of a model of that name anywhere."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._own: dict[str, dict[str, tuple[int, bool, bool]]] = {}
        anywhere: dict[str, list[tuple[int, bool, bool]]] = {}
        for service in {known for _, known in SERVICES.values()}:
            root = place / "providers" / service / "models"
            self._own[service] = {str(path.relative_to(root).with_suffix("")): self._read(path) for path in root.rglob("*.toml")}
        for path in (place / "models").rglob("*.toml"):
            anywhere.setdefault(_bare(path.stem), []).append(self._read(path))
        for models in self._own.values():
            for name, fact in models.items():
                anywhere.setdefault(_bare(name), []).append(fact)
        self._anywhere = {
            name: (min((one[0] for one in seen if one[0]), default=0), all(one[1] for one in seen), all(one[2] for one in seen))
            for name, seen in anywhere.items()
        }

    def names(self, service: str) -> list[str]:
        return list(self._own[service]) if service == "nvidia" else []

    def of(self, service: str, name: str) -> tuple[tuple[int, bool, bool], bool]:
        """The window and abilities, and whether they are this service's own."""
        own = self._own[service].get(name)
        bare = _bare(name)
        family = (0, not NO_TOOLS.search(bare), bool(SEES.search(bare)))
        return own or self._anywhere.get(bare) or family, own is not None

    def _read(self, path: Path) -> tuple[int, bool, bool]:
        model = tomllib.loads(path.read_text())
        if "base_model" in model:
            base = tomllib.loads((self._place / "models" / f"{model['base_model']}.toml").read_text())
            model = {**base, **model, "limit": {**base.get("limit", {}), **model.get("limit", {})}}
        inputs = model.get("modalities", {}).get("input", [])
        return int(model.get("limit", {}).get("context", 0)), bool(model.get("tool_call")), "image" in inputs


def _bare(name: str) -> str:
    return name.rpartition("/")[2].lower().removesuffix("-latest")


def _json(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if isinstance(value, str) else text.replace(".0,", ",").replace(".0]", "]")


if __name__ == "__main__":
    main()
