"""Arguments of a model made to fit a JSON Schema, where nothing can be lost by it, and sentences about what does not fit."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

# Compiled (and kept by `re`) when first needed: most arguments fit as they are.
_INTEGER = r"[+-]?[0-9]{1,100}(\.0{1,100})?"
_NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
_EXPECTED = {
    "integer": "an integer",
    "number": "a number",
    "string": "a string",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_MISFIT = object()


def fit(name: str, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The arguments of tool `name` after safe coercion, and one sentence for each that still does not fit.

    Safe is what reads back as it was written: "5" for 5, "true" for true, a number for a string, one plain value for a list
    of such, JSON text for a list or an object. "5.5" is no integer and "yes" no boolean.
    """
    fitter = _Fitter(schema.get("$defs", {}))
    fitted = fitter.object(schema, dict(arguments), "")
    return fitted, [f"{name}: {problem}" for problem in fitter.problems]


class _Fitter:
    def __init__(self, defs: Mapping[str, Any]) -> None:
        self.defs = defs
        self.problems: list[str] = []

    def object(self, schema: Mapping[str, Any], value: dict[str, Any], path: str) -> dict[str, Any]:
        known: Mapping[str, Any] = schema.get("properties", {})
        rest = schema.get("additionalProperties", True)
        fitted: dict[str, Any] = {}
        for key, item in value.items():
            here = f"{path}.{key}" if path else str(key)
            if key in known:
                fitted[key] = self.value(known[key], item, here)
            elif rest is False:
                self.problems.append(_unknown(here, str(key), list(known)))
            else:
                fitted[key] = self.value(rest, item, here)
        for key in schema.get("required", ()):
            if key not in value:
                here = f"{path}.{key}" if path else key
                self.problems.append(f"argument {here!r} is missing; it must be {self.expected(known.get(key, {}))}.")
        return fitted

    def value(self, schema: Any, value: Any, path: str) -> Any:
        fitted = self.attempt(schema, value, path)
        if fitted is not _MISFIT:
            return fitted
        self.problems.append(f"argument {path!r} must be {self.expected(schema)}, not {in_words(value)}.")
        return value

    def attempt(self, schema: Any, value: Any, path: str) -> Any:
        """The value as this schema wants it, or _MISFIT. Problems deeper inside are noted."""
        schema = self.resolved(schema)
        if not isinstance(schema, Mapping):
            return value
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return self.one_of(schema[key], value, path)
        if "enum" in schema or "const" in schema:
            return _choice(schema.get("enum", [schema.get("const")]), value)
        kinds = schema.get("type")
        if kinds is None:
            return value
        kinds = [kinds] if isinstance(kinds, str) else kinds
        # What is right as it is wins over what could be made of it: "5" stays a string where either may be.
        for kind in [k for k in kinds if _is(k, value)] or kinds:
            fitted = self.convert(kind, schema, value, path)
            if fitted is not _MISFIT:
                return fitted
        return _MISFIT

    def one_of(self, branches: list[Any], value: Any, path: str) -> Any:
        if value == "null" and not any("string" in self.kinds(branch) for branch in branches) and any("null" in self.kinds(branch) for branch in branches):
            return None
        exact = [branch for branch in branches if any(_is(kind, value) for kind in self.kinds(branch))]
        for branch in exact or branches:
            trial = _Fitter(self.defs)
            fitted = trial.attempt(branch, value, path)
            if fitted is not _MISFIT and not trial.problems:
                return fitted
        return self.attempt(exact[0], value, path) if len(exact) == 1 else _MISFIT

    def convert(self, kind: str, schema: Mapping[str, Any], value: Any, path: str) -> Any:
        if kind == "array":
            return self.array(schema, value, path)
        if kind == "object":
            value = _parsed(value, dict)
            return value if value is _MISFIT else self.object(schema, value, path)
        return _scalar(kind, value)

    def array(self, schema: Mapping[str, Any], value: Any, path: str) -> Any:
        items, first = schema.get("items", {}), schema.get("prefixItems", ())
        parsed = _parsed(value, list)
        if parsed is not _MISFIT:
            return [self.value(first[i] if i < len(first) else items, item, f"{path}[{i}]") for i, item in enumerate(parsed)]
        if isinstance(value, dict | list) or value is None or first:
            return _MISFIT
        single = self.attempt(items, value, f"{path}[0]")
        return _MISFIT if single is _MISFIT else [single]

    def kinds(self, schema: Any) -> list[str]:
        schema = self.resolved(schema)
        kinds = schema.get("type", []) if isinstance(schema, Mapping) else []
        return [kinds] if isinstance(kinds, str) else list(kinds)

    def expected(self, schema: Any) -> str:
        schema = self.resolved(schema)
        if not isinstance(schema, Mapping):
            return "a value"
        branches = schema.get("anyOf") or schema.get("oneOf")
        if branches:
            return " or ".join(dict.fromkeys(self.expected(branch) for branch in branches))
        if "enum" in schema:
            return "one of " + ", ".join(_short(choice) for choice in schema["enum"])
        words = [_EXPECTED.get(kind, kind) for kind in self.kinds(schema)]
        return " or ".join(words) or "a value"

    def resolved(self, schema: Any) -> Any:
        for _ in range(8):
            if not isinstance(schema, Mapping) or "$ref" not in schema:
                break
            schema = self.defs.get(str(schema["$ref"]).removeprefix("#/$defs/"), {})
        return schema


def in_words(value: Any) -> str:
    """A value as a message names it: its kind, and itself when it is short."""
    if isinstance(value, str):
        return f"the string {_short(value)}" if len(value) <= 60 else f"a string of {len(value):,} characters"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if isinstance(value, Mapping):
        return "an object"
    return f"the number {value}" if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15 else _short(value)


def _short(value: Any) -> str:
    text = msgspec.json.encode(value).decode() if not isinstance(value, int) or isinstance(value, bool) or abs(value) < 2**63 else "a very large number"
    return text if len(text) <= 80 else text[:80] + "…"


def _unknown(path: str, key: str, known: list[str]) -> str:
    import difflib

    near = difflib.get_close_matches(key, known, 1, 0.5)
    if near:
        return f"unknown argument {path!r}; did you mean {near[0]!r}?"
    return f"unknown argument {path!r}; there " + (f"are {', '.join(known)}." if known else "are none.")


def _is(kind: str, value: Any) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list | tuple)
        case "object":
            return isinstance(value, Mapping)
    return False


def _scalar(kind: str, value: Any) -> Any:
    if _is(kind, value):
        return value
    text = value.strip() if isinstance(value, str) else None
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind == "integer" and text is not None and re.fullmatch(_INTEGER, text):
        return int(text.partition(".")[0])
    if kind == "number" and text is not None and re.fullmatch(_NUMBER, text):
        number = int(text) if re.fullmatch(_INTEGER, text) and "." not in text else float(text)
        return number if abs(number) != float("inf") else _MISFIT
    if kind == "boolean" and text is not None and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if kind == "string" and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if kind == "null" and text == "null":
        return None
    return _MISFIT


def _choice(choices: list[Any], value: Any) -> Any:
    for choice in choices:
        if choice == value and isinstance(choice, bool) == isinstance(value, bool):
            return choice
    for choice in choices:
        kind = "boolean" if isinstance(choice, bool) else "integer" if isinstance(choice, int) else "number" if isinstance(choice, float) else "string"
        fitted = _scalar(kind, value)
        if fitted is not _MISFIT and fitted == choice:
            return choice
    return _MISFIT


def _parsed(value: Any, kind: type) -> Any:
    """The value, or the JSON text it is, when it is of that kind."""
    if isinstance(value, kind):
        return value
    if isinstance(value, tuple) and kind is list:
        return list(value)
    if isinstance(value, str) and value.strip()[:1] == ("[" if kind is list else "{"):
        try:
            parsed = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            return _MISFIT
        return parsed if isinstance(parsed, kind) else _MISFIT
    return _MISFIT
