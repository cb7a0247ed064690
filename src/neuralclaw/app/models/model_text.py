"""Models in words: the columns of `models list`, and the lines of `models show`."""

from collections.abc import Mapping, Sequence
from typing import Any


def columns_of_model(row: Mapping[str, Any]) -> dict[str, Any]:
    """A model as a line of the list."""
    return {**row, "tools": _tools(row), "images": _yes(row["images"]), "price": _price(row["price"]), "key": _key(row)}


def described_model(row: Mapping[str, Any]) -> dict[str, Any]:
    """A model alone, a line for each fact."""
    price = row["price"]
    return {
        "model": row["model"],
        "window": f"{row['context']:,} tokens",
        "tools": _tools(row),
        "pictures": _yes(row["images"]),
        "price": _price(price) + (" USD per million tokens in and out" if price and any(price.values()) else ""),
        "known from": row["source"],
        "address": row["address"] or "this process",
        "key": _key(row),
    }


def setup_hint(rows: Sequence[Mapping[str, Any]]) -> str:
    """How to get a language model where there is none."""
    none = all(row["model"].startswith("offline:") for row in rows)
    return "No service has a key and no Ollama runs: neuralclaw init sets a model up." if none else ""


def _tools(row: Mapping[str, Any]) -> str:
    return {True: "yes", False: "as JSON", "none": "no"}[row["tools"]]


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _price(found: Mapping[str, Any] | None) -> str:
    """`2.5 / 10`: USD per million tokens in and out."""
    if found is None:
        return "unknown"
    return f"{found['input']:g} / {found['output']:g}" if found["input"] or found["output"] else "free"


def _key(row: Mapping[str, Any]) -> str:
    if row["key"] is None:
        return "none needed"
    return str(row["key"]) if row["key_present"] else f"{row['key']} is not set"
