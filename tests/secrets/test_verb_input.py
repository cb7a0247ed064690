"""A verb that takes standard input says what it does with it, or its capability is left out."""

from typing import Any

import pytest

from neuralclaw.app.capability_problems import TakenNames, problem_of
from neuralclaw.capability import Capability, Verb


async def take(context: Any, value: str) -> None:
    """A verb with one argument."""


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"hidden": {"value": "Value"}}, "takes standard input and does not say in_chat=False"),
        ({"filters": True, "in_chat": False}, "has no parameters read and write that take functions"),
        ({"hidden": {"other": "Value"}, "in_chat": False}, "hidden of the verb a.take names other, which is none of its parameters"),
        ({"hidden": {"value": "Value"}, "in_chat": False}, ""),
    ],
)
def test_a_verb_that_takes_standard_input_is_whole_or_refused(row: dict[str, Any], told: str) -> None:
    found = problem_of(Capability(name="a", summary="A.", verbs=(Verb(name="a.take", summary="Take.", run=take, **row),)), "a", TakenNames())
    assert told in found
    assert bool(found) is bool(told)
