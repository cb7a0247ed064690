"""`@tool` makes a typed function with a docstring into a tool; `as_tool` does the same for an object with `execute`."""

import functools
import inspect
import sys
import typing
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import ModuleType
from typing import Any, Literal, overload

import anyio.to_thread
import msgspec

from .errors import ConfigError, ToolExecutionError, ToolValidationError
from .types.content import IMAGE_TYPES, MAX_IMAGE_BYTES, plain_json, text_of
from .types.grants import Grant
from .types.messages import ContentPart, Image, ImageContent, StructuredContent, TextContent
from .types.risk import Effect, Power, Risk, Sink
from .types.tools import ToolContext, ToolResult, ToolSpec, Touch

_INJECTED = (Grant, ToolContext)
_OPTIONS = ("risk", "effect", "powers", "sinks", "touches", "timeout", "requires_confirmation", "category", "source", "aliases", "max_chars", "keep")
_SECTION = ("Args:", "Arguments:", "Parameters:")

ProbeResult = ToolResult | bool | None
Probe = Callable[[Grant, ToolContext], Awaitable[ProbeResult]]
RiskName = Risk | Literal["LOW", "MEDIUM", "HIGH", "CRITICAL"]
EffectName = Effect | Literal["pure", "idempotent", "reconcilable", "once"]
SinkName = Sink | Literal["execute", "network.send", "message", "write", "self"]


class FunctionTool:
    """A function as a tool. Called like the function it still is the function; the pipeline uses `spec`, `check`, `run` and `probe`."""

    def __init__(self, function: Callable[..., Any], spec: ToolSpec, form: type[msgspec.Struct], injected: Mapping[str, type], instant: bool) -> None:
        functools.update_wrapper(self, function)
        self.spec = spec
        self._function, self._form, self._injected = function, form, injected
        self._direct = instant or inspect.iscoroutinefunction(function)
        self._probe: Probe | None = None

    @property
    def instant(self) -> bool:
        """A pure computation that needs neither a worker thread nor a time limit."""
        return self._direct and not inspect.iscoroutinefunction(self._function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def check(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as plain JSON values with the defaults filled in. Raises `ToolValidationError` when they do not fit as they are."""
        try:
            return typing.cast("dict[str, Any]", msgspec.to_builtins(msgspec.convert(arguments, self._form), str_keys=True))
        except msgspec.ValidationError as error:
            raise ToolValidationError(f"{self.spec.name}: {_sentence(str(error))}") from None

    async def run(self, arguments: Mapping[str, Any], grant: Grant, ctx: ToolContext) -> ToolResult:
        """Call the function with checked arguments. What it raises comes through unchanged."""
        form = msgspec.convert(arguments, self._form)
        values = {name: getattr(form, name) for name in self._form.__struct_fields__}
        for name, kind in self._injected.items():
            values[name] = grant if kind is Grant else ctx
        if not self._direct:
            # Left behind when the call is cancelled: a thread cannot be stopped, and the turn must not wait for it.
            return as_result(self.spec.name, await anyio.to_thread.run_sync(functools.partial(self._function, **values), abandon_on_cancel=True))
        value = self._function(**values)
        return as_result(self.spec.name, await value if inspect.isawaitable(value) else value)

    def probed_by(self, probe: Probe) -> Probe:
        """Decorator: `probe` tells whether a call of this (reconcilable) tool that began has happened."""
        self._probe = probe
        return probe

    async def probe(self, grant: Grant, ctx: ToolContext) -> ProbeResult:
        """The call's result (or True) if it happened, False if not, None if nobody can tell."""
        return None if self._probe is None else await self._probe(grant, ctx)


class ObjectTool:
    """An object with `name`, `description`, `input_schema` and `async execute(input)` as a tool, checked against its raw JSON Schema."""

    instant = False

    def __init__(self, target: Any, spec: ToolSpec) -> None:
        self.spec = spec
        self._target = target
        self._validator: Any = None

    def check(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments with the defaults of the schema's own properties filled in. Raises `ToolValidationError`."""
        filled = {name: part["default"] for name, part in self.spec.input_schema.get("properties", {}).items() if isinstance(part, dict) and "default" in part}
        filled.update(arguments)
        problems = [
            f"argument {error.instance_path[0]!r}: {error.message}" if error.instance_path else error.message for error in self._schema().iter_errors(filled)
        ]
        if problems:
            raise ToolValidationError(f"{self.spec.name}: " + "; ".join(text if len(text) <= 300 else text[:300] + "…" for text in problems[:5]))
        return filled

    async def run(self, arguments: Mapping[str, Any], grant: Grant, ctx: ToolContext) -> ToolResult:
        """Call `execute` with a copy of the checked arguments."""
        value = self._target.execute(msgspec.to_builtins(arguments))
        return as_result(self.spec.name, await value if inspect.isawaitable(value) else value)

    async def probe(self, grant: Grant, ctx: ToolContext) -> ProbeResult:
        """Nobody can tell."""
        return None

    def _schema(self) -> Any:
        if self._validator is None:
            import jsonschema_rs

            try:
                self._validator = jsonschema_rs.validator_for(self.spec.input_schema, retriever=_no_retrieval)
            except ValueError as error:  # its ValidationError and ReferencingError: the schema itself is wrong
                raise ToolValidationError(f"{self.spec.name}: its own input schema is no valid JSON Schema: {str(error).splitlines()[0]}") from error
        return self._validator


def _no_retrieval(address: str) -> Any:
    """What a schema's `$ref` names outside of it is not fetched: the validator would connect anywhere, and read any file."""
    raise ValueError(f"{address} is outside of the schema, and nothing is fetched for it")


AnyTool = FunctionTool | ObjectTool


@overload
def tool(function: Callable[..., Any], /) -> FunctionTool: ...
@overload
def tool(
    *,
    risk: RiskName = "MEDIUM",
    effect: EffectName = "once",
    powers: Iterable[str] = (),
    sinks: Iterable[SinkName] = (),
    touches: Iterable[Touch] = (),
    timeout: float | None = 30,
    requires_confirmation: bool = False,
    category: str = "general",
    source: Literal["own", "external"] = "own",
    name: str | None = None,
    aliases: Iterable[str] = (),
    max_chars: int | None = None,
    keep: Literal["begin", "ends"] = "begin",
    instant: bool = False,
) -> Callable[[Callable[..., Any]], FunctionTool]: ...
def tool(function: Callable[..., Any] | None = None, /, *, name: str | None = None, instant: bool = False, **options: Any) -> Any:
    """A tool from a typed function, sync (run in a worker thread) or async, whose docstring is the description.

    `risk`: LOW, MEDIUM, HIGH or CRITICAL. `effect`: pure, idempotent, reconcilable or once. `sinks`: execute, network.send, message,
    write, self. `timeout` in seconds, None for none. `source="external"`: every result is labelled as coming from outside. `touches`:
    which arguments name paths, commands or addresses. `max_chars`: of a result that the model sees; `keep`: of a longer one its beginning
    (`begin`), or a short beginning and the end (`ends`). `instant`: a computation that always ends at once and may run without a worker
    thread. Parameters annotated `ToolContext` or `Grant` are filled in by the
    pipeline. Raises `ConfigError` when the function cannot be a tool.
    """

    def make(function: Callable[..., Any]) -> FunctionTool:
        title = name or str(getattr(function, "__name__", ""))
        form, schema, injected, notes = _form(title, function)
        text, about = _read_docstring(title, function)
        for parameter, note in {**about, **notes}.items():
            if parameter in schema["properties"]:
                schema["properties"][parameter]["description"] = note
        return FunctionTool(function, _spec(title, text, schema, options), form, injected, instant)

    return make if function is None else make(function)


def as_tool(target: Any) -> AnyTool:
    """`target` as a tool: a `FunctionTool` unchanged, or any object with `name`, `description`, `input_schema` and `async execute(input)`.

    It may have the attributes that `@tool` has as options, with the same defaults. Raises `ConfigError`.
    """
    if isinstance(target, FunctionTool | ObjectTool):
        return target
    missing = [part for part in ("name", "description", "input_schema", "execute") if not hasattr(target, part)]
    if missing:
        raise ConfigError(f"{target!r} is not a tool: it has no {', '.join(missing)}", hint="decorate a function with @tool, or give it these attributes")
    if not isinstance(target.input_schema, Mapping):
        raise ConfigError(f"tool {target.name}: input_schema must be a JSON Schema object")
    options = {key: getattr(target, key) for key in _OPTIONS if hasattr(target, key)}
    schema = {"type": "object", "properties": {}, **target.input_schema}
    return ObjectTool(target, _spec(target.name, target.description or target.name, schema, options))


def as_result(name: str, value: Any) -> ToolResult:
    """What a tool returned as a result: text as it is, None as silence, a picture or a list of texts and pictures as parts.

    Anything else becomes JSON text with the data in `metadata`. A list of nothing but texts is data. Raises `ToolExecutionError`.
    """
    if isinstance(value, ToolResult):
        return value
    if value is None:
        return ToolResult()
    if isinstance(value, str):
        return ToolResult(content=value)
    items = value if isinstance(value, list | tuple) else (value,)
    try:
        if any(isinstance(item, Image | ContentPart) for item in items):
            parts = tuple(_part(item) for item in items)
            return ToolResult(content=text_of(parts), parts=parts)
        data = plain_json(value)
    except ValueError as error:
        raise ToolExecutionError(f"{name} returned a {type(value).__name__}, which cannot be written as JSON: {error}") from error
    return ToolResult(content=msgspec.json.encode(data).decode(), metadata=data if isinstance(data, dict) else {"value": data})


def recordable(name: str, result: ToolResult) -> ToolResult:
    """The result as an entry can keep it and as it is read back: plain JSON values, whole characters, pictures with their bytes.

    Raises `ToolExecutionError` for one that cannot be kept.
    """
    try:
        bare = msgspec.structs.replace(result, parts=tuple(_without_bytes(part) for part in result.parts))
        made = msgspec.convert(plain_json(bare), ToolResult)
    except (TypeError, ValueError, msgspec.ValidationError) as error:
        raise ToolExecutionError(f"{name} ran, but what it returned cannot be kept: {error}") from error
    if not made.parts:
        return made
    return msgspec.structs.replace(made, parts=tuple(_with_bytes(part, given) for part, given in zip(made.parts, result.parts, strict=True)))


def _part(item: Any) -> ContentPart:
    """One item of what a tool returned. Raises `ValueError`."""
    match item:
        case str():
            return TextContent(item)
        case Image():
            return ImageContent(item)
        case StructuredContent(value):
            return StructuredContent(plain_json(value))
        case TextContent() | ImageContent():
            return item
        case _:
            raise ValueError(f"its parts contain a {type(item).__name__}; data goes into StructuredContent")


def _without_bytes(part: ContentPart) -> ContentPart:
    """The part as JSON can hold it. Raises `ValueError` for a picture that no model takes."""
    if not isinstance(part, ImageContent):
        return part
    image = part.image
    if not isinstance(image, Image) or not isinstance(image.data, bytes) or not image.data:
        raise ValueError("a picture without bytes")
    if image.media_type not in IMAGE_TYPES:
        raise ValueError(f"a picture of type {image.media_type}; models take {', '.join(IMAGE_TYPES)}")
    if len(image.data) > MAX_IMAGE_BYTES:
        raise ValueError(f"a picture of {len(image.data):,} bytes; models take at most {MAX_IMAGE_BYTES:,}")
    return ImageContent(msgspec.structs.replace(image, data=b""))


def _with_bytes(part: ContentPart, original: ContentPart) -> ContentPart:
    if isinstance(part, ImageContent) and isinstance(original, ImageContent):
        return ImageContent(msgspec.structs.replace(part.image, data=original.image.data))
    return part


def _spec(name: str, description: str, schema: dict[str, Any], options: Mapping[str, Any]) -> ToolSpec:
    unknown = set(options) - set(_OPTIONS)
    if unknown:
        raise ConfigError(f"tool {name}: unknown option {', '.join(sorted(unknown))}; there are {', '.join(_OPTIONS)}")
    values = {key: [*value] if key in ("powers", "sinks", "touches", "aliases") else value for key, value in options.items()}
    try:
        # Through convert, so that "LOW" becomes Risk.LOW and a wrong word is refused with the words there are.
        spec = msgspec.convert(msgspec.to_builtins({"name": name, "description": description, "input_schema": schema, **values}), ToolSpec)
    except msgspec.ValidationError as error:
        choices = {"risk": Risk, "effect": Effect, "powers": Power, "sinks": Sink}
        said = next((f"{key}: {', '.join(map(str, kind))}" for key, kind in choices.items() if f"$.{key}" in str(error)), "")
        raise ConfigError(f"tool {name}: {error}", hint=said) from None
    for word in (spec.name, *spec.aliases):
        if not word or len(word) > 128 or not all(char.isascii() and (char.isalnum() or char in "_-.:") for char in word):
            raise ConfigError(f"{word!r} is not a tool name: up to 128 letters, digits, '_', '-', '.' and ':'")
    if spec.timeout is not None and spec.timeout <= 0:
        raise ConfigError(f"tool {name}: timeout must be more than 0 seconds, or None")
    for touch in spec.touches:
        if touch.argument not in schema["properties"]:
            raise ConfigError(f"tool {name}: touches names {touch.argument!r}, which is not a parameter")
    return spec


def _form(name: str, function: Callable[..., Any]) -> tuple[type[msgspec.Struct], dict[str, Any], dict[str, type], dict[str, str]]:
    """The parameters as a struct and as JSON Schema, those the pipeline fills in, and the descriptions that are in `Annotated`."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise ConfigError(f"tool {name}: a type annotation cannot be resolved: {error}") from error
    fields: list[Any] = []
    injected: dict[str, type] = {}
    notes: dict[str, str] = {}
    for key, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ConfigError(f"tool {name}: {parameter} cannot be filled from named arguments")
        if key not in hints:
            raise ConfigError(f"tool {name}: the parameter {key} has no type annotation")
        hint = hints[key]
        if hint in _INJECTED:
            injected[key] = hint
            continue
        written = [extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, str)]
        if written:
            notes[key] = written[0]
        fields.append((key, hint) if parameter.default is parameter.empty else (key, hint, _default(parameter.default)))
    try:
        form = msgspec.defstruct(f"{name}_arguments", fields, kw_only=True, forbid_unknown_fields=True)
        return form, _tidy(msgspec.json.schema(form)), injected, notes
    except TypeError as error:
        raise ConfigError(f"tool {name}: its parameters cannot be described as JSON Schema: {error}") from error


def _default(value: Any) -> Any:
    if isinstance(value, list | dict | set) and value:
        return msgspec.field(default_factory=lambda: type(value)(value))
    return value


def _read_docstring(name: str, function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """The description for the model, and what the `Args:` section or `:param x:` lines say of the parameters."""
    text = inspect.getdoc(function)
    if not text:
        raise ConfigError(f"tool {name}: it needs a docstring; the model reads it as the description")
    kept: list[str] = []
    about: dict[str, str] = {}
    current, inside = "", False
    for line in text.splitlines():
        bare = line.strip()
        if line in _SECTION:
            inside, current = True, ""
        elif bare.startswith(":param ") and ":" in bare[7:]:
            key, _, note = bare[7:].partition(":")
            about[key.split()[-1]] = note.strip()
        elif inside and line[:1].isspace():
            head, colon, note = bare.partition(":")
            key = head.split(" ")[0]
            if colon and key.isidentifier() and len(line) - len(line.lstrip()) <= 4:
                current, about[key] = key, note.strip()
            elif current:
                about[current] += " " + bare
        else:
            inside = inside and not bare
            kept.append(line)
    return "\n".join(kept).strip(), about


def _tidy(schema: dict[str, Any]) -> dict[str, Any]:
    """msgspec's schema with titles dropped and references put in their place, as far as no type contains itself."""
    defs: dict[str, Any] = schema.pop("$defs", {})
    kept: dict[str, Any] = {}

    def walk(node: Any, above: tuple[str, ...]) -> Any:
        if isinstance(node, list):
            return [walk(part, above) for part in node]
        if not isinstance(node, dict):
            return node
        target = str(node.get("$ref", "")).removeprefix("#/$defs/")
        if target and target in above:
            kept.setdefault(target, None)
            return dict(node)
        if target:
            return {**walk(defs[target], (*above, target)), **{key: value for key, value in node.items() if key != "$ref"}}
        return {
            key: {name: walk(part, above) for name, part in value.items()}
            if key == "properties"
            else value
            if key in ("default", "enum")
            else walk(value, above)
            for key, value in node.items()
            if key != "title"
        }

    plain: dict[str, Any] = walk(schema, ())
    plain.setdefault("properties", {})
    if kept:
        for target in list(kept):
            kept[target] = walk(defs[target], (target,))
        plain["$defs"] = kept
    return plain


def _sentence(text: str) -> str:
    """msgspec's message about a value as a sentence that names the argument: `Expected `int` >= 1 - at `$.limit``."""
    said, _, place = text.rpartition(" - at `$.")
    return f"argument {place.rstrip('`')!r} does not fit: {said[:1].lower()}{said[1:]}." if said else f"{text}."


class _CallableModule(ModuleType):
    """`from neuralclaw import tool` gives this module once it was imported under its own name; called, it is the decorator all the same."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        return tool(*args, **options)


sys.modules[__name__].__class__ = _CallableModule
