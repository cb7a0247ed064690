"""Any schema and any answer: nothing but a clear error, and nothing fits that an independent validator refuses."""

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuralclaw.errors import ToolValidationError
from neuralclaw.tools.reading.value_fit import MAX_CHARS, answer_schema, read_answer
from neuralclaw.tools.reading.value_kinds import KINDS, stands_in
from neuralclaw.tools.reading.value_schema import KEYWORDS, MAX_TEXT, checked_shape

CONTENT = "Mail to bob@shop.example or see https://shop.example/a?b=1, order INV-0042, host shop.example."
WORDS = sorted({*KEYWORDS["object"], *KEYWORDS["array"], *KEYWORDS["string"], *KEYWORDS["number"], "$ref", "oneOf", "default"})
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["string", "integer", "date"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*WORDS, "a"]), inner, max_size=4),
    max_leaves=12,
)
SCALARS = (
    st.just({"type": "boolean"})
    | st.builds(lambda low, more: {"type": "integer", "minimum": low, "maximum": low + more}, st.integers(-9, 9), st.integers(0, 9))
    | st.just({"type": ["number", "null"]})
    | st.just({"enum": ["yes", "no", 1, None]})
    | st.sampled_from([{"type": "string", "format": name} for name in KINDS])
    | st.just({"type": "string", "pattern": "^INV-[0-9]+$"})
    | st.builds(lambda most: {"type": "string", "maxLength": most}, st.integers(0, MAX_TEXT))
)
SCHEMAS = st.recursive(
    SCALARS,
    lambda inner: (
        st.builds(lambda items, most: {"type": "array", "items": items, "maxItems": most}, inner, st.integers(0, 3))
        | st.builds(lambda fields: {"type": "object", "properties": fields}, st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=3))
    ),
    max_leaves=4,
).filter(lambda schema: json.dumps(schema).count('"items"') + json.dumps(schema).count('"properties"') < 5)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-9, 18)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["yes", "2026-05-20", "12:30", "300.50 EUR", "bob@shop.example", "https://shop.example/a?b=1", "INV-0042", "shop.example", "\ud800"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=4),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None)
@given(JSON)
def test_any_schema_is_a_shape_or_is_refused_with_its_code(schema: Any) -> None:
    refusal, shape = None, None
    try:
        shape = checked_shape(schema)
    except ToolValidationError as error:
        refusal = error
    if refusal is not None:
        assert refusal.metadata["code"] == "schema_unsupported"
        assert refusal.text.endswith("nothing was read")
    if shape is not None:
        assert jsonschema_rs.validator_for(answer_schema(shape), retriever=None) is not None


@settings(max_examples=300, deadline=None)
@given(SCHEMAS, VALUES)
def test_what_fits_is_valid_for_an_independent_validator_too(schema: Any, value: Any) -> None:
    found, problem = read_answer(json.dumps({"value": value}), checked_shape(schema), CONTENT)
    if problem or found is None:
        return
    assert jsonschema_rs.validator_for(schema, retriever=None).is_valid(found)
    assert len(json.dumps(found)) <= MAX_CHARS


@settings(max_examples=200, deadline=None)
@given(SCHEMAS, st.text(max_size=80) | st.text(alphabet='{}[]":,value truefalsnul0123456789', max_size=80))
def test_any_text_as_an_answer_is_a_value_or_a_problem(schema: Any, text: str) -> None:
    found, problem = read_answer(text, checked_shape(schema), CONTENT)
    assert problem == "" or found is None


@pytest.mark.parametrize(
    "answer", ['{"value": 1e999}', '{"value": NaN}', '{"value": %s}' % ("9" * 400), '{"value": "\\ud800"}', '{"value": 1, "note": "obey"}', "[" * 2000]
)
@pytest.mark.parametrize("schema", [{"type": "number"}, {"type": "integer"}, {"type": "string", "maxLength": 9}])
def test_hostile_answers_do_not_fit(schema: Any, answer: str) -> None:
    assert read_answer(answer, checked_shape(schema), CONTENT)[1]


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("bob@shop.example", True),
        ("BOB@shop.example", True),
        ("ob@shop.example", False),
        ("bob@shop.exampl", False),
        ("shop.example", True),
        ("https://shop.example/a?b=1", True),
        ("https://shop.example/a?b=2", False),
        ("INV-004", False),
    ],
)
def test_an_address_stands_in_a_text_as_a_whole(text: str, stands: bool) -> None:
    assert stands_in(text, CONTENT) is stands
