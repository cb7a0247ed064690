"""`@tool`, objects as tools, and the registry that stands in front of them."""

import math
import threading
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import anyio
import msgspec
import pytest

from neuralclaw.errors import (
    ConfigError,
    PermissionDeniedError,
    ToolError,
    ToolExecutionError,
    ToolNotFoundError,
    ToolTimeoutError,
    ToolValidationError,
)
from neuralclaw.tool import ProbeResult, tool
from neuralclaw.tools.calculate import calculate
from neuralclaw.tools.echo import echo
from neuralclaw.tools.registry import Registry
from neuralclaw.types.grants import Grant
from neuralclaw.types.messages import Image, ImageContent, StructuredContent, TextContent
from neuralclaw.types.risk import Effect, Risk, Sink
from neuralclaw.types.signals import Retry
from neuralclaw.types.tools import FileChange, ToolContext, ToolResult, Touch

from .grants import call, context, grant_for

pytestmark = pytest.mark.anyio


class Address(msgspec.Struct):
    street: str
    number: int = 1


@tool(risk="LOW", effect="pure")
def everything(
    count: int,
    ratio: float = 0.5,
    flag: bool = False,
    names: list[str] | None = None,
    kind: Literal["a", "b"] = "a",
    address: Address | None = None,
    text: Annotated[str, "Free text."] = "",
) -> dict[str, Any]:
    """Take one of each.

    Args:
        count: How many,
            at least one.
        names: Their names.
    """
    return {"count": count, "ratio": ratio, "flag": flag, "names": names, "kind": kind, "address": address, "text": text}


class Node(msgspec.Struct):
    name: str
    below: "list[Node]" = []


@tool(risk="LOW", effect="pure")
def tree(node: Node) -> int:
    """Count what hangs below."""
    return len(node.below)


class Weather:
    name = "weather"
    description = "The weather of a city."
    input_schema = {  # noqa: RUF012
        "type": "object",
        "properties": {"city": {"type": "string", "minLength": 2}, "days": {"type": "integer", "default": 1, "maximum": 9}},
        "required": ["city"],
        "additionalProperties": False,
    }
    risk = "LOW"

    async def execute(self, input: dict[str, Any]) -> str:
        return f"{input['city']}: sun for {input['days']} days"


def test_a_typed_function_becomes_a_plain_schema() -> None:
    schema = everything.spec.input_schema
    assert schema["required"] == ["count"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["count"] == {"type": "integer", "description": "How many, at least one."}
    assert schema["properties"]["text"] == {"type": "string", "default": "", "description": "Free text."}
    assert schema["properties"]["kind"] == {"enum": ["a", "b"], "default": "a"}
    assert schema["properties"]["address"]["anyOf"][0]["properties"]["street"] == {"type": "string"}
    assert "$defs" not in schema
    assert "title" not in str(schema)
    assert everything.spec.description == "Take one of each."


def test_a_decorated_function_is_still_the_function() -> None:
    assert calculate("1 + 1") == "2"
    assert echo.__name__ == "echo"


def test_options_become_the_spec() -> None:
    @tool(risk="HIGH", effect="idempotent", sinks=["network.send"], timeout=5, category="net", name="send", aliases=["post"], touches=[Touch("url", "url")])
    async def deliver(url: str) -> None:
        """Send it."""

    spec = deliver.spec
    assert (spec.name, spec.risk, spec.effect, spec.sinks, spec.timeout) == ("send", Risk.HIGH, Effect.IDEMPOTENT, (Sink.NETWORK_SEND,), 5)
    assert (spec.category, spec.aliases, spec.touches) == ("net", ("post",), (Touch("url", "url"),))


def test_the_defaults_are_a_careful_tool() -> None:
    @tool
    def plain() -> None:
        """Nothing."""

    assert (plain.spec.risk, plain.spec.effect, plain.spec.timeout, plain.spec.source) == (Risk.MEDIUM, Effect.ONCE, 30, "own")


def test_a_type_that_contains_itself_keeps_its_reference() -> None:
    schema = tree.spec.input_schema
    assert Registry([tree]).prepare("tree", {"node": {"name": "a", "below": [{"name": "b"}]}})["node"]["below"][0]["name"] == "b"
    assert "$defs" in schema
    with pytest.raises(ToolValidationError, match=r"node\.below\[0\]\.name"):
        Registry([tree]).prepare("tree", {"node": {"name": "a", "below": [{"name": []}]}})


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: tool(_untyped), "type annotation"),
        (lambda: tool(_undocumented), "docstring"),
        (lambda: tool(_starred), "named arguments"),
        (lambda: tool(risk="SOME")(_fine), "risk"),
        (lambda: tool(effect="maybe")(_fine), "effect"),
        (lambda: tool(timeout=0)(_fine), "timeout"),
        (lambda: tool(name="no spaces")(_fine), "tool name"),
        (lambda: tool(touches=[Touch("path", "read")])(_fine), "not a parameter"),
        (lambda: tool(colour="red")(_fine), "unknown option colour"),  # type: ignore[call-overload]
        (lambda: Registry([object()]), "not a tool"),
    ],
)
def test_what_cannot_be_a_tool_is_refused_with_the_reason(make: Callable[[], object], match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        make()


def _untyped(a) -> str:  # type: ignore[no-untyped-def]
    """Text."""
    return str(a)


def _undocumented(a: int) -> str:
    return str(a)


def _starred(*a: int) -> str:
    """Text."""
    return str(a)


def _fine(a: int = 1) -> str:
    """Text."""
    return str(a)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"count": "5"}, 5),
        ({"count": " -5 "}, -5),
        ({"count": 5.0}, 5),
        ({"count": "5.0"}, 5),
        ({"count": 1, "ratio": "2.5"}, 2.5),
        ({"count": 1, "ratio": 2}, 2.0),
        ({"count": 1, "ratio": "1e3"}, 1000.0),
        ({"count": 1, "flag": "true"}, True),
        ({"count": 1, "flag": "False"}, False),
        ({"count": 1, "names": "one"}, ["one"]),
        ({"count": 1, "names": '["one", "two"]'}, ["one", "two"]),
        ({"count": 1, "names": [1, 2.5]}, ["1", "2.5"]),
        ({"count": 1, "names": None}, None),
        ({"count": 1, "names": "null"}, None),
        ({"count": 1, "text": "null"}, "null"),
        ({"count": 1, "address": '{"street": "Elm", "number": "7"}'}, {"street": "Elm", "number": 7}),
        ({"count": 1, "text": 12}, "12"),
        ({"count": 1, "text": "12"}, "12"),
        ({"count": 1, "kind": "b"}, "b"),
    ],
)
def test_what_can_be_read_safely_is_coerced(given: dict[str, Any], expected: object) -> None:
    final = Registry([everything]).prepare("everything", given)
    value = final[list(given)[-1]]
    assert value == expected
    assert type(value) is type(expected)


def test_defaults_stand_in_the_final_form_and_it_is_stable() -> None:
    registry = Registry([everything])
    final = registry.prepare("everything", {"count": "1", "address": {"street": "Elm"}})
    assert final == {"count": 1, "ratio": 0.5, "flag": False, "names": None, "kind": "a", "address": {"street": "Elm", "number": 1}, "text": ""}
    assert registry.prepare("everything", final) == final


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"count": "5.5"}, r"'count' must be an integer, not the string \"5\.5\""),
        ({"count": 5.5}, r"'count' must be an integer, not the number 5\.5"),
        ({"count": True}, "'count' must be an integer, not true"),
        ({"count": "１e3"}, "must be an integer"),
        ({"count": 1, "flag": "yes"}, "'flag' must be true or false, not the string \"yes\""),
        ({"count": 1, "flag": 1}, "'flag' must be true or false"),
        ({"count": 1, "ratio": "inf"}, "'ratio' must be a number"),
        ({"count": 1, "ratio": "1e999"}, "'ratio' must be a number"),
        ({"count": 1, "text": {"a": 1}}, "'text' must be a string, not an object"),
        ({"count": 1, "text": True}, "'text' must be a string, not true"),
        ({"count": 1, "kind": "c"}, '\'kind\' must be one of "a", "b"'),
        ({"count": 1, "names": {"a": 1}}, "'names' must be a list or null"),
        ({"count": 1, "address": {"strasse": "x"}}, r"'address\.street' is missing"),
        ({"count": 1, "address": "[1]"}, "'address' must be an object or null"),
        ({}, "'count' is missing; it must be an integer"),
        ({"cuont": 1}, "unknown argument 'cuont'; did you mean 'count'?"),
        ({"count": "x" * 10_000}, "a string of 10,000 characters"),
        ({"count": 10**400, "text": []}, "'text' must be a string, not a list of 0"),
    ],
)
def test_what_does_not_fit_is_named_so_that_a_model_can_mend_it(given: dict[str, Any], match: str) -> None:
    with pytest.raises(ToolValidationError, match=match) as caught:
        Registry([everything]).prepare("everything", given)
    assert len(caught.value.text) < 400


def test_every_problem_is_named_at_once() -> None:
    with pytest.raises(ToolValidationError) as caught:
        Registry([everything]).prepare("everything", {"flag": "perhaps", "nmaes": []})
    assert caught.value.text.count("everything:") == 3


def test_an_object_is_checked_against_its_own_schema() -> None:
    registry = Registry([Weather()])
    assert registry.prepare("weather", {"city": "Bern", "days": "3"}) == {"city": "Bern", "days": 3}
    assert registry.prepare("weather", {"city": "Bern"}) == {"city": "Bern", "days": 1}
    for wrong, match in [
        ({"city": "B"}, "city"),
        ({"city": "Bern", "days": 12}, "days"),
        ({"town": "Bern"}, "unknown argument 'town'"),
        ({}, "'city' is missing"),
    ]:
        with pytest.raises(ToolValidationError, match=match):
            registry.prepare("weather", wrong)


async def test_an_object_is_called_with_the_final_arguments(tmp_path: Path) -> None:
    assert (await call(Registry([Weather()]), tmp_path, "weather", city="Bern", days="2")).content == "Bern: sun for 2 days"


def test_names_are_unique_and_aliases_are_found() -> None:
    registry = Registry([echo, calculate])
    assert [spec.name for spec in registry.tools()] == ["echo", "calculate"]
    assert registry.find("nothing") is None
    with pytest.raises(ConfigError, match="two tools of the name echo"):
        registry.add(echo)
    with pytest.raises(ToolNotFoundError, match="did you mean calculate"):
        registry.prepare("calculator", {})


async def test_results_are_text_silence_or_data(tmp_path: Path) -> None:
    @tool
    async def returns(what: str) -> Any:
        """Return something."""
        return {"none": None, "list": [1, Address("Elm")], "number": 5, "result": ToolResult(content="x", ok=False, error="e"), "bad": object()}[what]

    registry = Registry([returns, everything])
    assert (await call(registry, tmp_path, "returns", what="none")).content == ""
    listed = await call(registry, tmp_path, "returns", what="list")
    assert (listed.content, listed.metadata) == ('[1,{"street":"Elm","number":1}]', {"value": [1, {"street": "Elm", "number": 1}]})
    assert (await call(registry, tmp_path, "returns", what="number")).content == "5"
    assert (await call(registry, tmp_path, "returns", what="result")).error == "e"
    assert (await call(registry, tmp_path, "everything", count=1, address={"street": "Elm"})).metadata["address"] == {"street": "Elm", "number": 1}
    with pytest.raises(ToolExecutionError, match="cannot be written as JSON"):
        await call(registry, tmp_path, "returns", what="bad")


CAT = Image("image/png", b"\x89PNG" * 3000, "cat.png")
SHOWN = "[picture cat.png, image/png, 12,000 bytes]"


def returning(value: Any) -> Registry:
    """A tool `give` that returns the value."""

    @tool
    async def give() -> Any:
        """Give it."""
        return value

    return Registry([give])


@pytest.mark.parametrize(
    ("value", "content", "parts"),
    [
        (CAT, SHOWN, (ImageContent(CAT),)),
        (ImageContent(CAT), SHOWN, (ImageContent(CAT),)),
        (["A cat:", CAT], f"A cat:\n{SHOWN}", (TextContent("A cat:"), ImageContent(CAT))),
        (
            (TextContent("a"), StructuredContent({"n": (1, math.nan)}), Image("image/gif", b"GIF8")),
            'a\n{"n":[1,null]}\n[picture, image/gif, 4 bytes]',
            (TextContent("a"), StructuredContent({"n": [1, None]}), ImageContent(Image("image/gif", b"GIF8"))),
        ),
        (ToolResult(content="mine", parts=(ImageContent(CAT),)), "mine", (ImageContent(CAT),)),
        (["a", "b"], '["a","b"]', ()),
        ([], "[]", ()),
    ],
)
async def test_pictures_and_several_parts_come_back_with_their_text(tmp_path: Path, value: Any, content: str, parts: tuple[Any, ...]) -> None:
    result = await call(returning(value), tmp_path, "give")
    assert (result.content, result.parts) == (content, parts)


async def test_an_object_may_return_pictures_too(tmp_path: Path) -> None:
    class Camera:
        name, description = "camera", "Take a picture."
        input_schema: ClassVar[dict[str, Any]] = {"type": "object", "properties": {}}

        async def execute(self, given: dict[str, Any]) -> Any:
            return [CAT]

    assert (await call(Registry([Camera()]), tmp_path, "camera")).parts == (ImageContent(CAT),)


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


class Cell:
    """Nothing that JSON knows."""


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (ToolResult(metadata={"cell": Cell()}), "type Cell is unsupported"),
        (ToolResult(metadata={"pair": {(1, 2): 3}}), "keys"),
        (ToolResult(metadata={"deep": nested(2_000)}), "nested deeper than 200 levels"),
        (ToolResult(metadata={"deep": nested(300)}), "nested deeper than 200 levels"),
        (ToolResult(metadata={"circle": CIRCLE}), "contains itself"),
        (ToolResult(parts=(StructuredContent(Cell()),)), "type Cell is unsupported"),
        (ToolResult(parts=(StructuredContent(nested(2_000)),)), "nested deeper"),
        (ToolResult(parts=("text",)), "parts"),  # type: ignore[arg-type]
        (ToolResult(parts=(ImageContent(Image("image/tiff", b"II*")),)), "image/tiff; models take image/png"),
        (ToolResult(parts=(ImageContent(Image("image/png")),)), "a picture without bytes"),
        (Image("image/png", bytes(5 * 1024 * 1024 + 1)), "models take at most 5,242,880"),
        (ToolResult(content=5), "content"),  # type: ignore[arg-type]
        (nested(2_000), "nested deeper"),
        ([CAT, {"a": 1}], "its parts contain a dict"),
    ],
)
async def test_a_result_that_no_entry_can_keep_is_an_error_of_that_call(tmp_path: Path, value: Any, why: str) -> None:
    with pytest.raises(ToolExecutionError, match=r"^give (ran, but what it returned|returned)") as failed:
        await call(returning(value), tmp_path, "give")
    assert why in str(failed.value)


async def test_a_result_is_kept_as_it_is_read_back(tmp_path: Path) -> None:
    given = {1: math.inf, "nan": [math.nan], "address": Address("Elm"), "when": date(2026, 1, 2), "half": "a\ud800b", "pair": (1, 2)}
    change = FileChange("/a", None, "f" * 64)
    made = ToolResult(content="a\ud83d\ude00\udc00", metadata=given, parts=(ImageContent(CAT),), changes=(change,), labels=frozenset({"external:web"}))  # type: ignore[arg-type]
    result = await call(returning(made), tmp_path, "give")
    assert result.metadata == {
        "1": None,
        "nan": [None],
        "address": {"street": "Elm", "number": 1},
        "when": "2026-01-02",
        "half": "a\ufffdb",
        "pair": [1, 2],
    }
    assert result.content == "a\U0001f600\ufffd"
    assert (result.changes, result.labels, result.parts) == ((change,), {"external:web"}, (ImageContent(CAT),))
    kept = msgspec.structs.replace(result, parts=())
    assert msgspec.json.decode(msgspec.json.encode(kept), type=ToolResult) == kept
    deep = await call(returning(ToolResult(metadata={"deep": nested(150)})), tmp_path, "give")
    assert deep.metadata == {"deep": nested(150)}


async def test_what_a_probe_found_is_kept_in_the_same_form(tmp_path: Path) -> None:
    @tool(effect="reconcilable")
    async def give() -> None:
        """Give it."""

    found: list[ToolResult] = [ToolResult(metadata={"pair": (1, 2)}), ToolResult(metadata={"cell": Cell()})]

    @give.probed_by
    async def probe(grant: Grant, ctx: ToolContext) -> ProbeResult:
        return found.pop(0)

    registry, grant = Registry([give]), grant_for(tmp_path, "give", {})
    result = await registry.probe(grant, context(tmp_path))
    assert isinstance(result, ToolResult)
    assert result.metadata == {"pair": [1, 2]}
    with pytest.raises(ToolExecutionError, match="give ran, but"):
        await registry.probe(grant, context(tmp_path))


async def test_a_sync_tool_runs_beside_the_event_loop_and_an_instant_one_in_it(tmp_path: Path) -> None:
    @tool
    def beside() -> int:
        """Say the thread."""
        return threading.get_ident()

    @tool(instant=True)
    def inside() -> int:
        """Say the thread."""
        return threading.get_ident()

    registry = Registry([beside, inside])
    assert (await call(registry, tmp_path, "beside")).content != str(threading.get_ident())
    assert (await call(registry, tmp_path, "inside")).content == str(threading.get_ident())


async def test_grant_and_context_are_filled_in_and_not_in_the_schema(tmp_path: Path) -> None:
    @tool
    async def where(grant: Grant, ctx: ToolContext, word: str = "x") -> str:
        """Say where."""
        return f"{grant.tool} {ctx.call_id} {word}"

    assert list(where.spec.input_schema["properties"]) == ["word"]
    assert (await call(Registry([where]), tmp_path, "where")).content == "where c x"
    with pytest.raises(ToolValidationError, match="unknown argument 'grant'"):
        Registry([where]).prepare("where", {"grant": {}})


@pytest.mark.invariant("gate.grant-needed")
@pytest.mark.invariant("gate.one-call")
async def test_a_tool_runs_only_under_an_open_grant_for_it(tmp_path: Path) -> None:
    registry = Registry([echo, calculate])
    closed = grant_for(tmp_path, "echo", {"text": "x"})
    closed.close()
    for grant in (closed, grant_for(tmp_path, "", {"text": "x"}), grant_for(tmp_path, "other", {"text": "x"})):
        with pytest.raises(PermissionDeniedError):
            await registry.call(grant, context(tmp_path))
        with pytest.raises(PermissionDeniedError):
            await registry.probe(grant, context(tmp_path))


@pytest.mark.invariant("gate.as-judged")
async def test_only_the_arguments_in_the_grant_count(tmp_path: Path) -> None:
    assert (await Registry([echo]).call(grant_for(tmp_path, "echo", {"text": "granted"}), context(tmp_path))).content == "granted"


@pytest.mark.parametrize("error", [ValueError("boom"), ValueError("long " * 10_000), SystemExit(3), KeyboardInterrupt(), TimeoutError("own"), RuntimeError()])
@pytest.mark.parametrize("threaded", [True, False])
async def test_whatever_a_tool_raises_is_an_error_of_that_call(tmp_path: Path, error: BaseException, threaded: bool) -> None:
    @tool
    def breaks() -> None:
        """Break."""
        raise error

    @tool(name="breaks")
    async def breaks_async() -> None:
        """Break."""
        raise error

    with pytest.raises(ToolExecutionError, match=f"breaks failed: {type(error).__name__}") as caught:
        await call(Registry([breaks if threaded else breaks_async]), tmp_path, "breaks")
    assert len(caught.value.text) < 2_100


@pytest.mark.parametrize("error", [ToolError("mine"), Retry("again"), PermissionDeniedError("no")])
async def test_errors_that_mean_something_to_the_turn_come_through(tmp_path: Path, error: Exception) -> None:
    @tool
    async def breaks() -> None:
        """Break."""
        async with anyio.create_task_group():
            raise error

    with pytest.raises(type(error)) as caught:
        await call(Registry([breaks]), tmp_path, "breaks")
    assert caught.value is error


async def test_a_tool_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    stopped = anyio.Event()

    @tool(timeout=0.01)
    async def slow() -> None:
        """Wait."""
        try:
            await anyio.sleep_forever()
        finally:
            stopped.set()

    with anyio.fail_after(5), pytest.raises(ToolTimeoutError, match=r"slow was stopped after 0\.01 s"):
        await call(Registry([slow]), tmp_path, "slow")
    assert stopped.is_set()


async def test_a_thread_that_takes_too_long_is_left_behind(tmp_path: Path) -> None:
    release = threading.Event()

    @tool(timeout=0.01)
    def slow() -> None:
        """Wait."""
        release.wait(5)

    with pytest.raises(ToolTimeoutError):
        await call(Registry([slow]), tmp_path, "slow")
    release.set()


async def test_cancelling_the_turn_passes_through_a_tool(tmp_path: Path) -> None:
    @tool
    async def slow() -> None:
        """Wait."""
        await anyio.sleep_forever()

    with anyio.move_on_after(0.01) as scope:
        await call(Registry([slow]), tmp_path, "slow")
    assert scope.cancelled_caught


async def test_a_tool_that_was_cancelled_from_within_does_not_cancel_the_turn(tmp_path: Path) -> None:
    @tool
    async def odd() -> None:
        """Raise what only the event loop raises."""
        raise anyio.get_cancelled_exc_class()

    with pytest.raises(ToolExecutionError, match="from within"):
        await call(Registry([odd]), tmp_path, "odd")
