"""Whether an answer is a value that fits. What is wrong is told by its place in the schema alone: nothing of the answer is repeated."""

import json
import re
from collections.abc import Iterator
from typing import Any

from .value_kinds import KINDS, is_plain_text, stands_in
from .value_schema import LARGEST, ValueShape, type_of

MAX_VALUES = 300
"""Texts, numbers and so on in one value."""
MAX_CHARS = 8_000
"""Characters of a value as JSON."""
_FENCE = re.compile(r"```[a-zA-Z]*\s*\n?(.*?)```", re.DOTALL)


def answer_schema(shape: ValueShape) -> dict[str, Any]:
    """What a service is asked to hold the model to: `{"value": …}`, null where the content does not say."""
    inner = shape.wire()
    options = inner["anyOf"] if shape.nullable else [inner, {"type": "null"}]
    return {"type": "object", "properties": {"value": {"anyOf": options}}, "required": ["value"], "additionalProperties": False}


def read_answer(text: str, shape: ValueShape, content: str) -> tuple[Any, str]:
    """The value of an answer, None where the content does not say; and what is wrong with it, "" where it fits."""
    found = _object_in(text)
    if found is None:
        return None, 'the answer is no JSON object with the one field "value"'
    if set(found) != {"value"}:
        return None, 'the answer has other fields than "value"'
    value = found["value"]
    if value is None:
        return None, ""
    if len(json.dumps(value)) > MAX_CHARS or _count(value) > MAX_VALUES:
        return None, f"the value has more than {MAX_CHARS:,} characters or {MAX_VALUES} parts"
    problem = next(_problems(value, shape, "value", content), "")
    return (None, problem) if problem else (value, "")


def _object_in(text: str) -> dict[str, Any] | None:
    """The JSON object that a text is, holds in a fence, or begins with behind other words."""
    for one in (text, *(found.group(1) for found in _FENCE.finditer(text))):
        try:
            value = json.loads(one)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    start = text.find('{"value"')
    if start < 0:
        return None
    try:
        value, _ = json.JSONDecoder().raw_decode(text[start:])
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _count(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(_count(one) for one in inner)


def _problems(value: Any, shape: ValueShape, place: str, content: str) -> Iterator[str]:
    if value is None and (shape.nullable or shape.kind == "null"):
        return
    if shape.kind == "choice":
        if not any(type(value) is type(one) and value == one for one in shape.choices):
            yield f"{place} is none of the choices"
    elif shape.kind == "object":
        yield from _object_problems(value, shape, place, content)
    elif shape.kind == "array":
        if not isinstance(value, list):
            yield f"{place} is no array"
        elif not (shape.least or 0) <= len(value) <= (shape.most or 0):
            yield f"{place} has not {shape.least} to {shape.most} items"
        elif shape.items is not None:
            for number, one in enumerate(value):
                yield from _problems(one, shape.items, f"{place}[{number}]", content)
    elif shape.kind == "string":
        if problem := _text_problem(value, shape, content):
            yield f"{place} {problem}"
    elif problem := _scalar_problem(value, shape):
        yield f"{place} {problem}"


def _object_problems(value: Any, shape: ValueShape, place: str, content: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{place} is no object"
        return
    if not value.keys() <= shape.fields.keys():
        yield f"{place} has a property that the schema does not name"
    for name in shape.required:
        if name not in value:
            yield f"{place} has no property {name}"
    for name, one in value.items():
        if name in shape.fields:
            yield from _problems(one, shape.fields[name], f"{place}.{name}", content)


def _scalar_problem(value: Any, shape: ValueShape) -> str:
    kind = type_of(value) if not isinstance(value, dict | list) else ""
    if shape.kind in ("boolean", "null"):
        return "" if kind == shape.kind else f"is no {shape.kind}"
    if kind not in ("integer", "number"):
        return f"is no {shape.kind}"
    if shape.kind == "integer" and kind != "integer":
        return "is no integer"
    least, most = -LARGEST if shape.least is None else shape.least, LARGEST if shape.most is None else shape.most
    return "" if least <= value <= most else f"is not from {least:g} to {most:g}"


def _text_problem(value: Any, shape: ValueShape, content: str) -> str:
    if not isinstance(value, str):
        return "is no text"
    if not (shape.least or 0) <= len(value) <= (shape.most or 0):
        return f"has not {shape.least} to {shape.most} characters"
    if not shape.text:
        return "" if is_plain_text(value) else "is not one line without an address"
    kind = KINDS[shape.text]
    if not kind.fits(value):
        return f"is not {kind.told}"
    if shape.pattern is not None and shape.pattern.search(value.encode()) is None:
        return "does not fit the pattern"
    return "does not stand in the content as it is" if kind.copied and not stands_in(value, content) else ""
