"""The part of JSON Schema that says which value reading mode gives: kinds that leave no room for prose, all bounded in size.

What is not supported is refused by its name, never ignored: a keyword that nobody holds the value to would promise what is not kept.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from ...errors import ToolError, ToolValidationError
from ..regex import NotRegular, compile_whole
from .value_kinds import IDENTIFIER, KINDS

MAX_SCHEMA = 8_000
"""Characters of a schema as JSON."""
MAX_DEPTH = 5
MAX_PROPERTIES = 40
MAX_ITEMS = 50
"""Of an array; `USUAL_ITEMS` where the schema does not say."""
USUAL_ITEMS = 20
MAX_CHOICES = 50
MAX_CHOICE = 100
"""Characters of a text in `enum` or `const`."""
MAX_TEXT = 200
"""Characters of a free text."""
LARGEST = 10**15
"""The largest number, either way."""
TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
_ALWAYS = frozenset({"type", "description", "enum", "const"})
KEYWORDS: Mapping[str, frozenset[str]] = {
    "object": _ALWAYS | {"properties", "required", "additionalProperties"},
    "array": _ALWAYS | {"items", "minItems", "maxItems"},
    "string": _ALWAYS | {"format", "pattern", "minLength", "maxLength"},
    "number": _ALWAYS | {"minimum", "maximum"},
    "integer": _ALWAYS | {"minimum", "maximum"},
    "boolean": _ALWAYS,
    "null": _ALWAYS,
}
"""Type -> the keywords that hold for it."""
_NAME = re.compile(r"[\w -]{1,100}")


class ValueShape(msgspec.Struct, frozen=True, kw_only=True):
    """A checked schema. `kind` is one of `TYPES`, `choice` or `any_scalar`; `text` is the format of a string, "" for free text."""

    kind: str
    nullable: bool = False
    choices: tuple[Any, ...] = ()
    text: str = ""
    pattern: Any = None
    least: float | None = None
    most: float | None = None
    items: "ValueShape | None" = None
    fields: dict[str, "ValueShape"] = {}
    required: tuple[str, ...] = ()

    @property
    def has_free_text(self) -> bool:
        """Whether words of the content may stand in the value."""
        inner = [*self.fields.values(), *([self.items] if self.items is not None else [])]
        return (self.kind == "string" and not self.text) or any(one.has_free_text for one in inner)

    def wire(self) -> dict[str, Any]:
        """JSON Schema of the value's structure, of the keywords alone that every service takes which can be held to a schema."""
        made = self._plain()
        return {"anyOf": [made, {"type": "null"}]} if self.nullable else made

    def _plain(self) -> dict[str, Any]:
        if self.kind == "choice":
            kinds = {type_of(one) for one in self.choices if one is not None}
            typed = {"type": kinds.pop()} if len(kinds) == 1 and None not in self.choices else {}
            return {**typed, "enum": list(self.choices)}
        if self.kind == "object":
            inner = {name: one.wire() for name, one in self.fields.items()}
            return {"type": "object", "properties": inner, "required": list(self.required), "additionalProperties": False}
        if self.items is not None:
            return {"type": "array", "items": self.items.wire()}
        return {"type": self.kind}


def checked_shape(schema: object) -> ValueShape:
    """The schema as a shape. Raises `ToolValidationError` that names the first thing in it that is not supported, and what is."""
    if not isinstance(schema, dict):
        raise _unsupported("", "is no JSON object", 'A schema is an object, such as {"type": "boolean"}.')
    try:
        size = len(msgspec.json.encode(schema))
    except (UnicodeEncodeError, OverflowError, TypeError, ValueError, RecursionError) as error:
        raise _unsupported("", f"cannot be written as JSON: {error}", "") from None
    if size > MAX_SCHEMA:
        raise _unsupported("", f"has more than {MAX_SCHEMA:,} characters", "Ask for less in one call.")
    return _shape(schema, "", MAX_DEPTH)


def _unsupported(place: str, what: str, hint: str) -> ToolValidationError:
    error = ToolValidationError(f"schema{place} {what}; nothing was read", hint=hint)
    error.metadata = {"code": "schema_unsupported", "place": place}
    return error


def _shape(schema: object, place: str, levels: int) -> ValueShape:
    if not isinstance(schema, dict):
        raise _unsupported(place, "is no JSON object", "Each part of a schema is an object with a type.")
    if not levels:
        raise _unsupported(place, f"is nested deeper than {MAX_DEPTH} levels", "Ask for a flatter value.")
    kind, nullable = _kind(schema, place)
    known = KEYWORDS[kind] if kind != "choice" else _ALWAYS
    for name in schema:
        if name not in known:
            what = f"has the keyword {name!r:.60}, which read_as does not support" + (f" for {kind}" if kind != "choice" else "")
            raise _unsupported(place, what, f"Supported here: {', '.join(sorted(known))}.")
    if not isinstance(schema.get("description", ""), str):
        raise _unsupported(f"{place}.description", "is no text", "")
    if kind == "choice":
        return ValueShape(kind=kind, nullable=nullable, choices=_choices(schema, place))
    if kind == "object":
        return _object(schema, place, nullable, levels)
    if kind == "array":
        least, most = _count(schema, "minItems", 0, MAX_ITEMS, place), _count(schema, "maxItems", USUAL_ITEMS, MAX_ITEMS, place)
        if "items" not in schema:
            raise _unsupported(place, "is an array without items", 'Say of what: {"type": "array", "items": {"type": "integer"}, "maxItems": 10}.')
        return ValueShape(kind=kind, nullable=nullable, items=_shape(schema["items"], f"{place}.items", levels - 1), least=least, most=most)
    if kind == "string":
        return _string(schema, place, nullable)
    least_number, most_number = _bound(schema, "minimum", place), _bound(schema, "maximum", place)
    return ValueShape(kind=kind, nullable=nullable, least=least_number, most=most_number)


def _kind(schema: Mapping[str, Any], place: str) -> tuple[str, bool]:
    """The type, and whether null is one of the values."""
    given = schema.get("type")
    named = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    if given is not None and (not named or any(one not in TYPES for one in named)):
        raise _unsupported(f"{place}.type", f"is {given!r:.60}", f"A type is one of {', '.join(TYPES)}, or a list of one of them and null.")
    plain = [one for one in named if one != "null"]
    nullable = "null" in named and bool(plain)
    if len(plain) > 1:
        raise _unsupported(f"{place}.type", "names several types", 'One type, and null beside it: ["integer", "null"].')
    if "enum" in schema or "const" in schema:
        return "choice", nullable
    if not named:
        unknown = next((name for name in schema if name not in _ALWAYS), "")
        what = f"has the keyword {unknown!r:.60}, which read_as does not support without a type" if unknown else "has no type"
        raise _unsupported(place, what, f"Name a type ({', '.join(TYPES)}), or an enum.")
    return (plain or ["null"])[0], nullable


def _choices(schema: Mapping[str, Any], place: str) -> tuple[Any, ...]:
    if "enum" in schema and "const" in schema:
        raise _unsupported(place, "has enum and const", "Leave one of them out.")
    found = schema["enum"] if "enum" in schema else [schema["const"]]
    if not isinstance(found, list) or not 1 <= len(found) <= MAX_CHOICES:
        raise _unsupported(f"{place}.enum", f"is no list of 1 to {MAX_CHOICES} values", "")
    given = schema.get("type")
    types = [given] if isinstance(given, str) else given
    for one in found:
        if isinstance(one, dict | list) or (isinstance(one, str) and len(one) > MAX_CHOICE) or _too_large(one):
            raise _unsupported(f"{place}.enum", "has a value that is neither a short text nor a number, boolean or null", "")
        if isinstance(one, str) and "://" in one:
            raise _unsupported(f"{place}.enum", "holds a web address", 'Ask for an address of the content: {"type": "string", "format": "uri"}.')
        if types is not None and type_of(one) not in types and not (type_of(one) == "integer" and "number" in types):
            raise _unsupported(f"{place}.enum", "has a value that is not of the type beside it", "")
    return tuple(found)


def _too_large(value: object) -> bool:
    return isinstance(value, int | float) and not abs(value) <= LARGEST


def type_of(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return "string" if isinstance(value, str) else "integer" if isinstance(value, int) else "number"


def _object(schema: Mapping[str, Any], place: str, nullable: bool, levels: int) -> ValueShape:
    inner = schema.get("properties")
    if not isinstance(inner, dict) or not 1 <= len(inner) <= MAX_PROPERTIES or not all(_NAME.fullmatch(name) for name in inner):
        told = f"is no object of 1 to {MAX_PROPERTIES} schemas, each under a name of letters, digits, spaces, _ and -"
        raise _unsupported(f"{place}.properties", told, "")
    if schema.get("additionalProperties", False) is not False:
        raise _unsupported(f"{place}.additionalProperties", "is not false", "An object has the named properties and no other.")
    fields = {name: _shape(one, f"{place}.properties.{name}", levels - 1) for name, one in inner.items()}
    required = schema.get("required", list(fields))
    if not isinstance(required, list) or any(name not in fields for name in required):
        raise _unsupported(f"{place}.required", "is no list of names of properties", "")
    return ValueShape(kind="object", nullable=nullable, fields=fields, required=tuple(dict.fromkeys(required)))


def _string(schema: Mapping[str, Any], place: str, nullable: bool) -> ValueShape:
    named, pattern = schema.get("format"), schema.get("pattern")
    if named is not None and (not isinstance(named, str) or named not in KINDS):
        raise _unsupported(f"{place}.format", f"is {named!r:.60}, which read_as does not support", f"There are: {', '.join(KINDS)}.")
    kind = named or (IDENTIFIER if pattern is not None else "")
    longest = KINDS[kind].longest if kind else MAX_TEXT
    if not kind and "maxLength" not in schema:
        raise _unsupported(place, "is a text without format, pattern or maxLength", f"Formats: {', '.join(KINDS)}; maxLength: at most {MAX_TEXT}.")
    least, most = _count(schema, "minLength", 0, longest, place), _count(schema, "maxLength", longest, longest, place)
    return ValueShape(kind="string", nullable=nullable, text=kind, pattern=_pattern(pattern, place), least=least, most=most)


def _pattern(pattern: object, place: str) -> Any:
    """The pattern, which may match a part of the text as JSON Schema has it, in time linear in the text."""
    if pattern is None:
        return None
    if not isinstance(pattern, str):
        raise _unsupported(f"{place}.pattern", "is no text", "")
    try:
        return compile_whole(pattern)
    except (NotRegular, ToolError) as error:
        raise _unsupported(f"{place}.pattern", f"is no pattern that can be used: {error}", "RE2 knows no look-around and no back references.") from None


def _count(schema: Mapping[str, Any], name: str, usual: int, longest: int, place: str) -> int:
    value = schema.get(name, usual)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= longest:
        raise _unsupported(f"{place}.{name}", f"is no whole number from 0 to {longest}", "")
    return value


def _bound(schema: Mapping[str, Any], name: str, place: str) -> float | None:
    value = schema.get(name)
    if value is None and name not in schema:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        raise _unsupported(f"{place}.{name}", f"is no number up to {LARGEST:,}", "")
    return value
