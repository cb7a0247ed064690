"""The JSON Schema of the configuration as editors and `config schema` get it: it accepts what loading accepts, and nothing else."""

from typing import Any

import msgspec

from .describe import FORMER
from .settings import Settings
from .settings import schema as typed

REFERENCE = {"type": "string", "pattern": r"\$\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\}"}
"""A `${NAME}` or `${NAME:-default}`, which may stand in place of any number, switch or word."""


def schema(root: type[msgspec.Struct] = Settings) -> dict[str, Any]:
    """The schema of `config.yaml` and `config.json` with the sections of `root`.

    References may stand for values, an empty section is its defaults, former keys are accepted.
    """
    found = typed(root)
    definitions = found["$defs"]
    former = {f"^{name}$": {"deprecated": True, "description": f"Has no effect any more: {instead}."} for name, instead in FORMER.items()}
    for name, definition in definitions.items():
        if "properties" in definition:
            definition["properties"] = {key: _loosened(value, definitions) for key, value in definition["properties"].items()}
            definition["patternProperties"] = former
            definition["type"] = ["object", "null"]
        elif "enum" in definition:
            definitions[name] = _or_reference(definition)
    settings = definitions[found["$ref"].rpartition("/")[2]]
    settings["properties"] = {"$schema": {"type": "string", "description": "Where an editor finds this schema; ignored."}} | settings["properties"]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "NeuralClaw: config.yaml"} | found


def _loosened(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """One value's schema, with references and empty sections allowed."""
    node = dict(node)
    if "anyOf" in node:
        node["anyOf"] = [_loosened(one, definitions) for one in node["anyOf"]]
    elif node.get("type") in ("integer", "number", "boolean") or "enum" in node:
        return _or_reference(node)
    elif node.get("type") in ("array", "object"):
        for inner in ("items", "additionalProperties"):
            if isinstance(node.get(inner), dict):
                node[inner] = _loosened(node[inner], definitions)
        node["type"] = [node["type"], "null"]
    return node


def _or_reference(node: dict[str, Any]) -> dict[str, Any]:
    """The schema or a reference; what is said about the value stays outside."""
    outside = {key: value for key, value in node.items() if key in ("default", "description", "title")}
    return {"anyOf": [{key: value for key, value in node.items() if key not in outside}, REFERENCE], **outside}
